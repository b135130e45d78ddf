// SPDX-License-Identifier: Apache-2.0

package access

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// FullTier is the remedy where the tier is what keeps a command from something.
const FullTier = "tier full (bubblewrap): sbx doctor says how to get it"

// rules are Landlock's. Every path keeps its place, so a command finds what the
// host has, and may do with it what the rules of the ruleset add up to, less what
// permissions refuse. The rules of the policy only say why.
type rules struct {
	*Checker
	ruled map[spot]landlock.FS // by the rules
}

func (e *rules) place(path string, r *view.Rule) place { return linuxPlace(path, r) }

// Enter adds what a run with Landlock has of its own in dir, which only the run
// itself knows, and no profile names.
func (c *Checker) Enter(dir string) {
	tmp := dir + "/tmp"
	c.Ruleset.Rules = append(c.Ruleset.Rules, landlock.Rule{Path: tmp, Allow: landlock.Write & c.Ruleset.FS},
		landlock.Rule{Path: dir, Allow: landlock.ReadFile})
	c.Rules = append(c.Rules, view.Rule{Path: dir, Access: policy.Read, Written: dir, Source: view.SourceRun},
		view.Rule{Path: tmp, Access: policy.Write, Written: tmp, Source: view.SourceRun})
	slices.SortStableFunc(c.Rules, func(a, b view.Rule) int { return view.ComparePaths(a.Path, b.Path) })
}

// spot is what a rule of Landlock is about: a file, by whatever name, or a path
// that the run makes first.
type spot struct {
	dev, ino uint64
	path     string
}

// rights are what the ruleset lets through at a canonical path: what the rules at
// it and at all above it add up to (landlock(7)). A rule is about a file, so
// each further name of the file has it, too.
func (e *rules) rights(path string) (sum landlock.FS) {
	files := e.FS
	if e.Beyond != nil {
		files = e.Host.FS // sbx, with all rights of the caller, opens what rules name
	}
	if e.ruled == nil {
		e.ruled = make(map[spot]landlock.FS)
		for i := range e.Ruleset.Rules {
			r := &e.Ruleset.Rules[i]
			if r.Path == "" {
				continue
			}
			info, err := files.Lstat(r.Path)
			switch {
			case err != nil || info.Kind == host.Link:
			case info.Kind == host.Absent:
				e.ruled[spot{path: r.Path}] |= r.Allow
			case info.Kind == host.Dir:
				e.ruled[spot{dev: info.Dev, ino: info.Ino}] |= r.Allow
			default:
				e.ruled[spot{dev: info.Dev, ino: info.Ino}] |= r.Allow & landlock.OfFile
			}
		}
	}
	for at := path; ; at = policy.Dir(at) {
		if info, err := files.Lstat(at); err == nil && info.Kind != host.Absent {
			sum |= e.ruled[spot{dev: info.Dev, ino: info.Ino}]
		} else {
			sum |= e.ruled[spot{path: at}]
		}
		if at == "/" {
			return sum & e.Ruleset.FS
		}
	}
}

func (e *rules) allow(v *Verdict, _ place) {
	has := e.rights(v.To)
	may := func(right landlock.FS, rwx byte) bool { return has&right != 0 && e.FS.Access(v.To, rwx) }
	switch {
	case v.Kind == host.Absent:
		v.Write = e.canCreate(v.To)
	case OwnDescriptor(v.To): // opened again, the file itself has the rights
		v.Read, v.Write = e.FS.Access(v.To, 'r'), e.FS.Access(v.To, 'w')
	case v.Kind == host.Dir:
		v.Read = may(landlock.ReadDir, 'r') && !Foreign(v.To)
		v.Write = may(landlock.MakeReg, 'w') && e.FS.Access(v.To, 'x')
	case v.Kind != host.Socket:
		v.Read = may(landlock.ReadFile, 'r') && !Foreign(v.To)
		v.Write = may(landlock.WriteFile, 'w')
	}
	v.Write = v.Write && !(e.Kept && v.Rule != nil && v.Rule.Access == policy.Protect)
}

func (e *rules) creates(dir, _ string) bool { return e.rights(dir)&landlock.MakeReg != 0 }

// Foreign reports whether a file of /proc shows so much of a process outside
// that Landlock refuses it as it does ptrace(2).
func Foreign(path string) bool {
	if !strings.HasPrefix(path, "/proc/") {
		return false
	}
	pid, rest := host.Cut(path[len("/proc/"):])
	if top, below := host.Cut(rest); top == "task" {
		_, rest = host.Cut(below)
	}
	top, _ := host.Cut(rest)
	const closed = "auxv cwd environ exe fd fdinfo io map_files maps mem ns numa_maps pagemap personality root " +
		"smaps smaps_rollup stack syscall timers"
	return host.Digits(pid) && slices.Contains(strings.Fields(closed), top)
}

// obstacle is what keeps a directory from being given whole: the first thing in
// it that has fewer rights.
func (e *rules) obstacle(dir string, fewer func(*view.Rule) bool) string {
	var first *view.Rule
	n := 0
	for i := range e.Rules {
		if r := &e.Rules[i]; !r.Pinned && r.Path != dir && policy.Within(r.Path, dir) && fewer(r) {
			if n++; first == nil {
				first = r
			}
		}
	}
	if first == nil {
		return "what is in it has fewer rights"
	}
	fewerRights := map[policy.Access]string{
		policy.Block: "hidden", policy.Private: "closed", policy.Protect: "protected", policy.Read: "read-only",
	}
	text := text.Plain(first.Path) + " in it is " + fewerRights[first.Access]
	if n > 1 {
		text += " (one of " + strconv.Itoa(n) + " with fewer rights)"
	}
	return text
}

// frozen reports whether rules open a directory for writing, and Landlock could
// not let anything be made in it.
func (e *rules) frozen(dir string) bool {
	r := e.ruleFor(dir)
	return e.place(dir, r) == shown && r.Access == policy.Write && e.rights(dir)&landlock.MakeReg == 0
}

func (e *rules) explainFrozen(dir string) string {
	fewer := func(r *view.Rule) bool { return r.Access != policy.Write }
	return e.obstacle(dir, fewer) + ", and Landlock opens a directory only with all that is in it"
}

func (e *rules) explain(v *Verdict, p place) string {
	if v.Kind == host.Absent {
		if dir, _ := e.nearest(v.To); !v.Write && e.frozen(dir) {
			return "does not exist, and nothing can be made in " + text.Plain(dir) + ": " + e.explainFrozen(dir)
		}
		return ""
	}
	switch {
	case OwnDescriptor(v.To):
		return "what the command has open"
	case p == proc && Foreign(v.To):
		return "memory, environment and files of a process outside, which Landlock closes"
	case p == proc:
		return "the host's /proc, read-only: it shows all processes, but not their memory, environment and files"
	case v.Kind == host.Socket && e.Ruleset.FS&landlock.ResolveUnix == 0:
		return "Landlock here is older than version 9 and cannot tell sockets of the host from others, so there are none but pairs"
	case v.Kind == host.Socket:
		return "Landlock lets no command connect to the sockets of processes outside"
	case p == devices && (v.Read || v.Write):
		return "a harmless device, which every command has"
	case p == devices:
		return "it exists, but cannot be opened: of /dev a command has a few harmless devices and its own terminal"
	case p == shown:
		return e.explainOpened(v)
	case v.Read || v.Write:
		return "open, since another name of the same file is: Landlock goes by files and not by names"
	}
	return ""
}

// explainOpened is about files that a rule of the policy opens.
func (e *rules) explainOpened(v *Verdict) string {
	has, writable := e.rights(v.To), v.Rule.Access == policy.Write && !v.Write
	switch {
	case v.Kind == host.Dir && !v.Read && has&landlock.ReadDir == 0:
		fewer := func(r *view.Rule) bool { return !view.Shows(r.Access) }
		return "it cannot be listed: " + e.obstacle(v.To, fewer) + ", and Landlock opens a directory only with all that is in it"
	case !v.Read && has&(landlock.ReadFile|landlock.ReadDir) == 0:
		return "it exists, but cannot be opened: " + e.unnamed(v.To)
	case !v.Read || v.Rule.Source == view.SourceCache:
	case v.Rule.Source == view.SourceRun:
		return "sbx's own, for this run: temporary files, and what tells the command which sandbox it is in"
	case writable && v.Kind == host.Dir && has&landlock.MakeReg == 0:
		return "nothing can be made, removed or renamed in it: " + e.explainFrozen(v.To)
	case writable && v.Kind != host.Dir && has&landlock.WriteFile == 0:
		return "read-only: " + e.unnamed(v.To)
	}
	return ""
}

// unnamed says why the ruleset has no rule for what the policy opens.
func (e *rules) unnamed(path string) string {
	if dir := policy.Dir(path); !e.FS.Access(dir, 'r') {
		return "what is in " + text.Plain(dir) + " is opened name by name, and you may not list it"
	}
	return "what is in " + text.Plain(policy.Dir(path)) + " is opened name by name, and this did not exist when the sandbox started"
}

func (e *rules) immovable(v *Verdict) string {
	if up := policy.Dir(v.To); v.To != "/" && e.frozen(up) {
		return "; it cannot be moved or removed, since " + text.Plain(up) + " holds something protected or hidden"
	}
	return ""
}

func (e *rules) remedy(v *Verdict, p place, path string, exists bool) (done bool) {
	full := func(to, with string) { v.add(Remedy{To: to, Text: FullTier + with}) }
	if dir := host.Child("/", v.To); (p == proc || dir == "/dev") && (!v.Read || !v.Write) {
		v.Fixed = "no flag opens more of " + dir
	}
	switch {
	case p == proc:
	case policy.Within(v.To, "/dev"):
		if p == private || policy.Within(v.To, "/dev/pts") || v.To == "/dev/ptmx" {
			full("write", "")
		}
	case p == shown && v.Rule.Source == view.SourceRun:
	case !exists:
		dir, kind := e.nearest(v.To)
		if kind != host.Dir || !e.frozen(dir) && p != private {
			return false
		}
		full("write", "")
	case v.Kind == host.Socket && ownPlace(p):
		full("connect", ", with -r "+text.Plain(path))
	case v.Kind == host.Socket:
		full("connect", "")
	default:
		if p == shown && !v.Read && e.FS.Access(v.To, 'r') {
			if v.Kind == host.Dir {
				full("read", "")
			} else {
				v.add(e.openRemedy(v, "read", "-r", path))
			}
		}
		return false
	}
	return true
}

func (e *rules) writeRemedy(v *Verdict, p place, path string) (done bool) {
	switch {
	case v.Write:
	case e.frozen(v.To) && v.Kind == host.Dir:
		v.add(Remedy{To: "write", Text: FullTier})
	case p == shown && v.Rule.Access == policy.Write && v.Kind != host.Dir &&
		e.rights(v.To)&landlock.WriteFile == 0 && e.hostMay(path, 'w'):
		v.add(e.openRemedy(v, "write", "-w", path))
	default:
		return false
	}
	return true
}

func (e *rules) remark(v *Verdict, p place) {
	if p == private {
		v.add(Remedy{To: "write", Text: FullTier})
	}
	if v.Kind != host.Dir {
		return
	}
	for i := range v.Remedies {
		if r := &v.Remedies[i]; len(r.Flags) > 0 {
			r.Text = WholeOnly
		}
	}
}

// WholeOnly is what to know before opening a directory.
const WholeOnly = "opens what is in it; it can be listed if nothing in it is hidden, and changed if nothing is protected either"
