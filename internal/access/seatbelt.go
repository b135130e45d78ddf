// SPDX-License-Identifier: Apache-2.0

package access

import (
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// seatbelt is sandbox-exec. Every path keeps its place, as with Landlock, and
// rules go by paths: the deepest one decides what may be done, also with a name
// that does not exist yet. What is hidden or closed is refused, and not gone.
type seatbelt struct {
	*Checker
	denied map[string]bool // inside: what may not be looked at
}

// rule says for which paths the rule that was found is none: nothing of
// the policy is about /dev, and a rule for the root is about what was in it at
// the start, but for names with a dot.
func (e *seatbelt) rule(path string, r *view.Rule) *view.Rule {
	if r == nil || policy.Within(path, "/dev") {
		return nil
	}
	if r.Path == "/" && path != "/" {
		top := host.Child("/", path)
		if slices.ContainsFunc(e.Rules, func(o view.Rule) bool { return o.Path == top }) {
			return nil // it has a rule of its own
		}
		info, err := e.FS.Lstat(top)
		if err != nil || info.Kind != host.Dir && info.Kind != host.File || strings.HasPrefix(top, "/.") {
			return nil
		}
	}
	return r
}

func (e *seatbelt) place(path string, r *view.Rule) place {
	if policy.Within(path, "/dev") {
		return devices
	}
	return ruledPlace(r)
}

func (e *seatbelt) allow(v *Verdict, p place) {
	may := func(rwx byte) bool { return e.FS.Access(v.To, rwx) }
	switch {
	case v.To == host.SandboxExec: // the profile shuts it, to mark the sandbox
		v.Kind = host.File
	case e.denied[v.To]:
		v.Kind = host.Unknown
	}
	switch {
	case e.stuck(v) != "":
	case v.Kind == host.Absent:
		v.Write = e.canCreate(v.To)
	case p == devices:
		r, w := e.device(v.To)
		v.Read, v.Write = r && may('r'), w && v.Kind != host.Dir && may('w')
	case v.To == "/":
		v.Read = may('r')
	case v.Kind == host.Socket:
		v.Connect = e.connects(v.To, v.Rule) && may('w')
	case p == shown:
		v.Read = may('r')
		v.Write = v.Rule.Access == policy.Write && may('w') && (v.Kind != host.Dir || may('x'))
	}
}

// creates needs each name on the way to be free.
func (e *seatbelt) creates(dir, path string) bool {
	for at := path; at != dir; at = policy.Dir(at) {
		if r := e.ruleFor(at); r == nil || r.Access != policy.Write || e.Pinned(at) {
			return false
		}
	}
	return true
}

func (e *seatbelt) explain(v *Verdict, p place) string {
	switch {
	case v.Kind == host.Absent:
		return e.explainMissing(v, p)
	case p == devices:
		return e.explainDevice(v)
	case v.Connect && v.To == resolves:
		return "the system's own, to look up names: open with the network"
	case v.To == "/":
		return "its list of names can be read, as programs need it, and nothing can be made in it"
	case p == hidden && v.To != v.Rule.Path:
		return e.texts.within + e.passage(v)
	case p != shown:
		return ofRule(e.texts.present[p], v.Rule) + e.passage(v) + spare(v, p)
	}
	return e.explainOpened(v)
}

func (e *seatbelt) explainDevice(v *Verdict) string {
	switch {
	case e.terminal(v.To):
		return "the terminal that the command was started at"
	case policy.Within(v.To, "/dev/fd"):
		return "what the command has open"
	case v.Read || v.Write:
		return "a harmless device, which every command has"
	}
	return "it exists, but " + refused + ": of /dev a command has a few harmless devices, its own terminal and those it opens itself"
}

// explainOpened is about files that a rule opens.
func (e *seatbelt) explainOpened(v *Verdict) string {
	run := v.Rule.Source == view.SourceRun && (v.Read || v.Write)
	switch {
	case v.Kind == host.Socket && !e.connects(v.To, v.Rule):
		return "a socket can be connected to where files can be written, or when a rule opens it by its own name"
	case v.Connect && v.Rule.Path == v.To:
		return "a socket that a rule opens by its own name can be connected to"
	case v.Connect:
		return "a socket in a tree that can be written can be connected to"
	case run && v.Write:
		return "sbx's own, for this run: temporary files, which a later run removes"
	case run:
		return "sbx's own, to tell the command which sandbox it is in"
	case v.Rule.Access == policy.Protect && v.Read:
		return "protected: read-only in a tree that can be written" + e.immovable(v)
	case v.To == host.SandboxExec && v.Read && v.Rule.Access != policy.Write:
		return "the host's own, read-only; it can be opened and not be started, since one sandbox cannot be put into another"
	}
	return ""
}

// explainMissing says why nothing can be made at a path.
func (e *seatbelt) explainMissing(v *Verdict, p place) string {
	at, own := e.reserved(v.To), v.Rule != nil && v.Rule.Path == v.To
	const not = "does not exist, and cannot be created: "
	advance := " is protected in advance"
	if p == hidden {
		advance = " is hidden in advance"
	}
	switch {
	case v.Write:
	case e.unknown(v.To) && p == shown:
		return "it is not known here whether a Mac has it; there it could be read"
	case e.unknown(v.To):
		return "it is not known here whether a Mac has it; there it would be " + refused
	case p == devices:
	case own && v.Rule.Access >= policy.Protect:
		return not + "the name" + advance
	case at == v.To:
		return not + "it would hold something protected or hidden"
	case e.Pinned(at):
		return not + text.Plain(at) + " would hold something protected or hidden, and so cannot be made"
	case at != "":
		return not + "the name " + text.Plain(at) + advance
	case p == private:
		return ofRule(e.texts.absent[p], v.Rule) + spare(v, p)
	}
	return ""
}

func (e *seatbelt) remedy(v *Verdict, p place, path string, exists bool) (done bool) {
	switch stuck := e.stuck(v) != ""; {
	case p == devices:
		if !v.Read || !v.Write && v.Kind != host.Dir {
			v.Fixed = "no flag opens more of /dev"
		}
	case p == shown && v.Rule.Source == view.SourceRun, v.To == "/", v.Connect && v.To == resolves:
	case !exists:
		if v.Write {
			break
		}
		at := e.reserved(v.To)
		if at == "" {
			return false
		}
		e.addReservedRemedies(v, at)
	case stuck && ownPlace(p) && e.hostMay(path, 'r'):
		to := "read"
		if v.Kind == host.Socket {
			to = "connect"
		}
		r := e.openRemedy(v, to, "-r", path)
		if r.Flags != nil {
			r.Text = "and call it by that name"
		}
		v.add(r)
	case stuck && p == shown:
		v.add(Remedy{To: "read", Text: "call it by its own name, " + text.Plain(v.To)})
	case v.Kind == host.Socket && !v.Connect:
		if e.hostMay(path, 'w') {
			v.add(e.openRemedy(v, "connect", "-r", path))
		} else {
			v.Fixed = OwnUser
		}
		if !ownPlace(p) && e.hideable(v, path) {
			v.add(Remedy{To: "hide", Flags: []string{"--block", path}})
		}
	default:
		return false
	}
	return true
}

// device is what may be done with a device, as the profile has it.
func (e *seatbelt) device(path string) (read, write bool) {
	name := strings.TrimPrefix(path, "/dev/")
	both := slices.Contains([]string{"null", "zero", "random", "urandom", "dtracehelper", "tty", "ptmx"}, name) ||
		name != "fd" && policy.Within(path, "/dev/fd") || e.terminal(path)
	return both || slices.Contains([]string{"autofs_nowait", "stdin", "stdout", "stderr", "fd"}, name), both
}

// terminal reports whether a device is the command's own terminal.
func (e *seatbelt) terminal(path string) bool {
	return strings.HasPrefix(path, "/dev/tty") && slices.ContainsFunc(e.Host.FDs, func(fd host.FD) bool {
		return fd.Kind == host.FDDevice && fd.Path == path && (fd.Num <= 2 || slices.Contains(e.Keep, fd.Num))
	})
}

// connects reports whether a socket can be connected to, permissions aside: one
// that a rule names, or one in a tree that can be written, if nothing closes it.
func (e *seatbelt) connects(path string, r *view.Rule) bool {
	opens := ruledPlace(r) == shown
	if e.Network && path == resolves {
		return opens || !e.inOpen(path)
	}
	return opens && (r.Path == path || r.Access == policy.Write)
}

// stuck is the first link on the way to a path that may not be looked at, "" for
// none. Inside, the kernel itself refuses it.
func (c *Checker) stuck(v *Verdict) string {
	if !c.Seatbelt || c.Beyond == nil {
		return ""
	}
	to, err := c.res.Resolve(v.Path)
	if err != nil {
		return ""
	}
	for _, l := range to.Links {
		same := func(o host.Hop) bool { return o.Path == l.Path }
		known := slices.Contains([]string{"/tmp", "/var", "/etc"}, l.Path) || slices.ContainsFunc(c.Beyond.Links, same)
		if r := c.ruleFor(l.Path); !known && (r == nil || !view.Shows(r.Access)) {
			return l.Path
		}
	}
	return ""
}

// inOpen reports whether a path or something above it is open.
func (e *seatbelt) inOpen(path string) bool {
	return slices.ContainsFunc(e.Rules, func(r view.Rule) bool {
		return !r.Pinned && view.Shows(r.Access) && policy.Within(path, r.Path) && e.rule(path, &r) != nil
	})
}

// reserved is the first name, from the top, at which nothing can be made since it
// is or would hold something hidden or protected; "" for none.
func (e *seatbelt) reserved(path string) string {
	dir, _ := e.nearest(path)
	for at := dir; at != path; {
		at = host.Child(at, path)
		if r := e.ruleFor(at); e.Pinned(at) || r != nil && strings.EqualFold(r.Path, at) && r.Access >= policy.Protect {
			return at
		}
	}
	return ""
}

// passage is about a directory that cannot be listed and leads somewhere.
func (e *seatbelt) passage(v *Verdict) string {
	opened := func(r view.Rule) bool {
		return !r.Pinned && view.Shows(r.Access) && r.Path != v.To && policy.Within(r.Path, v.To)
	}
	if v.Kind == host.Dir && slices.ContainsFunc(e.Rules, opened) {
		return "; what is opened in it can be reached, and the directory not be listed"
	}
	return ""
}

// immovable says what cannot be moved or removed.
func (e *seatbelt) immovable(v *Verdict) string {
	if v.Path != v.To {
		if up, err := e.res.Resolve(policy.Dir(v.Path)); err == nil && e.Pinned(host.Join(up.Path, host.Base(v.Path))) {
			return "; the link to it cannot be replaced either"
		}
	}
	switch {
	case e.Pinned(v.To):
		return pinnedText
	case v.Kind == host.Dir && v.Rule.Access == policy.Write && v.Rule.Path == v.To:
		return "; it cannot itself be moved or removed"
	}
	return ""
}

// unknown reports whether a path is of a Mac's own system, of which the model has
// only what every Mac has.
func (e *seatbelt) unknown(path string) bool {
	return e.Host.Modelled && !host.MacFS{}.Host(path) && !policy.Within(path, "/proc")
}

// spare says where temporary files go.
func spare(v *Verdict, p place) string {
	const shared = "/tmp /var/tmp /private/tmp /private/var/tmp /private/var/folders"
	if p == private && slices.Contains(strings.Fields(shared), v.Rule.Path) {
		return "; $TMPDIR is for temporary files"
	}
	return ""
}

// resolves is the socket of the system's that looks up names.
const resolves = "/private/var/run/mDNSResponder"

// addReservedRemedies is about a name that is hidden or protected, or would hold one
// that is.
func (e *seatbelt) addReservedRemedies(v *Verdict, at string) {
	if v.Rule.Path == v.To && v.Rule.Access >= policy.Protect {
		at = v.To // with what is above it
	}
	i := slices.IndexFunc(e.Rules, func(r view.Rule) bool { return r.Path == at })
	r, outside := &e.Rules[i], at
	if e.Beyond != nil {
		outside, _ = e.Beyond.Outside(at)
	}
	advice := "make it where the sandbox is started"
	switch level, git := strings.CutPrefix(r.Source, "git = "); {
	case git && level == "commit":
		v.add(Remedy{To: "write", Flags: []string{"--git", "full"}})
		return
	case git:
		advice += ", and then use --git commit"
	case e.Host.Writable(outside) != nil:
		v.Fixed = e.Host.Writable(outside).Error()
		return
	case !r.Pinned:
		advice += ", and then use -w " + text.Plain(outside)
	}
	v.add(Remedy{To: "write", Text: advice})
}
