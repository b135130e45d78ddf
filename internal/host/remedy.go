// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// remedy is one line of what to do, ready to paste. What takes a wall away from the
// host or the container says so. None turns a wall off for every program where
// another way is known.
type remedy struct {
	cause Cause  // or another key
	when  string // words that hold of this machine (see [Diagnostics.words]), or with a "!" do not
	line  string // "@" and a key stand for the remedies under that
}

const (
	profileFile  = "/etc/apparmor.d/bwrap-userns-restrict"
	profileExtra = "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict"
	loadProfile  = "{sudo}apparmor_parser -r " + profileFile
	copyProfile  = "{sudo}install -m 644 " + profileExtra + " /etc/apparmor.d/ && " + loadProfile

	setMax   = "sysctl -w {setting}=15000 && echo {setting}=15000 | "
	nixosMax = `boot.kernel.sysctl."{setting}" = 15000; in configuration.nix`
	outside  = "run sbx outside of the sandbox that is around this"
	forAll   = " (for every program, as most distributions have it)"

	// How to make Docker's own filter let bwrap through: the list of calls is what
	// the default, as of 2026, refuses and bwrap makes.
	seccompFile = `sbx-seccomp.json is default.json, the filter of your version of Docker, ` +
		`with one more element in its list "syscalls": ` +
		`{"names":["clone","unshare","mount","umount2","pivot_root"],"action":"SCMP_ACT_ALLOW"}`
	kubernetesLine = "spec: {hostUsers: false}, and in the container's securityContext: " +
		"{procMount: Unmasked, seccompProfile: {type: Localhost, localhostProfile: sbx-seccomp.json}, " +
		"appArmorProfile: {type: Unconfined}} " +
		"(Kubernetes 1.33 or newer; hostUsers: false keeps its root from being the node's)"
	kubernetesPod = "Pod Security refuses procMount: Unmasked below privileged: " +
		"kubectl label namespace NAME pod-security.kubernetes.io/enforce=privileged (for all its pods)"
	podmanSELinux = "on a host with SELinux also --security-opt label=disable (takes SELinux's protection from the container)"
)

// remedies by cause, or by another key that leads to them, best first.
var remedies = []remedy{
	{CauseMissing, "", "{install}"},
	{CauseMissing, "container", "better in the image of the container"},
	{causeOld, "", "@missing"},
	{causeOld, "", "a release of the distribution that has a newer one: Debian 11, Ubuntu 20.04, RHEL 8 and what came later"},
	{causeNotBwrap, "", "move it away"},
	{causeNotBwrap, "", "@missing"},
	{"unmapped", "", "inside another sandbox there is no second one; run sbx outside of it"},
	{causeUnsafe, "", "install bubblewrap in /usr/bin, or: chown root {path} && chmod go-w {path} {dir}"},
	{causeSetUID, "", "sudo chmod u-s {path} (where users may make user namespaces, bwrap needs no privilege; " +
		"sbx doctor then says whether they may)"},
	{causeSetUID, "", "on Arch: sudo pacman -S bubblewrap, instead of bubblewrap-suid"},
	{causeNoExec, "", "reinstall bubblewrap"},
	{CauseHangs, "", "run it by hand: {path} --unshare-all --ro-bind / / --proc /proc true"},
	{CauseHangs, "", "@load"},
	{"load", "", "a machine under great load can be the reason: run sbx again"},
	{CauseBusy, "", "run sbx" + again},
	{CauseBusy, "", "--engine landlock does without bwrap, with tier reduced"},
	{causeLandlock, "", "Landlock came with Linux 5.13; lsm= on the kernel's command line, or a container's filter, " +
		"may leave it out"},
	{"filters", "", "CONFIG_SECCOMP_FILTER in the kernel, and no filter of a container's that refuses seccomp(2)"},
	{causeKernel, "wsl1", "in PowerShell: wsl --list --verbose, then wsl --set-version NAME 2 (WSL 1 has no namespaces)"},
	{causeKernel, "!wsl1", "a kernel with CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS, CONFIG_IPC_NS and CONFIG_UTS_NS; " +
		"zgrep _NS= /proc/config.gz shows them"},
	{causeFilter, "enclosed", "let seccomp(2) and prctl(2) through in the system call filter of the container or service"},
	{causeFilter, "!enclosed", "a kernel with CONFIG_SECCOMP_FILTER; zgrep SECCOMP /proc/config.gz shows it"},
	{causeMax, "!none", "all that {setting} allows exist, or they are nested 32 deep: lsns --type user shows who has them"},
	{causeMax, "!none userns !container", outside},
	{causeMax, "none userns !container", outside + ": it allows none inside, on purpose as a rule"},
	{causeMax, "none container !nixos", "on the host: sudo " + setMax + "sudo tee /etc/sysctl.d/60-userns.conf"},
	{causeMax, "none container nixos", "on the host: " + nixosMax},
	{causeMax, "none container", "@container"},
	{causeMax, "none !userns !container !nixos", "{sudo}" + setMax + "{sudo}tee /etc/sysctl.d/60-userns.conf"},
	{causeMax, "none !userns !container nixos", nixosMax},
	{causeMax, "none !userns !container",
		"grep -rs {setting} /etc/sysctl.conf /etc/sysctl.d /usr/lib/sysctl.d shows who set it " +
			"(hardening guides do)"},
	{causeProc, "container", "@container-proc"},
	{causeProc, "!container unit", "{sudo}systemctl edit {unit}, and below [Service]: ProtectKernelTunables=no, " +
		"ProtectKernelLogs=no, ProcSubset=all, ProtectProc=default (opens /proc to the service)"},
	{causeProc, "!container !unit",
		"something is mounted over parts of /proc, so the kernel gives a user namespace no new one; " +
			"grep ' /proc/' /proc/self/mountinfo shows what"},
	{causeProc, "!container !unit", "run sbx outside of what mounted it (a container, a sandbox, a service)"},
	{causeClone, "!nixos", "{host}{sudo}sysctl -w kernel.unprivileged_userns_clone=1 && " +
		"echo kernel.unprivileged_userns_clone=1 | {sudo}tee /etc/sysctl.d/60-userns.conf" + forAll},
	{causeClone, "nixos", "{host}security.unprivilegedUsernsClone = true; in configuration.nix" + forAll},
	{causeChroot, "", "run sbx outside of the chroot; who makes it can use pivot_root(2) or switch_root(8) in its place"},
	{causeRootfs, "", "start the system from a disk or a tmpfs with switch_root"},
	// The distribution's own profile for bwrap gives the namespaces to bwrap and takes
	// them from what bwrap starts.
	{causeAppArmor, "profile", "{of}{sudo}apparmor_parser -r {profile}"},
	{causeAppArmor, "!profile github", "{of}a step before: - run: {sudo}apt-get update && " +
		"{sudo}apt-get install -y bubblewrap apparmor-profiles && " + copyProfile},
	{causeAppArmor, "!profile !github ubuntu25",
		"{of}{sudo}apt-get install --reinstall -o Dpkg::Options::=--force-confmiss apparmor && " +
			loadProfile},
	{causeAppArmor, "!profile !github !ubuntu25 debian", "{of}{sudo}apt-get install apparmor-profiles && " +
		copyProfile},
	{causeAppArmor, "!profile !github !ubuntu25 !debian", "{of}load AppArmor's own profile bwrap-userns-restrict " +
		"(profiles/apparmor/profiles/extras in its source): " + loadProfile},
	{causeAppArmor, "container", "@container"},
	{causeAppArmor, "elsewhere", "the profile is for /usr/bin/bwrap, and sbx found {path}: {install}"},
	{causeAppArmor, "", "leave kernel.apparmor_restrict_unprivileged_userns as it is: 0 opens user namespaces to every program"},
	{causeContainer, "docker", "add to docker run: --security-opt seccomp=sbx-seccomp.json --security-opt apparmor=unconfined " +
		"--security-opt systempaths=unconfined " +
		"(the container itself is then less closed: run it as a plain user, or rootless)"},
	{causeContainer, "docker", seccompFile},
	{causeContainer, "docker", "seccomp=unconfined works in its place and opens every system call"},
	{causeContainer, "podman", "add to podman run: --security-opt unmask=ALL (Podman's own filter allows user namespaces)"},
	{causeContainer, "podman", podmanSELinux},
	{causeContainer, "kubernetes", kubernetesLine},
	{causeContainer, "kubernetes", seccompFile + " (in the kubelet's seccomp directory; " +
		"type: Unconfined works in its place and opens every system call)"},
	{causeContainer, "kubernetes", kubernetesPod},
	{causeContainer, "", "@nesting"},
	{causeContainer, "unknown", "allow user namespaces, mounts and a new /proc in the settings of the container"},
	{"container-proc", "docker", "add to docker run: --security-opt systempaths=unconfined " +
		"(uncovers /proc for the container: run it as a plain user, rootless, or with userns-remap)"},
	{"container-proc", "podman", "add to podman run: --security-opt unmask=ALL " +
		"(uncovers /proc for the container, which rootless Podman keeps from the host's root)"},
	{"container-proc", "podman", podmanSELinux},
	{"container-proc", "kubernetes", kubernetesLine},
	{"container-proc", "kubernetes", kubernetesPod},
	{"container-proc", "", "@nesting"},
	{"container-proc", "unknown", "uncover /proc in the settings of the container"},
	// containers with one remedy for both
	{"nesting", "gitlab-docker", "GitLab, docker executor: security_opt cannot uncover /proc; use a shell, instance or " +
		"Kubernetes executor (privileged = true in [runners.docker] works, and opens the host to every job)"},
	{"nesting", "crostini", "in crosh (Ctrl+Alt+T): vsh termina, then " +
		"lxc config set penguin security.nesting true && lxc restart penguin"},
	{"nesting", "lx", "LXD: lxc config set NAME security.nesting true && lxc restart NAME; " +
		"Incus: incus config set NAME security.nesting=true && incus restart NAME"},
	{"nesting", "lx", "Proxmox: pct set ID --features nesting=1 && pct reboot ID; " +
		"LXC: lxc.include = /usr/share/lxc/config/nesting.conf in the container's config"},
	{"nesting", "systemd-nspawn", "systemd-nspawn covers parts of /proc: in the container, as root, " +
		"mount -t proc proc /mnt once before sbx (what is covered can then be seen there)"},
	// a filter that no container brought
	{causeSeccomp, "flatpak", "run sbx on the host: flatpak-spawn --host sbx -- CMD " +
		"(the app needs --talk-name=org.freedesktop.Flatpak, which lets it out altogether)"},
	{causeSeccomp, "flatpak", "or install the program that calls sbx outside of Flatpak"},
	{causeSeccomp, "snap", "install the program that calls sbx as a classic snap (snap install --classic NAME), or not as a snap"},
	{causeSeccomp, "firejail", "start the program without firejail, or with firejail --ignore=seccomp " +
		"--ignore=restrict-namespaces --ignore=caps.drop --ignore=nonewprivs"},
	{causeSeccomp, "!confined unit", "{sudo}systemctl edit {unit}, and below [Service]: RestrictNamespaces=no; " +
		"SystemCallFilter= has to allow @mount as well (the service can then make namespaces)"},
	{causeSeccomp, "!confined !unit",
		"run sbx outside of what set the filter (a service of systemd, an editor's or an agent's own sandbox)"},
	{causeSeccomp, "!confined !unit", "grep Seccomp /proc/self/status shows that there is one"},
	{causeOther, "selinux", "SELinux may be the reason: {sudo}ausearch -m avc,user_avc -ts recent"},
	{causeOther, "!root", "a chroot around this process has the same effect; outside of it sbx works"},
	{causeOther, "", "the kernel's log may say who refused: {sudo}dmesg | tail"},
	{"by-hand", "", "run it by hand: {path} --unshare-user --ro-bind / / true"},
	// Of sandbox-exec.
	{CauseNested, "", "run sbx outside of it: in a plain terminal, or with the sandbox of the program around it " +
		"switched off (an agent's, an editor's, swift build's)"},
	{causeToothless, "", "update macOS, or sbx; sbx --version says which it is"},
	{causeToothless, "", "log stream --predicate 'sender == \"Sandbox\"' shows what the system does"},
	{"mac-missing", "", "it is part of every macOS up to the newest that sbx knows; look for a newer sbx, " +
		"and run nothing that you do not trust until then"},
	{"mac-unsafe", "", "an update of macOS fixes it"},
	{"mac-no-exec", "", "it belongs to macOS: ls -leO {path} shows its rights, and an update of the system fixes it"},
	{"mac-busy", "", "run sbx" + again},
	{"mac-hangs", "", "@mac-by-hand"},
	{"mac-hangs", "", "@load"},
	{"mac-other", "", "@mac-by-hand"},
	{"mac-other", "", "look for a newer sbx: what this system wants may have changed"},
	{"mac-by-hand", "", "run it by hand: {path} -p '" + probeOpen + "' " + probed},
	{CauseSystem, "", "leave out --engine, or write --engine " + EngineSeatbelt},
}

// again is for what may be over in a moment, after the name of what to run.
const again = " again; if it persists, raise the limits on processes, memory and files (ulimit -a), or end what uses them up"

// managers are the lines that install bubblewrap with the system's own package manager,
// by words of os-release(5).
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

// installHint is the line for a system, by ID and ID_LIKE of os-release(5).
func installHint(distro string) string {
	for _, word := range strings.Fields(distro) {
		for _, m := range managers {
			if slices.Contains(strings.Fields(m.ids), word) {
				return m.line
			}
		}
	}
	return "install the package bubblewrap with your package manager"
}

// Install is the line that installs bubblewrap. Root has no need of sudo: images of
// containers seldom have it, and those of Debian have no lists of packages.
func (f Diagnostics) Install() string {
	line := installHint(f.Distro)
	if f.Container != "" {
		line = strings.Replace(line, "sudo apt-get", "sudo apt-get update && sudo apt-get", 1)
	}
	if f.Root {
		line = strings.NewReplacer("sudo ", "", "doas ", "").Replace(line)
	}
	return line
}

// unavailable is a cause with its remedies on this machine.
func (f Diagnostics) unavailable(c Cause, path, reason string) *Unavailable {
	return &Unavailable{c, reason, f.remedies(c, path)}
}

// because is a cause with the remedies under a key, for a program and what is to be
// said of it. It depends on nothing but the program.
func because(c, key Cause, path, what string) *Unavailable {
	return &Unavailable{c, text.Plain(path) + what, Diagnostics{}.remedies(key, path)}
}

// remedies are those of a cause on this machine, for a bwrap at path.
func (f Diagnostics) remedies(c Cause, path string) (lines []string) {
	sudo, host, of := "sudo ", "", ""
	if f.Root {
		sudo = ""
	}
	if f.Container != "" {
		host, of = "on the host: ", "on the host of the container: "
	}
	setting, _ := f.spent()
	fill := strings.NewReplacer("{install}", f.Install(), "{path}", text.Plain(path), "{dir}",
		text.Plain(policy.Dir(path)), "{unit}", f.Unit,
		"{profile}", f.Profile, "{setting}", setting, "{sudo}", sudo, "{host}", host, "{of}", of)
	words := f.words(path)
	for _, r := range remedies {
		fails := func(w string) bool {
			word, not := strings.CutPrefix(w, "!")
			return words[word] == not
		}
		switch key, other := strings.CutPrefix(r.line, "@"); {
		case r.cause != c || slices.ContainsFunc(strings.Fields(r.when), fails):
		case other:
			lines = append(lines, f.remedies(Cause(key), path)...)
		default:
			lines = append(lines, fill.Replace(r.line))
		}
	}
	return lines
}

// words are what remedies depend on: what is around this process by its name, and
// what else is so here.
func (f Diagnostics) words(path string) map[string]bool {
	container := f.Container
	if container == "docker" && f.CI == "gitlab" {
		container = "gitlab-docker"
	}
	distro := func(name string) bool { return strings.Contains(f.Distro, name) }
	ubuntu := slices.Contains(strings.Fields(f.Distro), "ubuntu")
	release, err := strconv.ParseFloat(f.Release, 64)
	_, allowed := f.spent()
	known := []string{"docker", "podman", "kubernetes", "crostini", "lxc", "lxd", "incus", "systemd-nspawn"}
	return map[string]bool{
		container: true, f.Confined: true, f.CI: true,
		"container": container != "", "unknown": !slices.Contains(known, f.Container),
		"lx":   container == "lxc" || container == "lxd" || container == "incus",
		"root": f.Root, "unit": f.Unit != "", "confined": f.Confined != "", "profile": f.Profile != "",
		"userns":   f.Userns,
		"enclosed": container != "" || f.Filtered, "none": isSmall(allowed), "wsl1": f.WSL == 1,
		"elsewhere": path != "/usr/bin/bwrap", "nixos": distro("nixos"), "debian": ubuntu || distro("debian"),
		"ubuntu25": ubuntu && err == nil && release >= 25.04,
		"selinux":  slices.Contains(strings.Fields(f.Distro), "fedora") || distro("rhel") || distro("suse"),
	}
}
