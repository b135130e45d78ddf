// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/landlock"
)

func configs() []InitConfig {
	return []InitConfig{
		{Path: "/bin/true", OOM: -1, Parent: NoParentFDs},
		{Path: "./x y", Argv: []string{"", "a b", "\xff\n=", "argv=x"}, Group: Foreground, Mask: 1<<63 | 5, Limit: 0.25,
			OOM: 7, Memory: "512 MiB",
			Rlimits: []Rlimit{{6, 64}, {1, 1<<64 - 1}}, Parent: ParentFDs{20, 21, 22, 23, 24, 25, 26, 27, 28},
			Expected: []byte("=1 2 /a\nb\x00!3 4 /c\x00")},
		{Path: "/x", Group: Shared, OOM: -1, Parent: NoParentFDs, Reopen: []int{0, 9}, Keep: []int{9, 1 << 20},
			Filter: []byte("\x00\x01=\n\xff\x7f\x00\x00"),
			Ruleset: &landlock.Ruleset{FS: 1<<63 | landlock.Read, Net: landlock.BindTCP, Scope: landlock.Signal,
				Rules: []landlock.Rule{
					{Path: "/", Allow: landlock.ReadDir}, {Path: "/a b=\n\xff", Allow: 1 << 63, Dev: 1<<64 - 1, Ino: 7}}}},
		{Path: "/x", Group: Shared, OOM: -1, Parent: NoParentFDs, Hints: []string{"hints=1", "tool=a\nb"},
			Private: []string{"/home/u", "/a b=\n\xff"}, Ports: " (x)"},
		{Path: "/x", Group: Shared, OOM: -1, Parent: NoParentFDs,
			Masks: []Mask{{Hides, "/a b=\n\xff/.env", "/a b=\n\xff"}, {HidesWarn, "/x", "/"},
				{Protects, "/a/.git/config", "/a"}}},
		{Path: "/x", Group: NoInit, OOM: -1, Parent: NoParentFDs, Ruleset: &landlock.Ruleset{}},
		{Path: "x", Group: NewSession, Limit: 86400, OOM: -1, Parent: ParentFDs{3, -1, 4, 5, 6, 7, -1, -1, -1}},
	}
}

func TestConfigIsReadBack(t *testing.T) {
	for _, cfg := range configs() {
		got, err := decode(cfg.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(&cfg, got); d != "" {
			t.Error(d)
		}
	}
}

// A configuration that misses a byte is not taken for one: a shorter list of what has
// to be mounted would be a hole.
func TestDamagedConfigs(t *testing.T) {
	for _, cfg := range configs() {
		whole := cfg.Encode()
		for n := range whole {
			if cfg, err := decode(whole[:n]); err == nil {
				t.Errorf("the first %d bytes are a configuration: %+v", n, cfg)
			}
		}
		if _, err := decode(append(whole, 0)); err == nil {
			t.Error("one byte more is no error")
		}
		whole[8]++
		if _, err := decode(whole); err == nil {
			t.Error("another version is no error")
		}
	}
	for name, damage := range map[string]func(*InitConfig){
		"no path":        func(cfg *InitConfig) { cfg.Path = "" },
		"group":          func(cfg *InitConfig) { cfg.Group = Beside + 1 },
		"filter":         func(cfg *InitConfig) { cfg.Filter = make([]byte, 7) },
		"long filter":    func(cfg *InitConfig) { cfg.Filter = make([]byte, 8*4097) },
		"oom":            func(cfg *InitConfig) { cfg.OOM = maxFD },
		"oom below":      func(cfg *InitConfig) { cfg.OOM = -2 },
		"parent":         func(cfg *InitConfig) { cfg.Parent.Stderr = maxFD },
		"reopen":         func(cfg *InitConfig) { cfg.Reopen = []int{-1} },
		"keep":           func(cfg *InitConfig) { cfg.Keep = []int{3, maxFD} },
		"rlimit":         func(cfg *InitConfig) { cfg.Rlimits = []Rlimit{{64, 1}} },
		"rlimit below":   func(cfg *InitConfig) { cfg.Rlimits = []Rlimit{{-1, 1}} },
		"relative rule":  func(cfg *InitConfig) { cfg.Ruleset = &landlock.Ruleset{Rules: []landlock.Rule{{Path: "x"}}} },
		"rule, no path":  func(cfg *InitConfig) { cfg.Ruleset = &landlock.Ruleset{Rules: []landlock.Rule{{}}} },
		"mask kind":      func(cfg *InitConfig) { cfg.Masks = []Mask{{maskKinds, "/x", "/"}} },
		"mask, no top":   func(cfg *InitConfig) { cfg.Masks = []Mask{{Hides, "/x", ""}} },
		"mask at top":    func(cfg *InitConfig) { cfg.Masks = []Mask{{Hides, "/x", "/x"}} },
		"mask elsewhere": func(cfg *InitConfig) { cfg.Masks = []Mask{{Hides, "/xy/z", "/x"}} },
		"other top":      func(cfg *InitConfig) { cfg.Masks = []Mask{{Hides, "/x/y", "/z"}} },
		"relative mask":  func(cfg *InitConfig) { cfg.Masks = []Mask{{Hides, "x/y", "x"}} },
	} {
		cfg := InitConfig{Path: "/x", OOM: -1, Parent: NoParentFDs}
		if _, err := decode(cfg.Encode()); err != nil {
			t.Fatal(err)
		}
		damage(&cfg)
		if got, err := decode(cfg.Encode()); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func FuzzConfig(f *testing.F) {
	for _, cfg := range configs() {
		f.Add(cfg.Encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		cfg, err := decode(b)
		if err != nil {
			return
		}
		again, err := decode(cfg.Encode())
		if err != nil {
			if cfg.Path == "" {
				return
			}
			t.Fatal(err)
		}
		if d := cmp.Diff(cfg, again); d != "" {
			t.Error(d)
		}
	})
}

func TestOOMKills(t *testing.T) {
	for data, want := range map[string]uint64{
		"low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n": 2,
		"oom_kill_disable 0\nunder_oom 0\noom_kill 1\n":                1,
		"oom_kill 0\n": 0,
		"oom_kill":     0,
		"":             0,
	} {
		if got := oomKills([]byte(data)); got != want {
			t.Errorf("%q: %d, want %d", data, got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for in, want := range map[float64]string{30: "30", 0.3: "0.3", 0.25: "0.25", 1.005: "1.005", 0.001: "0.001",
		90: "90", 10: "10", 0.1: "0.1"} {
		if got := seconds(in); got != want {
			t.Errorf("%v: %s, want %s", in, got, want)
		}
	}
}
