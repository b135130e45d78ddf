// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"testing"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/limits"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
	"github.com/sbx-sandbox/sbx/profiles"
)

// Bounds that package view keeps: tests ask for one more than it allows.
const (
	maxModules   = 12      // levels of submodules
	maxMatches   = 512     // of a pattern, or sockets
	maxNames     = 2048    // directories of submodules and work trees
	maxPathDirs  = 64      // entries of PATH that are looked at
	maxPathFound = 12      // and that are opened
	maxPlain     = 96      // repositories side by side
	maxTracked   = 1 << 20 // bytes of a tracked file
)

// machine is a host that does not exist, and a run on it. The zero value of a
// field is what most runs have.
type machine struct {
	files    string // all of them
	more     string // laid over files
	prepare  func(*fakeFS)
	uid      int
	home     string // "" is /home/u
	homes    []string
	cwd      string // "" is home/src/app
	env      []string
	fds      []host.FD
	version  bwrapargs.Version // zero is 0.8.0
	overlay  bool              // of bwrap
	profiles []string          // nil is moderate
	over     policy.Profile    // flags
	readOnly bool
	command  []string // nil is sh
	request  engine.Request
	limits   limits.Facts
	landlock int // its version, when it is the engine
	abi      int // of Landlock beside bwrap
	mac      bool
	known    bool // which files the descriptors lead to
	byName   bool
	sockets  []string // of the host, as far as they are known
}

// user is a run of a plain user.
func user(files string) machine { return machine{files: files, uid: 1000} }

func (m *machine) host(t testing.TB) (*host.Host, *fakeFS) {
	t.Helper()
	fs := newFS(t, m.uid, m.files, m.more)
	if m.prepare != nil {
		m.prepare(fs)
	}
	if m.home == "" {
		m.home = "/home/u"
		if m.uid == 0 {
			m.home = "/root"
		}
	}
	if m.cwd == "" {
		at, _, _, err := fs.namei(m.home+"/src/app", true)
		if err != nil {
			t.Fatal("no project on this machine: ", err)
		}
		m.cwd = at
	}
	if m.homes == nil {
		m.homes = []string{m.home}
	}
	if m.env == nil {
		m.env = []string{"HOME=" + m.home, "USER=u", "SHELL=/bin/bash", "TERM=xterm", "PATH=" + m.home + "/.cargo/bin:/usr/local/bin:/usr/bin:/bin:/nowhere", "PWD=" + m.cwd, "GH_TOKEN=s3cret", "SSH_AUTH_SOCK=/run/user/1000/agent"}
	}
	if m.version == (bwrapargs.Version{}) {
		m.version = bwrapargs.Version{Minor: 8}
	}
	if m.profiles == nil {
		m.profiles = []string{"moderate"}
	}
	if m.command == nil {
		m.command = []string{"sh", "-c", "echo 'hello, world'"}
	}
	for i := range m.fds {
		if n := fs.nodes[m.fds[i].Path]; m.known && n != nil && m.fds[i].Ino == 0 {
			m.fds[i].Dev, m.fds[i].Ino = n.Dev, n.Ino
		}
	}
	if m.mac {
		return &host.Host{
			Facts:  host.Facts{FS: fs, OS: "darwin", Arch: "arm64"},
			Caller: host.Caller{UID: m.uid, Homes: m.homes, CWD: m.cwd, Environ: m.env, FDs: m.fds, TTY: true},
			Places: host.Places{Self: "/usr/local/bin/sbx"},
		}, fs
	}
	return &host.Host{
		Facts:  host.Facts{Landlock: max(m.landlock, m.abi), FS: fs, OS: "linux", Arch: "amd64", Sockets: m.sockets, Limits: m.limits},
		Caller: host.Caller{UID: m.uid, Homes: m.homes, CWD: m.cwd, Environ: m.env, FDs: m.fds, ByName: m.byName},
		Places: host.Places{Self: "/usr/local/bin/sbx"},
	}, fs
}

// engine is the one that was chosen on the machine.
func (m *machine) engine() engine.Chosen {
	c := engine.Chosen{Name: host.EngineBwrap, Bwrap: host.Bwrap{Path: "/usr/bin/bwrap", Version: m.version, Overlay: m.overlay}, Instance: "77.1234.4026531836.4026531834.6ed6f14b"}
	switch {
	case m.mac:
		return engine.Chosen{Name: host.EngineSeatbelt, Runtime: "/private/var/folders/zz/one/T/sbx", Instance: "77.1234.0.0.6ed6f14b"}
	case m.landlock > 0:
		c.Name, c.Runtime = host.EngineLandlock, "/run/user/1000/sbx"
	}
	return c
}

// policy resolves the profiles and the flags of a run.
func (m *machine) policy(h *host.Host) (*policy.Policy, error) {
	in := h.Project(h.CWD)
	vars := policy.Vars{CWD: h.CWD, Root: in.Root, Project: in.Whole, Dirs: in.Dirs, Members: in.Members, Home: m.home}
	if len(m.homes) > 1 {
		vars.Home2 = m.homes[1]
	}
	vars.Lent = view.Tools(h, h.Environ)
	m.over.Layer, m.over.Name = policy.Flag, "flags"
	h.Own = vars.Own()
	h.Links = vars.Links()
	return policy.Resolve(profiles.For(h.OS), m.profiles, vars, &m.over)
}

// plan does what the command line does with a host.
func (m machine) plan(t testing.TB) (*engine.Plan, *fakeFS, error) {
	t.Helper()
	h, fs := m.host(t)
	pol, err := (&m).policy(h)
	if err != nil {
		t.Fatal(err)
	}
	if m.readOnly {
		pol = pol.ReadOnly(pol.Project)
	}
	req := m.request
	req.Engine = m.engine()
	req.Policy, req.Root, req.Command, req.Cache = pol, h.Project(h.CWD).Root, m.command, host.Join(m.home, ".cache/sbx")
	p, err := New(req, h)
	return p, fs, err
}

func flagPaths(source string, paths ...string) policy.List {
	var l policy.List
	for _, p := range paths {
		l.Items = append(l.Items, policy.Item{Text: p, Source: source, Layer: policy.Flag, Must: true})
	}
	return l
}

// Files that every Linux has in one place or another.
const (
	anyLinux = `
/ uid=0
/proc/
/proc/sys/
/dev/
/dev/shm/ mode=1777
/dev/null device mode=666
/run/
/run/docker.sock socket
/run/user/1000/ uid=1000 mode=700
/run/user/1000/agent socket
/sys/devices/system/cpu/
/sys/fs/cgroup/
/tmp/ mode=1777
/tmp/other uid=1001 = x
/var/tmp/ mode=1777
/var/log/syslog mode=640
/var/run -> /run
/root/ mode=700
/etc/passwd
/etc/group
/etc/hosts
/etc/nsswitch.conf
/etc/shadow mode=640
/etc/sudoers mode=440
/etc/ssl/certs/ca.crt
/etc/ssl/private/ mode=710
/etc/ssh/ssh_host_rsa_key mode=600
/etc/localtime -> /usr/share/zoneinfo/UTC
/usr/share/zoneinfo/UTC
/usr/local/bin/sbx x
/opt/tool/bin/tool x
/srv/data/
`
	merged = `
/usr/bin/dash x
/usr/bin/sh -> dash
/usr/bin/bash x
/usr/bin/env x
/usr/bin/git x
/usr/bin/bwrap x
/usr/sbin/ldconfig x
/usr/lib/x86_64-linux-gnu/libc.so.6
/usr/lib64/ld-linux-x86-64.so.2
/bin -> usr/bin
/sbin -> usr/sbin
/lib -> usr/lib
/lib64 -> usr/lib64
`
	debian = anyLinux + merged + `
/etc/resolv.conf
/etc/os-release -> ../usr/lib/os-release
/usr/lib/os-release
/etc/alternatives/editor -> /usr/bin/dash
/var/lib/dpkg/status
`
	alpine = anyLinux + `
/bin/busybox x
/bin/sh -> /bin/busybox
/bin/bash x
/sbin/apk x
/lib/ld-musl-x86_64.so.1 x
/lib/apk/db
/usr/bin/env x
/usr/sbin/
/usr/lib/
/etc/resolv.conf
/etc/os-release
`
	fedora = anyLinux + merged + `
/usr/sbin -> bin
/sbin -> usr/sbin
/usr/sbin/ldconfig gone
/usr/bin/ldconfig x
/etc/resolv.conf -> ../run/systemd/resolve/stub-resolv.conf
/run/systemd/resolve/stub-resolv.conf
/run/systemd/private socket
/etc/pki/ca-trust/extracted/
/etc/pki/tls/certs -> ../ca-trust/extracted
/etc/pki/tls/private/ mode=700
/var/lib/rpm -> ../../usr/lib/sysimage/rpm
/usr/lib/sysimage/rpm/
`
	nixos = anyLinux + `
/bin/sh -> /nix/store/aaa-bash/bin/sh
/nix/store/aaa-bash/bin/bash x
/nix/store/aaa-bash/bin/sh -> bash
/nix/store/bbb-coreutils/bin/env x
/nix/store/ccc-system/sw/bin -> /nix/store/bbb-coreutils/bin
/nix/store/ddd-etc/etc/resolv.conf
/nix/store/ddd-etc/etc/shells
/nix/var/nix/daemon-socket/socket socket
/usr/bin/env -> /nix/store/bbb-coreutils/bin/env
/run/current-system -> /nix/store/ccc-system
/etc/static -> /nix/store/ddd-etc/etc
/etc/resolv.conf -> /etc/static/resolv.conf
/etc/shells -> /etc/static/shells
/etc/localtime -> /etc/zoneinfo/UTC
/etc/zoneinfo -> /nix/store/eee-tzdata/zoneinfo
/nix/store/eee-tzdata/zoneinfo/UTC
`
)

// home is what a developer's home directory holds.
func home(dir, uid string) string {
	return dir + "/ uid=" + uid + " mode=700\n" +
		dir + "/.gitconfig = [user]\n" +
		dir + "/.bashrc\n" +
		dir + "/.bash_history\n" +
		dir + "/.ssh/id_rsa mode=600\n" +
		dir + "/.aws/credentials\n" +
		dir + "/.npmrc\n" +
		dir + "/.cargo/bin/cargo x\n" +
		dir + "/.cargo/registry/\n" +
		dir + "/.cargo/credentials.toml\n" +
		dir + "/.cache/pip/\n" +
		dir + "/.local/bin/tool x\n" +
		dir + "/.local/share/keyrings/\n" +
		dir + "/.config/git/ignore\n" +
		dir + "/.config/gh/hosts.yml\n" +
		dir + "/src/app/main.go\n" +
		dir + "/src/app/.env\n" +
		dir + "/src/app/.env.local\n" +
		dir + "/src/app/.env.example\n" +
		dir + "/src/app/tls.key\n" +
		dir + "/src/app/.envrc\n" +
		dir + "/src/app/.vscode/settings.json\n" +
		dir + "/src/app/sub/deep/x.go\n" +
		dir + "/src/other/\n"
}

// repo makes a directory a git work tree.
func repo(dir string) string {
	return dir + "/.git/config\n" + dir + "/.git/HEAD\n" + dir + "/.git/hooks/pre-commit x\n" + dir + "/.git/objects/info/\n" + dir + "/.git/modules/lib/config\n" + dir + "/.git/modules/lib/hooks/\n"
}

var shapes = []struct {
	name string
	m    machine
}{
	{"debian", user(debian + home("/home/u", "1000") + repo("/home/u/src/app"))},
	{"debian-root", machine{files: debian + home("/root", "0") + repo("/root/src/app")}},
	{"alpine", user(alpine + home("/home/u", "1000") + repo("/home/u/src/app"))},
	{"fedora", user(fedora + home("/home/u", "1000") + repo("/home/u/src/app"))},
	{"nixos", user(nixos + home("/home/u", "1000") + repo("/home/u/src/app"))},
	{"silverblue", user(fedora + "/home -> var/home\n/opt gone\n/opt -> var/opt\n/var/opt/tool/bin/tool x\n/srv gone\n/srv -> var/srv\n/var/srv/\n" + home("/var/home/u", "1000") + repo("/var/home/u/src/app"))},
}
