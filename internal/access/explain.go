package access

import (
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// explainMounts is one sentence on what is at a place.
func (s *Checker) explainMounts(a *Verdict) string {
	z := s.zone(a.To, a.Rule)
	if a.Kind == host.Absent {
		return s.explainAbsent(a, z)
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
		return s.explainPrivate(a)
	case masked:
		switch {
		case a.To != a.Rule.Path:
			return "lies in a hidden directory: it is here to hold what is opened in it"
		case a.Kind == host.Dir:
			return "hidden: an empty directory is in its place"
		}
		if info, err := s.FS.Lstat(a.To); err == nil && (info.Kind == host.Device || info.Mode&0o444 == 0) {
			return "hidden: a file that cannot be opened is in its place"
		}
		return "hidden: an empty file is in its place"
	}
	return s.explainShown(a)
}

func (s *Checker) explainPrivate(a *Verdict) string {
	switch {
	case a.Kind != host.Dir:
		return "the sandbox's own, and gone after the run"
	case a.To == a.Rule.Path:
		return "an empty directory of the sandbox's own; what is written there is gone afterwards"
	}
	return "a directory of the sandbox's own; what is written there is gone afterwards"
}

// explainShown is about files of the host's that a rule opens.
func (s *Checker) explainShown(a *Verdict) string {
	switch {
	case a.Rule.Path != a.To:
	case a.Rule.Source == view.SourceTracked:
		return "a copy of the host's, as git has it, read-only"
	case a.Rule.Source == view.SourceCleaned:
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
	case a.Rule.Source == view.SourceCache:
		return "the project's private cache: it is kept for the next run, and the host's own is neither seen nor changed" + note
	case a.Write && !a.Read:
		return s.notPermitted(a, "read it")
	case a.Write:
		return "the host's own, and it can be changed" + note
	case a.Rule.Access == policy.Write:
		return s.notPermitted(a, "write it") + note
	case a.Rule.Access == policy.Protect:
		return "protected: read-only in a tree that can be written"
	}
	return "the host's own, read-only"
}

// notPermitted says that it is the permissions of the host that decide.
func (s *Checker) notPermitted(a *Verdict, what string) string {
	mode := ""
	if info, err := s.FS.Lstat(a.To); err == nil {
		mode = " (mode " + strconv.FormatUint(uint64(info.Mode), 8) + ")"
	}
	if s.Host.UID == 0 && !s.Seatbelt {
		return "root without privileges, as in the sandbox, may not " + what + mode
	}
	return "you may not " + what + mode + ", and so may not the command"
}

func (s *Checker) explainAbsent(a *Verdict, z zone) string {
	if a.Seen {
		return "a link to " + policy.Plain(a.To) + ": " + s.absence(a, z)
	}
	return s.absence(a, z)
}

// absence says why there is nothing at a place.
func (s *Checker) absence(a *Verdict, z zone) string {
	dir, kind := s.Nearest(a.To)
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
		return policy.Plain(a.Rule.Path) + " is an empty directory of the sandbox's own" + s.hostHas(a.To) + "; what is made in it is gone afterwards"
	case a.Write:
		return "does not exist; could be created" + s.nextRun(a.To)
	case a.Rule.Access == policy.Write:
		return "does not exist, and you may not create it"
	}
	return "does not exist, and cannot be created where everything is read-only"
}

// hostHas says what the host has at a path that is not there inside. Inside a
// sandbox nobody can tell.
func (s *Checker) hostHas(path string) string {
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
func (s *Checker) nextRun(path string) string {
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

// addRemedies are how to have more, or why there is none.
func (s *Checker) addRemedies(a *Verdict) {
	z := s.zone(a.To, a.Rule)
	for _, dir := range []string{"/proc", "/dev", host.ManifestDir} {
		if !policy.Within(a.To, dir) || dir == host.ManifestDir && z != sbx {
			continue
		}
		if !a.Read || !a.Write {
			a.Fixed = dir + " is the sandbox's own, and no flag changes that"
		}
		return
	}
	if z == theirs && a.Rule.Source == view.SourceCache {
		if a.To == a.Rule.Path {
			a.add(Remedy{To: "hide", Flags: []string{"--cache", "none"}})
		}
		return
	}
	path, there := s.target(a)
	if !there {
		s.addAbsentRemedies(a)
		return
	}
	own := z == private || z == masked || z == nowhere
	switch {
	case own && s.HostMay(path, 'r'):
		a.add(s.openRemedy(a, "read", "-r", path))
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
		s.addWriteRemedies(a, path, own)
	}
	if !own && s.hideable(a, path) {
		a.add(Remedy{To: "hide", Flags: []string{"--block", path}})
	}
}

func (a *Verdict) add(l Remedy) { a.Remedies = append(a.Remedies, l) }

// hideable reports whether --block would hide a path and leave a sandbox that
// can be used.
func (s *Checker) hideable(a *Verdict, path string) bool {
	if policy.Within(s.Host.CWD, path) || a.Kind == host.Dir && s.Host.Writable(path) != nil {
		return false
	}
	for i := range s.Rules {
		// A deeper rule would open some of it again.
		if m := &s.Rules[i]; !m.Pinned && m.Path != a.To && policy.Within(m.Path, a.To) && m.Access < policy.Protect {
			return false
		}
	}
	return true
}

// target is the path that a flag would have to name: the host's file, with no
// links on the way, which grants do not follow everywhere.
func (s *Checker) target(a *Verdict) (path string, there bool) {
	if s.Beyond == nil {
		return a.To, a.Kind != host.Absent || s.Ruleset == nil && !s.Seatbelt && s.hidesHost(a.To)
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
func (s *Checker) hidesHost(path string) bool {
	z := s.zone(path, s.ruleFor(path))
	return z == nowhere || z == private || z == masked
}

// openRemedy is the remedy that shows what the host has.
func (s *Checker) openRemedy(a *Verdict, to, flag, path string) Remedy {
	if m := a.Rule; m != nil && m.Layer == policy.Flag && m.Path == a.To {
		switch {
		case m.Access == policy.Block:
			return Remedy{To: to, Text: "leave out " + m.Source + " " + policy.Plain(m.Written)}
		case flag == "-w" && m.Access == policy.Read:
			return Remedy{To: to, Text: "say -w " + policy.Plain(path) + " in the place of " + m.Source}
		}
	}
	return Remedy{To: to, Flags: []string{flag, path}}
}

// addWriteRemedies finds what makes a path writable.
func (s *Checker) addWriteRemedies(a *Verdict, path string, own bool) {
	if err := s.Host.Writable(path); err != nil {
		a.Fixed = err.Error()
		return
	}
	if !own && a.Rule.Access == policy.Write || !s.HostMay(path, 'w') {
		a.Fixed = OwnUser
		return
	}
	if level := s.gitRemedy(a); level != "" {
		a.add(Remedy{To: "write", Flags: []string{"--git", level}})
		return
	}
	a.add(s.openRemedy(a, "write", "-w", path))
}

// gitRemedy is the setting of git that opens what another one protects. A .git
// that is no plain directory of the caller's own is not opened by any.
func (s *Checker) gitRemedy(a *Verdict) string {
	level, ok := strings.CutPrefix(source(a.Rule), "git = ")
	if !ok || level == "full" {
		return ""
	}
	if level == "commit" {
		if host.Base(a.Rule.Path) == ".git" {
			return ""
		}
		return "full"
	}
	if git, err := s.FS.Lstat(a.Rule.Path); err != nil || git.Kind != host.Dir || git.UID != s.Host.UID {
		return ""
	}
	if guarded(a.To[len(a.Rule.Path):]) {
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

func source(m *view.Rule) string {
	if m == nil {
		return ""
	}
	return m.Source
}

// addAbsentRemedies is about what is nowhere: only the directory that it would lie
// in can be named, and none is opened for that which is not visible now.
func (s *Checker) addAbsentRemedies(a *Verdict) {
	z := s.zone(a.To, a.Rule)
	switch {
	case z == private || z == masked || z == nowhere:
		a.Fixed = "the host has no such file that could be opened"
		return
	case a.Write:
		return
	}
	dir, kind := s.Nearest(a.To)
	if kind != host.Dir {
		a.Fixed = policy.Plain(dir) + " is not a directory"
		return
	}
	there, path := Verdict{To: dir, Kind: kind, Rule: s.ruleFor(dir)}, dir
	if s.Beyond != nil {
		path, _ = s.Beyond.Outside(dir)
	}
	s.addWriteRemedies(&there, path, false)
	a.Remedies, a.Fixed = there.Remedies, there.Fixed
}

// HostMay reports whether the caller may do something with a file of the host
// at all. Inside a sandbox a read-only mount stands before the answer, and the
// permission bits have to do.
func (s *Checker) HostMay(path string, rwx byte) bool {
	if s.Beyond != nil {
		return s.Beyond.MayUse(path, rwx)
	}
	if s.Ruleset != nil {
		return s.FS.Access(path, rwx)
	}
	i, err := s.FS.Lstat(path)
	switch {
	case err != nil || s.zone(path, s.ruleFor(path)) != theirs:
		return true // nothing of the host's is to be seen
	case i.UID == s.Host.UID:
		return i.Mode>>6&view.Bit(rwx) != 0
	}
	return (i.Mode>>3|i.Mode)&view.Bit(rwx) != 0
}
