package access

import (
	"strings"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// addRemedies says how to have more, or why there is no way.
func (s *Checker) addRemedies(v *Verdict, p place) {
	path, exists := s.target(v)
	own := ownPlace(p)
	switch {
	case s.engine.remedy(v, p, path, exists):
		return
	case p == shown && v.Rule.Source == view.SourceCache:
		if v.To == v.Rule.Path {
			v.add(Remedy{To: "hide", Flags: []string{"--cache", "none"}})
		}
		return
	case !exists:
		s.addAbsentRemedies(v, p)
		return
	case own && s.HostMay(path, 'r'):
		v.add(s.openRemedy(v, "read", "-r", path))
	case own:
		v.Fixed = OwnUser
	case v.Kind == host.Socket && !v.Connect, v.Kind != host.Socket && !v.Read && len(v.Remedies) == 0:
		v.Fixed = OwnUser
		return
	}
	if v.Kind != host.Socket && (!v.Write || p == private) && !s.engine.writeRemedy(v, p, path) {
		s.addWriteRemedies(v, path, own)
	}
	s.engine.remark(v, p)
	if !own && s.hideable(v, path) {
		v.add(Remedy{To: "hide", Flags: []string{"--block", path}})
	}
}

// ownPlace reports whether nothing of the host's is shown at a place.
func ownPlace(p place) bool { return p == private || p == hidden || p == unopened }

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
	return ownPlace(s.place(path, s.ruleFor(path)))
}

// openRemedy is the remedy that shows what the host has.
func (s *Checker) openRemedy(a *Verdict, to, flag, path string) Remedy {
	if m := a.Rule; m != nil && m.Layer == policy.Flag && m.Path == a.To {
		switch {
		case m.Access == policy.Block:
			return Remedy{To: to, Text: "leave out " + m.Source + " " + text.Plain(m.Written)}
		case flag == "-w" && m.Access == policy.Read:
			return Remedy{To: to, Text: "say -w " + text.Plain(path) + " in the place of " + m.Source}
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
func (s *Checker) addAbsentRemedies(a *Verdict, p place) {
	switch {
	case ownPlace(p):
		a.Fixed = "the host has no such file that could be opened"
		return
	case a.Write:
		return
	}
	dir, kind := s.Nearest(a.To)
	if kind != host.Dir {
		a.Fixed = text.Plain(dir) + " is not a directory"
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
	case err != nil || s.place(path, s.ruleFor(path)) != shown:
		return true // nothing of the host's is to be seen
	case i.UID == s.Host.UID:
		return i.Mode>>6&view.Bit(rwx) != 0
	}
	return (i.Mode>>3|i.Mode)&view.Bit(rwx) != 0
}
