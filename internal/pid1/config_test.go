package pid1

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/landlock"
)

func configs() []InitConfig {
	return []InitConfig{
		{Path: "/bin/true", OOM: -1, Parent: NoParentFDs},
		{Path: "./x y", Argv: []string{"", "a b", "\xff\n=", "argv=x"}, Group: Foreground, Mask: 1<<63 | 5, Limit: 0.25, OOM: 7, Memory: "512 MiB",
			Rlimits: []Rlimit{{6, 64}, {1, 1<<64 - 1}}, Parent: ParentFDs{20, 21, 22, 23, 24, 25, 26, 27, 28}, Expected: []byte("=1 2 /a\nb\x00!3 4 /c\x00")},
		{Path: "/x", Group: Shared, OOM: -1, Parent: NoParentFDs, Reopen: []int{0, 9}, Keep: []int{9, 1 << 20}, Filter: []byte("\x00\x01=\n\xff\x7f\x00\x00"),
			Ruleset: &landlock.Ruleset{FS: 1<<63 | landlock.Read, Net: landlock.BindTCP, Scope: landlock.Signal, Rules: []landlock.Rule{
				{Path: "/", Allow: landlock.ReadDir}, {Path: "/a b=\n\xff", Allow: 1 << 63, Dev: 1<<64 - 1, Ino: 7}}}},
		{Path: "/x", Group: Shared, OOM: -1, Parent: NoParentFDs, Hints: []string{"hints=1", "tool=a\nb"}},
		{Path: "/x", Group: Shared, OOM: -1, Parent: NoParentFDs, Masks: []Mask{{Hides, "/a b=\n\xff/.env", "/a b=\n\xff"}, {HidesWarn, "/x", "/"}, {Protects, "/a/.git/config", "/a"}}},
		{Path: "/x", Group: NoInit, OOM: -1, Parent: NoParentFDs, Ruleset: &landlock.Ruleset{}},
		{Path: "x", Group: NewSession, Limit: 86400, OOM: -1, Parent: ParentFDs{3, -1, 4, 5, 6, 7, -1, -1, -1}},
	}
}

func TestOrderIsReadBack(t *testing.T) {
	for _, cfg := range configs() {
		got, err := decode(cfg.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Expected == nil {
			cfg.Expected = []byte{}
		}
		if d := cmp.Diff(&cfg, got); d != "" {
			t.Error(d)
		}
	}
}

// An order that misses a byte is not taken for one: a shorter list of what has
// to be mounted would be a hole.
func TestDamagedOrders(t *testing.T) {
	for _, cfg := range configs() {
		whole := cfg.Encode()
		head := bytes.Index(whole, []byte("look=\x00")) + len("look=\x00")
		for n := range head {
			if cfg, err := decode(whole[:n]); err == nil {
				t.Errorf("the first %d bytes are an order: %+v", n, cfg)
			}
		}
	}
	long := strings.Repeat("0", 2*8*4097)
	for _, bad := range []string{"filter=", "filter=00", "filter=000000000000000", "filter=000000000000000G", "filter=00000000000000AA", "filter=" + long,
		"filter=0000000000000000\x00filter=0000000000000000", "wall=", "wall=1 2", "wall=1 2 3 4", "wall=1 2 x", "wall= 2 3", "wall=1 2 3\x00wall=1 2 3",
		"beneath=1 0 0 /x", "wall=1 0 0\x00beneath=1 0 /x", "wall=1 0 0\x00beneath=1 0 0 x", "wall=1 0 0\x00beneath=1 0 0 ", "wall=1 0 0\x00beneath=1 0 0", "wall=1 0 0\x00beneath=-1 0 0 /x",
		"reopen=", "reopen=x", "reopen=1073741824", "watch=", "watch=0 1 ", "watch=0 1 x", "watch=5 1 /x", "watch=0 0 /x", "watch=0 2 /x", "watch=0 2 /xy/z", "watch=-1 1 /x", "keep=-1", "keep=99999999999"} {
		if cfg, err := decode([]byte("sbx=1\x00path=/x\x00" + bad + "\x00look=\x00")); err == nil {
			t.Errorf("%q is an order: %+v", bad[:min(len(bad), 80)], cfg)
		}
	}
	for _, bad := range []string{"", "\x00", "look=\x00", "path=/x\x00look=\x00", "sbx=2\x00path=/x\x00look=\x00", "sbx=1\x00path=\x00look=\x00",
		"sbx=1\x00group=9\x00look=\x00", "sbx=1\x00mask=-1\x00look=\x00", "sbx=1\x00oom=99999999999\x00look=\x00", "sbx=1\x00rlimit=1\x00look=\x00",
		"sbx=1\x00rlimit=1 x\x00look=\x00", "sbx=1\x00what=1\x00look=\x00", "sbx=1\x00sbx=1\x00look=\x00", "sbx=1\x00mask=18446744073709551616\x00look=\x00"} {
		if cfg, err := decode([]byte(bad)); err == nil {
			t.Errorf("%q is an order: %+v", bad, cfg)
		}
	}
}

func FuzzOrder(f *testing.F) {
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
		if got := OOMKills([]byte(data)); got != want {
			t.Errorf("%q: %d, want %d", data, got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for in, want := range map[float64]string{30: "30", 0.3: "0.3", 0.25: "0.25", 1.005: "1.005", 0.001: "0.001", 90: "90", 10: "10", 0.1: "0.1"} {
		if got := seconds(in); got != want {
			t.Errorf("%v: %s, want %s", in, got, want)
		}
	}
}
