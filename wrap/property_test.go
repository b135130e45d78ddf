// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// world is a small random machine with random rules.
type world struct {
	fs    *fakeFS
	uid   int
	rules []policy.Rule
	cache string
	git   string
	pwd   string // as the caller's shell has it
	minor int    // of bwrap's version
	watch bool   // protect = "auto"
	abi   int    // of Landlock, which takes the place of bwrap; 0 for bwrap
	mac   bool   // sandbox-exec takes its place
}

// randomWorld grows a tree below a project, a home and the system's places,
// with links that lead anywhere, and rules about its names.
func randomWorld(t testing.TB, r *rand.Rand) *world {
	w := &world{uid: []int{1000, 1000, 0}[r.IntN(3)], git: []string{"none", "commit", "full"}[r.IntN(3)], minor: []int{8, 8, 11}[r.IntN(3)]}
	w.fs = newFS(t, w.uid, "/proc/", "/dev/shm/", "/run/", "/tmp/", "/x/sh x", fmt.Sprintf("/w/p/ uid=%d\n/h/ uid=%d\n/s/", w.uid, w.uid))
	names := []string{"a", "b", "c"}
	pick := func() string {
		path := []string{"/w/p", "/w/p", "/w", "/h", "/s", ""}[r.IntN(6)]
		for range 1 + r.IntN(3) {
			path += "/" + names[r.IntN(len(names))]
		}
		return path
	}
	for range 2 + r.IntN(12) {
		path := pick()
		if up := w.fs.nodes[policy.Dir(path)]; w.fs.nodes[path] != nil || up != nil && up.Kind != host.Dir || !w.dirs(path) {
			continue
		}
		n := &fakeNode{Info: host.Info{Kind: host.Dir, Mode: 0o755, UID: -1}}
		switch r.IntN(5) {
		case 0, 1:
			n.Info = host.Info{Kind: host.Link, Mode: 0o777, UID: -1}
			switch r.IntN(4) {
			case 0:
				n.Text = "../" + names[r.IntN(3)]
			case 1:
				n.Text = names[r.IntN(3)]
			case 2:
				n.Text = []string{"/w/p", "/h", "/s", "/w", "/", "/tmp", "/run"}[r.IntN(7)]
			default:
				n.Text = pick()
			}
		case 2:
			n.Info = host.Info{Kind: host.File, Mode: 0o644, UID: -1}
		}
		w.fs.put(path, n)
	}
	// The working directory is what getcwd says: it has no links in it.
	layers := []policy.Layer{policy.Builtin, policy.Builtin, policy.User, policy.Flag}
	all := w.fs.paths()
	for range r.IntN(8) {
		rule := policy.Rule{Path: pick(), Access: policy.Private + policy.Access(r.IntN(5)), Layer: layers[r.IntN(len(layers))], Source: "test"}
		if r.IntN(3) > 0 {
			rule.Path = all[r.IntN(len(all))]
		}
		if strings.HasPrefix(rule.Path, "/x") || strings.HasPrefix(rule.Path, "/proc") || strings.HasPrefix(rule.Path, "/dev") {
			continue
		}
		if rule.Access >= policy.Protect && rule.Layer != policy.Flag && r.IntN(3) == 0 && rule.Path != "/" {
			rule.Path, rule.Pattern = host.Join(policy.Dir(rule.Path), []string{"*", "a*", "?", "*b"}[r.IntN(4)]), true
			rule.Except = r.IntN(4) == 0
		}
		if rule.Access == policy.Protect && rule.Layer == policy.Flag {
			rule.Layer = policy.Project // there is no such flag
		}
		if at, _, _, _ := w.fs.namei(rule.Path, true); rule.Access == policy.Write && (&host.Host{Caller: host.Caller{UID: w.uid, Homes: []string{"/h"}}}).Writable(at) != nil {
			continue // refused or not opened: TestPlacesThatAreNeverWritable
		}
		w.rules = append(w.rules, rule)
	}
	cwd := policy.Write
	if r.IntN(6) == 0 {
		cwd = policy.Read
	}
	w.rules = append(w.rules,
		policy.Rule{Path: "/w/p", Access: cwd, Source: "test", OfCWD: true},
		policy.Rule{Path: "/x", Access: policy.Read, Source: "test"})
	for _, path := range []string{"/tmp", "/run", "/dev/shm", "/h"} {
		if r.IntN(3) > 0 {
			w.rules = append(w.rules, policy.Rule{Path: path, Access: policy.Private, Source: "test"})
		}
	}
	if r.IntN(3) == 0 {
		w.rules = append(w.rules, policy.Rule{Path: "/", Access: policy.Read, Source: "test"})
	}
	if r.IntN(4) == 0 {
		w.cache = "/h/.cache/sbx"
	}
	for _, p := range w.fs.paths() {
		if at, _, links, _ := w.fs.namei(p, true); at == "/w/p" && len(links) > 0 && r.IntN(2) == 0 {
			w.pwd = p
		}
	}
	return w
}

// dirs reports whether everything above a path is a directory or not there.
func (w *world) dirs(path string) bool {
	for path != "/" {
		path = policy.Dir(path)
		if n := w.fs.nodes[path]; n != nil && n.Kind != host.Dir {
			return false
		}
	}
	return true
}

func (w *world) policy() *policy.Policy {
	p := &policy.Policy{Profiles: []string{"test"}, Git: w.git, Cache: "none", Seccomp: "default", NewSession: "auto", Environment: "inherit", Limits: "enforce", MinTier: "reduced", TmpfsLimitMB: 1}
	if p.Protected = "enforce"; w.watch {
		p.Protected = "auto"
	}
	if w.cache != "" {
		p.Cache = "private"
	}
	p.Add(w.rules...)
	return p
}

func (w *world) plan() (*engine.Plan, error) {
	return New(engine.Request{Engine: w.engine(), Policy: w.policy(), Root: "/w/p", Command: []string{"/x/sh"}, Cache: w.cache}, w.host())
}

func (w *world) host() *host.Host {
	h := &host.Host{
		Facts:  host.Facts{FS: w.fs, OS: "linux", Arch: "amd64", Landlock: w.abi},
		Caller: host.Caller{UID: w.uid, Homes: []string{"/h"}, CWD: "/w/p", Environ: []string{"PATH=/x", "HOME=/h", "PWD=" + w.pwd}},
		Places: host.Places{Self: "/x/sh"},
	}
	if w.mac {
		h.OS, h.Modelled = "darwin", true
	}
	return h
}

func (w *world) engine() engine.Chosen {
	switch {
	case w.mac:
		return engine.Chosen{Name: host.EngineSeatbelt, Runtime: "/rt", Instance: "1.2.3"}
	case w.abi > 0:
		return engine.Chosen{Name: host.EngineLandlock, Runtime: "/rt", Instance: "1.2.3"}
	}
	return engine.Chosen{Name: host.EngineBwrap, Bwrap: host.Bwrap{Path: "/usr/bin/bwrap", Version: bwrapargs.Version{Minor: w.minor}}}
}

// check returns what is wrong with the plan for this world, "refused" when
// there is none.
func (w *world) check() (bad []string, refused error) {
	p, err := w.plan()
	if err != nil {
		return nil, err
	}
	if w.mac {
		return judgeSeat(newOracle(w.fs, p.Report.Policy), p, w.host()), nil
	}
	if p.Confined != nil {
		return judgeWalls(newOracle(w.fs, p.Report.Policy), p), nil
	}
	return judge(newOracle(w.fs, p.Report.Policy), p), nil
}

// shrink takes away what the complaint does not need.
func (w *world) shrink() *world {
	fails := func(c *world) bool { bad, _ := c.check(); return len(bad) > 0 }
	for again := true; again; {
		again = false
		for i := range w.rules {
			c := *w
			c.rules = slices.Delete(slices.Clone(w.rules), i, i+1)
			if fails(&c) {
				w, again = &c, true
				break
			}
		}
		for _, p := range w.fs.paths() {
			if p == "/" || slices.Contains([]string{"/proc", "/dev", "/dev/shm", "/run", "/tmp", "/h"}, p) || policy.Within("/x/sh", p) || policy.Within("/w/p", p) || slices.ContainsFunc(w.fs.paths(), func(o string) bool { return o != p && policy.Within(o, p) }) {
				continue
			}
			c := *w
			c.fs = &fakeFS{nodes: maps.Clone(w.fs.nodes), uid: w.fs.uid}
			delete(c.fs.nodes, p)
			if fails(&c) {
				w, again = &c, true
			}
		}
	}
	return w
}

func (w *world) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "uid %d, git %s, cache %q, PWD=%s\n%s", w.uid, w.git, w.cache, w.pwd, w.fs)
	for _, r := range w.policy().Rules {
		fmt.Fprintf(&b, "%s %s layer=%s pattern=%v except=%v\n", r.Access, r.Path, r.Layer, r.Pattern, r.Except)
	}
	if p, err := w.plan(); err == nil && p.Confined != nil {
		fmt.Fprintf(&b, "%s", walls(p))
	} else if err == nil && w.mac {
		text, params := profileOf(p)
		fmt.Fprintf(&b, "%s\n%q\n", text, params)
	} else if err == nil {
		fmt.Fprintf(&b, "words %q\n", options(p))
	}
	return b.String()
}

// hold fails with the smallest world found that breaks a promise.
func hold(t *testing.T, w *world) (planned bool) {
	t.Helper()
	bad, err := w.check()
	if len(bad) > 0 {
		w = w.shrink()
		bad, _ = w.check()
		t.Fatalf("%s\n%s", strings.Join(bad, "\n"), w)
	}
	return err == nil
}

var worlds = flag.Int("worlds", 4000, "how many random machines to plan for")

// The promises of a plan, over machines and rules no one thought of: nothing
// is seen or written that the policy does not give, everything it gives is
// there, and bwrap makes nothing on the host.
func TestPlansKeepTheirPromises(t *testing.T) {
	n := *worlds
	planned := 0
	for seed := range n {
		if hold(t, randomWorld(t, rand.New(rand.NewPCG(uint64(seed), 1)))) {
			planned++
		}
	}
	if planned < n/2 {
		t.Errorf("only %d of %d worlds were planned for: the test tests too little", planned, n)
	}
}

func FuzzPlansKeepTheirPromises(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) { hold(t, randomWorld(t, rand.New(rand.NewPCG(a, b)))) })
}

// The same input gives the same bytes, whatever the order of directory entries
// and of rules that say the same.
func TestPlansAreStable(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := randomWorld(t, r)
		p, err := w.plan()
		if err != nil {
			continue
		}
		w.fs.order = r
		for range 3 {
			r.Shuffle(len(w.rules), func(i, j int) { w.rules[i], w.rules[j] = w.rules[j], w.rules[i] })
			q, err := w.plan()
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(p.Argv, q.Argv) || !slices.Equal(p.Env, q.Env) || !slices.EqualFunc(p.FDs, q.FDs, func(a, b bwrapargs.FD) bool {
				return a.Num == b.Num && a.Name == b.Name && bytes.Equal(a.Data, b.Data)
			}) {
				t.Fatalf("two plans for one input:\n%q\n%q\n%s", options(p), options(q), w)
			}
		}
	}
}
