package wrap

import (
	"strings"

	"github.com/sbx-sandbox/sbx/bwrapargs"
)

// Cause names what keeps a sandbox from working.
type Cause string

const (
	CauseMissing   Cause = "missing"    // no bwrap where one is looked for
	CauseUnsafe    Cause = "unsafe"     // only one that others could have put there
	CauseNoExec    Cause = "no-exec"    // it cannot be executed
	CauseOld       Cause = "too-old"    // older than bwrapargs.Oldest
	CauseAppArmor  Cause = "apparmor"   // AppArmor restricts user namespaces
	CauseClone     Cause = "clone"      // kernel.unprivileged_userns_clone = 0
	CauseMax       Cause = "max"        // user.max_user_namespaces is too small
	CauseProc      Cause = "proc"       // a new /proc cannot be mounted
	CauseContainer Cause = "container"  // refused inside a container
	CauseOther     Cause = "other"      // bwrap says why
	CauseLandlock  Cause = "landlock"   // asked for by name, and not there
	CauseSystem    Cause = "no-backend" // not a system that sbx supports
)

// Unavailable says why there is no sandbox on this host.
type Unavailable struct {
	Cause  Cause
	Reason string   // one line for "Sandbox unavailable: REASON."
	Hints  []string // what to do, best first
}

func (u *Unavailable) Error() string { return u.Reason }

// Facts are what the diagnosis of a failed probe looks at.
type Facts struct {
	Distro      string // ID and ID_LIKE of os-release(5), separated by spaces
	Root        bool
	Container   string // docker, podman, kubernetes, lxc, … or ""
	AppArmor    string // kernel.apparmor_restrict_unprivileged_userns, "" when absent
	UsernsClone string // kernel.unprivileged_userns_clone
	MaxUserns   string // user.max_user_namespaces
	WSL         bool
	Profile     bool // AppArmor has a profile for bwrap
}

// diagnose turns what bwrap wrote when the probe failed into a reason and a
// remedy.
func diagnose(f Facts, path, stderr string) *Unavailable {
	said := lastLine(stderr)
	denied := strings.Contains(said, "namespace") || strings.Contains(said, "uid map") || strings.Contains(said, "gid map") ||
		strings.Contains(said, "setgroups") || strings.Contains(said, "RTM_NEWADDR") || strings.Contains(said, "not permitted") || strings.Contains(said, "Permission denied")
	switch {
	case denied && !f.Root && f.AppArmor == "1":
		return &Unavailable{CauseAppArmor, "AppArmor does not let bwrap make user namespaces (kernel.apparmor_restrict_unprivileged_userns = 1)", appArmorHints(f, path)}
	case denied && f.UsernsClone == "0" && !f.Root:
		return &Unavailable{CauseClone, "user namespaces are off for users (kernel.unprivileged_userns_clone = 0)",
			[]string{"sudo sysctl -w kernel.unprivileged_userns_clone=1, and the same line in /etc/sysctl.d/ to keep it"}}
	case strings.Contains(said, "No space left on device") || strings.Contains(said, "ENOSPC") || denied && isSmall(f.MaxUserns):
		return &Unavailable{CauseMax, "no further user namespace is allowed here (user.max_user_namespaces = " + orUnknown(f.MaxUserns) + ")", maxHints(f)}
	case strings.Contains(said, "mount proc"):
		return &Unavailable{CauseProc, "a new /proc cannot be mounted here" + in(f.Container), procHints(f)}
	case denied && f.Container != "":
		return &Unavailable{CauseContainer, "this " + f.Container + " container does not allow user namespaces", containerHints(f)}
	case denied:
		return &Unavailable{CauseOther, "bwrap may not make namespaces: " + said, []string{"sbx doctor says what was tried"}}
	}
	return &Unavailable{CauseOther, "bwrap does not work here: " + said, []string{"run it by hand: " + path + " --unshare-user --ro-bind / / true"}}
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	s = strings.TrimPrefix(s, "bwrap: ")
	if s == "" {
		return "it failed without a word"
	}
	if len(s) > 200 {
		s = s[:200]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
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

// InstallHint is the line that installs bubblewrap with the system's own
// package manager. distro is ID and ID_LIKE of os-release(5).
func InstallHint(distro string) string {
	for _, word := range strings.Fields(distro) {
		for _, m := range managers {
			if strings.Contains(" "+m.ids+" ", " "+word+" ") {
				return m.line
			}
		}
	}
	return "install the package bubblewrap with your package manager"
}

var managers = []struct{ ids, line string }{
	{"debian ubuntu linuxmint pop raspbian kali devuan elementary zorin", "sudo apt-get install bubblewrap"},
	{"fedora rhel centos rocky almalinux ol amzn mageia", "sudo dnf install bubblewrap"},
	{"arch manjaro endeavouros cachyos artix", "sudo pacman -S bubblewrap"},
	{"alpine postmarketos", "doas apk add bubblewrap"},
	{"opensuse suse opensuse-leap opensuse-tumbleweed sles", "sudo zypper install bubblewrap"},
	{"nixos", "add pkgs.bubblewrap to environment.systemPackages"},
	{"void", "sudo xbps-install bubblewrap"},
	{"gentoo", "sudo emerge sys-apps/bubblewrap"},
	{"guix", "guix install bubblewrap"},
	{"solus", "sudo eopkg install bubblewrap"},
	{"clear-linux-os", "sudo swupd bundle-add bubblewrap"},
}

func appArmorHints(f Facts, path string) []string {
	hints := []string{}
	if strings.Contains(f.Distro, "ubuntu") || strings.Contains(f.Distro, "debian") {
		hints = append(hints, "sudo apt-get install apparmor-profiles && sudo ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict")
	}
	return append(hints,
		"the profile is for /usr/bin/bwrap; sbx found "+path,
		"leave kernel.apparmor_restrict_unprivileged_userns as it is: turning it off opens user namespaces to every program")
}

func maxHints(f Facts) []string {
	if f.Container != "" {
		return append(containerHints(f), "on the host: sudo sysctl -w user.max_user_namespaces=15000")
	}
	return []string{"sudo sysctl -w user.max_user_namespaces=15000, and the same line in /etc/sysctl.d/ to keep it",
		"inside another sandbox there may be no more namespaces on purpose"}
}

func procHints(f Facts) []string {
	switch f.Container {
	case "docker":
		return []string{"docker run --security-opt systempaths=unconfined --security-opt seccomp=unconfined … (the container itself is then less closed)"}
	case "podman":
		return []string{"podman run --security-opt unmask=ALL …"}
	case "kubernetes":
		return []string{"spec.hostUsers: false and securityContext.procMount: Unmasked (Kubernetes 1.33 or newer)"}
	}
	return []string{"/proc of this host is partly covered by other mounts, so the kernel refuses a new one in a user namespace"}
}

func containerHints(f Facts) []string {
	switch f.Container {
	case "docker":
		return []string{"docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined … (the container itself is then less closed)"}
	case "podman":
		return []string{"podman run --security-opt seccomp=unconfined --security-opt unmask=ALL …"}
	case "kubernetes":
		return []string{"spec.hostUsers: false and securityContext: {procMount: Unmasked, seccompProfile: {type: Unconfined}}"}
	}
	return []string{"allow user namespaces in the settings of the container"}
}

// missing is the diagnosis when no bwrap was found.
func missing(f Facts) *Unavailable {
	return &Unavailable{CauseMissing, "bubblewrap (bwrap) is not installed", []string{InstallHint(f.Distro)}}
}

func tooOld(f Facts, v bwrapargs.Version, path string) *Unavailable {
	return &Unavailable{CauseOld, path + " is version " + v.String() + "; sbx needs " + bwrapargs.Oldest.String() + " or newer", []string{InstallHint(f.Distro)}}
}
