// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/text"
)

// Remedies: one line each, best first, ready to paste. What takes a wall away
// from the host or the container says so. None turns a wall off for every
// program where another way is known.

// installHint is the line that installs bubblewrap with the system's own
// package manager. distro is ID and ID_LIKE of os-release(5).
func installHint(distro string) string {
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

// Install is installHint for who asks: root has no need of sudo.
func (f Diagnostics) Install() string { return asRoot(f, installHint(f.Distro)) }

func installHints(f Diagnostics) []string {
	hints := []string{f.Install()}
	if f.Container != "" {
		hints = append(hints, "better in the image of the container")
	}
	return hints
}

// asRoot takes sudo out of a line for someone who is root already: images of
// containers seldom have it.
func asRoot(f Diagnostics, line string) string {
	if f.Root {
		line = strings.NewReplacer("sudo ", "", "doas ", "").Replace(line)
	}
	return line
}

func kernelHints(f Diagnostics) []string {
	if f.WSL == 1 {
		return []string{"in PowerShell: wsl --list --verbose, then wsl --set-version NAME 2 (WSL 1 has no namespaces)"}
	}
	return []string{"a kernel with CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS, CONFIG_IPC_NS and CONFIG_UTS_NS; zgrep _NS= /proc/config.gz shows them"}
}

func filterHints(f Diagnostics) []string {
	if f.Container != "" || f.Filtered {
		return []string{"let seccomp(2) and prctl(2) through in the system call filter of the container or service"}
	}
	return []string{"a kernel with CONFIG_SECCOMP_FILTER; zgrep SECCOMP /proc/config.gz shows it"}
}

const (
	profileFile  = "/etc/apparmor.d/bwrap-userns-restrict"
	profileExtra = "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict"
	loadProfile  = "sudo apparmor_parser -r " + profileFile
)

// appArmorHints lead to the distribution's own profile for bwrap: it gives the
// namespaces to bwrap and takes them from what bwrap starts.
func appArmorHints(f Diagnostics, path string) []string {
	ubuntu := strings.Contains(" "+f.Distro+" ", " ubuntu ")
	get := "sudo apt-get install apparmor-profiles && sudo install -m 644 " + profileExtra + " /etc/apparmor.d/ && " + loadProfile
	var hints []string
	switch {
	case f.Profile != "":
		hints = append(hints, "sudo apparmor_parser -r "+f.Profile)
	case f.CI == "github":
		hints = append(hints, "a step before: - run: sudo apt-get update && sudo apt-get install -y bubblewrap apparmor-profiles && sudo install -m 644 "+profileExtra+" /etc/apparmor.d/ && "+loadProfile)
	case ubuntu && !older(f.Release, "25.04"):
		hints = append(hints, "sudo apt-get install --reinstall -o Dpkg::Options::=--force-confmiss apparmor && "+loadProfile)
	case ubuntu || strings.Contains(f.Distro, "debian"):
		hints = append(hints, get)
	default:
		hints = append(hints, "load AppArmor's own profile bwrap-userns-restrict (profiles/apparmor/profiles/extras in its source): "+loadProfile)
	}
	if f.Container != "" {
		hints[0] = "on the host of the container: " + hints[0]
		hints = append(hints, containerHints(f)...)
	}
	if path != "/usr/bin/bwrap" {
		hints = append(hints, "the profile is for /usr/bin/bwrap, and sbx found "+text.Plain(path)+": "+installHint(f.Distro))
	}
	for i := range hints {
		hints[i] = asRoot(f, hints[i])
	}
	return append(hints, "leave kernel.apparmor_restrict_unprivileged_userns as it is: 0 opens user namespaces to every program")
}

// older compares releases like 24.04; what is no number is older.
func older(release, than string) bool {
	a, err := strconv.ParseFloat(release, 64)
	b, _ := strconv.ParseFloat(than, 64)
	return err != nil || a < b
}

func cloneHints(f Diagnostics) []string {
	line := "sudo sysctl -w kernel.unprivileged_userns_clone=1 && echo kernel.unprivileged_userns_clone=1 | sudo tee /etc/sysctl.d/60-userns.conf (for every program, as most distributions have it)"
	if strings.Contains(f.Distro, "nixos") {
		line = "security.unprivilegedUsernsClone = true; in configuration.nix (for every program, as most distributions have it)"
	}
	if f.Container != "" {
		line = "on the host: " + line
	}
	return []string{asRoot(f, line)}
}

func maxHints(f Diagnostics) []string {
	name := "user.max_user_namespaces"
	none := isSmall(f.MaxUserns)
	if f.Spent != "" && !none {
		name, none = f.Spent, true
	}
	line := "sudo sysctl -w " + name + "=15000 && echo " + name + "=15000 | sudo tee /etc/sysctl.d/60-userns.conf"
	if strings.Contains(f.Distro, "nixos") {
		line = `boot.kernel.sysctl."` + name + `" = 15000; in configuration.nix`
	}
	const outside = "run sbx outside of the sandbox that is around this"
	switch {
	case !none:
		hints := []string{"all that " + name + " allows exist, or they are nested 32 deep: lsns --type user shows who has them"}
		if f.Userns && f.Container == "" {
			hints = append(hints, outside)
		}
		return hints
	case f.Userns && f.Container == "":
		return []string{outside + ": it allows none inside, on purpose as a rule"}
	case f.Container != "":
		return append([]string{"on the host: " + line}, containerHints(f)...)
	}
	return []string{asRoot(f, line), "grep -rs " + name + " /etc/sysctl.conf /etc/sysctl.d /usr/lib/sysctl.d shows who set it (hardening guides do)"}
}

// seccompFile is how to make Docker's own filter let bwrap through: the list of
// calls is what the default, as of 2026, refuses and bwrap makes.
const seccompFile = `sbx-seccomp.json is default.json, the filter of your version of Docker, ` +
	`with one more element in its list "syscalls": ` +
	`{"names":["clone","unshare","mount","umount2","pivot_root"],"action":"SCMP_ACT_ALLOW"}`

const (
	kubernetesLine = "spec: {hostUsers: false}, and in the container's securityContext: " +
		"{procMount: Unmasked, seccompProfile: {type: Localhost, localhostProfile: sbx-seccomp.json}, " +
		"appArmorProfile: {type: Unconfined}} " +
		"(Kubernetes 1.33 or newer; hostUsers: false keeps its root from being the node's)"
	kubernetesPod = "Pod Security refuses procMount: Unmasked below privileged: " +
		"kubectl label namespace NAME pod-security.kubernetes.io/enforce=privileged (for all its pods)"
	gitlabLine = "GitLab, docker executor: security_opt cannot uncover /proc; use a shell, instance or " +
		"Kubernetes executor (privileged = true in [runners.docker] works, and opens the host to every job)"
	crostiniLine = "in crosh (Ctrl+Alt+T): vsh termina, then " +
		"lxc config set penguin security.nesting true && lxc restart penguin"
	nspawnLine = "systemd-nspawn covers parts of /proc: in the container, as root, " +
		"mount -t proc proc /mnt once before sbx (what is covered can then be seen there)"
	podmanSELinux = "on a host with SELinux also --security-opt label=disable (takes SELinux's protection from the container)"
)

var lxcLines = []string{
	"LXD: lxc config set NAME security.nesting true && lxc restart NAME; " +
		"Incus: incus config set NAME security.nesting=true && incus restart NAME",
	"Proxmox: pct set ID --features nesting=1 && pct reboot ID; " +
		"LXC: lxc.include = /usr/share/lxc/config/nesting.conf in the container's config",
}

// container is a kind of container, with what lets a process in it have a new /proc,
// and what lets it have user namespaces besides.
type container struct {
	name             string
	proc, namespaces []string
}

// containers are the kinds that are known, and last what is said of any other.
var containers = [...]container{
	{"docker",
		[]string{"docker run --security-opt systempaths=unconfined … " +
			"(uncovers /proc for the container: run it as a plain user, rootless, or with userns-remap)"},
		[]string{"docker run --security-opt seccomp=sbx-seccomp.json --security-opt apparmor=unconfined " +
			"--security-opt systempaths=unconfined … " +
			"(the container itself is then less closed: run it as a plain user, or rootless)",
			seccompFile,
			"seccomp=unconfined works in its place and opens every system call"},
	},
	{"docker on gitlab", []string{gitlabLine}, []string{gitlabLine}},
	{"podman",
		[]string{"podman run --security-opt unmask=ALL … " +
			"(uncovers /proc for the container, which rootless Podman keeps from the host's root)", podmanSELinux},
		[]string{"podman run --security-opt unmask=ALL … (Podman's own filter allows user namespaces)", podmanSELinux},
	},
	{"kubernetes",
		[]string{kubernetesLine, kubernetesPod},
		[]string{kubernetesLine, seccompFile + " (in the kubelet's seccomp directory; " +
			"type: Unconfined works in its place and opens every system call)", kubernetesPod},
	},
	{"crostini", []string{crostiniLine}, []string{crostiniLine}},
	{"lxc", lxcLines, lxcLines},
	{"lxd", lxcLines, lxcLines},
	{"incus", lxcLines, lxcLines},
	{"systemd-nspawn", []string{nspawnLine}, []string{nspawnLine}},
	{"other",
		[]string{"uncover /proc in the settings of the container"},
		[]string{"allow user namespaces, mounts and a new /proc in the settings of the container"},
	},
}

func containerOf(f Diagnostics) container {
	name := f.Container
	if name == "docker" && f.CI == "gitlab" {
		name = "docker on gitlab"
	}
	for _, c := range containers {
		if c.name == name {
			return c
		}
	}
	return containers[len(containers)-1]
}

func containerHints(f Diagnostics) []string { return containerOf(f).namespaces }

func procHints(f Diagnostics) []string {
	switch {
	case f.Container != "":
		return containerOf(f).proc
	case f.Unit != "":
		return []string{asRoot(f, "sudo systemctl edit "+f.Unit+", and below [Service]: ProtectKernelTunables=no, "+
			"ProtectKernelLogs=no, ProcSubset=all, ProtectProc=default (opens /proc to the service)")}
	}
	return []string{"something is mounted over parts of /proc, so the kernel gives a user namespace no new one; " +
		"grep ' /proc/' /proc/self/mountinfo shows what",
		"run sbx outside of what mounted it (a container, a sandbox, a service)"}
}

// seccompHints are for a filter that no container brought.
func seccompHints(f Diagnostics) []string {
	switch f.Confined {
	case "flatpak":
		return []string{"run sbx on the host: flatpak-spawn --host sbx -- CMD " +
			"(the app needs --talk-name=org.freedesktop.Flatpak, which lets it out altogether)",
			"or install the program that calls sbx outside of Flatpak"}
	case "snap":
		return []string{"install the program that calls sbx as a classic snap (snap install --classic NAME), " +
			"or not as a snap"}
	case "firejail":
		return []string{"start the program without firejail, or with firejail --ignore=seccomp " +
			"--ignore=restrict-namespaces --ignore=caps.drop --ignore=nonewprivs"}
	}
	if f.Unit != "" {
		return []string{asRoot(f, "sudo systemctl edit "+f.Unit+", and below [Service]: RestrictNamespaces=no; "+
			"SystemCallFilter= has to allow @mount as well (the service can then make namespaces)")}
	}
	return []string{
		"run sbx outside of what set the filter (a service of systemd, an editor's or an agent's own sandbox)",
		"grep Seccomp /proc/self/status shows that there is one"}
}

func deniedHints(f Diagnostics) []string {
	hints := []string{}
	if strings.Contains(" "+f.Distro+" ", " fedora ") || strings.Contains(f.Distro, "rhel") || strings.Contains(f.Distro, "suse") {
		hints = append(hints, asRoot(f, "SELinux may be the reason: sudo ausearch -m avc,user_avc -ts recent"))
	}
	if !f.Root {
		hints = append(hints, "a chroot around this process has the same effect; outside of it sbx works")
	}
	return append(hints, "the kernel's log may say who refused: "+asRoot(f, "sudo dmesg | tail"))
}
