// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/access"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// modelled is what a command that is confined may do with a path: permissions,
// and what the rules at the path and above it add up to.
func modelled(fs *fakeFS, w *landlock.Ruleset, path string) (v verdict) {
	may := func(n *fakeNode, rwx byte) bool {
		if fs.uid != 0 {
			return fs.may(n, rwx)
		}
		mode := n.Mode
		if n.UID == 0 { // root without privileges
			mode >>= 6
		}
		return mode&view.Bit(rwx) != 0
	}
	_, name, _, _ := fs.namei(path, false)
	at, n, _, err := fs.namei(path, true)
	for dir := at; fs.uid == 0 && dir != "/"; {
		dir = policy.Dir(dir)
		if up := fs.nodes[dir]; up != nil && up.Kind == host.Dir && !may(up, 'x') {
			return verdict{}
		}
	}
	v.Seen, v.There = name != nil, n != nil
	if err == errFakeLoop {
		return verdict{Seen: v.Seen}
	}
	if n == nil {
		for at = policy.Dir(at); fs.nodes[at] == nil; {
			at = policy.Dir(at)
		}
		dir := fs.nodes[at]
		v.Write = dir.Kind == host.Dir && allowed(fs, w, at)&landlock.MakeReg != 0 && may(dir, 'w') && may(dir, 'x')
		return v
	}
	has := allowed(fs, w, at)
	switch n.Kind {
	case host.Dir:
		v.Read = has&landlock.ReadDir != 0 && may(n, 'r')
		v.Write = has&landlock.MakeReg != 0 && may(n, 'w') && may(n, 'x')
	case host.Socket:
	default:
		v.Read = has&landlock.ReadFile != 0 && may(n, 'r')
		v.Write = has&landlock.WriteFile != 0 && may(n, 'w')
	}
	return v
}

// apart gives each file a number of its own, which a fake machine does not.
func apart(fs *fakeFS) {
	for i, path := range fs.paths() {
		fs.nodes[path].Ino = uint64(i + 1)
	}
}

func compareWalled(t *testing.T, p *engine.Plan, fs *fakeFS, ask func(string) access.Verdict) (compared int) {
	t.Helper()
	for _, path := range fs.paths() {
		for _, path := range []string{path, host.Join(path, "absent"), host.Join(path, "absent/deeper")} {
			if access.Foreign(path) || access.OwnDescriptor(path) || p.CacheDst != "" && policy.Within(p.CacheDst, path) {
				continue // TestAskWalled
			}
			a := ask(path)
			compared++
			if d := cmp.Diff(modelled(fs, &p.Confined.Ruleset, path), verdict{a.Seen, a.Kind != host.Absent, a.Read, a.Write}); d != "" {
				t.Errorf("%s (-modelled +answered):\n%s%+v, mark %+v", path, d, a, a.Rule)
			}
			if a.Why == "" || strings.Contains(a.Why, "\n") {
				t.Errorf("%s: why is %q", path, a.Why)
			}
		}
	}
	return compared
}

// What an answer says of every path is what a model of the kernel says.
func TestAnswersAgreeWithLandlock(t *testing.T) {
	compared := 0
	for seed := range uint64(3000) {
		w := randomWorld(t, rand.New(rand.NewPCG(seed, 11)))
		w.abi = 1 + int(seed%10)
		p, err := w.plan()
		if err != nil {
			continue
		}
		compared += compareWalled(t, p, w.fs, p.Report.Ask)
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, w)
		}
	}
	if compared < 20000 {
		t.Errorf("only %d paths were compared", compared)
	}
	for _, s := range shapes {
		m := s.m
		m.landlock, m.over.Protected = 7, "enforce"
		p, fs, err := m.plan(t)
		if err != nil {
			t.Fatal(s.name, err)
		}
		apart(fs)
		if n := compareWalled(t, p, fs, p.Report.Ask); n < 150 {
			t.Errorf("%s: only %d paths were compared", s.name, n)
		}
	}
}

// marked reads a manifest as cmd/sbx does.
func marked(t *testing.T, data []byte, h *host.Host) *access.Checker {
	t.Helper()
	var m struct {
		Paths []struct {
			Path, Access, Rule, Source, Layer string
			Pin                               bool
		}
		Wall struct {
			FS    string
			Rules []struct{ Path, Allow string }
		}
	}
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	number := func(s string) (n landlock.FS) {
		if _, err := fmt.Sscanf(s, "0x%x", &n); err != nil {
			t.Fatal(s, err)
		}
		return n
	}
	s := &access.Checker{FS: h.FS, Host: h}
	if m.Wall.FS != "" {
		s.Ruleset = &landlock.Ruleset{FS: number(m.Wall.FS)}
	}
	for _, p := range m.Paths {
		mark := view.Rule{Path: p.Path, Written: p.Rule, Source: p.Source, Pinned: p.Pin}
		for a := policy.Private; a <= policy.Block; a++ {
			if a.String() == p.Access {
				mark.Access = a
			}
		}
		if p.Access == view.Closed {
			mark.Access, mark.Closed = policy.Private, true
		}
		if mark.Written == "" {
			mark.Written = p.Path
		}
		s.Rules = append(s.Rules, mark)
	}
	for _, r := range m.Wall.Rules {
		s.Ruleset.Rules = append(s.Ruleset.Rules, landlock.Rule{Path: r.Path, Allow: number(r.Allow)})
	}
	return s
}

// Inside, the manifest says as much as the plan does outside.
func TestWalledManifestSaysTheSame(t *testing.T) {
	compared := 0
	for seed := range uint64(600) {
		w := randomWorld(t, rand.New(rand.NewPCG(seed, 12)))
		w.abi, w.uid, w.fs.uid = 1+int(seed%10), 1000, 1000
		p, err := w.plan()
		if err != nil || len(p.Files) != 1 {
			continue
		}
		data := p.Files[0].Data
		if strings.Contains(string(data), p.Session) {
			t.Fatalf("the manifest names the run, and so differs from that of any other:\n%s", data)
		}
		s := marked(t, data, p.Report.View.Host)
		compared += compareWalled(t, p, w.fs, s.Ask)
		for _, path := range w.fs.paths() {
			in, out := s.Ask(path), p.Report.Ask(path)
			if in.Why != out.Why && !strings.Contains(out.Why, "the next run would") {
				t.Errorf("%s: inside %q, outside %q", path, in.Why, out.Why)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, w)
		}
	}
	if compared < 5000 {
		t.Errorf("only %d paths were compared", compared)
	}
}

// The whole of an answer, for each kind of place.
func TestAskWalled(t *testing.T) {
	const app, home = "/home/u/src/app", "/home/u"
	m := shapes[0].m
	m.landlock, m.over.Protected = 7, "enforce"
	m.more = `
/home/u/src/app/s.sock socket
/home/u/src/app/pipe fifo
/home/u/src/app/closed uid=0 mode=600
/home/u/src/app/locked uid=0 mode=644
/home/u/src/app/dangling -> nowhere
/home/u/src/app/key -> /home/u/.ssh/id_rsa
/home/u/src/app/second
/proc/version
/proc/self -> 77
/proc/77/environ
/proc/77/fd/1 mode=666
/proc/88/environ
/proc/88/status
/dev/sda device mode=666
/dev/tty device mode=666
/srv/other uid=1000
/srv/tree/a uid=1000
/srv/tree/in/hidden uid=1000
/srv/tree/in/shut/x uid=1000
`
	m.over = policy.Profile{Protected: "enforce", Read: flagPaths("--allow-read", "/srv/tree"), Block: flagPaths("--block", "/srv/tree/in/hidden", "/srv/tree/in/shut")}
	p, fs, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	apart(fs)
	fs.nodes[app+"/second"].Ino = fs.nodes[app+"/.env"].Ino // a hard link
	frozen := app + "/.env in it is hidden (one of 9 with fewer rights), and Landlock opens a directory only with all that is in it"
	stays := "; it cannot be moved or removed, since " + app + " holds something protected or hidden"
	for _, c := range []struct {
		path, can, why, remedies string
	}{
		{app, "d r-", "nothing can be made, removed or renamed in it: " + frozen, "write: " + access.FullTier},
		{app + "/main.go", "f rw", "the host's own, and it can be changed" + stays, "hide: --block " + app + "/main.go"},
		{app + "/new", "- --", "does not exist, and nothing can be made in " + app + ": " + frozen, "write: " + access.FullTier},
		{app + "/sub/new", "- -w", "does not exist; could be created", ""},
		{app + "/.env", "f rw", "open, since another name of the same file is: Landlock goes by files and not by names", "read: -r " + app + "/.env"},
		{app + "/tls.key", "f --", "hidden: it exists, but cannot be opened", "read: -r " + app + "/tls.key; write: -w " + app + "/tls.key"},
		{app + "/.envrc", "f r-", "protected: read-only in a tree that can be written", "write: -w " + app + "/.envrc; hide: --block " + app + "/.envrc"},
		{app + "/.git/hooks/pre-commit", "f r-", "protected: read-only in a tree that can be written", "write: --git full; hide: --block " + app + "/.git/hooks/pre-commit"},
		{app + "/s.sock", "s --", "Landlock here is older than version 9 and cannot tell sockets of the host from others, so there are none but pairs", "connect: " + access.FullTier},
		{app + "/pipe", "p rw", "the host's own, and it can be changed" + stays, "hide: --block " + app + "/pipe"},
		{app + "/closed", "f --", "you may not read it (mode 600), and neither may the command", "no: " + access.OwnUser},
		{app + "/locked", "f r-", "you may not write it (mode 644), and neither may the command" + stays, "hide: --block " + app + "/locked; no: " + access.OwnUser},
		{app + "/key", "f --", "it exists, but cannot be opened: there is no private directory in place of /home/u without namespaces",
			"read: -r " + home + "/.ssh/id_rsa; write: -w " + home + "/.ssh/id_rsa; write: " + access.FullTier},
		{app + "/dangling", "- --", "a link to " + app + "/nowhere: does not exist, and nothing can be made in " + app + ": " + frozen, "write: " + access.FullTier},
		{"/etc/passwd", "f r-", "the host's own, read-only", "hide: --block /etc/passwd; no: /etc/passwd belongs to the system (/etc) and is never made writable"},
		{"/etc/shadow", "f --", "you may not read it (mode 640), and neither may the command", "no: " + access.OwnUser},
		{home, "d --", "it exists, but cannot be opened: there is no private directory in place of /home/u without namespaces",
			"read: -r /home/u; write: " + access.FullTier + "; no: /home/u is or holds the home directory and is never made writable"},
		{home + "/.bashrc", "f --", "it exists, but cannot be opened: there is no private directory in place of /home/u without namespaces",
			"read: -r /home/u/.bashrc; write: -w /home/u/.bashrc; write: " + access.FullTier},
		{home + "/none", "- --", "does not exist, and cannot be created: there is no private directory in place of /home/u without namespaces", "write: " + access.FullTier},
		{"/tmp/x", "- --", "does not exist, and cannot be created: there is no private directory in place of /tmp without namespaces", "write: " + access.FullTier},
		{"/srv/other", "f --", "it exists, but cannot be opened: no rule opens it", "read: -r /srv/other; write: -w /srv/other"},
		{"/srv/none", "- --", "does not exist, and cannot be created where no rule opens anything", "no: the host has no such file that could be opened"},
		{"/srv/tree", "d --", "it cannot be listed: /srv/tree/in/hidden in it is hidden (one of 2 with fewer rights), and Landlock opens a directory only with all that is in it", "read: " + access.FullTier + "; hide: leave out --allow-read /srv/tree; no: " + access.OwnUser},
		{"/srv/tree/a", "f r-", "the host's own, read-only", "write: -w /srv/tree/a; hide: --block /srv/tree/a"},
		{"/srv/tree/in/shut/x", "f --", "it exists, but cannot be opened: it lies in a hidden directory", "read: -r /srv/tree/in/shut/x; write: -w /srv/tree/in/shut/x"},
		{"/run/docker.sock", "s --", "Landlock here is older than version 9 and cannot tell sockets of the host from others, so there are none but pairs", "connect: " + access.FullTier + ", with -r /run/docker.sock"},
		{"/proc", "d r-", "the host's /proc, read-only: it shows all processes, but not their memory, environment and files", "no: no flag opens more of /proc"},
		{"/proc/self/environ", "f r-", "the host's /proc, read-only: it shows all processes, but not their memory, environment and files", "no: no flag opens more of /proc"},
		{"/proc/88/environ", "f --", "memory, environment and files of a process outside, which Landlock closes", "no: no flag opens more of /proc"},
		{"/proc/88/status", "f r-", "the host's /proc, read-only: it shows all processes, but not their memory, environment and files", "no: no flag opens more of /proc"},
		{"/proc/self/fd/1", "f rw", "what the command has open", ""},
		{"/dev", "d --", "it exists, but cannot be opened: of /dev a command has a few harmless devices and its own terminal", "no: no flag opens more of /dev"},
		{"/dev/null", "c rw", "a harmless device, which every command has", ""},
		{"/dev/sda", "c --", "it exists, but cannot be opened: of /dev a command has a few harmless devices and its own terminal", "no: no flag opens more of /dev"},
		{"/dev/shm", "d --", "it exists, but cannot be opened: there is no private directory in place of /dev/shm without namespaces", "write: " + access.FullTier + "; no: no flag opens more of /dev"},
		{"/run/sbx", "- --", "does not exist, and cannot be created: there is no private directory in place of /run without namespaces", "write: " + access.FullTier},
	} {
		a := p.Report.Ask(c.path)
		can := string("-df?spc"[a.Kind]) + " " + map[bool]string{true: "r", false: "-"}[a.Read] + map[bool]string{true: "w", false: "-"}[a.Write]
		var remedies []string
		for _, l := range a.Remedies {
			if len(l.Flags) > 0 && (l.Text == access.WholeOnly) != (a.Kind == host.Dir && l.To != "hide") {
				t.Errorf("%s: remark %q", c.path, l.Text)
			}
			remedies = append(remedies, l.To+": "+strings.Join(l.Flags, " ")+strings.TrimPrefix(l.Text, access.WholeOnly))
		}
		if a.Fixed != "" {
			remedies = append(remedies, "no: "+a.Fixed)
		}
		if d := cmp.Diff([]string{c.can, c.why, c.remedies}, []string{can, a.Why, strings.Join(remedies, "; ")}); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.path, d)
		}
		if a.Connect {
			t.Errorf("%s can be connected to", c.path)
		}
	}
	m.landlock, m.over.Protected = 9, "enforce"
	p, _, err = m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	if a := p.Report.Ask(app + "/s.sock"); a.Connect || a.Why != "Landlock lets no command connect to the sockets of processes outside" {
		t.Errorf("a socket, version 9: %+v", a)
	}
}

// Inside, the directory of the run is known.
func TestEnter(t *testing.T) {
	m := shapes[0].m
	m.landlock, m.over.Protected = 7, "enforce"
	m.more = "/run/user/1000/sbx/77.x/policy.json mode=400\n/run/user/1000/sbx/77.x/tmp/f\n/run/user/1000/sbx/other/tmp/f\n"
	p, fs, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	apart(fs)
	s := marked(t, p.Files[0].Data, &host.Host{Facts: host.Facts{FS: fs}, Caller: host.Caller{UID: 1000, CWD: "/home/u/src/app"}})
	s.Enter("/run/user/1000/sbx/77.x")
	for path, want := range map[string]string{
		"/run/user/1000/sbx/77.x/policy.json": "true false", "/run/user/1000/sbx/77.x/tmp": "true true", "/run/user/1000/sbx/77.x/tmp/f": "true true", "/run/user/1000/sbx/77.x/tmp/new": "false true",
		"/run/user/1000/sbx/77.x": "false false", "/run/user/1000/sbx/77.x/new": "false false", "/run/user/1000/sbx/other/tmp/f": "false false",
	} {
		if a := s.Ask(path); fmt.Sprint(a.Read, a.Write) != want {
			t.Errorf("%s: %v %v, want %s: %s", path, a.Read, a.Write, want, a.Why)
		}
	}
	if !slices.IsSortedFunc(s.Rules, func(a, b view.Rule) int { return view.ComparePaths(a.Path, b.Path) }) {
		t.Error("marks are not sorted, so the wrong one decides")
	}
}
