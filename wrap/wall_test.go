// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/engine/bwrap"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// given is what a ruleset allows at a path, as the kernel adds it up.
func given(r *landlock.Ruleset, path string) (a landlock.FS) {
	for _, rule := range r.Rules {
		if policy.Within(path, rule.Path) {
			a |= rule.Allow
		}
	}
	return a
}

// judgeWall compares the wall about files with what the mounts of a plan give,
// as [simulate] finds it: nothing that they give is refused, and nothing is
// allowed but below what they give.
func judgeWall(s *sim, h *fakeFS, r *landlock.Ruleset) (bad []string) {
	complain := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	own := func(path string) bool {
		return policy.Within(path, "/proc") || policy.Within(path, "/dev") || policy.Within(path, host.ManifestDir)
	}
	read, write := map[string]bool{}, map[string]bool{}
	for _, f := range s.all() {
		read[f.path] = f.host != ""
		write[f.path] = f.write && f.kind != host.Link
		want := landlock.FS(0)
		switch {
		case f.kind == host.Link || policy.Within(f.path, "/proc"):
		case f.kind == host.Dir:
			want = landlock.ReadDir
			if f.host != "" {
				want = landlock.Read // for what comes later, too
			}
			if f.write {
				want |= landlock.Write
			}
			if f.path == "/dev" {
				want |= landlock.ReadFile | landlock.WriteFile | landlock.IoctlDev
			}
		case f.host != "" || policy.Within(f.path, host.ManifestDir):
			want = landlock.Execute | landlock.ReadFile
			if f.write {
				want |= landlock.WriteFile | landlock.Truncate
			}
		}
		if missing := want &^ given(r, f.path); missing != 0 {
			complain("%s: the mounts give what the wall refuses: %#x", f.path, missing)
		}
	}
	below := func(path string, given map[string]bool) bool {
		for ; path != "/"; path = policy.Dir(path) {
			if given[path] {
				return true
			}
		}
		return given["/"]
	}
	for _, path := range h.paths() {
		a := given(r, path)
		switch {
		case own(path):
		case a&(landlock.ReadFile|landlock.Execute) != 0 && !below(path, read) && !below(path, write):
			complain("%s: the wall lets it be read, and no mount shows what it lies in", path)
		case a&(landlock.WriteFile|landlock.Truncate|landlock.Make) != 0 && !below(path, write):
			complain("%s: the wall lets it be written, and no mount makes it writable", path)
		case a&(landlock.IoctlDev|landlock.MakeChar|landlock.MakeBlock) != 0:
			complain("%s: the wall allows devices", path)
		}
	}
	return bad
}

// The wall of a strict run is the view that its mounts give, over machines and
// rules no one thought of.
func TestWallIsTheView(t *testing.T) {
	n, rules := 0, 0
	for seed := range uint64(*worlds) {
		w := randomWorld(t, rand.New(rand.NewPCG(seed, 3)))
		p, err := w.plan()
		if err != nil {
			continue
		}
		s, err := simulate(w.fs, p)
		if err != nil {
			t.Fatal(err)
		}
		wall := strictWall(p, 7)
		if wall.FS == 0 || wall.Scope != landlock.AbstractUnix|landlock.Signal {
			t.Fatalf("%+v", wall)
		}
		if bad := judgeWall(s, s.host, wall); len(bad) > 0 {
			t.Fatalf("%s\n%+v\n%s", strings.Join(bad, "\n"), wall.Rules, w)
		}
		n++
		rules += len(wall.Rules)
	}
	if n < *worlds/2 || rules < 4*n {
		t.Errorf("%d plans with %d rules: the test tests too little", n, rules)
	}
}

// strictWall is the wall of a plan, had it the strict filter.
func strictWall(p *engine.Plan, abi int) *landlock.Ruleset {
	pol := *p.Report.Policy
	pol.Seccomp = "strict"
	host := *p.Report.View.Host
	host.Landlock = abi
	v := *p.Report.View
	v.Host = &host
	return bwrap.Ruleset(&v, &pol, &host)
}

// The judge sees what is wrong with a wall: a rule too few, and one too many.
func TestWallIsJudged(t *testing.T) {
	m := user(debian + home("/home/u", "1000"))
	m.profiles = []string{"strict"}
	p, fs, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	s, err := simulate(fs, p)
	if err != nil {
		t.Fatal(err)
	}
	wall := strictWall(p, 7)
	if bad := judgeWall(s, s.host, wall); len(bad) > 0 {
		t.Fatal(bad)
	}
	for i, rule := range wall.Rules {
		r := *wall
		if r.Rules = slices.Delete(slices.Clone(wall.Rules), i, i+1); len(judgeWall(s, s.host, &r)) == 0 && rule.Path != "/proc" && rule.Path != host.ManifestDir { // the latter lies in a private /run
			t.Errorf("%+v is not missed", rule)
		}
	}
	for _, rule := range []landlock.Rule{{Path: "/", Allow: landlock.Read}, {Path: "/srv/data", Allow: landlock.ReadFile}, {Path: "/etc", Allow: landlock.Execute}, {Path: "/usr", Allow: landlock.Truncate},
		{Path: "/etc/passwd", Allow: landlock.WriteFile}, {Path: "/tmp", Allow: landlock.MakeBlock}} {
		r := *wall
		if r.Rules = append(slices.Clone(wall.Rules), rule); len(judgeWall(s, s.host, &r)) == 0 {
			t.Errorf("%+v is not seen", rule)
		}
	}
}

// What is put up, and what is said to be missing.
func TestWalls(t *testing.T) {
	const closes = " (Landlock could close it"
	for _, c := range []struct {
		name     string
		net, pid policy.Switch
		strict   bool
		abi      int
		direct   bool
		scope    landlock.Scope
		files    bool
		group    pid1.Group
		gaps     []string
	}{
		{name: "nothing is shared", abi: 7, group: pid1.NewSession},
		{name: "the network", net: policy.Yes, abi: 6, scope: landlock.AbstractUnix | landlock.Signal, group: pid1.NewSession},
		{name: "the network, before", net: policy.Yes, abi: 5, group: pid1.NewSession,
			gaps: []string{"the network is shared, and with it the abstract sockets of this host" + closes + " from Linux 6.12 on)"}},
		{name: "the network, no Landlock", net: policy.Yes, group: pid1.NewSession,
			gaps: []string{"the network is shared, and with it the abstract sockets of this host" + closes + ": this kernel has none, or has it off)"}},
		{name: "the network, direct", net: policy.Yes, abi: 7, direct: true,
			gaps: []string{"the network is shared, and with it the abstract sockets of this host" + closes + ", but sbx is not process 1 of the sandbox)"}},
		{name: "processes", pid: policy.Yes, abi: 7, scope: landlock.Signal, group: pid1.NoInit},
		{name: "both", net: policy.Yes, pid: policy.Yes, abi: 7, scope: landlock.AbstractUnix | landlock.Signal, group: pid1.NoInit},
		{name: "processes, before", pid: policy.Yes, abi: 5,
			gaps: []string{"the processes are shared, and the command can signal those of the caller" + closes + " from Linux 6.12 on)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := shapes[0].m
			m.version.Minor = 11 // binds by descriptor: without a wall, shared processes need no init
			m.abi, m.over.AllowNetwork, m.over.SharePID, m.request.Direct = c.abi, c.net, c.pid, c.direct
			p, _, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			stays := p.Init != nil && p.Init.Group != pid1.NoInit
			if slices.Contains(p.Gaps, bwrap.Unwatched) == stays {
				t.Errorf("process 1 stays: %t, and the gaps are %q", stays, p.Gaps)
			}
			gaps := slices.DeleteFunc(slices.Clone(p.Gaps), func(g string) bool { return g == bwrap.Unwatched || g == engine.GapSockets })
			if d := cmp.Diff(c.gaps, gaps, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
			switch {
			case p.Init == nil:
				if c.scope != 0 || !c.direct && c.pid != policy.Yes {
					t.Error("no stage")
				}
			case p.Init.Group != c.group:
				t.Errorf("group %d", p.Init.Group)
			case c.scope == 0 && p.Init.Ruleset != nil || c.scope != 0 && !cmp.Equal(p.Init.Ruleset, &landlock.Ruleset{Scope: c.scope}):
				t.Errorf("%+v", p.Init.Ruleset)
			}
		})
	}
}

// With older versions a strict run gets the walls that there are, and says what
// is missing.
func TestStrictWalls(t *testing.T) {
	m := shapes[0].m
	m.profiles = []string{"strict"}
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	pol := *p.Report.Policy
	pol.Seccomp = "strict"
	const missing = "there is no second barrier around the files, only mounts hide them (Landlock could close it"
	for abi, want := range map[int]struct {
		wall, files bool
		gap         string
	}{
		0: {false, false, missing + ": this kernel has none, or has it off)"}, 1: {false, false, missing + " from Linux 6.2 on)"}, 2: {false, false, missing + " from Linux 6.2 on)"},
		3: {true, true, ""}, 5: {true, true, ""}, 6: {true, true, ""}, 7: {true, true, ""}, 9: {true, true, ""},
	} {
		wall := strictWall(p, abi)
		if (wall != nil) != want.wall || want.files != (wall != nil && wall.FS != 0) {
			t.Errorf("%d: %+v", abi, wall)
		}
		if known, _, _ := landlock.Known(abi); wall != nil && (wall.FS&^known != 0 || wall.FS&landlock.ResolveUnix != 0) {
			t.Errorf("%d: handles %#x", abi, wall.FS)
		}
		q := &engine.Plan{Init: &pid1.InitConfig{Ruleset: wall}}
		var gaps []string
		if want.gap != "" {
			gaps = []string{want.gap}
		}
		if d := cmp.Diff(gaps, bwrap.RulesetGaps(q, &pol, &host.Host{Facts: host.Facts{Landlock: abi}})); d != "" {
			t.Error(abi, d)
		}
	}
}

// Which files on standard input init opens anew, and which are copied.
func TestReopened(t *testing.T) {
	const path = "/srv/data/f"
	for _, c := range []struct {
		name   string
		file   string // "" is one that the caller owns and can read
		fd     host.FD
		change func(m *machine)
		reopen bool
	}{
		{name: "a file", reopen: true},
		{name: "a large one", fd: host.FD{Size: engine.MaxCopy + 1}, reopen: true},
		{name: "readable by its group", file: path + " uid=1001 mode=604", reopen: true},
		{name: "not readable by its name", file: path + " uid=1001 mode=600"},
		{name: "as root, who has no privileges inside", file: path + " uid=1001 mode=600", change: func(m *machine) { m.uid, m.files = 0, debian+home("/root", "0") }},
		{name: "as root, readable by all", file: path + " uid=1001 mode=644", change: func(m *machine) { m.uid, m.files = 0, debian+home("/root", "0") }, reopen: true},
		{name: "deleted", fd: host.FD{Deleted: true}},
		{name: "another file has the name", change: func(m *machine) { m.known = false }, fd: host.FD{Ino: 99999}},
		{name: "not known which file", change: func(m *machine) { m.known = false }},
		{name: "the kernel's", file: "/proc/version", fd: host.FD{Path: "/proc/version", Kernel: true}},
		{name: "no stage", change: func(m *machine) { m.request.Direct = true }},
		{name: "/run is the host's", change: func(m *machine) { m.over.Read = flagPaths("--allow-read", "/run") }},
		{name: "shared processes", change: func(m *machine) { m.over.SharePID, m.version.Minor = policy.Yes, 11 }, reopen: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := user(debian + home("/home/u", "1000"))
			if m.more = c.file; m.more == "" {
				m.more = path + " uid=1000 mode=600"
			}
			fd := c.fd
			fd.Kind, fd.Reads = host.FDFile, true
			if fd.Path == "" {
				fd.Path = path
			}
			m.fds, m.known, m.profiles = []host.FD{fd}, true, []string{"strict"}
			if c.change != nil {
				c.change(&m)
			}
			p, fs, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			want := []int{0}
			switch {
			case !c.reopen:
				if !slices.Equal(p.Copy, want) || p.Reopen != nil || p.Init != nil && p.Init.Reopen != nil {
					t.Errorf("copy %v, reopen %v", p.Copy, p.Reopen)
				}
				return
			case p.Copy != nil || !slices.Equal(p.Reopen, want) || p.Init == nil || !slices.Equal(p.Init.Reopen, want):
				t.Fatalf("copy %v, reopen %v", p.Copy, p.Reopen)
			}
			s, err := simulate(fs, p)
			if err != nil {
				t.Fatal(err)
			}
			at, _, _ := s.walk(pid1.ReopenDir+"/0", true)
			if at.hostPath() != fd.Path || !at.m.ro {
				t.Errorf("%q is mounted, read-only %v", at.hostPath(), at.m.ro)
			}
		})
	}
	// The first ones only: each is a mount.
	m := user(debian + home("/home/u", "1000"))
	m.more, m.known, m.over.Read = path+" uid=1000", true, flagPaths("--allow-read", path)
	for n := 3; n < 20; n++ {
		m.fds = append(m.fds, host.FD{Num: n, Kind: host.FDFile, Path: path, Reads: true})
	}
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Reopen) != engine.MaxReopen || len(p.Copy) != 17-engine.MaxReopen {
		t.Errorf("copy %v, reopen %v", p.Copy, p.Reopen)
	}
}
