package access

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// With sandbox-exec every path keeps its place, as with Landlock, and rules go by
// paths: the deepest mark decides what may be done, also with a name where
// nothing is yet. What is hidden or closed is refused, and not gone.

// refused is how macOS puts it.
const refused = "refused (Operation not permitted)"

// deniedFS are files as somebody inside finds them. What may not be looked at is
// taken for a directory, so that names in it are asked for as well: whether they
// are there is not kept from anyone.
type deniedFS struct {
	host.FS
	shut map[string]bool // what may not be looked at
}

// Lstat implements [FS].
func (f deniedFS) Lstat(path string) (host.Info, error) {
	i, err := f.FS.Lstat(path)
	if errors.Is(err, fs.ErrPermission) {
		f.shut[path] = true
		return host.Info{Kind: host.Dir}, nil
	}
	return i, err
}

// Spell implements speller.
func (f deniedFS) Spell(path string) string { return spell(f.FS, path) }

// Spell implements speller.
func (f *hostFS) Spell(path string) string { return spell(f.v.Host.FS, path) }

// spell is the path as it is on the disk, for a file system that is wrapped.
func spell(f host.FS, path string) string {
	if s, ok := f.(host.Speller); ok {
		return s.Spell(path)
	}
	return path
}

// seatbeltRuleFor says for which paths the mark that was found is none: nothing of
// the policy is about /dev, and a rule for the root is about what was in it at
// the start, but for names with a dot.
func (s *Checker) seatbeltRuleFor(path string, m *view.Rule) *view.Rule {
	if m == nil || policy.Within(path, "/dev") {
		return nil
	}
	if m.Path == "/" && path != "/" {
		top := host.Child("/", path)
		if slices.ContainsFunc(s.Rules, func(o view.Rule) bool { return o.Path == top }) {
			return nil // it has a rule of its own
		}
		if info, err := s.FS.Lstat(top); err != nil || info.Kind != host.Dir && info.Kind != host.File || strings.HasPrefix(top, "/.") {
			return nil
		}
	}
	return m
}

func (s *Checker) seatbeltZone(path string, m *view.Rule) zone {
	switch {
	case policy.Within(path, "/dev"):
		return devices
	case m == nil:
		return nowhere
	case m.Access == policy.Private:
		return private
	case m.Access == policy.Block:
		return masked
	}
	return theirs
}

// seatbeltDevice is what may be done with a device, see [seatbelt.devices].
func (s *Checker) seatbeltDevice(path string) (read, write bool) {
	switch name := strings.TrimPrefix(path, "/dev/"); {
	case slices.Contains([]string{"null", "zero", "random", "urandom", "dtracehelper", "tty", "ptmx"}, name):
		return true, true
	case slices.Contains([]string{"autofs_nowait", "stdin", "stdout", "stderr"}, name):
		return true, false
	case name == "fd":
		return true, false
	case policy.Within(path, "/dev/fd"):
		return true, true
	}
	own := s.terminal(path)
	return own, own
}

// terminal reports whether a device is the command's own terminal.
func (s *Checker) terminal(path string) bool {
	return strings.HasPrefix(path, "/dev/tty") && slices.ContainsFunc(s.Host.FDs, func(fd host.FD) bool {
		return fd.Kind == host.FDDevice && fd.Path == path && (fd.Num <= 2 || slices.Contains(s.Keep, fd.Num))
	})
}

// resolves is the socket of the system's that looks up names.
const resolves = "/private/var/run/mDNSResponder"

// connects reports whether a socket can be connected to, permissions aside: one
// that a rule names, or one in a tree that can be written, if nothing closes it.
func (s *Checker) connects(path string, m *view.Rule) bool {
	z := s.seatbeltZone(path, m)
	if s.Network && path == resolves {
		return z == theirs || !s.inOpen(path)
	}
	if z != theirs {
		return false
	}
	if m.Path == path {
		return true
	}
	return m.Access == policy.Write
}

// stuck is the first link on the way to a path that may not be looked at, "" for
// none. Inside, the kernel itself refuses it.
func (s *Checker) stuck(a *Verdict) string {
	if s.Beyond == nil {
		return ""
	}
	to, err := s.res.Resolve(a.Path)
	if err != nil {
		return ""
	}
	for _, l := range to.Links {
		m := s.ruleFor(l.Path)
		open := m != nil && view.Shows(m.Access)
		known := slices.Contains([]string{"/tmp", "/var", "/etc"}, l.Path) || slices.ContainsFunc(s.Beyond.Links, func(o host.Hop) bool { return o.Path == l.Path })
		if !open && !known {
			return l.Path
		}
	}
	return ""
}

// inOpen reports whether a path or something above it is open.
func (s *Checker) inOpen(path string) bool {
	return slices.ContainsFunc(s.Rules, func(m view.Rule) bool {
		return !m.Pinned && view.Shows(m.Access) && policy.Within(path, m.Path) && s.seatbeltRuleFor(path, &m) != nil
	})
}

// checkSeatbelt works out what may be done with what is there.
func (s *Checker) checkSeatbelt(a *Verdict) {
	z := s.zone(a.To, a.Rule)
	may := func(rwx byte) bool { return s.FS.Access(a.To, rwx) }
	switch {
	case a.To == host.SandboxExec: // see [seatbelt.last]
		a.Kind = host.File
	case s.shut[a.To]:
		a.Kind = host.Unknown
	}
	switch {
	case s.stuck(a) != "":
	case a.Kind == host.Absent:
		a.Write = s.canCreateSeatbelt(a.To)
	case z == devices:
		r, w := s.seatbeltDevice(a.To)
		a.Read, a.Write = r && may('r'), w && a.Kind != host.Dir && may('w')
	case a.To == "/":
		a.Read = may('r')
	case a.Kind == host.Socket:
		a.Connect = s.connects(a.To, a.Rule) && may('w')
	case z != theirs:
	default:
		a.Read = may('r')
		a.Write = a.Rule.Access == policy.Write && may('w') && (a.Kind != host.Dir || may('x'))
	}
}

// canCreateSeatbelt reports whether something can be made at a path where nothing is, with
// the directories above it: each name needs to be free.
func (s *Checker) canCreateSeatbelt(path string) bool {
	dir, kind := s.Nearest(path)
	if kind != host.Dir || !s.FS.Access(dir, 'w') || !s.FS.Access(dir, 'x') {
		return false
	}
	for at := path; at != dir; at = policy.Dir(at) {
		if m := s.ruleFor(at); m == nil || m.Access != policy.Write || s.Pinned(at) {
			return false
		}
	}
	return true
}

// reserved is the first name, from the top, at which nothing can be made since it
// is or would hold something hidden or protected; "" for none.
func (s *Checker) reserved(path string) string {
	dir, _ := s.Nearest(path)
	for at := dir; at != path; {
		at = host.Child(at, path)
		if m := s.ruleFor(at); s.Pinned(at) || m != nil && strings.EqualFold(m.Path, at) && m.Access >= policy.Protect {
			return at
		}
	}
	return ""
}

// explainSeatbelt is one sentence on what is at a place.
func (s *Checker) explainSeatbelt(a *Verdict) string {
	z := s.zone(a.To, a.Rule)
	switch at := s.stuck(a); {
	case at != "":
		return "the link " + policy.Plain(at) + " on the way lies in a place that is closed, and following it is " + refused
	case a.Kind == host.Absent && a.Seen:
		return "a link to " + policy.Plain(a.To) + ": " + s.explainUnmade(a, z)
	case a.Kind == host.Absent:
		return s.explainUnmade(a, z)
	case z == devices && s.terminal(a.To):
		return "the terminal that the command was started at"
	case z == devices && policy.Within(a.To, "/dev/fd"):
		return "what the command has open"
	case z == devices && (a.Read || a.Write):
		return "a harmless device, which every command has"
	case z == devices:
		return "it is there, and " + refused + ": of /dev a command has a few harmless devices, its own terminal and those it opens itself"
	case a.Connect && a.To == resolves:
		return "the system's own, to look up names: open with the network"
	case a.To == "/":
		return "its list of names can be read, as programs need it, and nothing can be made in it"
	case z == masked && a.To != a.Rule.Path:
		return "it is there, and " + refused + ": it lies in a hidden directory" + s.passage(a)
	case z == masked:
		return "hidden: it is there, and " + refused + s.passage(a)
	case z == private:
		return "closed: it is there, and " + refused + ", since macOS has no directory of the sandbox's own to put in the place of " + policy.Plain(a.Rule.Path) + s.passage(a) + spare(a)
	case z == nowhere:
		return "it is there, and " + refused + ": no rule opens it" + s.passage(a)
	}
	return s.explainShownSeatbelt(a)
}

// passage is about a directory that cannot be listed and leads somewhere.
func (s *Checker) passage(a *Verdict) string {
	for i := range s.Rules {
		if m := &s.Rules[i]; a.Kind == host.Dir && !m.Pinned && view.Shows(m.Access) && m.Path != a.To && policy.Within(m.Path, a.To) {
			return "; what is opened in it can be reached, and the directory not be listed"
		}
	}
	return ""
}

// spare says where temporary files go.
func spare(a *Verdict) string {
	if slices.Contains([]string{"/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/private/var/folders"}, a.Rule.Path) {
		return "; $TMPDIR is for temporary files"
	}
	return ""
}

// explainShownSeatbelt is about files that a rule opens.
func (s *Checker) explainShownSeatbelt(a *Verdict) string {
	switch own := a.Rule.Source == view.SourceRun; {
	case a.Kind == host.Socket && !s.connects(a.To, a.Rule):
		return "a socket can be connected to where files can be written, or when a rule opens it by its own name"
	case a.Kind == host.Socket && !a.Connect:
		return s.notPermitted(a, "connect to it")
	case a.Kind == host.Socket && a.Rule.Path == a.To:
		return "a socket that a rule opens by its own name can be connected to"
	case a.Kind == host.Socket:
		return "a socket in a tree that can be written can be connected to"
	case a.Kind == host.Dir && !a.Read && s.FS.Access(a.To, 'x'):
		return s.notPermitted(a, "list it")
	case !a.Read && !a.Write:
		return s.notPermitted(a, "read it")
	case own && a.Write:
		return "sbx's own, for this run: temporary files, which a later run removes"
	case own:
		return "sbx's own, to tell the command which sandbox it is in"
	}
	note := s.staying(a)
	switch {
	case a.Rule.Source == view.SourceCache:
		return "the project's private cache: it is kept for the next run, and the host's own is neither opened nor changed" + note
	case a.Write && !a.Read:
		return s.notPermitted(a, "read it")
	case a.Write:
		return "the host's own, and it can be changed" + note
	case a.Rule.Access == policy.Write:
		return s.notPermitted(a, "write it") + note
	case a.Rule.Access == policy.Protect:
		return "protected: read-only in a tree that can be written" + note
	case a.To == host.SandboxExec:
		return "the host's own, read-only; it can be opened and not be started, since one sandbox cannot be put into another"
	}
	return "the host's own, read-only"
}

// staying says what cannot be moved or removed.
func (s *Checker) staying(a *Verdict) string {
	if a.Path != a.To {
		if up, err := s.res.Resolve(policy.Dir(a.Path)); err == nil && s.Pinned(host.Join(up.Path, host.Base(a.Path))) {
			return "; the link to it cannot be replaced either"
		}
	}
	switch {
	case s.Pinned(a.To):
		return "; it cannot be moved or removed, since something in it is protected or hidden"
	case a.Kind == host.Dir && a.Rule.Access == policy.Write && a.Rule.Path == a.To:
		return "; it cannot itself be moved or removed"
	}
	return ""
}

// explainUnmade says why there is nothing at a place, and whether there can be.
func (s *Checker) explainUnmade(a *Verdict, z zone) string {
	dir, kind := s.Nearest(a.To)
	at := s.reserved(a.To)
	switch own := a.Rule != nil && a.Rule.Path == a.To; {
	case kind != host.Dir:
		return "nothing can be there: " + policy.Plain(dir) + " is not a directory"
	case a.Write:
		return "does not exist; could be created" + s.nextRun(a.To)
	case s.unknown(a.To) && z == theirs:
		return "it is not known here whether a Mac has it; there it could be read"
	case s.unknown(a.To):
		return "it is not known here whether a Mac has it; there it would be " + refused
	case z == devices:
		return "does not exist"
	case own && z == masked:
		return "does not exist, and cannot be created: the name is hidden in advance"
	case own && a.Rule.Access == policy.Protect:
		return "does not exist, and cannot be created: the name is protected in advance"
	case at == a.To:
		return "does not exist, and cannot be created: it would hold something protected or hidden"
	case s.Pinned(at):
		return "does not exist, and cannot be created: " + policy.Plain(at) + " would hold something protected or hidden, and so cannot be made"
	case at != "":
		return "does not exist, and cannot be created: the name " + policy.Plain(at) + " is " + map[bool]string{true: "hidden", false: "protected"}[z == masked] + " in advance"
	case z == masked:
		return "does not exist, and cannot be created in a directory that is hidden"
	case z == private:
		return "does not exist, and cannot be created where everything is closed (" + policy.Plain(a.Rule.Path) + ")" + spare(a)
	case z == nowhere:
		return "does not exist, and cannot be created where no rule opens anything"
	case a.Rule.Access == policy.Write:
		return "does not exist, and you may not create it"
	}
	return "does not exist, and cannot be created where everything is read-only"
}

// addSeatbeltRemedies are how to have more, or why there is none.
func (s *Checker) addSeatbeltRemedies(a *Verdict) {
	z := s.zone(a.To, a.Rule)
	path, there := s.target(a)
	own := z == private || z == masked || z == nowhere
	switch {
	case z == devices:
		if !a.Read || !a.Write && a.Kind != host.Dir {
			a.Fixed = "no flag opens more of /dev"
		}
		return
	case z == theirs && a.Rule.Source == view.SourceRun, a.To == "/", a.Connect && a.To == resolves:
		return
	case z == theirs && a.Rule.Source == view.SourceCache:
		if a.To == a.Rule.Path {
			a.add(Remedy{To: "hide", Flags: []string{"--cache", "none"}})
		}
		return
	case !there:
		s.addUnmadeRemedies(a)
		return
	case s.stuck(a) != "" && own && s.HostMay(path, 'r'):
		l := s.openRemedy(a, map[bool]string{true: "connect", false: "read"}[a.Kind == host.Socket], "-r", path)
		if l.Flags != nil {
			l.Text = "and call it by that name"
		}
		a.add(l)
		return
	case s.stuck(a) != "" && z == theirs:
		a.add(Remedy{To: "read", Text: "call it by its own name, " + policy.Plain(a.To)})
		return
	case a.Kind == host.Socket:
		if !a.Connect && s.HostMay(path, 'w') {
			a.add(s.openRemedy(a, "connect", "-r", path))
		} else if !a.Connect {
			a.Fixed = OwnUser
		}
	case own && s.HostMay(path, 'r'):
		a.add(s.openRemedy(a, "read", "-r", path))
	case own:
		a.Fixed = OwnUser
	case !a.Read:
		a.Fixed = OwnUser
		return
	}
	if a.Kind != host.Socket && !a.Write {
		s.addWriteRemedies(a, path, own)
	}
	if !own && s.hideable(a, path) {
		a.add(Remedy{To: "hide", Flags: []string{"--block", path}})
	}
}

// addUnmadeRemedies is about what is not there. A flag can only open what is.
func (s *Checker) addUnmadeRemedies(a *Verdict) {
	at := s.reserved(a.To)
	switch {
	case a.Write:
	case at == "":
		s.addAbsentRemedies(a)
	default:
		s.addReservedRemedies(a, at)
	}
}

// addReservedRemedies is about a name that is hidden or protected, or would hold one
// that is.
func (s *Checker) addReservedRemedies(a *Verdict, at string) {
	if a.Rule.Path == a.To && a.Rule.Access >= policy.Protect {
		at = a.To // with what is above it
	}
	i := slices.IndexFunc(s.Rules, func(m view.Rule) bool { return m.Path == at })
	m, outside := &s.Rules[i], at
	if s.Beyond != nil {
		outside, _ = s.Beyond.Outside(at)
	}
	text := "make it where the sandbox is started"
	switch level, git := strings.CutPrefix(m.Source, "git = "); {
	case git && level == "commit":
		a.add(Remedy{To: "write", Flags: []string{"--git", "full"}})
		return
	case git:
		text += ", and then say --git commit"
	case s.Host.Writable(outside) != nil:
		a.Fixed = s.Host.Writable(outside).Error()
		return
	case !m.Pinned:
		text += ", and then say -w " + policy.Plain(outside)
	}
	a.add(Remedy{To: "write", Text: text})
}

// unknown reports whether a path is of a Mac's own system, of which the model has
// only what every Mac has.
func (s *Checker) unknown(path string) bool {
	return s.Host.Modelled && !host.MacFS{}.Host(path) && !policy.Within(path, "/proc")
}
