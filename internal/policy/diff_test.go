// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []string
		want []Change
	}{
		{"nothing", []string{"read /a"}, []string{"read /a"}, nil},
		{"another layer", []string{"read /a"}, []string{"flag read /a"}, nil},
		{"a grant", nil, []string{"write /a"}, []Change{{"writable_paths", "/a", "unseen", "write", true}}},
		{"a grant less", []string{"read /a"}, nil, []Change{{"readonly_paths", "/a", "read", "unseen", false}}},
		{"from reading to writing", []string{"read /a"}, []string{"write /a"},
			[]Change{{"writable_paths", "/a", "read", "write", true}}},
		{"hidden", []string{"read /"}, []string{"read /", "block /a"},
			[]Change{{"blocked_paths", "/a", "read", "block", false}}},
		{"a mask less", []string{"read /", "block /a"}, []string{"read /"},
			[]Change{{"blocked_paths", "/a", "block", "read", true}}},
		{"a mask of nothing", nil, []string{"block /a"}, nil},
		{"a protection less", []string{"write /", "protect /a"}, []string{"write /"},
			[]Change{{"protected_paths", "/a", "protect", "write", true}}},
		{"a protection where nothing is written", []string{"read /", "protect /a"}, []string{"read /"}, nil},
		{"private is nothing of the host", nil, []string{"private /a"}, nil},
		{"private takes away", []string{"read /"}, []string{"read /", "private /a"},
			[]Change{{"readonly_paths", "/a", "read", "private", false}}},
		{"what a directory repeats", []string{"read /a", "read /a/b"}, []string{"write /a", "write /a/b"},
			[]Change{{"writable_paths", "/a", "read", "write", true}}},
		{"both ways", []string{"write /a", "read /b"}, []string{"read /a", "write /b"},
			[]Change{{"writable_paths", "/a", "write", "read", false},
				{"writable_paths", "/b", "read", "write", true}}},
		{"an exception", []string{"read /", "block /a/*.key"}, []string{"read /", "block /a/*.key", "except /a/x.key"},
			[]Change{{"blocked_paths", "/a/x.key", "block", "read", true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Diff(parseRules(t, c.a...), parseRules(t, c.b...))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDiffScalars(t *testing.T) {
	base := Policy{NewSession: "auto", Seccomp: "default", Git: "commit", Cache: "none", Protected: "enforce",
		Environment: "list", Limits: "enforce", MinTier: "full", OnUnmasked: "end", TmpfsLimitMB: 10}
	for _, c := range []struct {
		name   string
		change func(p *Policy)
		want   Change
	}{
		{"network", func(p *Policy) { p.Network = true }, Change{"allow_network", "true", "false", "true", true}},
		{"processes", func(p *Policy) { p.SharePID = true }, Change{"share_pid", "true", "false", "true", true}},
		{"session", func(p *Policy) { p.NewSession = "yes" }, Change{"new_session", "yes", "auto", "yes", false}},
		{"seccomp off", func(p *Policy) { p.Seccomp = "off" }, Change{"seccomp", "off", "default", "off", true}},
		{"seccomp strict", func(p *Policy) { p.Seccomp = "strict" },
			Change{"seccomp", "strict", "default", "strict", false}},
		{"git", func(p *Policy) { p.Git = "full" }, Change{"git", "full", "commit", "full", true}},
		{"protect", func(p *Policy) { p.Protected = "auto" }, Change{"protect", "auto", "enforce", "auto", true}},
		{"environment", func(p *Policy) { p.Environment = "inherit" },
			Change{"environment", "inherit", "list", "inherit", true}},
		{"on_unmasked", func(p *Policy) { p.OnUnmasked = "warn" }, Change{"on_unmasked", "warn", "end", "warn", true}},
		{"limits", func(p *Policy) { p.Limits = "best-effort" },
			Change{"limits", "best-effort", "enforce", "best-effort", true}},
		{"tier", func(p *Policy) { p.MinTier = "reduced" }, Change{"min_tier", "reduced", "full", "reduced", true}},
		{"a limit", func(p *Policy) { p.Procs = 5 }, Change{"procs", "5", "none", "5", false}},
		{"files", func(p *Policy) { p.FileSizeMB = .5 }, Change{"file_size_limit_mb", "0.5", "none", "0.5", false}},
		{"more tmpfs", func(p *Policy) { p.TmpfsLimitMB = 11 }, Change{"tmpfs_limit_mb", "11", "10", "11", true}},
		{"less tmpfs", func(p *Policy) { p.TmpfsLimitMB = 9 }, Change{"tmpfs_limit_mb", "9", "10", "9", false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := base
			c.change(&p)
			if d := cmp.Diff([]Change{c.want}, Diff(&base, &p)); d != "" {
				t.Error(d)
			}
			if back := Diff(&p, &base); len(back) != 1 || back[0].Wider == c.want.Wider {
				t.Errorf("back: %+v", back)
			}
		})
	}
}

func TestWider(t *testing.T) {
	for _, c := range []struct {
		key, a, b string
		want      bool
	}{
		{"timeout_seconds", "", "30", false}, {"timeout_seconds", "30", "", true},
		{"timeout_seconds", "30", "60", true}, {"timeout_seconds", "60", "30", false},
		{"timeout_seconds", "", "", false},
		{"timeout_seconds", "9", "10", true}, {"timeout_seconds", "10", "9.75", false}, {"cpus", "0.5", "1.25", true},
		{"cpus", "0.25", "0.5", true}, {"cpus", "0.5", "0.25", false}, {"cpus", "1.05", "1.5", true},
		{"memory_limit_mb", "1024", "512", false}, {"memory_limit_mb", "512", "1024", true},
		{"file_size_limit_mb", "0.5", "0.25", false}, {"file_size_limit_mb", "0.5", "", true},
		{"git", "none", "commit", true}, {"git", "full", "commit", false}, {"git", "full", "full", false},
	} {
		if Wider(c.key, c.a, c.b) != c.want {
			t.Errorf("%s: %q to %q is not %v", c.key, c.a, c.b, c.want)
		}
	}
}

func TestDiffEnvironment(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b Policy
		want []Change
	}{
		{"one more passes", Policy{}, Policy{EnvPass: items(User, "A")},
			[]Change{{"env_pass", "A", "none", "A", true}}},
		{"one less passes", Policy{EnvPass: items(User, "A")}, Policy{},
			[]Change{{"env_pass", "A", "A", "none", false}}},
		{"one more is dropped", Policy{Environment: "inherit"},
			Policy{Environment: "inherit", EnvDrop: items(User, "A*")},
			[]Change{{"env_drop", "A*", "none", "A*", false}}},
		{"one less is dropped", Policy{Environment: "inherit", EnvDrop: items(User, "A*")},
			Policy{Environment: "inherit"}, []Change{{"env_drop", "A*", "A*", "none", true}}},
		{"passes anyway", Policy{Environment: "inherit"}, Policy{Environment: "inherit", EnvPass: items(User, "A")},
			nil},
		{"set", Policy{}, Policy{EnvSet: []Var{{"A", "1"}}}, []Change{{"env_set", "A", "none", "set", true}}},
		{"set to something else", Policy{EnvSet: []Var{{"A", "1"}}}, Policy{EnvSet: []Var{{"A", "2"}}},
			[]Change{{"env_set", "A", "none", "set", true}}},
		{"not set", Policy{EnvSet: []Var{{"A", "1"}}}, Policy{}, []Change{{"env_set", "A", "set", "none", false}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Diff(&c.a, &c.b)); d != "" {
				t.Error(d)
			}
		})
	}
}

// both lists paths of a difference by direction.
func both(changes []Change) (wider, tighter []string) {
	for _, c := range changes {
		if c.Wider {
			wider = append(wider, c.What)
		} else {
			tighter = append(tighter, c.What)
		}
	}
	return wider, tighter
}

// What is wider from a to b is tighter from b to a; and no path gives more
// that the difference does not call wider, nor the other way round.
func TestDiffIsExactForPaths(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 20000 {
		a, b := randomRules(r), randomRules(r)
		there, back := Diff(a, b), Diff(b, a)
		w1, t1 := both(there)
		w2, t2 := both(back)
		if !slices.Equal(w1, t2) || !slices.Equal(t1, w2) {
			t.Fatalf("there %+v\nback %+v\n%s---\n%s", there, back, show(a), show(b))
		}
		for range 4 {
			path := randomPath(r)
			x, y := a.Access(path).reach(), b.Access(path).reach()
			if y > x && len(w1) == 0 || y < x && len(t1) == 0 {
				t.Fatalf("%s changes from %d to %d and the difference is %+v\n%s---\n%s", path, x, y, there, show(a),
					show(b))
			}
		}
		if len(Diff(a, a)) != 0 {
			t.Fatal("a policy differs from itself")
		}
	}
}

// Neither kind of cache gives anything of the host: a project whose default is
// moderate must not count as loosening permissive.
func TestDiffCacheIsNeutral(t *testing.T) {
	none, private := &Policy{Cache: "none"}, &Policy{Cache: "private"}
	for _, d := range [][]Change{Diff(none, private), Diff(private, none)} {
		if len(d) != 1 || d[0].Key != "cache" || d[0].Wider {
			t.Errorf("%+v", d)
		}
	}
}

// A variable that is let through once more, by a layer that beats a drop, gives
// more, though the list has no new name.
func TestWidenedPassesAgain(t *testing.T) {
	pass := func(name string, layers ...Layer) *Policy {
		p := &Policy{EnvDrop: []Item{{Text: "AWS_*", Layer: System}}}
		for _, l := range layers {
			p.EnvPass = append(p.EnvPass, Item{Text: name, Layer: l})
		}
		return p
	}
	for _, c := range []struct {
		name string
		a, b *Policy
		want []Change
	}{
		{"a later layer", pass("AWS_KEY", Builtin), pass("AWS_KEY", Builtin, User),
			[]Change{{"env_pass", "AWS_KEY", "none", "AWS_KEY", true}}},
		{"of a pattern", pass("AWS_*", Builtin), pass("AWS_*", Builtin, User),
			[]Change{{"env_pass", "AWS_*", "none", "AWS_*", true}}},
		{"passes anyway", pass("AWS_KEY", Flag), pass("AWS_KEY", User, Flag), nil},
		{"still dropped", pass("AWS_KEY", Builtin), pass("AWS_KEY", Builtin, Builtin), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Widened(c.a, c.b), cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}
