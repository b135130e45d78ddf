package access

import (
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// why is one sentence on what is at a place.
func (s *Sight) why(a *Answer) string {
	z := s.zone(a.To, a.Mark)
	if a.Kind == host.Absent {
		return s.whyAbsent(a, z)
	}
	switch z {
	case kernel:
		return "/proc is the sandbox's own: it shows the kernel, and of the processes those of the sandbox"
	case devices:
		if a.Kind == host.Dir {
			return "/dev is the sandbox's own, with a few devices that lead to nothing of the host's"
		}
		return "a device of the sandbox's own /dev, which holds nothing of the host's"
	case sbx:
		return "sbx's own, to tell the command which sandbox it is in"
	case nowhere:
		return "no rule opens it: it is here to hold what is opened in it, and nothing else of the host's is"
	case private:
		return s.whyPrivate(a)
	case masked:
		switch {
		case a.To != a.Mark.Path:
			return "lies in a hidden directory: it is here to hold what is opened in it"
		case a.Kind == host.Dir:
			return "hidden: an empty directory is in its place"
		}
		if info, err := s.FS.Lstat(a.To); err == nil && (info.Kind == host.Device || info.Mode&0o444 == 0) {
			return "hidden: a file that cannot be opened is in its place"
		}
		return "hidden: an empty file is in its place"
	}
	return s.whyShown(a)
}

func (s *Sight) whyPrivate(a *Answer) string {
	switch {
	case a.Kind != host.Dir:
		return "the sandbox's own, and gone after the run"
	case a.To == a.Mark.Path:
		return "an empty directory of the sandbox's own; what is written there is gone afterwards"
	}
	return "a directory of the sandbox's own; what is written there is gone afterwards"
}

// whyShown is about files of the host's that a rule opens.
func (s *Sight) whyShown(a *Answer) string {
	switch {
	case a.Mark.Path != a.To:
	case a.Mark.Source == view.SourceTracked:
		return "a copy of the host's, as git has it, read-only"
	case a.Mark.Source == view.SourceCleaned:
		return "a copy of the host's without the credentials in it, read-only"
	}
	switch a.Kind {
	case host.Device:
		return "a device of the host's, which cannot be opened in a sandbox"
	case host.Socket:
		if a.Connect {
			return "a socket that is visible can be connected to, read-only or not"
		}
		return s.notPermitted(a, "connect to it")
	}
	if a.Kind == host.Dir && !a.Read && s.FS.Access(a.To, 'x') {
		return s.notPermitted(a, "list it")
	}
	if !a.Read && !a.Write {
		return s.notPermitted(a, "read it")
	}
	note := ""
	if s.Pinned(a.To) {
		note = "; it cannot be moved or removed, since something in it is protected or hidden"
	}
	switch {
	case a.Kind == host.Fifo:
		return "a pipe that is visible can be used both ways, read-only or not, as far as permissions go"
	case a.Mark.Source == view.SourceCache:
		return "the project's private cache: it is kept for the next run, and the host's own is neither seen nor changed" + note
	case a.Write && !a.Read:
		return s.notPermitted(a, "read it")
	case a.Write:
		return "the host's own, and it can be changed" + note
	case a.Mark.Access == policy.Write:
		return s.notPermitted(a, "write it") + note
	case a.Mark.Access == policy.Protect:
		return "protected: read-only in a tree that can be written"
	}
	return "the host's own, read-only"
}

// notPermitted says that it is the permissions of the host that decide.
func (s *Sight) notPermitted(a *Answer, what string) string {
	mode := ""
	if info, err := s.FS.Lstat(a.To); err == nil {
		mode = " (mode " + strconv.FormatUint(uint64(info.Mode), 8) + ")"
	}
	if s.Host.UID == 0 && !s.Belt {
		return "root without privileges, as in the sandbox, may not " + what + mode
	}
	return "you may not " + what + mode + ", and so may not the command"
}

func (s *Sight) whyAbsent(a *Answer, z zone) string {
	if a.Seen {
		return "a link to " + policy.Plain(a.To) + ": " + s.absence(a, z)
	}
	return s.absence(a, z)
}

// absence says why there is nothing at a place.
func (s *Sight) absence(a *Answer, z zone) string {
	dir, kind := s.Standing(a.To)
	switch {
	case kind != host.Dir:
		return "nothing can be there: " + policy.Plain(dir) + " is not a directory"
	case z == kernel:
		return "not in the sandbox's own /proc, where processes have other numbers"
	case z == devices:
		return "not in the sandbox's own /dev"
	case z == sbx:
		return "does not exist"
	case z == nowhere:
		return "no rule opens it, so it does not exist inside" + s.hostHas(a.To)
	case z == masked:
		return "lies in a directory that is hidden" + s.hostHas(a.To)
	case z == private:
		return policy.Plain(a.Mark.Path) + " is an empty directory of the sandbox's own" + s.hostHas(a.To) + "; what is made in it is gone afterwards"
	case a.Write:
		return "does not exist; could be created" + s.nextRun(a.To)
	case a.Mark.Access == policy.Write:
		return "does not exist, and you may not create it"
	}
	return "does not exist, and cannot be created where everything is read-only"
}

// hostHas says what the host has at a path that is not there inside. Inside a
// sandbox nobody can tell.
func (s *Sight) hostHas(path string) string {
	if s.Beyond == nil {
		return ""
	}
	h, ok := s.Beyond.Outside(path)
	if !ok {
		return ""
	}
	to, err := s.Beyond.Res.Resolve(h)
	switch {
	case err != nil:
		return ""
	case to.Info.Kind == host.Absent:
		return " (nor does the host have it)"
	case s.Beyond.Refused[h] != "":
		return " (" + s.Beyond.Refused[h] + ")"
	case to.Path != h:
		return " (the host has it, at " + policy.Plain(to.Path) + ")"
	}
	return " (the host has it)"
}

// nextRun says which rule is about a name once there is a file.
func (s *Sight) nextRun(path string) string {
	if s.Later == nil {
		return ""
	}
	host, _ := s.Beyond.Outside(path)
	r, ok := s.Later.Decide(host)
	if !ok || r.Access != policy.Protect && r.Access != policy.Block || !r.Pattern && r.Path != host {
		return ""
	}
	return ", and the next run would " + r.Access.String() + " it (" + r.Source + ")"
}

// levers are how to have more, or why there is none.
func (s *Sight) levers(a *Answer) {
	z := s.zone(a.To, a.Mark)
	for _, dir := range []string{"/proc", "/dev", host.ManifestDir} {
		if !policy.Within(a.To, dir) || dir == host.ManifestDir && z != sbx {
			continue
		}
		if !a.Read || !a.Write {
			a.Fixed = dir + " is the sandbox's own, and no flag changes that"
		}
		return
	}
	if z == theirs && a.Mark.Source == view.SourceCache {
		if a.To == a.Mark.Path {
			a.add(Lever{To: "hide", Flags: []string{"--cache", "none"}})
		}
		return
	}
	path, there := s.target(a)
	if !there {
		s.leversAbsent(a)
		return
	}
	own := z == private || z == masked || z == nowhere
	switch {
	case own && s.HostMay(path, 'r'):
		a.add(s.opening(a, "read", "-r", path))
	case own:
		a.Fixed = OwnUser
	case a.Kind == host.Device:
		a.Fixed = "devices of the host are for no command in a sandbox"
		return
	case a.Kind == host.Socket && !a.Connect || a.Kind != host.Socket && !a.Read:
		a.Fixed = OwnUser
		return
	}
	if a.Kind != host.Socket && (!a.Write || z == private) {
		s.writing(a, path, own)
	}
	if !own && s.hideable(a, path) {
		a.add(Lever{To: "hide", Flags: []string{"--block", path}})
	}
}

func (a *Answer) add(l Lever) { a.Levers = append(a.Levers, l) }

// hideable reports whether --block would hide a path and leave a sandbox that
// can be used.
func (s *Sight) hideable(a *Answer, path string) bool {
	if policy.Within(s.Host.CWD, path) || a.Kind == host.Dir && s.Host.Writable(path) != nil {
		return false
	}
	for i := range s.Marks {
		// A deeper rule would open some of it again.
		if m := &s.Marks[i]; !m.Pin && m.Path != a.To && policy.Within(m.Path, a.To) && m.Access < policy.Protect {
			return false
		}
	}
	return true
}

// target is the path that a flag would have to name: the host's file, with no
// links on the way, which grants do not follow everywhere.
func (s *Sight) target(a *Answer) (path string, there bool) {
	if s.Beyond == nil {
		return a.To, a.Kind != host.Absent || s.Wall == nil && !s.Belt && s.hidesHost(a.To)
	}
	h, ok := s.Beyond.Outside(a.Path)
	if !ok {
		return a.To, false
	}
	if shown, ok := s.Beyond.Outside(a.To); ok && a.Kind != host.Absent {
		h = shown
	}
	to, err := s.Beyond.Res.Resolve(h)
	return to.Path, err == nil && to.Info.Kind != host.Absent
}

// hidesHost reports, for want of a look at the host, whether it may have
// something at a path where nothing is.
func (s *Sight) hidesHost(path string) bool {
	z := s.zone(path, s.governs(path))
	return z == nowhere || z == private || z == masked
}

// opening is the lever that shows what the host has.
func (s *Sight) opening(a *Answer, to, flag, path string) Lever {
	if m := a.Mark; m != nil && m.Layer == policy.Flag && m.Path == a.To {
		switch {
		case m.Access == policy.Block:
			return Lever{To: to, Text: "leave out " + m.Source + " " + policy.Plain(m.Rule)}
		case flag == "-w" && m.Access == policy.Read:
			return Lever{To: to, Text: "say -w " + policy.Plain(path) + " in the place of " + m.Source}
		}
	}
	return Lever{To: to, Flags: []string{flag, path}}
}

// writing finds what makes a path writable.
func (s *Sight) writing(a *Answer, path string, own bool) {
	if err := s.Host.Writable(path); err != nil {
		a.Fixed = err.Error()
		return
	}
	if !own && a.Mark.Access == policy.Write || !s.HostMay(path, 'w') {
		a.Fixed = OwnUser
		return
	}
	if level := s.gitLever(a); level != "" {
		a.add(Lever{To: "write", Flags: []string{"--git", level}})
		return
	}
	a.add(s.opening(a, "write", "-w", path))
}

// gitLever is the setting of git that opens what another one protects. A .git
// that is no plain directory of the caller's own is not opened by any.
func (s *Sight) gitLever(a *Answer) string {
	level, ok := strings.CutPrefix(source(a.Mark), "git = ")
	if !ok || level == "full" {
		return ""
	}
	if level == "commit" {
		if host.Base(a.Mark.Path) == ".git" {
			return ""
		}
		return "full"
	}
	if git, err := s.FS.Lstat(a.Mark.Path); err != nil || git.Kind != host.Dir || git.UID != s.Host.UID {
		return ""
	}
	if guarded(a.To[len(a.Mark.Path):]) {
		return "full"
	}
	return "commit"
}

// guarded reports whether git = "commit" keeps a path below .git read-only.
func guarded(rel string) bool {
	inner := strings.HasPrefix(rel, "/modules/") || strings.HasPrefix(rel, "/worktrees/")
	for i := 0; i < len(rel); i++ {
		if rel[i] != '/' {
			continue
		}
		for _, name := range gitdir.Executed {
			if policy.Within(rel[i:], "/"+name) {
				return true
			}
		}
		if !inner {
			break
		}
	}
	return false
}

func source(m *view.Mark) string {
	if m == nil {
		return ""
	}
	return m.Source
}

// leversAbsent is about what is nowhere: only the directory that it would lie
// in can be named, and none is opened for that which is not visible now.
func (s *Sight) leversAbsent(a *Answer) {
	z := s.zone(a.To, a.Mark)
	switch {
	case z == private || z == masked || z == nowhere:
		a.Fixed = "the host has no such file that could be opened"
		return
	case a.Write:
		return
	}
	dir, kind := s.Standing(a.To)
	if kind != host.Dir {
		a.Fixed = policy.Plain(dir) + " is not a directory"
		return
	}
	there, path := Answer{To: dir, Kind: kind, Mark: s.governs(dir)}, dir
	if s.Beyond != nil {
		path, _ = s.Beyond.Outside(dir)
	}
	s.writing(&there, path, false)
	a.Levers, a.Fixed = there.Levers, there.Fixed
}

// HostMay reports whether the caller may do something with a file of the host
// at all. Inside a sandbox a read-only mount stands before the answer, and the
// permission bits have to do.
func (s *Sight) HostMay(path string, rwx byte) bool {
	if s.Beyond != nil {
		return s.Beyond.MayUse(path, rwx)
	}
	if s.Wall != nil {
		return s.FS.Access(path, rwx)
	}
	i, err := s.FS.Lstat(path)
	switch {
	case err != nil || s.zone(path, s.governs(path)) != theirs:
		return true // nothing of the host's is to be seen
	case i.UID == s.Host.UID:
		return i.Mode>>6&view.Bit(rwx) != 0
	}
	return (i.Mode>>3|i.Mode)&view.Bit(rwx) != 0
}
