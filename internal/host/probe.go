// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strings"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Cause names what keeps a sandbox from working.
type Cause string

const (
	CauseMissing   Cause = "missing"    // no bwrap, or sandbox-exec, where one is looked for
	CauseUnsafe    Cause = "unsafe"     // only one that others could have put there
	CauseSetUID    Cause = "setuid"     // one that is set-uid root
	CauseNoExec    Cause = "no-exec"    // it cannot be executed
	CauseOld       Cause = "too-old"    // older than bwrapargs.Oldest
	CauseNotBwrap  Cause = "not-bwrap"  // a program that is not bubblewrap, or does not do what it is told
	CauseHangs     Cause = "hangs"      // no answer
	CauseBusy      Cause = "busy"       // a limit was reached, which may be otherwise in a moment
	CauseKernel    Cause = "kernel"     // a kernel without user namespaces, WSL 1
	CauseAppArmor  Cause = "apparmor"   // AppArmor restricts user namespaces
	CauseClone     Cause = "clone"      // kernel.unprivileged_userns_clone = 0
	CauseMax       Cause = "max"        // user.max_user_namespaces, or one of its sisters, is used up
	CauseProc      Cause = "proc"       // a new /proc cannot be mounted
	CauseContainer Cause = "container"  // refused inside a container
	CauseSeccomp   Cause = "seccomp"    // refused by a system call filter around this process
	CauseChroot    Cause = "chroot"     // the kernel makes no user namespaces in a chroot
	CauseRootfs    Cause = "rootfs"     // the root is the initial ramdisk
	CauseFilter    Cause = "no-seccomp" // no system call filter can be set
	CauseOther     Cause = "other"      // bwrap says why
	CauseLandlock  Cause = "landlock"   // asked for by name, and not there
	CauseNested    Cause = "nested"     // inside another sandbox of macOS
	CauseToothless Cause = "no-walls"   // sandbox-exec does not keep a command from what a profile denies
	CauseSystem    Cause = "no-backend" // not a system that sbx supports
)

// Unavailable says why there is no sandbox on this host.
type Unavailable struct {
	Cause  Cause
	Reason string   // one line for "Sandbox unavailable: REASON."
	Hints  []string // what to do, best first
}

func (u *Unavailable) Error() string { return u.Reason }

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
		for _, w := range words {
			if strings.Contains(said, w) {
				return true
			}
		}
		return false
	}
	denied := says("namespace", "uid map", "gid map", "setgroups", "RTM_NEWADDR", "not permitted", "Permission denied")
	refused := says("new namespace", "creating new namespace") // by clone(2) itself, not later
	switch {
	case says("does not support user namespaces") || f.WSL == 1:
		return &Unavailable{CauseKernel, "this kernel has no user namespaces", kernelHints(f)}
	case strings.Contains(stderr, "Unable to set up system call filtering") || strings.Contains(stderr, "prctl(PR_SET_SECCOMP)"):
		return &Unavailable{CauseFilter, "no system call filter can be set here (seccomp)", filterHints(f)}
	case says("No space left on device", "ENOSPC") || denied && refused && (isSmall(f.MaxUserns) || f.Spent != ""):
		return &Unavailable{CauseMax, "no further " + spentName(f) + " is allowed here (" + spentSetting(f) + ")", maxHints(f)}
	case says("mount proc"):
		return &Unavailable{CauseProc, "a new /proc cannot be mounted here" + in(f.Container), procHints(f)}
	case refused && f.UsernsClone == "0" && !f.Root:
		return &Unavailable{CauseClone, "user namespaces are off for users (kernel.unprivileged_userns_clone = 0)", cloneHints(f)}
	case denied && f.Chroot:
		return &Unavailable{CauseChroot, "the kernel makes no user namespaces in a chroot", []string{"run sbx outside of the chroot; who makes it can use pivot_root(2) or switch_root(8) in its place"}}
	case denied && f.AppArmor == "1" && !f.Root && !(refused && f.Filtered):
		return &Unavailable{CauseAppArmor, "AppArmor does not let bwrap make user namespaces (kernel.apparmor_restrict_unprivileged_userns = 1)", appArmorHints(f, path)}
	case denied && f.Container != "":
		return &Unavailable{CauseContainer, "this " + f.Container + " container does not allow " + wall(refused), containerHints(f)}
	case denied && (f.Filtered || f.Confined != ""):
		return &Unavailable{CauseSeccomp, whoFilters(f) + " does not allow " + wall(refused), seccompHints(f)}
	case says("pivot_root: Invalid argument"):
		return &Unavailable{CauseRootfs, "the root file system is the initial ramdisk, which bwrap cannot leave (pivot_root)",
			[]string{"start the system from a disk or a tmpfs with switch_root"}}
	case denied:
		if refused { // what bwrap supposes, and where to read more, is not so here
			said, _, _ = strings.Cut(said, ", likely because ")
		}
		return &Unavailable{CauseOther, "bwrap may not make namespaces: " + said, deniedHints(f)}
	}
	return &Unavailable{CauseOther, "bwrap does not work here: " + said, []string{"run it by hand: " + text.Plain(path) + " --unshare-user --ro-bind / / true"}}
}

// wall is what was refused: the namespaces themselves, or what comes after.
func wall(refused bool) string {
	if refused {
		return "user namespaces"
	}
	return "what bwrap does in its namespaces"
}

func whoFilters(f Diagnostics) string {
	switch {
	case f.Confined != "":
		return f.Confined
	case f.Unit != "":
		return "the service " + f.Unit
	}
	return "a system call filter around this process"
}

func spentName(f Diagnostics) string {
	if f.Spent != "" && !isSmall(f.MaxUserns) {
		return strings.TrimSuffix(strings.TrimPrefix(f.Spent, "user.max_"), "_namespaces") + " namespace"
	}
	return "user namespace"
}

func spentSetting(f Diagnostics) string {
	if f.Spent != "" && !isSmall(f.MaxUserns) {
		return f.Spent + " = 0"
	}
	return "user.max_user_namespaces = " + orUnknown(f.MaxUserns)
}

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
	return OneLine(strings.ToValidUTF8(s, "?"))
}

// withoutName is a line of bwrap's without "bwrap: ".
func withoutName(s string) string {
	for cut := true; cut; {
		s, cut = strings.CutPrefix(strings.TrimSpace(s), "bwrap:")
	}
	return s
}

func isSmall(max string) bool { return max == "0" || max == "1" }

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func in(container string) string {
	if container == "" {
		return ""
	}
	return " (" + container + ")"
}

// missing is the diagnosis when no bwrap was found.
func missing(f Diagnostics) *Unavailable {
	return &Unavailable{CauseMissing, "bubblewrap (bwrap) is not installed", installHints(f)}
}

func tooOld(f Diagnostics, v bwrapargs.Version, path string) *Unavailable {
	return &Unavailable{CauseOld, text.Plain(path) + " is version " + v.String() + "; sbx needs " + bwrapargs.Oldest.String() + " or newer",
		append(installHints(f), "a release of the distribution that has a newer one: Debian 11, Ubuntu 20.04, RHEL 8 and what came later")}
}
