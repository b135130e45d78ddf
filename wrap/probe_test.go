package wrap

import (
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/bwrapargs"
)

// What bwrap prints when a host does not let it work, and what sbx makes of it.
func TestDiagnose(t *testing.T) {
	const (
		uidMap   = "bwrap: setting up uid map: Permission denied\n"
		loopback = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted\n"
		noPerm   = "bwrap: No permissions to create a new namespace, likely because the kernel does not allow non-privileged user namespaces. See <https://deb.li/bubblewrap> or <file:///usr/share/doc/bubblewrap/README.Debian.gz>.\n"
		noSpace  = "bwrap: Creating new namespace failed: No space left on device\n"
		mountEP  = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted\n"
		newNS    = "bwrap: Creating new namespace failed: Operation not permitted\n"
		noUserNS = "bwrap: Creating new namespace failed, likely because the kernel does not support user namespaces.  bwrap must be installed setuid on such systems.\n"
		maxUsers = "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)\n"
	)
	ubuntu := Facts{Distro: "ubuntu debian", AppArmor: "1", MaxUserns: "63000"}
	plain := Facts{Distro: "debian", MaxUserns: "63000"}
	with := func(f Facts, change func(*Facts)) Facts { change(&f); return f }
	for _, c := range []struct {
		name   string
		facts  Facts
		stderr string
		cause  Cause
		hint   string // begins the first hint
	}{
		{"ubuntu, uid map", ubuntu, uidMap, CauseAppArmor, "sudo apt-get install apparmor-profiles"},
		{"ubuntu, loopback", ubuntu, loopback, CauseAppArmor, "sudo apt-get install apparmor-profiles"},
		{"apparmor elsewhere", with(ubuntu, func(f *Facts) { f.Distro = "opensuse" }), uidMap, CauseAppArmor, "the profile is for /usr/bin/bwrap; sbx found /usr/bin/bwrap"},
		{"old debian", with(plain, func(f *Facts) { f.UsernsClone = "0" }), noPerm, CauseClone, "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
		{"no namespaces left", plain, noSpace, CauseMax, "sudo sysctl -w user.max_user_namespaces=15000"},
		{"none allowed", with(plain, func(f *Facts) { f.MaxUserns = "0" }), newNS, CauseMax, "sudo sysctl -w user.max_user_namespaces=15000"},
		{"none allowed in docker", with(plain, func(f *Facts) { f.MaxUserns, f.Container = "0", "docker" }), newNS, CauseMax, "docker run "},
		{"proc in docker", with(plain, func(f *Facts) { f.Container = "docker" }), mountEP, CauseProc, "docker run --security-opt systempaths=unconfined"},
		{"proc in podman", with(plain, func(f *Facts) { f.Container = "podman" }), mountEP, CauseProc, "podman run --security-opt unmask=ALL"},
		{"proc in kubernetes", with(plain, func(f *Facts) { f.Container = "kubernetes" }), mountEP, CauseProc, "spec.hostUsers: false"},
		{"proc elsewhere", plain, mountEP, CauseProc, "/proc of this host"},
		{"docker's seccomp", with(plain, func(f *Facts) { f.Container = "docker" }), noPerm, CauseContainer, "docker run --security-opt seccomp=unconfined"},
		{"docker's seccomp as root", with(plain, func(f *Facts) { f.Container, f.Root = "docker", true }), newNS, CauseContainer, "docker run --security-opt seccomp=unconfined"},
		{"podman", with(plain, func(f *Facts) { f.Container = "podman" }), newNS, CauseContainer, "podman run "},
		{"some container", with(plain, func(f *Facts) { f.Container = "lxc" }), uidMap, CauseContainer, "allow user namespaces"},
		{"apparmor does not bind root", with(ubuntu, func(f *Facts) { f.Root = true }), uidMap, CauseOther, "sbx doctor says"},
		{"no reason known", plain, newNS, CauseOther, "sbx doctor says"},
		{"something else", plain, "bwrap: Can't find source path /x: No such file or directory\n", CauseOther, "run it by hand: /usr/bin/bwrap "},
		{"a library is missing", plain, "/usr/bin/bwrap: error while loading shared libraries: libcap.so.2: cannot open shared object file\n", CauseOther, "run it by hand: "},
		{"silence", plain, "", CauseOther, "run it by hand: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := diagnose(c.facts, "/usr/bin/bwrap", c.stderr)
			if u.Cause != c.cause || len(u.Hints) == 0 || !strings.HasPrefix(u.Hints[0], c.hint) || u.Reason == "" || strings.Contains(u.Reason, "\n") || strings.HasSuffix(u.Reason, ".") {
				t.Errorf("%+v, want %s, %s…", u, c.cause, c.hint)
			}
		})
	}
	for _, s := range []string{noUserNS, maxUsers} {
		if u := diagnose(plain, "/usr/bin/bwrap", s); u.Reason == "" || len(u.Hints) == 0 {
			t.Errorf("%+v", u)
		}
	}
}

// What bwrap says may hold anything: a path, a terminal's control sequence.
func TestLastLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "it failed without a word",
		" \n\n":                              "it failed without a word",
		"bwrap: x\n":                         "x",
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
		if got := InstallHint(distro); got != want {
			t.Errorf("%q: %s, want %s", distro, got, want)
		}
	}
}

func TestMissingAndOld(t *testing.T) {
	f := Facts{Distro: "fedora"}
	if u := missing(f); u.Cause != CauseMissing || u.Reason != "bubblewrap (bwrap) is not installed" || !slices.Equal(u.Hints, []string{"sudo dnf install bubblewrap"}) {
		t.Errorf("%+v", u)
	}
	u := tooOld(f, bwrapargs.Version{Minor: 3, Patch: 1}, "/usr/bin/bwrap")
	if u.Cause != CauseOld || u.Reason != "/usr/bin/bwrap is version 0.3.1; sbx needs 0.4.0 or newer" || !slices.Equal(u.Hints, []string{"sudo dnf install bubblewrap"}) {
		t.Errorf("%+v", u)
	}
}
