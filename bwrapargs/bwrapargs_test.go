// SPDX-License-Identifier: Apache-2.0

package bwrapargs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// from returns numbers from n on.
func from(n int) func() int {
	return func() int { n++; return n - 1 }
}

func TestOps(t *testing.T) {
	all := []Version{{Minor: 4}, {Minor: 5}, {Minor: 6}, {Minor: 7}, {Minor: 8}, {Minor: 11}, {Major: 1}}
	since := func(v Version, words string, older string) map[Version]string {
		out := map[Version]string{}
		for _, have := range all {
			out[have] = words
			if have.Less(v) {
				out[have] = older
			}
		}
		return out
	}
	always := func(words string) map[Version]string { return since(Version{}, words, "") }
	mixed := since(Version{Minor: 7}, "--perms 0755 --size 4096 --tmpfs /d", "--perms 0755 --tmpfs /d")
	mixed[Version{Minor: 4}] = "--tmpfs /d"
	for _, c := range []struct {
		name string
		op   Op
		want map[Version]string
	}{
		{"bind", Op{Kind: Bind, Src: "/s", Dst: "/d"}, always("--bind /s /d")},
		{"dev-bind", Op{Kind: DevBind, Src: "/s", Dst: "/d"}, always("--dev-bind /s /d")},
		{"overlay", Op{Kind: Overlay, Src: "/s", Dst: "/d"}, always("--overlay-src /s --tmp-overlay /d")},
		{"ro-bind", Op{Kind: ROBind, Src: "/s", Dst: "/d"}, always("--ro-bind /s /d")},
		{"tmpfs", Op{Kind: Tmpfs, Dst: "/d"}, always("--tmpfs /d")},
		{"tmpfs with a size", Op{Kind: Tmpfs, Dst: "/d", Size: 1 << 40},
			since(Version{Minor: 7}, "--size 1099511627776 --tmpfs /d", "--tmpfs /d")},
		{"tmpfs with bits", Op{Kind: Tmpfs, Dst: "/d", Perm: 0o1777},
			since(Version{Minor: 5}, "--perms 1777 --tmpfs /d", "--tmpfs /d")},
		{"tmpfs with both", Op{Kind: Tmpfs, Dst: "/d", Perm: 0o755, Size: 4096}, mixed},
		{"dir", Op{Kind: Dir, Dst: "/d"}, always("--dir /d")},
		{"symlink", Op{Kind: Symlink, Src: "../x", Dst: "/d"}, always("--symlink ../x /d")},
		{"proc", Op{Kind: Proc, Dst: "/d"}, always("--proc /d")},
		{"dev", Op{Kind: Dev, Dst: "/d"}, always("--dev /d")},
		{"data", Op{Kind: ROData, Dst: "/d", Data: []byte("x")}, always("--ro-bind-data 7 /d")},
		{"data with bits", Op{Kind: ROData, Dst: "/d", Perm: 0o4},
			since(Version{Minor: 5}, "--perms 0004 --ro-bind-data 7 /d", "--ro-bind-data 7 /d")},
		{"remount-ro", Op{Kind: RemountRO, Dst: "/d"}, always("--remount-ro /d")},
	} {
		t.Run(c.name, func(t *testing.T) {
			for v, want := range c.want {
				w := writer{version: v, next: from(7)}
				w.op(&c.op)
				if got := strings.Join(w.words, " "); got != want {
					t.Errorf("%s: %s, want %s", v, got, want)
				}
				if c.op.Kind == ROData {
					if d := cmp.Diff([]FD{{Num: 7, Name: c.op.Dst, Data: c.op.Data}}, w.fds); d != "" {
						t.Error(d)
					}
				} else if len(w.fds) != 0 {
					t.Errorf("descriptors %v", w.fds)
				}
			}
		})
	}
}

func TestWords(t *testing.T) {
	closed := "--unshare-user --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-pid --unshare-net --disable-userns --die-with-parent --cap-drop ALL"
	without := func(words ...string) string {
		s := closed
		for _, w := range words {
			s = strings.Replace(s, " "+w, "", 1)
		}
		return s
	}
	v8 := Version{Minor: 8}
	for _, c := range []struct {
		name string
		args Args
		want string
		fds  []FD
	}{
		{"nothing is shared", Args{Version: v8}, closed, nil},
		{"an old bwrap", Args{Version: Version{Minor: 7, Patch: 9}}, without("--disable-userns"), nil},
		{"of no version", Args{}, without("--disable-userns"), nil},
		{"the network", Args{Version: v8, ShareNet: true}, without("--unshare-net"), nil},
		{"processes", Args{Version: v8, SharePID: true}, without("--unshare-pid"), nil},
		{"user namespaces", Args{Version: v8, NewUserns: true}, without("--disable-userns"), nil},
		{"a session", Args{Version: v8, Session: true}, closed + " --new-session", nil},
		{"variables of bwrap's alone", Args{Version: v8, Unsetenv: []string{"X", "Y"}, Setenv: []Var{{"X", "1"}}},
			closed + " --unsetenv X --unsetenv Y --setenv X 1", nil},
		{"variables", Args{Version: v8, Setenv: []Var{{"LD_PRELOAD", "/x y"}, {"B", ""}}}, closed +
			" --setenv LD_PRELOAD /x y --setenv B ", nil},
		{"as process 1", Args{Version: v8, Init: true}, without("--die-with-parent") + " --as-pid-1", nil},
		{"descriptors of the caller's", Args{Version: v8, Block: 3, Sync: 4, Info: 5}, closed +
			" --block-fd 3 --sync-fd 4 --info-fd 5", nil},
		{"a directory", Args{Version: v8, Chdir: "/x y"}, closed + " --chdir /x y", nil},
		{"a filter", Args{Version: v8, Seccomp: []byte{1, 2}, Chdir: "/"}, closed + " --seccomp 20 --chdir /",
			[]FD{{Num: 20, Name: "seccomp filter", Data: []byte{1, 2}}}},
		{"two filters", Args{Version: v8, Seccomp: []byte{1, 2}, Filter: []byte{3}, Chdir: "/"}, closed +
			" --add-seccomp-fd 20 --add-seccomp-fd 21 --chdir /",
			[]FD{{Num: 20, Name: "seccomp filter", Data: []byte{1, 2}},
				{Num: 21, Name: "seccomp filter from a file", Data: []byte{3}}}},
		{"only the second filter", Args{Version: v8, Filter: []byte{3}}, closed + " --add-seccomp-fd 20",
			[]FD{{Num: 20, Name: "seccomp filter from a file", Data: []byte{3}}}},
		{"an empty filter", Args{Version: v8, Seccomp: []byte{}}, closed + " --seccomp 20",
			[]FD{{Num: 20, Name: "seccomp filter", Data: []byte{}}}},
		{"in order", Args{Version: v8, Seccomp: []byte{9},
			Ops: []Op{{Kind: ROData, Dst: "/b", Data: []byte("b")}, {Kind: ROBind, Src: "/a", Dst: "/a"},
				{Kind: ROData, Dst: "/c", Data: []byte("c")}}},
			closed + " --ro-bind-data 20 /b --ro-bind /a /a --ro-bind-data 21 /c --seccomp 22",
			[]FD{{Num: 20, Name: "/b", Data: []byte("b")}, {Num: 21, Name: "/c", Data: []byte("c")},
				{Num: 22, Name: "seccomp filter", Data: []byte{9}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			words, fds := c.args.Words(from(20))
			if got := strings.Join(words, " "); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if d := cmp.Diff(c.fds, fds); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseVersion(t *testing.T) {
	for in, want := range map[string]string{
		"bubblewrap 0.8.0\n": "0.8.0", "bubblewrap 0.11.1": "0.11.1", "bubblewrap 1.2": "1.2.0",
		"bubblewrap 3": "3.0.0", "0.4.1.2": "0.4.1", "bubblewrap 0.9.0-rc1": "0.9.0",
		"bubblewrap v0.10.0+dirty": "0.10.0", "bubblewrap": "none", "": "none", "x.y.z": "none",
		"bubblewrap 0.": "0.0.0", "99999999999999999999": "999999.0.0", "\xff 0.5\x00": "0.5.0",
	} {
		v, ok := ParseVersion(in)
		if got := v.String(); ok != (want != "none") || ok && got != want {
			t.Errorf("%q: %s, %v; want %s", in, got, ok, want)
		}
	}
}

func TestVersionLess(t *testing.T) {
	order := []Version{{}, {Patch: 1}, {Minor: 4}, {Minor: 4, Patch: 1}, {Minor: 8}, {Minor: 11}, {Major: 1},
		{Major: 1, Minor: 2}}
	for i, a := range order {
		for j, b := range order {
			if a.Less(b) != (i < j) {
				t.Errorf("%s < %s is not %v", a, b, i < j)
			}
		}
	}
}

// read is a small bwrap: it understands words as bwrap(1) says.
func read(words []string, fds []FD) (a Args, err error) {
	a.ShareNet, a.SharePID, a.NewUserns = true, true, true
	rest := words
	take := func() string {
		if len(rest) == 0 {
			err = fmt.Errorf("an argument is missing")
			return ""
		}
		w := rest[0]
		rest = rest[1:]
		return w
	}
	data := func() []byte {
		num := take()
		for _, fd := range fds {
			if strconv.Itoa(fd.Num) == num {
				return fd.Data
			}
		}
		err = fmt.Errorf("descriptor %s does not exist", num)
		return nil
	}
	pending := Op{}
	var need []string
	for len(rest) > 0 && err == nil {
		op := Op{Perm: pending.Perm, Size: pending.Size}
		switch w := take(); w {
		case "--perms":
			s := take()
			n, bad := strconv.ParseUint(s, 8, 32)
			if bad != nil || len(s) != 4 {
				return a, fmt.Errorf("--perms %q", s)
			}
			pending.Perm = uint32(n)
			continue
		case "--size":
			pending.Size, err = strconv.ParseInt(take(), 10, 64)
			continue
		case "--bind":
			op.Kind, op.Src, op.Dst = Bind, take(), take()
		case "--dev-bind":
			op.Kind, op.Src, op.Dst = DevBind, take(), take()
		case "--ro-bind":
			op.Kind, op.Src, op.Dst = ROBind, take(), take()
		case "--tmpfs":
			op.Kind, op.Dst = Tmpfs, take()
		case "--dir":
			op.Kind, op.Dst = Dir, take()
		case "--symlink":
			op.Kind, op.Src, op.Dst = Symlink, take(), take()
		case "--proc":
			op.Kind, op.Dst = Proc, take()
		case "--dev":
			op.Kind, op.Dst = Dev, take()
		case "--ro-bind-data":
			op.Kind, op.Data = ROData, data()
			op.Dst = take()
		case "--remount-ro":
			op.Kind, op.Dst = RemountRO, take()
		case "--seccomp":
			a.Seccomp = data()
			continue
		case "--add-seccomp-fd":
			if a.Seccomp == nil {
				a.Seccomp = data()
			} else {
				a.Filter = data()
			}
			continue
		case "--chdir":
			a.Chdir = take()
			continue
		case "--block-fd":
			a.Block, _ = strconv.Atoi(take())
			continue
		case "--sync-fd":
			a.Sync, _ = strconv.Atoi(take())
			continue
		case "--info-fd":
			a.Info, _ = strconv.Atoi(take())
			continue
		case "--unshare-net":
			a.ShareNet = false
			continue
		case "--unshare-pid":
			a.SharePID = false
			continue
		case "--disable-userns":
			a.NewUserns = false
			continue
		case "--new-session":
			a.Session = true
			continue
		case "--as-pid-1":
			a.Init = true
			continue
		case "--unsetenv":
			a.Unsetenv = append(a.Unsetenv, take())
			continue
		case "--setenv":
			a.Setenv = append(a.Setenv, Var{take(), take()})
			continue
		case "--cap-drop":
			w += " " + take()
			need = append(need, w)
			continue
		case "--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent":
			need = append(need, w)
			continue
		default:
			return a, fmt.Errorf("unknown option %q", w)
		}
		if (op.Perm != 0 || op.Size != 0) && op.Kind != Tmpfs && op.Kind != ROData {
			return a, fmt.Errorf("--perms or --size before %v", op)
		}
		pending = Op{}
		a.Ops = append(a.Ops, op)
	}
	slices.Sort(need)
	if slices.Contains(need, "--die-with-parent") == a.Init && err == nil {
		return a, fmt.Errorf("either the stage ends the sandbox or the kernel does: %q", need)
	}
	need = slices.DeleteFunc(need, func(w string) bool { return w == "--die-with-parent" })
	if want := []string{"--cap-drop ALL", "--unshare-cgroup-try", "--unshare-ipc", "--unshare-user",
		"--unshare-uts"}; err == nil && !slices.Equal(need, want) {
		err = fmt.Errorf("always there: %q, want %q", need, want)
	}
	return a, err
}

// randomArgs makes a sandbox of odd paths: bwrap takes any word but NUL.
func randomArgs(r *rand.Rand, odd string) Args {
	odd = strings.ReplaceAll(odd, "\x00", "0")
	path := func() string {
		return []string{"/", "/a", "/a b", "/--bind", "--dev", "/\n\"'$*", "/\xff", "/é", "/" + odd, odd}[r.IntN(10)]
	}
	coin := func() bool { return r.IntN(2) == 0 }
	a := Args{Version: Version{Minor: 4 + r.IntN(9)}, ShareNet: coin(), SharePID: coin(), NewUserns: coin(),
		Session: coin(), Init: coin()}
	if coin() {
		a.Chdir = "/" + odd
		a.Block, a.Sync, a.Info = r.IntN(3), r.IntN(3), r.IntN(3)
	}
	if coin() {
		a.Seccomp = []byte(odd)
		if coin() {
			a.Filter = []byte{1, 2, 3}
		}
	}
	for range r.IntN(3) {
		a.Setenv = append(a.Setenv, Var{"LD_PRELOAD", odd})
		a.Unsetenv = append(a.Unsetenv, odd)
	}
	for range r.IntN(20) {
		op := Op{Kind: Kind(r.IntN(int(DevBind) + 1)), Dst: path()}
		switch op.Kind {
		case Bind, ROBind, DevBind, Symlink:
			op.Src = path()
		case ROData:
			op.Data = []byte(path())
		}
		if op.Kind == Tmpfs && coin() {
			op.Size = r.Int64N(1 << 50)
		}
		if (op.Kind == Tmpfs || op.Kind == ROData) && coin() {
			op.Perm = r.Uint32N(0o7777 + 1)
		}
		a.Ops = append(a.Ops, op)
	}
	return a
}

// older is what a version can express.
func older(a Args) Args {
	a.Ops = slices.Clone(a.Ops)
	for i := range a.Ops {
		if a.Version.Less(Version{Minor: 5}) {
			a.Ops[i].Perm = 0
		}
		if a.Version.Less(Version{Minor: 7}) {
			a.Ops[i].Size = 0
		}
	}
	a.NewUserns = a.NewUserns || a.Version.Less(Version{Minor: 8})
	a.Version = Version{}
	return a
}

func roundTrip(t *testing.T, a Args) {
	t.Helper()
	words, fds := a.Words(from(10))
	got, err := read(words, fds)
	if err != nil {
		t.Fatal(err, words)
	}
	if d := cmp.Diff(older(a), got); d != "" {
		t.Fatalf("%s\n%q", d, words)
	}
	again, more := a.Words(from(10))
	if !slices.Equal(words, again) || !slices.EqualFunc(fds, more,
		func(a, b FD) bool { return a.Num == b.Num && bytes.Equal(a.Data, b.Data) }) {
		t.Fatal("the same sandbox gave other words")
	}
	seen := map[int]bool{}
	for _, fd := range fds {
		if seen[fd.Num] {
			t.Fatalf("descriptor %d is used twice", fd.Num)
		}
		seen[fd.Num] = true
	}
}

func TestWordsAreReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		roundTrip(t, randomArgs(r, "x"))
	}
}

func FuzzWords(f *testing.F) {
	f.Add(uint64(1), "/etc")
	f.Add(uint64(2), "--args")
	f.Add(uint64(3), "")
	f.Fuzz(func(t *testing.T, seed uint64, odd string) {
		roundTrip(t, randomArgs(rand.New(rand.NewPCG(seed, 1)), odd))
	})
}

func FuzzParseVersion(f *testing.F) {
	f.Add("bubblewrap 0.8.0")
	f.Fuzz(func(t *testing.T, s string) {
		v, ok := ParseVersion(s)
		if v.Major < 0 || v.Minor < 0 || v.Patch < 0 || !ok && v != (Version{}) {
			t.Errorf("%q: %+v, %v", s, v, ok)
		}
		if w, ok2 := ParseVersion(v.String()); ok && (w != v || !ok2) {
			t.Errorf("%q: %s is read as %s", s, v, w)
		}
	})
}

// A file that cannot be opened, whatever bwrap can do about its mode.
func TestShut(t *testing.T) {
	for _, tt := range []struct {
		minor int
		want  string
	}{{4, "--ro-bind /dev/null /d"}, {5, "--perms 0000 --ro-bind-data 7 /d"},
		{11, "--perms 0000 --ro-bind-data 7 /d"}} {
		a := Args{Version: Version{Minor: tt.minor}, Ops: []Op{{Kind: ROData, Dst: "/d", Perm: 0o444, Shut: true}}}
		words, fds := a.Words(func() int { return 7 })
		if got := strings.Join(words, " "); !strings.HasSuffix(got, tt.want) ||
			len(fds) != strings.Count(tt.want, "7") {
			t.Errorf("bwrap 0.%d: %s, %d descriptors", tt.minor, got, len(fds))
		}
	}
}
