// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// What an answer says of every path is what a simulation of bwrap finds there,
// for each machine and profile.
func TestAnswersAgreeWithSimulation(t *testing.T) {
	for name, m := range cases() {
		if m.request.Remap != "" {
			continue // other paths inside than on the host: TestAskElsewhere
		}
		if m.landlock > 0 {
			continue // no mounts to simulate
		}
		t.Run(name, func(t *testing.T) {
			p, fs, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			if n := compareAnswers(t, p, fs); n < 50 {
				t.Errorf("only %d paths were compared", n)
			}
		})
	}
}

func TestAnswersAgreeOnRandomWorlds(t *testing.T) {
	compared := 0
	for seed := range uint64(3000) {
		w := randomWorld(t, rand.New(rand.NewPCG(seed, 7)))
		p, err := w.plan()
		if err != nil {
			continue
		}
		compared += compareAnswers(t, p, w.fs)
		if t.Failed() {
			t.Fatalf("seed %d\n%s\n%v", seed, w.fs, w.rules)
		}
	}
	if compared < 10000 {
		t.Errorf("only %d paths were compared", compared)
	}
}

// compareAnswers returns how many paths it looked at.
func compareAnswers(t *testing.T, p *engine.Plan, fs *fakeFS) (compared int) {
	t.Helper()
	s, err := simulate(fs, p)
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{}
	add := func(path string) {
		paths[path], paths[host.Join(path, "absent")], paths[host.Join(path, "..")] = true, true, true
	}
	for _, path := range fs.paths() {
		add(path)
	}
	for _, f := range s.all() {
		add(f.path)
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if policy.Within(path, "/proc") || policy.Within(path, "/dev") {
			continue // TestAskOwn
		}
		a := p.Report.Ask(path)
		if a.Fixed == access.OwnUser {
			continue // the simulation knows no permissions
		}
		compared++
		if d := cmp.Diff(simulated(s, path, a), verdict{a.Seen, a.Kind != host.Absent, a.Read, a.Write}); d != "" {
			t.Errorf("%s (-simulated +answered):\n%s%+v", path, d, a)
		}
	}
	return compared
}

type verdict struct{ Seen, There, Read, Write bool }

func simulated(s *sim, path string, a access.Verdict) (v verdict) {
	_, name, _ := s.walk(path, false)
	at, kind, links := s.walk(path, true)
	v.Seen = name != host.Absent
	if links > 40 {
		return v
	}
	v.There = kind != host.Absent
	if host.Base(path) == ".." { // nothing is made before a ".."
		v.Seen = v.There
		if !v.There {
			return v
		}
	}
	h := at.hostPath()
	if v.There && policy.Within(h, "/proc") {
		return verdict{a.Seen, a.Kind != host.Absent, a.Read, a.Write}
	}
	switch {
	case !v.There:
		// It can be made when the nearest directory that is there is writable.
		for dir := a.To; ; dir = policy.Dir(dir) {
			if up, k, _ := s.walk(dir, false); k != host.Absent {
				v.Write = a.Why != "" && k == host.Dir && !up.m.ro && simMay(s.host, up, 'w') && !policy.Within(dir, "/proc")
				return v
			}
		}
	case kind == host.Socket || kind == host.Device:
	case h != "":
		v.Read = simMay(s.host, at, 'r')
		v.Write = simMay(s.host, at, 'w') && (!at.m.ro || kind == host.Fifo)
	default:
		copied := a.Rule != nil && a.Rule.Source == view.SourceCleaned // of a file that is empty
		mask := at.rel == "" && at.m.ro && (kind == host.File && at.m.own.text == "" && !copied || kind == host.Dir && at.m.at == a.To && a.Rule != nil && a.Rule.Access == policy.Block)
		v.Read, v.Write = !mask, !at.m.ro
	}
	return v
}

func simMay(fs *fakeFS, at simPlace, rwx byte) bool {
	host := at.hostPath()
	if host == "" {
		return true
	}
	n := fs.nodes[host]
	if n == nil {
		return false
	}
	if fs.uid == 0 && n.UID != 0 { // no privileges inside
		return n.Mode&view.Bit(rwx) != 0
	}
	if fs.uid == 0 {
		return n.Mode>>6&view.Bit(rwx) != 0
	}
	return fs.may(n, rwx)
}

// The whole of an answer, for each kind of place.
func TestAsk(t *testing.T) {
	const app, home = "/home/u/src/app", "/home/u"
	cwd := &view.Rule{Path: app, Access: policy.Write, Written: app, Source: "moderate"}
	own := &view.Rule{Path: home, Access: policy.Private, Written: home, Source: "moderate"}
	etc := &view.Rule{Path: "/etc", Access: policy.Read, Written: "/etc", Source: "moderate"}
	m := shapes[0].m
	m.more = `
/home/u/src/app/key -> /home/u/.ssh/id_rsa
/home/u/src/app/dangling -> nowhere
/home/u/src/app/a -> b
/home/u/src/app/b -> a
/home/u/src/app/s.sock socket
/home/u/src/app/other.sock socket uid=0 mode=600
/home/u/src/app/pipe fifo
/home/u/src/app/disk device
/home/u/src/app/closed uid=0 mode=600
/home/u/src/app/locked uid=0 mode=644
/home/u/src/app/up -> sub/deep
/etc/pipe fifo mode=666
/etc/group mode=640
/etc/dir/ mode=700
/etc/dir/f
/srv/flag/f uid=1000
/srv/flag/hidden uid=1000
/srv/flag/theirs uid=0
/srv/other uid=1000
`
	m.over = policy.Profile{Read: flagPaths("--allow-read", "/srv/flag"), Block: flagPaths("--block", "/srv/flag/hidden")}
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	flag := &view.Rule{Path: "/srv/flag", Access: policy.Read, Written: "/srv/flag", Layer: policy.Flag, Source: "--allow-read"}
	read := func(path string) access.Remedy { return access.Remedy{To: "read", Flags: []string{"-r", path}} }
	write := func(path string) access.Remedy { return access.Remedy{To: "write", Flags: []string{"-w", path}} }
	hide := func(path string) access.Remedy { return access.Remedy{To: "hide", Flags: []string{"--block", path}} }
	system := func(path, tree string) string {
		return path + " belongs to the system (" + tree + ") and is never made writable"
	}
	for _, c := range []struct {
		name string
		ask  string
		want access.Verdict
	}{
		{"a file of the project", app + "/main.go", access.Verdict{To: app + "/main.go", Kind: host.File, Seen: true, Read: true, Write: true, Rule: cwd,
			Why: "the host's own, and it can be changed", Remedies: []access.Remedy{hide(app + "/main.go")}}},
		{"the project", app, access.Verdict{To: app, Kind: host.Dir, Seen: true, Read: true, Write: true, Rule: cwd, Why: "the host's own, and it can be changed"}},
		{"a pinned directory", app + "/.git/modules", access.Verdict{To: app + "/.git/modules", Kind: host.Dir, Seen: true, Read: true, Write: true,
			Rule: &view.Rule{Path: app + "/.git", Access: policy.Write, Written: app + "/.git", Source: "git = commit"},
			Why:  "the host's own, and it can be changed; it cannot be moved or removed, since something in it is protected or hidden", Remedies: []access.Remedy{hide(app + "/.git/modules")}}},
		{"an absent file", app + "/new", access.Verdict{To: app + "/new", Write: true, Rule: cwd, Why: "does not exist; could be created"}},
		{"an absent file in absent directories", app + "/x/y/z", access.Verdict{To: app + "/x/y/z", Write: true, Rule: cwd, Why: "does not exist; could be created"}},
		{"below a file", app + "/main.go/x", access.Verdict{To: app + "/main.go/x", Rule: cwd, Why: "nothing can be there: " + app + "/main.go is not a directory", Fixed: app + "/main.go is not a directory"}},
		{"a file with a slash", app + "/main.go/", access.Verdict{Path: app + "/main.go", To: app + "/main.go", Kind: host.File, Seen: true, Rule: cwd, Why: app + "/main.go is not a directory"}},
		{"a secret that is not there yet", app + "/.env.new", access.Verdict{To: app + "/.env.new", Write: true, Rule: cwd,
			Why: "does not exist; could be created, and the next run would block it (secrets)"}},
		{"a secret by its pattern", app + "/.env.local", access.Verdict{To: app + "/.env.local", Kind: host.File, Seen: true,
			Rule: &view.Rule{Path: app + "/.env.local", Access: policy.Block, Written: app + "/.env.*", Source: "secrets"},
			Why:  "hidden: an empty file is in its place", Remedies: []access.Remedy{read(app + "/.env.local"), write(app + "/.env.local")}}},
		{"no secret by its exception", app + "/.env.example", access.Verdict{To: app + "/.env.example", Kind: host.File, Seen: true, Read: true, Write: true, Rule: cwd,
			Why: "the host's own, and it can be changed", Remedies: []access.Remedy{hide(app + "/.env.example")}}},
		{"a protected file", app + "/.envrc", access.Verdict{To: app + "/.envrc", Kind: host.File, Seen: true, Read: true,
			Rule: &view.Rule{Path: app + "/.envrc", Access: policy.Protect, Written: app + "/.envrc", Source: "moderate"},
			Why:  "protected: read-only in a tree that can be written", Remedies: []access.Remedy{write(app + "/.envrc"), hide(app + "/.envrc")}}},
		{"a hook", app + "/.git/hooks/pre-commit", access.Verdict{To: app + "/.git/hooks/pre-commit", Kind: host.File, Seen: true, Read: true,
			Rule: &view.Rule{Path: app + "/.git/hooks", Access: policy.Protect, Written: app + "/.git/hooks", Source: "git = commit"},
			Why:  "protected: read-only in a tree that can be written", Remedies: []access.Remedy{{To: "write", Flags: []string{"--git", "full"}}, hide(app + "/.git/hooks/pre-commit")}}},
		{"a new hook", app + "/.git/hooks/x", access.Verdict{To: app + "/.git/hooks/x",
			Rule: &view.Rule{Path: app + "/.git/hooks", Access: policy.Protect, Written: app + "/.git/hooks", Source: "git = commit"},
			Why:  "does not exist, and cannot be created where everything is read-only", Remedies: []access.Remedy{{To: "write", Flags: []string{"--git", "full"}}}}},
		{"a link to a secret", app + "/key", access.Verdict{To: home + "/.ssh/id_rsa", Seen: true, Write: true, Rule: own,
			Why:      "a link to /home/u/.ssh/id_rsa: /home/u is an empty private directory (the host has it); what is made in it is gone afterwards",
			Remedies: []access.Remedy{read(home + "/.ssh/id_rsa"), write(home + "/.ssh/id_rsa")}}},
		{"a link to nothing", app + "/dangling", access.Verdict{To: app + "/nowhere", Seen: true, Write: true, Rule: cwd, Why: "a link to " + app + "/nowhere: does not exist; could be created"}},
		{"a circle", app + "/a", access.Verdict{To: app + "/a", Seen: true, Rule: cwd, Why: "links lead in a circle", Fixed: "it leads nowhere"}},
		{"after a link", app + "/up/../deep/x.go", access.Verdict{Path: app + "/sub/deep/x.go", To: app + "/sub/deep/x.go", Kind: host.File, Seen: true, Read: true, Write: true, Rule: cwd,
			Why: "the host's own, and it can be changed", Remedies: []access.Remedy{hide(app + "/sub/deep/x.go")}}},
		{"after a link, as if it were none", app + "/up/../main.go", access.Verdict{Path: app + "/sub/main.go", To: app + "/sub/main.go", Write: true, Rule: cwd, Why: "does not exist; could be created"}},
		{"after what is not there", "/home/u/.ssh/../.bashrc", access.Verdict{Path: home + "/.bashrc", To: home + "/.bashrc", Rule: own,
			Why: "/home/u/.ssh is not a directory inside, so nothing can be reached through it"}},
		{"a name that is too long", app + "/" + strings.Repeat("x", 256), access.Verdict{To: app + "/" + strings.Repeat("x", 256), Rule: cwd, Why: "a name of more than 255 bytes, which no file has"}},
		{"a path that is too long", app + strings.Repeat("/x", 2100), access.Verdict{To: app + strings.Repeat("/x", 2100), Rule: cwd, Why: "a path of more than 4095 bytes, which the kernel does not take"}},
		{"dots and slashes", "//home/u/./src//app/sub/../main.go", access.Verdict{Path: app + "/main.go", To: app + "/main.go", Kind: host.File, Seen: true, Read: true, Write: true, Rule: cwd,
			Why: "the host's own, and it can be changed", Remedies: []access.Remedy{hide(app + "/main.go")}}},
		{"a socket", app + "/s.sock", access.Verdict{To: app + "/s.sock", Kind: host.Socket, Seen: true, Connect: true, Rule: cwd,
			Why: "a socket that is visible can be connected to, read-only or not", Remedies: []access.Remedy{hide(app + "/s.sock")}}},
		{"a socket of root's", app + "/other.sock", access.Verdict{To: app + "/other.sock", Kind: host.Socket, Seen: true, Rule: cwd,
			Why: "you may not connect to it (mode 600), and neither may the command", Fixed: access.OwnUser}},
		{"a pipe in a read-only directory", "/etc/pipe", access.Verdict{To: "/etc/pipe", Kind: host.Fifo, Seen: true, Read: true, Write: true, Rule: etc,
			Why: "a pipe that is visible can be used both ways, read-only or not, as far as permissions go", Remedies: []access.Remedy{hide("/etc/pipe")}}},
		{"a device", app + "/disk", access.Verdict{To: app + "/disk", Kind: host.Device, Seen: true, Rule: cwd,
			Why: "a device of the host's, which cannot be opened in a sandbox", Fixed: "devices of the host are for no command in a sandbox"}},
		{"a file of root's", app + "/closed", access.Verdict{To: app + "/closed", Kind: host.File, Seen: true, Rule: cwd,
			Why: "you may not read it (mode 600), and neither may the command", Fixed: access.OwnUser}},
		{"a file that root alone changes", app + "/locked", access.Verdict{To: app + "/locked", Kind: host.File, Seen: true, Read: true, Rule: cwd,
			Why: "you may not write it (mode 644), and neither may the command", Remedies: []access.Remedy{hide(app + "/locked")}, Fixed: access.OwnUser}},
		{"the shadow file", "/etc/shadow", access.Verdict{To: "/etc/shadow", Kind: host.File, Seen: true, Rule: etc,
			Why: "you may not read it (mode 640), and neither may the command", Fixed: access.OwnUser}},
		{"a directory that may not be searched", "/etc/dir/f", access.Verdict{To: "/etc/dir/f", Rule: etc, Why: "you may not search /etc/dir, so the command cannot look into it either", Fixed: access.OwnUser}},
		{"a file of the system", "/etc/passwd", access.Verdict{To: "/etc/passwd", Kind: host.File, Seen: true, Read: true, Rule: etc, Why: "the host's own, read-only",
			Remedies: []access.Remedy{hide("/etc/passwd")}, Fixed: system("/etc/passwd", "/etc")}},
		{"through a link of the system's", "/bin/sh", access.Verdict{To: "/usr/bin/dash", Kind: host.File, Seen: true, Read: true,
			Rule: &view.Rule{Path: "/usr/bin", Access: policy.Read, Written: "/bin", Source: "moderate"}, Why: "the host's own, read-only",
			Remedies: []access.Remedy{hide("/usr/bin/dash")}, Fixed: system("/usr/bin/dash", "/usr")}},
		{"a new file of the system", "/usr/bin/new", access.Verdict{To: "/usr/bin/new", Rule: &view.Rule{Path: "/usr/bin", Access: policy.Read, Written: "/bin", Source: "moderate"},
			Why: "does not exist, and cannot be created where everything is read-only", Fixed: system("/usr/bin", "/usr")}},
		{"the home directory", home, access.Verdict{To: home, Kind: host.Dir, Seen: true, Read: true, Write: true, Rule: own,
			Why:      "an empty private directory; what is written there is gone afterwards",
			Remedies: []access.Remedy{read(home)}, Fixed: "/home/u is or holds the home directory and is never made writable"}},
		{"a file in it", home + "/.bashrc", access.Verdict{To: home + "/.bashrc", Write: true, Rule: own,
			Why: "/home/u is an empty private directory (the host has it); what is made in it is gone afterwards", Remedies: []access.Remedy{read(home + "/.bashrc"), write(home + "/.bashrc")}}},
		{"no file in it", home + "/none", access.Verdict{To: home + "/none", Write: true, Rule: own,
			Why: "/home/u is an empty private directory (nor does the host have it); what is made in it is gone afterwards", Fixed: "the host has no such file that could be opened"}},
		{"a directory on the way to what is opened", home + "/.config", access.Verdict{To: home + "/.config", Kind: host.Dir, Seen: true, Read: true, Write: true, Rule: own,
			Why: "a private directory; what is written there is gone afterwards", Remedies: []access.Remedy{read(home + "/.config"), write(home + "/.config")},
			Fixed: ""}},
		{"the private cache", home + "/.cache", access.Verdict{To: home + "/.cache", Kind: host.Dir, Seen: true, Read: true, Write: true,
			Rule: &view.Rule{Path: home + "/.cache", Access: policy.Write, Written: home + "/.cache", Source: view.SourceCache},
			Why:  "the project's private cache: it is kept for the next run, and the host's own is neither seen nor changed", Remedies: []access.Remedy{{To: "hide", Flags: []string{"--cache", "none"}}}}},
		{"what is not opened", "/var/log/syslog", access.Verdict{To: "/var/log/syslog", Why: "no rule opens it, so it does not exist inside (the host has it)",
			Fixed: access.OwnUser}},
		{"what is not opened and could be", "/srv/other", access.Verdict{To: "/srv/other", Why: "no rule opens it, so it does not exist inside (the host has it)",
			Remedies: []access.Remedy{read("/srv/other"), write("/srv/other")}}},
		{"a directory above what is opened", "/var", access.Verdict{To: "/var", Kind: host.Dir, Seen: true, Read: true, Why: "no rule opens it: it exists only to hold what is opened in it",
			Remedies: []access.Remedy{read("/var")}, Fixed: "/var is shared with everything else on this machine and is never made writable"}},
		{"named by a flag", "/srv/flag/f", access.Verdict{To: "/srv/flag/f", Kind: host.File, Seen: true, Read: true, Rule: flag, Why: "the host's own, read-only",
			Remedies: []access.Remedy{write("/srv/flag/f"), hide("/srv/flag/f")}}},
		{"the flag's own path", "/srv/flag", access.Verdict{To: "/srv/flag", Kind: host.Dir, Seen: true, Read: true, Rule: flag, Why: "the host's own, read-only",
			Remedies: []access.Remedy{{To: "hide", Text: "leave out --allow-read /srv/flag"}}, Fixed: access.OwnUser}},
		{"hidden by a flag", "/srv/flag/hidden", access.Verdict{To: "/srv/flag/hidden", Kind: host.File, Seen: true,
			Rule: &view.Rule{Path: "/srv/flag/hidden", Access: policy.Block, Written: "/srv/flag/hidden", Layer: policy.Flag, Source: "--block"}, Why: "hidden: a file that cannot be opened is in its place",
			Remedies: []access.Remedy{{To: "read", Text: "leave out --block /srv/flag/hidden"}, {To: "write", Text: "leave out --block /srv/flag/hidden"}}}},
		{"of another user's in it", "/srv/flag/theirs", access.Verdict{To: "/srv/flag/theirs", Kind: host.File, Seen: true, Read: true, Rule: flag, Why: "the host's own, read-only",
			Remedies: []access.Remedy{hide("/srv/flag/theirs")}, Fixed: access.OwnUser}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want.Path == "" {
				c.want.Path = c.ask
			}
			if d := cmp.Diff(c.want, p.Report.Ask(c.ask)); d != "" {
				t.Error(d)
			}
		})
	}
}

// The places that are the sandbox's own in every profile.
func TestAskOwn(t *testing.T) {
	m := shapes[0].m
	m.more = "/proc/version\n/proc/sys/kernel/hostname\n/proc/self -> 77\n/proc/77/ uid=1000\n/proc/77/cwd -> /home/u/src/app\n/proc/77/exe -> /usr/bin/dash\n/proc/77/status mode=444\n/proc/88/status\n/dev/sda device\n"
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/proc": "d r-", "/proc/version": "f r-", "/proc/sys/kernel/hostname": "f r-", "/proc/self": "d r-", "/proc/self/status": "f r-", "/proc/self/cwd": "d rw", "/proc/self/cwd/.env": "f --",
		"/proc/self/exe": "f r-", "/proc/1": "d r-", "/proc/1/status": "f r-", "/proc/88": "- --", "/proc/88/status": "- --", "/proc/none": "- --",
		"/dev": "d r-", "/dev/null": "c rw", "/dev/sda": "- --", "/dev/new": "- --", "/dev/shm": "d rw", "/dev/shm/x": "- -w", "/dev/ptmx": "c rw",
		"/run/sbx": "d r-", "/run/sbx/policy.json": "f r-", "/run/sbx/sbx": "f r-", "/run/sbx/new": "- --", "/run/new": "- -w", "/run/docker.sock": "- -w", "/": "d r-",
	} {
		a := p.Report.Ask(path)
		got := string("-df?spc"[a.Kind]) + " " + map[bool]string{true: "r", false: "-"}[a.Read] + map[bool]string{true: "w", false: "-"}[a.Write]
		if got != want || a.Why == "" {
			t.Errorf("%s: %s, want %s: %+v", path, got, want, a)
		}
	}
}

// With --workspace the names inside are others.
func TestAskElsewhere(t *testing.T) {
	m := cases()["workspace"]
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ask, path   string
		read, write bool
		remedy      string
	}{
		{"/home/u/src/app/main.go", "/workspace/main.go", true, true, "[{hide [--block /home/u/src/app/main.go] }]"},
		{"/workspace/main.go", "/workspace/main.go", true, true, "[{hide [--block /home/u/src/app/main.go] }]"},
		{"/home/u/src/app/.envrc", "/workspace/.envrc", true, false, "[{write [-w /home/u/src/app/.envrc] } {hide [--block /home/u/src/app/.envrc] }]"},
		{"/home/u/src/app/.env", "/workspace/.env", false, false, "[{read [-r /home/u/src/app/.env] } {write [-w /home/u/src/app/.env] }]"},
		{"/home/u/src/app/new", "/workspace/new", false, true, "[]"},
		{"/workspace", "/workspace", true, true, "[]"},
	} {
		a := p.Report.Ask(c.ask)
		if a.Path != c.path || a.Read != c.read || a.Write != c.write || fmt.Sprint(a.Remedies) != c.remedy {
			t.Errorf("%s: %+v", c.ask, a)
		}
	}
}

// Root has no privileges inside: the permission bits decide.
func TestAskAsRoot(t *testing.T) {
	m := shapes[1].m
	m.more = "/root/src/app/theirs uid=1000 mode=600\n/root/src/app/all uid=1000 mode=666\n/root/src/app/shown uid=1000 mode=644\n/root/src/app/dir/ uid=1000 mode=700\n/root/src/app/dir/f\n/root/src/app/own mode=600\n"
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"theirs": "false false root without privileges, as in the sandbox, may not read it (mode 600)",
		"all":    "true true the host's own, and it can be changed",
		"shown":  "true false root without privileges, as in the sandbox, may not write it (mode 644)",
		"dir/f":  "false false you may not search /root/src/app/dir, so the command cannot look into it either",
		"own":    "true true the host's own, and it can be changed",
	} {
		a := p.Report.Ask("/root/src/app/" + name)
		if got := fmt.Sprint(a.Read, a.Write, " ", a.Why); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// Which setting of git opens what another one protects.
func TestGitRemedy(t *testing.T) {
	for _, c := range []struct{ git, path, want string }{
		{"none", "HEAD", "commit"}, {"none", "hooks", "full"}, {"none", "hooks/x", "full"}, {"none", "config", "full"}, {"none", "info/attributes", "full"}, {"none", "info/exclude", "commit"},
		{"none", "modules/lib/config", "full"}, {"none", "modules/lib/HEAD", "commit"}, {"none", "refs/heads/hooks", "commit"}, {"none", "", "commit"},
		{"commit", "hooks/pre-commit", "full"}, {"commit", "modules/lib/config", "full"}, {"commit", "HEAD", ""}, {"full", "hooks", ""},
	} {
		m := shapes[0].m
		m.over.Git = c.git
		m.more = "/home/u/src/app/.git/info/exclude\n/home/u/src/app/.git/info/attributes\n/home/u/src/app/.git/refs/heads/hooks\n/home/u/src/app/.git/modules/lib/HEAD\n"
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, l := range p.Report.Ask(host.Join("/home/u/src/app/.git", c.path)).Remedies {
			if l.To == "write" {
				got = l.Flags[1]
			}
		}
		if got != c.want {
			t.Errorf("git = %s, %s: %q, want %q", c.git, c.path, got, c.want)
		}
	}
}
