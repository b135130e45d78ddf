package seccomp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/bpf"
)

// every filter there is
func options() []Options {
	var all []Options
	for _, arch := range []string{"amd64", "arm64"} {
		for _, level := range []string{"default", "dev"} {
			for _, root := range []bool{false, true} {
				all = append(all, Options{Arch: arch, Level: level, Root: root})
			}
		}
	}
	return all
}

func (o Options) String() string { return fmt.Sprintf("%s/%s/root=%t", o.Arch, o.Level, o.Root) }

// machine runs filters as the kernel would.
type machine struct{ vm *bpf.VM }

func newMachine(t *testing.T, o Options) machine {
	t.Helper()
	code, err := Filter(o)
	if err != nil {
		t.Fatal(err)
	}
	var raw []bpf.RawInstruction
	for ; len(code) > 0; code = code[8:] {
		raw = append(raw, bpf.RawInstruction{
			Op: binary.LittleEndian.Uint16(code), Jt: code[2], Jf: code[3],
			K: binary.LittleEndian.Uint32(code[4:]),
		})
	}
	ops, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("unknown instruction")
	}
	vm, err := bpf.NewVM(ops)
	if err != nil {
		t.Fatal(err)
	}
	return machine{vm}
}

// run returns the filter's return value for a call. The VM loads big-endian, so
// the words of seccomp_data are laid out as such, with the lower half of each
// argument still first.
func (m machine) run(t *testing.T, arch, number uint32, args ...uint64) uint32 {
	t.Helper()
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[0:], number)
	binary.BigEndian.PutUint32(data[4:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(a>>32))
	}
	// The VM returns an int and tells by zero that nothing passes.
	got, err := m.vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(got)
}

// action spells a return value.
func action(value uint32) string {
	switch value {
	case 0x7fff0000:
		return "allow"
	case 0x80000000:
		return "kill"
	case 0x00050001:
		return "EPERM"
	case 0x00050026:
		return "ENOSYS"
	case 0x0005005d:
		return "EPROTONOSUPPORT"
	case 0x00050061:
		return "EAFNOSUPPORT"
	}
	return fmt.Sprintf("%#x", value)
}

const high = 0xdeadbeef << 32

// samples are argument words that some rule looks at, in each position.
var samples = []uint64{
	0, 1, 2, 3, 8, 10, 16, 17, 38, 40, 0x80, 0x100, 0x200, 0x400, 0xa,
	2 | 0o2000000, 10 | 0o2004000, // SOCK_CLOEXEC, SOCK_NONBLOCK
	0x20000, 0x40000, 0x60008, 0x400000, 0x10000000, 0x7e020000, 0x02000000, 0x3d0f00, 0x11,
	0x5412, 0x541c, 0x5413, 0x100005412,
	0o644, 0o4755, 0o2755, 0o1777, 0o6000, 0o100, 0o101, 1 << 22, 0o20200000,
	0xffffffff, 0xffffffffffffffff,
}

// TestModel compares every number and many arguments with the model.
func TestModel(t *testing.T) {
	for _, o := range options() {
		t.Run(o.String(), func(t *testing.T) {
			m, want := newMachine(t, o), newModel(o)
			arch := audit(o.Arch)
			for number := range uint32(600) {
				for i, a := range samples {
					b, c := samples[(i*7+3)%len(samples)], samples[(i*11+5)%len(samples)]
					for _, args := range [][]uint64{
						{a, b, c}, {b, a, c}, {c, b, a}, {a, a, a},
						{a | high, b | high, c | high}, {1, a, 0o4755}, {2, a, 0o644, 0o2711}, {2, 0, a}, {16, 3, a},
					} {
						got := action(m.run(t, arch, number, args...))
						if w := want.decide(number, args); got != w {
							t.Fatalf("%d %#x: got %s, want %s", number, args, got, w)
						}
					}
				}
			}
		})
	}
}

func TestForeignCalls(t *testing.T) {
	const i386, arm, x32 = 0x40000003, 0x40000028, 1 << 30
	for _, o := range options() {
		m := newMachine(t, o)
		for number := range uint32(600) {
			for _, arch := range []uint32{i386, arm, 0, audit("amd64") ^ audit("arm64") ^ audit(o.Arch)} {
				if got := action(m.run(t, arch, number)); got != "kill" {
					t.Fatalf("%v: number %d of architecture %#x: %s", o, number, arch, got)
				}
			}
			if got := action(m.run(t, audit(o.Arch), x32|number)); got != "ENOSYS" {
				t.Fatalf("%v: x32 number %d: %s", o, number, got)
			}
		}
		for _, number := range []uint32{newest + 1, 512, 1 << 20, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
			if got := action(m.run(t, audit(o.Arch), number)); got != "ENOSYS" {
				t.Errorf("%v: number %d: %s", o, number, got)
			}
		}
	}
}

// TestArguments has the argument checks one by one, as amd64 calls.
func TestArguments(t *testing.T) {
	tests := []struct {
		name   string
		number uint32
		args   []uint64
		want   string
	}{
		{"fork", 56, []uint64{0x1200011}, "allow"},
		{"thread", 56, []uint64{0x3d0f00}, "allow"},
		{"clone NEWUSER", 56, []uint64{0x10000011}, "EPERM"},
		{"clone NEWNS", 56, []uint64{0x20000}, "EPERM"},
		{"clone NEWCGROUP", 56, []uint64{0x2000000}, "EPERM"},
		{"clone NEWUTS", 56, []uint64{0x4000000}, "EPERM"},
		{"clone NEWIPC", 56, []uint64{0x8000000}, "EPERM"},
		{"clone NEWPID", 56, []uint64{0x20000000}, "EPERM"},
		{"clone NEWNET", 56, []uint64{0x40000000}, "EPERM"},
		{"clone NEWUSER, upper half set", 56, []uint64{high | 0x10000011}, "EPERM"},
		{"clone, upper half set", 56, []uint64{high | 0x11}, "allow"},
		{"clone, bit 7 is exit signal", 56, []uint64{0x80}, "allow"},
		{"unshare NEWTIME", 272, []uint64{0x80}, "EPERM"},
		{"unshare NEWUSER", 272, []uint64{0x10000000}, "EPERM"},
		{"unshare FILES FS", 272, []uint64{0x600}, "allow"},
		{"unshare nothing", 272, []uint64{0}, "allow"},
		{"unshare of tomorrow", 272, []uint64{0x100000}, "EPERM"},
		{"TIOCSTI", 16, []uint64{0, 0x5412}, "EPERM"},
		{"TIOCSTI, upper half set (CVE-2019-10063)", 16, []uint64{0, 1<<32 | 0x5412}, "EPERM"},
		{"TIOCLINUX, upper half set", 16, []uint64{0, high | 0x541c}, "EPERM"},
		{"TCGETS", 16, []uint64{0, 0x5401}, "allow"},
		{"TIOCGWINSZ", 16, []uint64{0x5412, 0x5413}, "allow"},
		{"unix", 41, []uint64{1, 1, 0}, "allow"},
		{"inet stream", 41, []uint64{2, 1, 6}, "allow"},
		{"inet stream cloexec", 41, []uint64{2, 0o2000001, 0}, "allow"},
		{"inet SOCK_PACKET", 41, []uint64{2, 10, 0x300}, "EAFNOSUPPORT"},
		{"inet SOCK_PACKET cloexec", 41, []uint64{2, 0o2000012, 0x300}, "EAFNOSUPPORT"},
		{"inet6", 41, []uint64{10, 2, 17}, "allow"},
		{"netlink route", 41, []uint64{16, 3, 0}, "allow"},
		{"netlink route, upper halves set", 41, []uint64{high | 16, high | 3, high}, "allow"},
		{"netlink audit", 41, []uint64{16, 3, 9}, "EPROTONOSUPPORT"},
		{"netlink uevent", 41, []uint64{16, 3, 15}, "EPROTONOSUPPORT"},
		{"netlink sock_diag", 41, []uint64{16, 3, 4}, "EPROTONOSUPPORT"},
		{"packet", 41, []uint64{17, 3, 0}, "EAFNOSUPPORT"},
		{"bluetooth", 41, []uint64{31, 3, 0}, "EAFNOSUPPORT"},
		{"alg", 41, []uint64{38, 5, 0}, "EAFNOSUPPORT"},
		{"vsock", 41, []uint64{40, 1, 0}, "EAFNOSUPPORT"},
		{"vsock, upper half set", 41, []uint64{high | 40, 1, 0}, "EAFNOSUPPORT"},
		{"xdp", 41, []uint64{44, 3, 0}, "EAFNOSUPPORT"},
		{"unspec", 41, []uint64{0, 1, 0}, "EAFNOSUPPORT"},
		{"pair unix", 53, []uint64{1, 1, 0}, "allow"},
		{"pair tipc", 53, []uint64{30, 1, 0}, "EAFNOSUPPORT"},
		{"personality query", 135, []uint64{0xffffffff}, "allow"},
		{"personality linux", 135, []uint64{0}, "allow"},
		{"personality no randomize", 135, []uint64{0x40000}, "allow"},
		{"personality linux32 uname26", 135, []uint64{0x20008}, "allow"},
		{"personality read implies exec", 135, []uint64{0x400000}, "EPERM"},
		{"personality svr4", 135, []uint64{1}, "EPERM"},
		{"chmod u+s", 90, []uint64{0, 0o4755}, "EPERM"},
		{"chmod g+s", 90, []uint64{0, 0o2755}, "EPERM"},
		{"chmod +t", 90, []uint64{0, 0o1777}, "allow"},
		{"fchmodat u+s", 268, []uint64{0, 0o4755, 0o4755}, "EPERM"},
		{"fchmodat, path pointer looks set-uid", 268, []uint64{0, 0o4755, 0o755}, "allow"},
		{"open creat u+s", 2, []uint64{0, 0o101, 0o4755}, "EPERM"},
		{"open, no creat, mode is garbage", 2, []uint64{0, 1, 0o4755}, "allow"},
		{"openat tmpfile u+s", 257, []uint64{0, 0, 0o20200002, 0o4755}, "EPERM"},
		{"openat directory, mode is garbage", 257, []uint64{0, 0, 0o200000, 0o4755}, "allow"},
		{"openat creat", 257, []uint64{0, 0, 0o101, 0o644}, "allow"},
		{"openat2", 437, nil, "ENOSYS"},
		{"mkdir, set-id bits are ignored", 83, []uint64{0, 0o6755}, "allow"},
		{"x32 twin of ptrace", 521, nil, "ENOSYS"},
	}
	m := newMachine(t, Options{Arch: "amd64", Level: "default", Root: true})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := action(m.run(t, audit("amd64"), tt.number, tt.args...)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestRules holds the table that people are shown to what the filter does.
func TestRules(t *testing.T) {
	for _, o := range options() {
		m := newMachine(t, o)
		listed := map[string]bool{}
		for _, r := range Rules(o) {
			listed[r.Name] = true
			if r.Args != "" {
				continue
			}
			if got := action(m.run(t, audit(o.Arch), uint32(find(t, r.Name).number(o.Arch)))); got != r.Action {
				t.Errorf("%v: %s: got %s, want %s", o, r.Name, got, r.Action)
			}
		}
		for i := range calls {
			c := &calls[i]
			want := c.number(o.Arch) != none && c.in.holds(o)
			if listed[c.name] != want {
				t.Errorf("%v: %s: listed %t, want %t", o, c.name, listed[c.name], want)
			}
		}
	}
	want := []Rule{
		{"socket", "a family other than AF_UNIX, AF_INET, AF_INET6, AF_NETLINK; SOCK_PACKET", "EAFNOSUPPORT"},
		{"socket", "AF_NETLINK with a protocol other than NETLINK_ROUTE", "EPROTONOSUPPORT"},
	}
	var got []Rule
	for _, r := range Rules(Options{Arch: "arm64", Level: "dev"}) {
		if r.Name == "socket" {
			got = append(got, r)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func find(t *testing.T, name string) *call {
	t.Helper()
	for i := range calls {
		if calls[i].name == name {
			return &calls[i]
		}
	}
	t.Fatalf("no call %s", name)
	return nil
}

func TestRefusedOptions(t *testing.T) {
	tests := []struct {
		o    Options
		want string
	}{
		{Options{}, `seccomp architecture "": not one of amd64, arm64`},
		{Options{Arch: "riscv64", Level: "default"}, `seccomp architecture "riscv64": not one of amd64, arm64`},
		{Options{Arch: "amd64"}, `seccomp level "": not one of default, dev`},
		{Options{Arch: "arm64", Level: "strict"}, `seccomp level "strict": not one of default, dev`},
	}
	for _, tt := range tests {
		code, err := Filter(tt.o)
		if err == nil || err.Error() != tt.want || code != nil {
			t.Errorf("%+v: got %d bytes, %v; want %s", tt.o, len(code), err, tt.want)
		}
		if rules := Rules(tt.o); rules != nil {
			t.Errorf("%+v: rules %v", tt.o, rules)
		}
	}
}

// TestSize keeps the filters small: the kernel's price for loading one grows
// with its length.
func TestSize(t *testing.T) {
	for _, o := range options() {
		code, err := Filter(o)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(code) / 8; n > 150 {
			t.Errorf("%v: %d instructions", o, n)
		} else {
			t.Logf("%v: %d instructions, %d segments", o, n, len(segments(o)))
		}
	}
}

// TestLongJumps builds a tree too wide for jumps of eight bits.
func TestLongJumps(t *testing.T) {
	var segs []segment
	for n := range uint32(2000) {
		segs = append(segs, segment{n, verdict(n % 3)})
	}
	ops := assemble(audit("arm64"), segs)
	if _, err := bpf.Assemble(ops); err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(ops)
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint32(2100) {
		want := verdict(min(n, 1999) % 3).value()
		if got := (machine{vm}).run(t, audit("arm64"), n); got != want {
			t.Fatalf("%d: got %s, want %s", n, action(got), action(want))
		}
	}
}

// TestSameBytes: a dry run shows what a run loads.
func TestSameBytes(t *testing.T) {
	for _, o := range options() {
		a, err1 := Filter(o)
		b, err2 := Filter(o)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%v: %s", o, diff)
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Filter(Options{Arch: "amd64", Level: "default", Root: true}); err != nil {
			b.Fatal(err)
		}
	}
}
