// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// walls lists the rules of a plan, one a line.
func walls(p *engine.Plan) string {
	var b strings.Builder
	w := p.Confined.Ruleset
	fmt.Fprintf(&b, "handled %#x, net %#x, scope %#x\n", uint64(w.FS), uint64(w.Net), uint64(w.Scope))
	for _, r := range w.Rules {
		fmt.Fprintf(&b, "\t%#-7x %s\n", uint64(r.Allow), text.Plain(r.Path))
	}
	return b.String()
}

// allowed is what the kernel would allow at a canonical path: what the rules at
// it and at everything above it add up to (landlock(7)).
func allowed(fs *fakeFS, w *landlock.Ruleset, path string) landlock.FS {
	var sum landlock.FS
	for _, r := range w.Rules {
		if r.Path == "" || !policy.Within(path, r.Path) {
			continue
		}
		give := r.Allow
		if n := fs.nodes[r.Path]; n == nil || n.Kind == host.Link {
			continue
		} else if n.Kind != host.Dir {
			give &= landlock.OfFile
		}
		sum |= give
	}
	return sum & w.FS
}

// judgeWalls compares what the kernel would allow with what the policy says.
func judgeWalls(o *oracle, p *engine.Plan) (bad []string) {
	complain := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	w := &p.Confined.Ruleset
	complete := !slices.ContainsFunc(p.Gaps, func(g string) bool {
		return strings.Contains(g, "not opened") || strings.Contains(g, "cannot be listed by you")
	})
	const change = landlock.Make | landlock.MakeReg | landlock.MakeDir
	for _, path := range o.fs.paths() {
		if policy.Within(path, "/proc") || policy.Within(path, "/dev") || o.fs.nodes[path].Kind == host.Link {
			continue
		}
		n, a, has := o.fs.nodes[path], o.access(path), allowed(o.fs, w, path)
		if a == policy.Protect && p.Report.Policy.Protected == "auto" {
			continue // may be written where that spares its neighbours; TestWatched
		}
		if p.CacheDst != "" && policy.Within(path, p.CacheDst) {
			continue
		}
		open, write := landlock.ReadFile|landlock.Execute, landlock.WriteFile|landlock.Truncate
		if n.Kind == host.Dir {
			open, write = landlock.ReadDir, change
		}
		hidden := a == policy.Block && n.UID != o.fs.uid && !o.fs.may(n, 'r') && !o.fs.may(n, 'w') && (n.Kind != host.Dir || !o.fs.may(n, 'x'))
		switch {
		case has&(open|landlock.ReadFile) != 0 && !view.Shows(a) && !hidden:
			complain("%s can be read; the policy says %s", path, a)
		case has&write != 0 && a != policy.Write:
			complain("%s can be written; the policy says %s", path, a)
		}
		if has&landlock.MakeChar|has&landlock.MakeBlock != 0 {
			complain("device nodes can be made in %s", path)
		}
		if complete && a == o.led.access(path) && n.Kind == host.File {
			if view.Shows(a) && has&landlock.ReadFile == 0 {
				complain("%s cannot be read; the policy says %s", path, a)
			}
			if a == policy.Write && has&landlock.WriteFile&w.FS == 0 {
				complain("%s cannot be written; the policy says so", path)
			}
		}
		// What is fixed has to stay at its place, and so has all above it.
		if a == policy.Write || path == "/" {
			continue
		}
		for at := path; at != "/"; at = policy.Dir(at) {
			if allowed(o.fs, w, policy.Dir(at))&(landlock.RemoveFile|landlock.RemoveDir) != 0 && !hidden {
				complain("%s can be renamed, and %s (%s) with it", at, path, a)
			}
		}
	}
	return bad
}

// The promises of the Landlock engine over machines and rules no one thought
// of: nothing can be read, written, made or moved that the policy does not give,
// and every file it gives is open.
func TestWallsKeepTheirPromises(t *testing.T) {
	n := *worlds
	planned := 0
	for seed := range n {
		w := randomWorld(t, rand.New(rand.NewPCG(uint64(seed), 5)))
		w.abi, w.watch = 1+seed%10, seed%3 == 0
		if hold(t, w) {
			planned++
		}
	}
	if planned < n/2 {
		t.Errorf("only %d of %d worlds were planned for: the test tests too little", planned, n)
	}
}

// carved plans a run with rules in a small machine.
func carved(t *testing.T, files string, rules ...policy.Rule) *engine.Plan {
	t.Helper()
	w := &world{uid: 1000, git: "none", abi: 7}
	w.fs = newFS(t, 1000, "/proc/\n/dev/\n/x/sh x\n/h/ uid=1000\n/w/p/ uid=1000\n", files)
	w.rules = append(rules, policy.Rule{Path: "/w/p", Access: policy.Write, Source: "test", OfCWD: true}, policy.Rule{Path: "/x", Access: policy.Read, Source: "test"})
	p, err := w.plan()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCarve(t *testing.T) {
	rule := func(a policy.Access, path string) policy.Rule {
		return policy.Rule{Path: path, Access: a, Source: "test"}
	}
	const r, w = landlock.Read, landlock.Write
	for _, c := range []struct {
		name, files string
		rules       []policy.Rule
		want        map[string]landlock.FS // of the paths below /w
		notes       []string               // parts of gaps
	}{
		{"whole", "/w/p/a\n/w/p/d/b", nil, map[string]landlock.FS{"/w/p": w}, nil},
		{"a protected file", "/w/p/a\n/w/p/d/b\n/w/p/.envrc", []policy.Rule{rule(policy.Protect, "/w/p/.envrc")},
			map[string]landlock.FS{"/w/p": r, "/w/p/a": w, "/w/p/d": w}, []string{"directly in /w/p:"}},
		{"a hidden file", "/w/p/a\n/w/p/d/b\n/w/p/.env", []policy.Rule{rule(policy.Block, "/w/p/.env")},
			map[string]landlock.FS{"/w/p": landlock.ReadDir, "/w/p/a": w, "/w/p/d": w}, []string{"directly in /w/p:"}},
		{"a hidden directory", "/w/p/a\n/w/p/s/b", []policy.Rule{rule(policy.Block, "/w/p/s")},
			map[string]landlock.FS{"/w/p/a": w}, []string{"/w/p cannot be listed"}},
		{"deep", "/w/p/a\n/w/p/d/e/f\n/w/p/d/e/g\n/w/p/d/h", []policy.Rule{rule(policy.Protect, "/w/p/d/e/f")},
			map[string]landlock.FS{"/w/p": r, "/w/p/a": w, "/w/p/d/h": w, "/w/p/d/e/g": w},
			[]string{"directly in /w/p, /w/p/d, /w/p/d/e:"}},
		{"writable again below", "/w/p/a\n/w/p/d/e/f\n/w/p/d/g", []policy.Rule{rule(policy.Protect, "/w/p/d"), rule(policy.Write, "/w/p/d/e")},
			map[string]landlock.FS{"/w/p": r, "/w/p/a": w, "/w/p/d/e": w}, []string{"directly in /w/p:"}},
		{"a link around it", "/w/p/a\n/w/p/.env\n/w/p/l -> .env", []policy.Rule{rule(policy.Block, "/w/p/.env")},
			map[string]landlock.FS{"/w/p": landlock.ReadDir, "/w/p/a": w}, nil},
		{"not mine to hide", "/w/p/a\n/w/p/k uid=0 mode=600", []policy.Rule{rule(policy.Block, "/w/p/k")},
			map[string]landlock.FS{"/w/p": w}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := carved(t, c.files, c.rules...)
			got := map[string]landlock.FS{}
			for _, r := range p.Confined.Ruleset.Rules {
				if policy.Within(r.Path, "/w") {
					got[r.Path] |= r.Allow
				}
			}
			for path, allow := range c.want {
				if got[path] != allow&p.Confined.Ruleset.FS {
					t.Errorf("%s: %#x, want %#x", path, uint64(got[path]), uint64(allow))
				}
				delete(got, path)
			}
			for path, allow := range got {
				t.Errorf("%s: %#x, want no rule", path, uint64(allow))
			}
			for _, note := range c.notes {
				if !slices.ContainsFunc(p.Gaps, func(g string) bool { return strings.Contains(g, note) }) {
					t.Errorf("no gap says %q: %q", note, p.Gaps)
				}
			}
		})
	}
}

// Each version of Landlock: what is handled, what is a gap, what the filter has
// to do in its place.
func TestLandlockVersions(t *testing.T) {
	for abi := 1; abi <= 11; abi++ {
		m := user(debian + home("/home/u", "1000"))
		m.landlock = abi
		p, _, err := m.plan(t)
		if err != nil {
			t.Fatal(err)
		}
		w := p.Confined.Ruleset
		fs, net, scope := landlock.Known(abi)
		if w.FS != fs || w.Net != net || w.Scope != scope {
			t.Errorf("version %d handles %#x %#x %#x, want all that it has", abi, uint64(w.FS), uint64(w.Net), uint64(w.Scope))
		}
		for _, r := range w.Rules {
			if r.Allow&^fs != 0 {
				t.Errorf("version %d: the rule for %s allows %#x, which the kernel does not know", abi, r.Path, uint64(r.Allow))
			}
		}
		for text, until := range map[string]int{"can be signalled": 6, "no Unix sockets but pairs": 9, "renamed or linked from one directory": 2} {
			if got := slices.ContainsFunc(p.Gaps, func(g string) bool { return strings.Contains(g, text) }); got != (abi < until) {
				t.Errorf("version %d: gap %q is %v", abi, text, got)
			}
		}
		if p.Tier != host.TierReduced || !slices.Contains(p.Env, "SBX_TIER=reduced") {
			t.Errorf("version %d: tier %s", abi, p.Tier)
		}
	}
}

// What this engine cannot do is refused, and by a line that says what to do.
func TestLandlockRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(m *machine)
		want   string
	}{
		"no Landlock":        {func(m *machine) { m.landlock = -1 }, "Landlock is not available"},
		"tier full":          {func(m *machine) { m.over.MinTier = "full" }, "tier full"},
		"strict":             {func(m *machine) { m.profiles = []string{"strict"} }, "tier full (strict)"},
		"no filter":          {func(m *machine) { m.over.Seccomp = "off" }, `seccomp = "off"`},
		"session":            {func(m *machine) { m.over.NewSession = "yes" }, "new_session"},
		"workspace":          {func(m *machine) { m.request.Remap = "/workspace" }, "--workspace"},
		"datagrams on stdin": {func(m *machine) { m.fds = []host.FD{{Num: 0, Kind: host.FDPair, Loose: true}} }, "standard input is a socket"},
		"directory on stdin": {func(m *machine) { m.fds = []host.FD{{Num: 0, Kind: host.FDDir}} }, "standard input is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			m := user(debian + home("/home/u", "1000"))
			m.landlock = 7
			if _, _, err := m.plan(t); err != nil {
				t.Fatal("the control fails: ", err)
			}
			c.change(&m)
			h, fs := m.host(t)
			h.Landlock = max(m.landlock, 0)
			pol, err := m.policy(h)
			if err != nil {
				t.Fatal(err)
			}
			req := m.request
			req.Policy, req.Root, req.Command = pol, host.WorkTree(fs, h.CWD, h.UID, h.Homes), m.command
			req.Engine = m.engine()
			req.Engine.Name = host.EngineLandlock
			_, err = New(req, h)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// With protect = "auto" what is protected can be changed where its directory would have
// to be closed, and is looked at; of what git runs copies are kept. What is hidden stays
// so, and what lies beside it is protected.
func TestWatched(t *testing.T) {
	m := user(debian + home("/home/u", "1000") + repo("/home/u/src/app"))
	m.landlock = 7
	p, fs, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/home/u/src/app/.envrc", "/home/u/src/app/.vscode"} {
		if allowed(fs, &p.Confined.Ruleset, path)&landlock.WriteFile != 0 || slices.Contains(p.Report.Exposed, path) {
			t.Errorf("%s can be written beside a hidden file", path)
		}
	}
	for _, path := range []string{"/home/u/src/app/.git/hooks", "/home/u/src/app/.git/config"} {
		if !slices.Contains(p.Report.Copied, path) || p.Init == nil || p.Init.Group != pid1.Beside {
			t.Errorf("no copy is kept of %s: %q", path, p.Report.Copied)
		}
		if !slices.Contains(p.Report.Exposed, path) {
			t.Errorf("%s is not watched: %q", path, p.Report.Exposed)
		}
		if allowed(fs, &p.Confined.Ruleset, path)&landlock.WriteFile == 0 {
			t.Errorf("%s cannot be written", path)
		}
	}
	if !slices.Contains(p.Report.Movable, "/home/u/src/app/.git") || slices.Contains(p.Report.Movable, "/home/u/src/app") {
		t.Errorf("what can be moved away: %q", p.Report.Movable)
	}
	for _, path := range []string{"/home/u/.ssh/id_rsa", "/home/u/src/app/.env"} {
		if fs.nodes[path] == nil {
			t.Fatalf("%s is not there", path)
		}
		if allowed(fs, &p.Confined.Ruleset, path)&landlock.ReadFile != 0 {
			t.Errorf("%s can be read", path)
		}
	}
	// bwrap protects in any case.
	m.landlock = 0
	if p, _, err = m.plan(t); err != nil || len(p.Report.Exposed) > 0 {
		t.Errorf("with bwrap: %v, %q", err, p.Report.Exposed)
	}
}
