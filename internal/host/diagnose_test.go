// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/golden"
)

// diagnosis is what bwrap prints when a host does not let it work, and what sbx
// makes of it.
type diagnosis struct {
	name   string
	facts  Diagnostics
	stderr string
	cause  Cause
	hint   string // begins the first hint
}

func diagnoses() []diagnosis {
	const (
		uidMap   = "bwrap: setting up uid map: Permission denied\n"
		loopback = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted\n"
		noPerm   = "bwrap: No permissions to create a new namespace, likely because the kernel does not allow non-privileged user namespaces. See <https://deb.li/bubblewrap> or <file:///usr/share/doc/bubblewrap/README.Debian.gz>.\n"
		noSpace  = "bwrap: Creating new namespace failed: No space left on device\n"
		mountEP  = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted\n"
		newNS    = "bwrap: Creating new namespace failed: Operation not permitted\n"
		noUserNS = "bwrap: Creating new namespace failed, likely because the kernel does not support user namespaces.  bwrap must be installed setuid on such systems.\n"
		maxUsers = "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)\n"
		noFilter = "bwrap: Unable to set up system call filtering as requested: prctl(PR_SET_SECCOMP) reported EINVAL. (Hint: this requires a kernel configured with CONFIG_SECCOMP and CONFIG_SECCOMP_FILTER.)\n"
	)
	ubuntu := Diagnostics{Distro: "ubuntu debian", AppArmor: "1", MaxUserns: "63000"}
	plain := Diagnostics{Distro: "debian", MaxUserns: "63000"}
	with := func(f Diagnostics, change func(*Diagnostics)) Diagnostics { change(&f); return f }
	return []diagnosis{
		{"ubuntu, uid map", ubuntu, uidMap, causeAppArmor, "sudo apt-get install apparmor-profiles"},
		{"ubuntu, loopback", ubuntu, loopback, causeAppArmor, "sudo apt-get install apparmor-profiles"},
		{"apparmor elsewhere", with(ubuntu, func(f *Diagnostics) { f.Distro = "opensuse" }), uidMap, causeAppArmor, "load AppArmor's own profile bwrap-userns-restrict"},
		{"ubuntu 25.04", with(ubuntu, func(f *Diagnostics) { f.Release = "25.04" }), uidMap, causeAppArmor, "sudo apt-get install --reinstall "},
		{"ubuntu 24.04", with(ubuntu, func(f *Diagnostics) { f.Release = "24.04" }), uidMap, causeAppArmor, "sudo apt-get install apparmor-profiles"},
		{"the profile is there, not loaded", with(ubuntu, func(f *Diagnostics) { f.Profile = "/etc/apparmor.d/bwrap-userns-restrict" }), uidMap, causeAppArmor, "sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict"},
		{"a runner of GitHub", with(ubuntu, func(f *Diagnostics) { f.CI = "github" }), uidMap, causeAppArmor, "a step before: - run: sudo apt-get update && sudo apt-get install -y bubblewrap apparmor-profiles"},
		{"a container on ubuntu", with(ubuntu, func(f *Diagnostics) { f.Container, f.Filtered = "docker", true }), uidMap, causeAppArmor, "on the host of the container: sudo apt-get install apparmor-profiles"},
		{"Docker's filter on ubuntu", with(ubuntu, func(f *Diagnostics) { f.Container, f.Filtered = "docker", true }), noPerm, causeContainer, "add to docker run: --security-opt seccomp=sbx-seccomp.json"},
		{"old debian", with(plain, func(f *Diagnostics) { f.UsernsClone = "0" }), noPerm, causeClone, "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
		{"no namespaces left", plain, noSpace, causeMax, "all that user.max_user_namespaces allows exist"},
		{"none allowed", with(plain, func(f *Diagnostics) { f.MaxUserns = "0" }), newNS, causeMax, "sudo sysctl -w user.max_user_namespaces=15000"},
		{"none allowed in docker", with(plain, func(f *Diagnostics) { f.MaxUserns, f.Container = "0", "docker" }), newNS, causeMax, "on the host: sudo sysctl -w user.max_user_namespaces=15000"},
		{"proc in docker", with(plain, func(f *Diagnostics) { f.Container = "docker" }), mountEP, causeProc, "add to docker run: --security-opt systempaths=unconfined"},
		{"proc in podman", with(plain, func(f *Diagnostics) { f.Container = "podman" }), mountEP, causeProc, "add to podman run: --security-opt unmask=ALL"},
		{"proc in kubernetes", with(plain, func(f *Diagnostics) { f.Container = "kubernetes" }), mountEP, causeProc, "spec: {hostUsers: false}"},
		{"proc elsewhere", plain, mountEP, causeProc, "something is mounted over parts of /proc"},
		{"proc in a service", with(plain, func(f *Diagnostics) { f.Unit = "ci.service" }), mountEP, causeProc, "sudo systemctl edit ci.service, and below [Service]: ProtectKernelTunables=no"},
		{"proc in Crostini", with(plain, func(f *Diagnostics) { f.Container = "crostini" }), mountEP, causeProc, "in crosh (Ctrl+Alt+T): vsh termina"},
		{"proc in LXD", with(plain, func(f *Diagnostics) { f.Container = "lxd" }), mountEP, causeProc, "LXD: lxc config set NAME security.nesting true"},
		{"proc in GitLab", with(plain, func(f *Diagnostics) { f.Container, f.CI = "docker", "gitlab" }), mountEP, causeProc, "GitLab, docker executor: "},
		{"proc in nspawn", with(plain, func(f *Diagnostics) { f.Container = "systemd-nspawn" }), mountEP, causeProc, "systemd-nspawn covers parts of /proc"},
		{"a service", with(plain, func(f *Diagnostics) { f.Unit, f.Filtered = "ci.service", true }), noPerm, causeSeccomp, "sudo systemctl edit ci.service, and below [Service]: RestrictNamespaces=no"},
		{"some filter", with(plain, func(f *Diagnostics) { f.Filtered = true }), noPerm, causeSeccomp, "run sbx outside of what set the filter"},
		{"flatpak", with(plain, func(f *Diagnostics) { f.Confined, f.Filtered = "flatpak", true }), noPerm, causeSeccomp, "run sbx on the host: flatpak-spawn --host"},
		{"snap", with(plain, func(f *Diagnostics) { f.Confined = "snap" }), noPerm, causeSeccomp, "install the program that calls sbx as a classic snap"},
		{"firejail", with(plain, func(f *Diagnostics) { f.Confined = "firejail" }), noPerm, causeSeccomp, "start the program without firejail"},
		{"chroot", with(plain, func(f *Diagnostics) { f.Chroot = true }), noPerm, causeChroot, "run sbx outside of the chroot"},
		{"WSL 1", with(plain, func(f *Diagnostics) { f.WSL = 1 }), newNS, causeKernel, "in PowerShell: wsl --list --verbose, then wsl --set-version"},
		{"a kernel without", plain, noUserNS, causeKernel, "a kernel with CONFIG_USER_NS"},
		{"a kernel without filters", plain, noFilter, causeFilter, "a kernel with CONFIG_SECCOMP_FILTER"},
		{"too deep", plain, maxUsers, causeMax, "all that user.max_user_namespaces allows exist"},
		{"in a user namespace", with(plain, func(f *Diagnostics) { f.Userns, f.MaxUserns = true, "0" }), maxUsers, causeMax, "run sbx outside of the sandbox that is around this"},
		{"no network namespaces", with(plain, func(f *Diagnostics) { f.Spent = "user.max_net_namespaces" }), maxUsers, causeMax, "sudo sysctl -w user.max_net_namespaces=15000"},
		{"on NixOS", with(plain, func(f *Diagnostics) { f.Distro, f.MaxUserns = "nixos", "0" }), maxUsers, causeMax, `boot.kernel.sysctl."user.max_user_namespaces" = 15000;`},
		{"linux-hardened", with(plain, func(f *Diagnostics) { f.Distro, f.UsernsClone = "arch", "0" }), noPerm, causeClone, "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
		{"hardened NixOS", with(plain, func(f *Diagnostics) { f.Distro, f.UsernsClone = "nixos", "0" }), noPerm, causeClone, "security.unprivilegedUsernsClone = true;"},
		{"a ramdisk", plain, "bwrap: pivot_root: Invalid argument\n", causeRootfs, "start the system from a disk"},
		{"SELinux", with(plain, func(f *Diagnostics) { f.Distro = "fedora" }), newNS, causeOther, "SELinux may be the reason: sudo ausearch"},
		{"docker's seccomp", with(plain, func(f *Diagnostics) { f.Container = "docker" }), noPerm, causeContainer, "add to docker run: --security-opt seccomp=sbx-seccomp.json"},
		{"docker's seccomp as root", with(plain, func(f *Diagnostics) { f.Container, f.Root = "docker", true }), newNS, causeContainer, "add to docker run: --security-opt seccomp=sbx-seccomp.json"},
		{"podman", with(plain, func(f *Diagnostics) { f.Container = "podman" }), newNS, causeContainer, "add to podman run: "},
		{"some container", with(plain, func(f *Diagnostics) { f.Container = "lxc" }), uidMap, causeContainer, "LXD: lxc config set"},
		{"another container", with(plain, func(f *Diagnostics) { f.Container = "rkt" }), uidMap, causeContainer, "allow user namespaces"},
		{"apparmor does not bind root", with(ubuntu, func(f *Diagnostics) { f.Root = true }), uidMap, causeOther, "the kernel's log may say"},
		{"no reason known", plain, newNS, causeOther, "a chroot around this process"},
		{"something else", plain, "bwrap: Can't find source path /x: No such file or directory\n", causeOther, "run it by hand: /usr/bin/bwrap "},
		{"a library is missing", plain, "/usr/bin/bwrap: error while loading shared libraries: libcap.so.2: cannot open shared object file\n", causeOther, "run it by hand: "},
		{"silence", plain, "", causeOther, "run it by hand: "},
	}
}

func TestDiagnose(t *testing.T) {
	for _, c := range diagnoses() {
		t.Run(c.name, func(t *testing.T) {
			u := diagnose(c.facts, "/usr/bin/bwrap", c.stderr)
			if u.Cause != c.cause || len(u.Hints) == 0 || !strings.HasPrefix(u.Hints[0], c.hint) || u.Reason == "" || strings.Contains(u.Reason, "\n") || strings.HasSuffix(u.Reason, ".") ||
				strings.Contains(strings.Join(u.Hints, ""), "\n") || c.facts.Root && strings.Contains(u.Hints[0], "sudo ") {
				t.Errorf("%+v, want %s, %s…", u, c.cause, c.hint)
			}
		})
	}
}

// TestGoldenDiagnoses shows all that is said in each case.
func TestGoldenDiagnoses(t *testing.T) {
	var b strings.Builder
	for _, c := range diagnoses() {
		u := diagnose(c.facts, "/usr/bin/bwrap", c.stderr)
		b.WriteString("# " + c.name + "\n" + string(u.Cause) + ": " + u.Reason + "\n")
		for _, h := range u.Hints {
			b.WriteString("-> " + h + "\n")
		}
	}
	golden.Check(t, "diagnoses", b.String())
}

// What bwrap says may hold anything: a path, a terminal's control sequence.
func TestLastLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "it failed without a word",
		" \n\n":                              "it failed without a word",
		"bwrap: x\n":                         "x",
		"bwrap: first\nbwrap: ":              "first",
		"bwrap: bwrap: twice.\n\n":           "twice",
		"bwrap:":                             "it failed without a word",
		"first\nbwrap: last\n":               "last",
		"bwrap: \x1b[2Jx\x07\ty":             "?[2Jx??y",
		"bwrap: " + strings.Repeat("x", 300): strings.Repeat("x", 200),
	} {
		if got := lastLine(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestInstallHint(t *testing.T) {
	for distro, want := range map[string]string{
		"debian":                            "sudo apt-get install bubblewrap",
		"ubuntu debian":                     "sudo apt-get install bubblewrap",
		"neon ubuntu debian":                "sudo apt-get install bubblewrap",
		"fedora":                            "sudo dnf install bubblewrap",
		"rocky rhel centos fedora":          "sudo dnf install bubblewrap",
		"arch":                              "sudo pacman -S bubblewrap",
		"endeavouros arch":                  "sudo pacman -S bubblewrap",
		"alpine":                            "doas apk add bubblewrap",
		"opensuse-tumbleweed opensuse suse": "sudo zypper install bubblewrap",
		"nixos":                             "add pkgs.bubblewrap to environment.systemPackages",
		"void":                              "sudo xbps-install bubblewrap",
		"gentoo":                            "sudo emerge sys-apps/bubblewrap",
		"guix":                              "guix install bubblewrap",
		"":                                  "install the package bubblewrap with your package manager",
		"unheard":                           "install the package bubblewrap with your package manager",
		"deb":                               "install the package bubblewrap with your package manager",
	} {
		if got := installHint(distro); got != want {
			t.Errorf("%q: %s, want %s", distro, got, want)
		}
	}
}

func TestMissingAndOld(t *testing.T) {
	f := Diagnostics{Distro: "fedora"}
	if u := missing(f); u.Cause != CauseMissing || u.Reason != "bubblewrap (bwrap) is not installed" || !slices.Equal(u.Hints, []string{"sudo dnf install bubblewrap"}) {
		t.Errorf("%+v", u)
	}
	u := tooOld(f, bwrapargs.Version{Minor: 3, Patch: 1}, "/usr/bin/bwrap")
	if u.Cause != causeOld || u.Reason != "/usr/bin/bwrap is version 0.3.1; sbx needs 0.4.0 or newer" || u.Hints[0] != "sudo dnf install bubblewrap" {
		t.Errorf("%+v", u)
	}
	if u := missing(Diagnostics{Distro: "debian", Root: true, Container: "docker"}); !slices.Equal(u.Hints, []string{"apt-get update && apt-get install bubblewrap", "better in the image of the container"}) {
		t.Errorf("%+v", u)
	}
}

// No remedy opens user namespaces to every program where AppArmor decides, and
// what weakens a container or a service says so.
func TestRemediesSayWhatTheyOpen(t *testing.T) {
	for _, container := range []string{"", "docker", "podman", "kubernetes", "lxc", "lxd", "incus", "crostini", "systemd-nspawn", "other"} {
		for _, f := range []Diagnostics{{Distro: "ubuntu debian", AppArmor: "1"}, {Distro: "fedora", Filtered: true, Unit: "x.service"}, {Root: true}} {
			f.Container = container
			for _, said := range []string{"bwrap: setting up uid map: Permission denied", "bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "bwrap: Creating new namespace failed: Operation not permitted"} {
				u := diagnose(f, "/usr/bin/bwrap", said)
				text := strings.Join(u.Hints, "\n")
				if strings.Contains(text, "restrict_unprivileged_userns=0") || strings.Contains(text, "restrict_unprivileged_userns = 0") || strings.Contains(text, "--privileged") {
					t.Errorf("%s: %q", container, text)
				}
				for _, h := range u.Hints {
					if (strings.Contains(h, "=unconfined") || strings.Contains(h, "unmask=") || strings.Contains(h, "Service]:") || strings.Contains(h, "label=disable")) && !strings.Contains(h, "(") && !strings.Contains(h, "opens") {
						t.Errorf("%s: %q does not say what it opens", container, h)
					}
				}
			}
		}
	}
}
