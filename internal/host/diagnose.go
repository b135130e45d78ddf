// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Cause names what keeps a sandbox from working.
type Cause string

const (
	CauseMissing   Cause = "missing"    // no bwrap, or sandbox-exec, where one is looked for
	causeUnsafe    Cause = "unsafe"     // only one that others could have put there
	causeSetUID    Cause = "setuid"     // one that is set-uid root
	causeNoExec    Cause = "no-exec"    // it cannot be executed
	causeOld       Cause = "too-old"    // older than bwrapargs.Oldest
	causeNotBwrap  Cause = "not-bwrap"  // a program that is not bubblewrap, or does not do what it is told
	CauseHangs     Cause = "hangs"      // no answer
	CauseBusy      Cause = "busy"       // a limit was reached, which may be otherwise in a moment
	causeKernel    Cause = "kernel"     // a kernel without user namespaces, WSL 1
	causeAppArmor  Cause = "apparmor"   // AppArmor restricts user namespaces
	causeClone     Cause = "clone"      // kernel.unprivileged_userns_clone = 0
	causeMax       Cause = "max"        // user.max_user_namespaces, or one of its sisters, is used up
	causeProc      Cause = "proc"       // a new /proc cannot be mounted
	causeContainer Cause = "container"  // refused inside a container
	causeSeccomp   Cause = "seccomp"    // refused by a system call filter around this process
	causeChroot    Cause = "chroot"     // the kernel makes no user namespaces in a chroot
	causeRootfs    Cause = "rootfs"     // the root is the initial ramdisk
	causeFilter    Cause = "no-seccomp" // no system call filter can be set
	causeOther     Cause = "other"      // bwrap says why
	causeLandlock  Cause = "landlock"   // asked for by name, and not there
	CauseNested    Cause = "nested"     // inside another sandbox of macOS
	causeToothless Cause = "no-walls"   // sandbox-exec does not keep a command from what a profile denies
	CauseSystem    Cause = "no-backend" // not a system that sbx supports
)

// Unavailable says why there is no sandbox on this host.
type Unavailable struct {
	Cause  Cause
	Reason string   // one line for "Sandbox unavailable: REASON."
	Hints  []string // what to do, best first
}

func (u *Unavailable) Error() string { return u.Reason }

// Lift says what gives a run with Landlock all that bwrap gives. u is nil when no one
// asked for bwrap.
func (u *Unavailable) Lift() string {
	switch {
	case u == nil:
		return "--engine bwrap lifts that"
	case len(u.Hints) == 0:
		return "sbx doctor says what lifts that"
	}
	return "to lift that: " + u.Hints[0]
}

// Fix is the command that does what is missing, "" when that is for a person to decide:
// a setting for every program, or something outside of the container.
func (u *Unavailable) Fix(root bool) string {
	if len(u.Hints) == 0 || u.Cause != CauseMissing && u.Cause != causeAppArmor && u.Cause != causeOld {
		return ""
	}
	line := u.Hints[0]
	first, _, _ := strings.Cut(line, " ")
	known := first == "sudo" || first == "doas" || root && (slices.Contains([]string{"apparmor_parser", "install"}, first) ||
		slices.ContainsFunc(managers, func(m struct{ ids, line string }) bool {
			return strings.Contains(m.line, "sudo "+first+" ") || strings.Contains(m.line, "doas "+first+" ")
		}))
	if !known || strings.Contains(line, "sysctl") {
		return ""
	}
	return line
}

// Diagnostics are what the diagnosis of a failed probe looks at. They choose words
// and hints; nothing is allowed or refused by them.
type Diagnostics struct {
	Distro    string // ID and ID_LIKE of os-release(5), separated by spaces
	Release   string // VERSION_ID of it
	Root      bool
	Container string // docker, podman, kubernetes, lxc, … or ""
	Confined  string // flatpak, snap, firejail: what is around this process beside containers
	Unit      string // the service of systemd that this process belongs to
	CI        string // github, gitlab

	AppArmor    string // kernel.apparmor_restrict_unprivileged_userns, "" when absent
	UsernsClone string // kernel.unprivileged_userns_clone
	MaxUserns   string // user.max_user_namespaces
	Spent       string // another sysctl user.max_*_namespaces that is 0

	WSL      int    // 1, 2, or 0 for none
	Profile  string // file of the AppArmor profile for bwrap, "" when there is none
	Userns   bool   // in a user namespace that is not the first
	Filtered bool   // a system call filter is in force
	Chroot   bool   // as far as can be seen
	Landlock int    // version of the interface, 0 for none
	Seccomp  bool   // the kernel has system call filters, and they can be set here

	MacOS      string // version of macOS, "" elsewhere
	Translated bool   // made for another processor, and run all the same (Rosetta)
}

// diagnose turns what bwrap wrote when the probe failed into a reason and a
// remedy.
func diagnose(f Diagnostics, path, stderr string) *Unavailable {
	said := lastLine(stderr)
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(said, w) })
	}
	denied := says("namespace", "uid map", "gid map", "setgroups", "RTM_NEWADDR", "not permitted", "Permission denied")
	refused := says("new namespace", "creating new namespace") // by clone(2) itself, not later
	wall := " does not allow what bwrap does in its namespaces"
	if refused {
		wall = " does not allow user namespaces"
	}
	setting, allowed := f.spent()
	switch {
	case says("does not support user namespaces") || f.WSL == 1:
		return f.unavailable(causeKernel, path, "this kernel has no user namespaces")
	case strings.Contains(stderr, "Unable to set up system call filtering") ||
		strings.Contains(stderr, "prctl(PR_SET_SECCOMP)"):
		return f.unavailable(causeFilter, path, "no system call filter can be set here (seccomp)")
	case says("No space left on device", "ENOSPC") || denied && refused && isSmall(allowed):
		kind := strings.TrimSuffix(strings.TrimPrefix(setting, "user.max_"), "_namespaces")
		return f.unavailable(causeMax, path,
			"no further "+kind+" namespace is allowed here ("+setting+" = "+allowed+")")
	case says("mount proc") && f.Container != "":
		return f.unavailable(causeProc, path, "a new /proc cannot be mounted here ("+f.Container+")")
	case says("mount proc"):
		return f.unavailable(causeProc, path, "a new /proc cannot be mounted here")
	case refused && f.UsernsClone == "0" && !f.Root:
		return f.unavailable(causeClone, path,
			"user namespaces are off for users (kernel.unprivileged_userns_clone = 0)")
	case denied && f.Chroot:
		return f.unavailable(causeChroot, path, "the kernel makes no user namespaces in a chroot")
	case denied && f.AppArmor == "1" && !f.Root && !(refused && f.Filtered):
		return f.unavailable(causeAppArmor, path,
			"AppArmor does not let bwrap make user namespaces (kernel.apparmor_restrict_unprivileged_userns = 1)")
	case denied && f.Container != "":
		return f.unavailable(causeContainer, path, "this "+f.Container+" container"+wall)
	case denied && f.Confined != "":
		return f.unavailable(causeSeccomp, path, f.Confined+wall)
	case denied && f.Filtered && f.Unit != "":
		return f.unavailable(causeSeccomp, path, "the service "+f.Unit+wall)
	case denied && f.Filtered:
		return f.unavailable(causeSeccomp, path, "a system call filter around this process"+wall)
	case says("pivot_root: Invalid argument"):
		return f.unavailable(causeRootfs, path,
			"the root file system is the initial ramdisk, which bwrap cannot leave (pivot_root)")
	case denied:
		if refused { // what bwrap supposes, and where to read more, is not so here
			said, _, _ = strings.Cut(said, ", likely because ")
		}
		return f.unavailable(causeOther, path, "bwrap may not make namespaces: "+said)
	}
	return &Unavailable{causeOther, "bwrap does not work here: " + said, f.remedies("by-hand", path)}
}

// spent is the setting that limits namespaces, and what it allows.
func (f Diagnostics) spent() (setting, allowed string) {
	if f.Spent != "" && !isSmall(f.MaxUserns) {
		return f.Spent, "0"
	}
	return "user.max_user_namespaces", cmp.Or(f.MaxUserns, "unknown")
}

func isSmall(max string) bool { return max == "0" || max == "1" }

// lastLine is the last line with something in it. Two processes of bwrap may
// fail at one time, and one be killed after its "bwrap: ".
func lastLine(text string) string {
	lines, s := strings.Split(text, "\n"), ""
	for i := len(lines) - 1; i >= 0 && s == ""; i-- {
		s = withoutName(lines[i])
	}
	s = strings.TrimRight(s, ".")
	if s == "" {
		return "it failed without a word"
	}
	if len(s) > 200 {
		s = s[:200]
	}
	return OneLine(s)
}

// withoutName is a line of bwrap's without "bwrap: ".
func withoutName(s string) string {
	for cut := true; cut; {
		s, cut = strings.CutPrefix(strings.TrimSpace(s), "bwrap:")
	}
	return s
}

// missing is the diagnosis when no bwrap was found.
func missing(f Diagnostics) *Unavailable {
	return f.unavailable(CauseMissing, "", "bubblewrap (bwrap) is not installed")
}

func tooOld(f Diagnostics, v bwrapargs.Version, path string) *Unavailable {
	return f.unavailable(causeOld, path,
		text.Plain(path)+" is version "+v.String()+"; sbx needs "+bwrapargs.Oldest.String()+" or newer")
}

// SetupFailure is the error for a bwrap that gave up before the command was
// there, by what it wrote.
func SetupFailure(said string) *Error {
	// What came later may follow from what came first.
	first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	reason := withoutName(first)
	e := &Error{StatusFailed, "Failed to initialize sandbox: " + reason, "sbx doctor tries what bwrap can do here"}
	scarce := []string{"Resource temporarily unavailable", "Cannot allocate memory", "Too many open files",
		"Too many users", "No space left on device"}
	dir, chdir := strings.CutPrefix(reason, "Can't chdir to ")
	dir, denied := strings.CutSuffix(dir, ": Permission denied")
	switch {
	case chdir && denied:
		e.Text = "the working directory " + dir + " may not be entered in a sandbox, where root is bound by modes and owners"
		e.Hint = "run sbx as its owner, without sudo, or chmod u+rwx " + text.ShellWord(dir)
	case strings.Contains(reason, "No such file or directory"),
		strings.HasSuffix(reason, "Read-only file system"): // the place of a mask is gone
		e.Hint = "it was removed or renamed on the host while the sandbox was being set up; run it again"
	case slices.ContainsFunc(scarce, func(s string) bool { return strings.Contains(reason, s) }):
		e.Hint = "run it" + again
	default:
		if u := diagnose(GatherDiagnostics(os.Environ()), "bwrap", first); u.Cause != causeOther {
			e.Hint = u.Hints[0]
		}
	}
	return e
}
