package access

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// With Landlock every path keeps its place, so what a command finds is what the
// host has, and what it may do with it is what the rules of the wall add up to,
// less what permissions refuse. Marks only say why.

// FullTier is the remedy where the tier is what keeps a command from something.
const FullTier = "tier full (bubblewrap): sbx doctor says how to get it"

// hostFS are the files of the host as a command finds them that runs as the
// caller, root being without privileges.
type hostFS struct {
	host.ProcFS
	v    *view.View
	made map[string]bool // directories that the run makes first
}

func NewHostFS(v *view.View, dirs []string) *hostFS {
	f := &hostFS{ProcFS: host.ProcFS{FS: v.Host.FS}, v: v, made: make(map[string]bool, len(dirs))}
	for _, dir := range dirs {
		for ; dir != "/" && !f.made[dir]; dir = policy.Dir(dir) {
			f.made[dir] = true
		}
	}
	return f
}

// Lstat implements [FS].
func (f *hostFS) Lstat(path string) (host.Info, error) {
	if up := policy.Dir(path); path != "/" && !policy.Within(path, "/proc") && !f.Access(up, 'x') {
		if i, err := f.ProcFS.Lstat(up); err == nil && i.Kind == host.Dir {
			return host.Info{}, host.ErrDenied
		}
	}
	i, err := f.ProcFS.Lstat(path)
	if err == nil && i.Kind == host.Absent && f.made[path] {
		i = host.Info{Kind: host.Dir, Mode: 0o700, UID: f.v.Host.UID}
	}
	return i, err
}

// Access implements [FS] as far as permissions go, of which Landlock is no part.
func (f *hostFS) Access(path string, rwx byte) bool {
	if f.made[path] {
		if i, err := f.ProcFS.Lstat(path); err == nil && i.Kind == host.Absent {
			return true
		}
	}
	return f.v.MayUse(path, rwx)
}

// runRules are the marks of the directory of a run, which no profile names.
func runRules(dir string) []view.Rule {
	return []view.Rule{{Path: dir, Access: policy.Read, Written: dir, Source: view.SourceRun}, {Path: dir + "/tmp", Access: policy.Write, Written: dir + "/tmp", Source: view.SourceRun}}
}

// Enter adds what a run with Landlock has of its own in dir, which only the run
// itself knows.
func (s *Checker) Enter(dir string) {
	s.Ruleset.Rules = append(s.Ruleset.Rules, landlock.Rule{Path: dir + "/tmp", Allow: landlock.Write & s.Ruleset.FS}, landlock.Rule{Path: dir, Allow: landlock.ReadFile})
	s.Rules = append(s.Rules, runRules(dir)...)
	slices.SortStableFunc(s.Rules, func(a, b view.Rule) int { return view.ComparePaths(a.Path, b.Path) })
}

// inode is what a rule of Landlock is about: not a name.
type inode struct{ dev, ino uint64 }

// rights are what the wall lets through at a canonical path: what the rules at
// it and at all above it add up to (landlock(7)). A rule is about a file, so
// each further name of the file has it, too.
func (s *Checker) rights(path string) landlock.FS {
	files := s.FS
	if s.Beyond != nil {
		files = s.Host.FS // sbx, with all rights of the caller, opens what rules name
	}
	if s.ruled == nil {
		s.ruled, s.unmade = make(map[inode]landlock.FS), make(map[string]landlock.FS)
		for i := range s.Ruleset.Rules {
			r := &s.Ruleset.Rules[i]
			if r.Path == "" {
				continue
			}
			info, err := files.Lstat(r.Path)
			switch {
			case err != nil || info.Kind == host.Link:
			case info.Kind == host.Absent:
				s.unmade[r.Path] |= r.Allow
			case info.Kind == host.Dir:
				s.ruled[inode{info.Dev, info.Ino}] |= r.Allow
			default:
				s.ruled[inode{info.Dev, info.Ino}] |= r.Allow & landlock.OfFile
			}
		}
	}
	var sum landlock.FS
	for {
		if info, err := files.Lstat(path); err == nil && info.Kind != host.Absent {
			sum |= s.ruled[inode{info.Dev, info.Ino}]
		} else {
			sum |= s.unmade[path]
		}
		if path == "/" {
			return sum & s.Ruleset.FS
		}
		path = policy.Dir(path)
	}
}

// checkLandlock works out what may be done with what is there.
func (s *Checker) checkLandlock(a *Verdict) {
	has := s.rights(a.To)
	may := func(right landlock.FS, rwx byte) bool { return has&right != 0 && s.FS.Access(a.To, rwx) }
	switch {
	case a.Kind == host.Absent:
		a.Write = s.canCreateLandlock(a.To)
	case OwnDescriptor(a.To): // opened anew, it is the file that has the rights
		a.Read, a.Write = s.FS.Access(a.To, 'r'), s.FS.Access(a.To, 'w')
	case a.Kind == host.Dir:
		a.Read = may(landlock.ReadDir, 'r') && !Foreign(a.To)
		a.Write = may(landlock.MakeReg, 'w') && s.FS.Access(a.To, 'x')
	case a.Kind != host.Socket:
		a.Read = may(landlock.ReadFile, 'r') && !Foreign(a.To)
		a.Write = may(landlock.WriteFile, 'w')
	}
}

// canCreateLandlock reports whether something can be made at a path where nothing is.
func (s *Checker) canCreateLandlock(path string) bool {
	dir, kind := s.Nearest(path)
	return kind == host.Dir && s.rights(dir)&landlock.MakeReg != 0 && s.FS.Access(dir, 'w') && s.FS.Access(dir, 'x')
}

func OwnDescriptor(path string) bool { return strings.HasPrefix(path, "/proc/self/fd/") }

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
	return host.Digits(pid) && slices.Contains([]string{"auxv", "cwd", "environ", "exe", "fd", "fdinfo", "io", "map_files", "maps", "mem", "ns", "numa_maps", "pagemap",
		"personality", "root", "smaps", "smaps_rollup", "stack", "syscall", "timers"}, top)
}

// obstacle is what keeps a directory from being given whole: the first thing in
// it that has fewer rights.
func (s *Checker) obstacle(dir string, fewer func(*view.Rule) bool) string {
	var first *view.Rule
	n := 0
	for i := range s.Rules {
		if m := &s.Rules[i]; !m.Pinned && m.Path != dir && policy.Within(m.Path, dir) && fewer(m) {
			if n++; first == nil {
				first = m
			}
		}
	}
	if first == nil {
		return "what is in it has fewer rights"
	}
	text := policy.Plain(first.Path) + " in it is " + map[policy.Access]string{policy.Block: "hidden", policy.Private: "closed", policy.Protect: "protected", policy.Read: "read-only"}[first.Access]
	if n > 1 {
		text += " (one of " + strconv.Itoa(n) + " with fewer rights)"
	}
	return text
}

// frozen reports whether rules open a directory for writing, and Landlock could
// not let anything be made in it.
func (s *Checker) frozen(dir string) bool {
	m := s.ruleFor(dir)
	return s.zone(dir, m) == theirs && m.Access == policy.Write && s.rights(dir)&landlock.MakeReg == 0
}

func (s *Checker) explainFrozen(dir string) string {
	return s.obstacle(dir, func(m *view.Rule) bool { return m.Access != policy.Write }) + ", and Landlock cannot tell it from the rest"
}

// explainLandlock is one sentence on what is at a place.
func (s *Checker) explainLandlock(a *Verdict) string {
	z := s.zone(a.To, a.Rule)
	switch {
	case a.Kind == host.Absent && a.Seen:
		return "a link to " + policy.Plain(a.To) + ": " + s.explainClosed(a, z)
	case a.Kind == host.Absent:
		return s.explainClosed(a, z)
	case z == kernel && OwnDescriptor(a.To):
		return "what the command has open"
	case z == kernel && Foreign(a.To):
		return "memory, environment and files of a process outside, which Landlock closes"
	case z == kernel:
		return "the host's /proc, read-only: it shows all processes, but not their memory, environment and files"
	case a.Kind == host.Socket && s.Ruleset.FS&landlock.ResolveUnix == 0:
		return "Landlock here is older than version 9 and cannot tell sockets of the host from others, so there are none but pairs"
	case a.Kind == host.Socket:
		return "Landlock lets no command connect to the sockets of processes outside"
	case z == devices && (a.Read || a.Write):
		return "a harmless device, which every command has"
	case z == devices:
		return "it is there, and cannot be opened: of /dev a command has a few harmless devices and its own terminal"
	case z != theirs && (a.Read || a.Write):
		return "open, since another name of the same file is: Landlock goes by files and not by names"
	case z == nowhere:
		return "it is there, and cannot be opened: no rule opens it"
	case z == private:
		return "it is there, and cannot be opened: there is no directory of the sandbox's own in the place of " + policy.Plain(a.Rule.Path) + " without namespaces"
	case z == masked && a.To != a.Rule.Path:
		return "it is there, and cannot be opened: it lies in a hidden directory"
	case z == masked:
		return "hidden: it is there, and cannot be opened"
	}
	return s.explainOpen(a)
}

// explainOpen is about files that a rule opens.
func (s *Checker) explainOpen(a *Verdict) string {
	has := s.rights(a.To)
	switch {
	case a.Kind == host.Dir && !a.Read && has&landlock.ReadDir == 0:
		return "it cannot be listed: " + s.obstacle(a.To, func(m *view.Rule) bool { return !view.Shows(m.Access) }) + ", and Landlock cannot tell it from the rest"
	case !a.Read && has&(landlock.ReadFile|landlock.ReadDir) == 0:
		return "it is there, and cannot be opened: " + s.unnamed(a.To)
	case a.Kind == host.Dir && !a.Read:
		return s.notPermitted(a, "list it")
	case !a.Read:
		return s.notPermitted(a, "read it")
	}
	note := ""
	if up := policy.Dir(a.To); a.To != "/" && s.frozen(up) {
		note = "; it cannot be moved or removed, since " + policy.Plain(up) + " holds something protected or hidden"
	}
	switch {
	case a.Rule.Source == view.SourceRun:
		return "sbx's own, for this run: temporary files, and what tells the command which sandbox it is in"
	case a.Rule.Source == view.SourceCache:
		return "the project's private cache: it is kept for the next run, and the host's own is neither opened nor changed" + note
	case a.Write:
		return "the host's own, and it can be changed" + note
	case a.Rule.Access == policy.Write && a.Kind == host.Dir && has&landlock.MakeReg == 0:
		return "nothing can be made, removed or renamed in it: " + s.explainFrozen(a.To)
	case a.Rule.Access == policy.Write && a.Kind != host.Dir && has&landlock.WriteFile == 0:
		return "read-only: " + s.unnamed(a.To)
	case a.Rule.Access == policy.Write:
		return s.notPermitted(a, "write it") + note
	case a.Rule.Access == policy.Protect:
		return "protected: read-only in a tree that can be written"
	}
	return "the host's own, read-only"
}

// unnamed says why the wall has no rule for what the policy opens.
func (s *Checker) unnamed(path string) string {
	if dir := policy.Dir(path); !s.FS.Access(dir, 'r') {
		return "what is in " + policy.Plain(dir) + " is opened name by name, and you may not list it"
	}
	return "what is in " + policy.Plain(policy.Dir(path)) + " is opened name by name, and this was not there when the sandbox began"
}

// explainClosed says why there is nothing at a place, and whether there can be.
func (s *Checker) explainClosed(a *Verdict, z zone) string {
	dir, kind := s.Nearest(a.To)
	switch {
	case kind != host.Dir:
		return "nothing can be there: " + policy.Plain(dir) + " is not a directory"
	case a.Write:
		return "does not exist; could be created" + s.nextRun(a.To)
	case z == kernel || z == devices:
		return "does not exist"
	case s.frozen(dir):
		return "does not exist, and nothing can be made in " + policy.Plain(dir) + ": " + s.explainFrozen(dir)
	case z == theirs && a.Rule.Access == policy.Write:
		return "does not exist, and you may not create it"
	case z == theirs:
		return "does not exist, and cannot be created where everything is read-only"
	case z == masked:
		return "does not exist, and cannot be created in a directory that is hidden"
	case z == private:
		return "does not exist, and cannot be created: there is no directory of the sandbox's own in the place of " + policy.Plain(a.Rule.Path) + " without namespaces"
	}
	return "does not exist, and cannot be created where no rule opens anything"
}

// addLandlockRemedies are how to have more behind a wall, or why there is no way.
func (s *Checker) addLandlockRemedies(a *Verdict) {
	z := s.zone(a.To, a.Rule)
	full := func(to string) { a.add(Remedy{To: to, Text: FullTier}) }
	path, there := s.target(a)
	own := z == private || z == masked || z == nowhere
	switch {
	case z == kernel:
		if !a.Read || !a.Write {
			a.Fixed = "no flag opens more of /proc"
		}
		return
	case policy.Within(a.To, "/dev"):
		if !a.Read || !a.Write {
			a.Fixed = "no flag opens more of /dev"
		}
		if z == private || policy.Within(a.To, "/dev/pts") || a.To == "/dev/ptmx" {
			full("write")
		}
		return
	case z == theirs && a.Rule.Source == view.SourceRun:
		return
	case z == theirs && a.Rule.Source == view.SourceCache:
		if a.To == a.Rule.Path {
			a.add(Remedy{To: "hide", Flags: []string{"--cache", "none"}})
		}
		return
	case !there:
		switch dir, kind := s.Nearest(a.To); {
		case kind == host.Dir && (s.frozen(dir) || z == private):
			full("write")
		default:
			s.addAbsentRemedies(a)
		}
		return
	case a.Kind == host.Socket && own:
		a.add(Remedy{To: "connect", Text: FullTier + ", with -r " + policy.Plain(path)})
		return
	case a.Kind == host.Socket:
		full("connect")
		return
	case own && s.HostMay(path, 'r'):
		a.add(s.openRemedy(a, "read", "-r", path))
	case own:
		a.Fixed = OwnUser
	case a.Read:
	case !s.FS.Access(a.To, 'r'):
		a.Fixed = OwnUser
		return
	case a.Kind == host.Dir:
		full("read")
	default:
		a.add(s.openRemedy(a, "read", "-r", path))
	}
	switch {
	case a.Write:
	case s.frozen(a.To) && a.Kind == host.Dir:
		full("write")
	case !own && a.Rule.Access == policy.Write && a.Kind != host.Dir && s.rights(a.To)&landlock.WriteFile == 0 && s.HostMay(path, 'w'):
		a.add(s.openRemedy(a, "write", "-w", path))
	default:
		s.addWriteRemedies(a, path, own)
	}
	if z == private {
		full("write")
	}
	if a.Kind == host.Dir {
		for i := range a.Remedies {
			if l := &a.Remedies[i]; len(l.Flags) > 0 {
				l.Text = WholeOnly
			}
		}
	}
	if !own && s.hideable(a, path) {
		a.add(Remedy{To: "hide", Flags: []string{"--block", path}})
	}
}

// WholeOnly is what to know before opening a directory.
const WholeOnly = "opens what is in it; it can be listed if nothing in it is hidden, and changed if nothing is protected either"
