// SPDX-License-Identifier: Apache-2.0

package seccomp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/bpf"
)

// options are those of every filter there is.
func options() []Options {
	var all []Options
	no := []bool{false, true}
	for _, arch := range []string{"amd64", "arm64"} {
		for _, level := range []string{"default", "strict", "dev"} {
			for _, root := range no {
				for _, host := range no {
					for _, inet := range no {
						for _, unix := range no {
							for _, truncate := range no {
								all = append(all, Options{Arch: arch, Level: level, Root: root, Host: host,
									NoInet: inet, NoUnix: unix, NoTruncate: truncate})
							}
						}
					}
				}
			}
		}
	}
	return all
}

// usual reports whether the options are those of a sandbox with a namespace of its own for everything, or with
// all that stands in for it.
func (o Options) usual() bool {
	return o.Host == o.NoInet && o.Host == o.NoUnix && o.Host == o.NoTruncate
}

func (o Options) String() string {
	s := o.Arch + "/" + o.Level
	for _, f := range []struct {
		on   bool
		name string
	}{{o.Root, "root"}, {o.Host, "host"}, {o.NoInet, "noinet"}, {o.NoUnix, "nounix"}, {o.NoTruncate, "notruncate"}} {
		if f.on {
			s += "-" + f.name
		}
	}
	return s
}

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
	case 0x000505b8:
		return "errno 1464"
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
	5, 6, 58, 256, 262, 1 << 32, 0x7f00 << 32, 0x8000, 0x8011, 0x5423, 0x100005423, 0x53425821, 0x53425822, 0x20000000a,
	0o1000, 0o1001, 0o1002, 0o1003, 0o1101, 0o1102, 0o1100, 0o20001000, 2 | 0o4000,
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
				if name := want.names[number]; !o.usual() && !want.looks(name) {
					if got, w := action(m.run(t, arch, number, 1, 2, 3)),
						want.decide(number, []uint64{1, 2, 3}); got != w {
						t.Fatalf("%d: got %s, want %s", number, got, w)
					}
					continue
				}
				for i, a := range samples {
					b, c := samples[(i*7+3)%len(samples)], samples[(i*11+5)%len(samples)]
					for _, args := range [][]uint64{
						{a, b, c}, {b, a, c}, {c, b, a}, {a, a, a},
						{a | high, b | high, c | high}, {1, a, 0o4755}, {2, a, 0o644, 0o2711}, {2, 0, a}, {16, 3, a},
						{2, 1, a}, {2, a, b}, {2, a, 0}, {10, a, 6}, {10, 2, a}, {16, a, 0}, {a, 7, b}, {a, 7, 1 << 32},
						{1, 7, a}, {0, 7, a}, {0, a, 0}, {1, a, 0},
						{a, 0, 0}, {0, a, b, 0o4755}, {0, b, a, 0o4755}, {0, a, 0o644}, {0, 0, a, 0o644},
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

// TestOptions has what single options add, as arm64 calls.
func TestOptions(t *testing.T) {
	level := func(l string) Options { return Options{Arch: "arm64", Level: l} }
	host := Options{Arch: "arm64", Level: "default", Host: true}
	dev := Options{Arch: "arm64", Level: "dev", Host: true}
	inet := Options{Arch: "arm64", Level: "default", Host: true, NoInet: true}
	unix := Options{Arch: "arm64", Level: "default", Host: true, NoUnix: true}
	trunc := Options{Arch: "arm64", Level: "default", Host: true, NoTruncate: true}
	both := trunc
	both.Root = true
	tests := []struct {
		name   string
		o      Options
		number uint32
		args   []uint64
		want   string
	}{
		{"sched_setaffinity of process 1", level("default"), 122, []uint64{1, 128, 1 << 40}, "EPERM"},
		{"sched_setaffinity of process 1, upper half set", level("strict"), 122, []uint64{high | 1, 128, 1 << 40},
			"EPERM"},
		{"sched_setaffinity, own", level("strict"), 122, []uint64{0, 128, 1 << 40}, "allow"},
		{"sched_setaffinity of a thread", level("dev"), 122, []uint64{17, 128, 1 << 40}, "allow"},
		{"sched_setscheduler of process 1", level("dev"), 119, []uint64{1, 5, 1 << 40}, "EPERM"},
		{"sched_setscheduler of another", level("default"), 119, []uint64{17, 5, 1 << 40}, "allow"},
		{"sched_setattr, strict", level("strict"), 274, []uint64{0, 1 << 40, 0}, "EPERM"},
		{"setpriority of process 1", level("default"), 140, []uint64{0, 1, 19}, "EPERM"},
		{"setpriority of another", level("default"), 140, []uint64{0, 17, 19}, "allow"},
		{"setpriority by group", level("dev"), 140, []uint64{1, 0, 19}, "EPERM"},
		{"setpriority by user", level("default"), 140, []uint64{2, 0, 19}, "EPERM"},
		{"prlimit64, own", level("default"), 261, []uint64{0, 7, 1 << 20, 0}, "allow"},
		{"prlimit64 of process 1", level("default"), 261, []uint64{1, 7, 1 << 20, 0}, "EPERM"},
		{"prlimit64 of process 1, upper half set", level("dev"), 261, []uint64{high | 1, 7, 1 << 20, 0}, "EPERM"},
		{"prlimit64 of a thread of process 1", level("strict"), 261, []uint64{3, 7, 1 << 20, 0}, "EPERM"},
		{"prlimit64, pointer with nothing in its lower half", level("default"), 261, []uint64{1, 7, 1 << 32, 0},
			"EPERM"},
		{"prlimit64 asks", level("default"), 261, []uint64{1, 7, 0, 1 << 20}, "allow"},
		{"prlimit64, host", host, 261, []uint64{4242, 7, 1 << 32, 0}, "EPERM"},
		{"prlimit64 asks, host", host, 261, []uint64{4242, 7, 0, 1}, "allow"},
		{"mark", host, 167, []uint64{0x53425821}, "errno 1464"},
		{"mark, upper half set", dev, 167, []uint64{high | 0x53425821}, "errno 1464"},
		{"mark, not the host", level("default"), 167, []uint64{0x53425821}, "allow"},
		{"no_new_privs", host, 167, []uint64{38, 1}, "allow"},
		{"shmget", host, 194, nil, "ENOSYS"},
		{"shmget, level dev", dev, 194, nil, "ENOSYS"},
		{"shmget, namespace", level("default"), 194, nil, "allow"},
		{"shmget, strict", level("strict"), 194, nil, "ENOSYS"},
		{"mq_open", host, 180, nil, "ENOSYS"},
		{"mq_open, namespace", level("dev"), 180, nil, "allow"},
		{"clone CLONE_PARENT", host, 220, []uint64{0x8011}, "EPERM"},
		{"clone CLONE_PARENT, namespace", level("strict"), 220, []uint64{0x8011}, "allow"},
		{"nice", host, 140, []uint64{0, 0, 5}, "allow"},
		{"renice", host, 140, []uint64{0, 4242, 5}, "EPERM"},
		{"renice own group", host, 140, []uint64{1, 0, 5}, "EPERM"},
		{"renice the user", host, 140, []uint64{2, 0, 5}, "EPERM"},
		{"renice, namespace", level("default"), 140, []uint64{0, 4242, 5}, "allow"},
		{"ionice", host, 30, []uint64{1, 0, 0x4000}, "allow"},
		{"ionice of another", host, 30, []uint64{1, 4242, 0x4000}, "EPERM"},
		{"ionice of the user", host, 30, []uint64{3, 0, 0x4000}, "EPERM"},
		{"fanotify", host, 262, nil, "EPERM"},
		{"fanotify, namespace", level("default"), 262, nil, "allow"},
		{"inet", inet, 198, []uint64{2, 1, 0}, "EAFNOSUPPORT"},
		{"inet6", inet, 198, []uint64{10, 2, 0}, "EAFNOSUPPORT"},
		{"unix stays", inet, 198, []uint64{1, 1, 0}, "allow"},
		{"route stays", inet, 198, []uint64{16, 3, 0}, "allow"},
		{"audit", inet, 198, []uint64{16, 3, 9}, "EPROTONOSUPPORT"},
		{"unix", unix, 198, []uint64{1, 0o2000001, 0}, "EAFNOSUPPORT"},
		{"inet stays", unix, 198, []uint64{2, 1, 0}, "allow"},
		{"pair stream", unix, 199, []uint64{1, 0o2004001, 0}, "allow"},
		{"pair seqpacket", unix, 199, []uint64{1, 5, 0}, "allow"},
		{"pair dgram", unix, 199, []uint64{1, 2, 0}, "EAFNOSUPPORT"},
		{"pair dgram, upper half and flags", unix, 199, []uint64{high | 1, high | 0o2000002, 0}, "EAFNOSUPPORT"},
		{"pair raw", unix, 199, []uint64{1, 3, 0}, "EAFNOSUPPORT"},
		{"pair dgram, with unix", host, 199, []uint64{1, 2, 0}, "allow"},
		{"truncate", trunc, 45, nil, "EPERM"},
		{"truncate, not asked for", host, 45, nil, "allow"},
		{"ftruncate, opened for writing", trunc, 46, nil, "allow"},
		{"open to read and truncate", trunc, 56, []uint64{0, 0, 0o1000}, "EPERM"},
		{"open for nothing and truncate", trunc, 56, []uint64{0, 0, 0o1003}, "EPERM"},
		{"open to write and truncate", trunc, 56, []uint64{0, 0, 0o1101, 0o644}, "allow"},
		{"open to read and write and truncate", trunc, 56, []uint64{0, 0, 0o1102, 0o4755}, "allow"},
		{"open to read", trunc, 56, []uint64{0, 0, 0o2000000}, "allow"},
		{"openat2", trunc, 437, nil, "ENOSYS"},
		{"root: open to read and truncate", both, 56, []uint64{0, 0, 0o1000}, "EPERM"},
		{"root: create set-uid and truncate", both, 56, []uint64{0, 0, 0o1101, 0o4755}, "EPERM"},
		{"root: create and truncate", both, 56, []uint64{0, 0, 0o1101, 0o755}, "allow"},
		{"root: create set-uid", both, 56, []uint64{0, 0, 0o101, 0o4755}, "EPERM"},
		{"strict: a hole among the numbers", level("strict"), 300, nil, "ENOSYS"},
		{"strict: read", level("strict"), 63, nil, "allow"},
		{"strict: ptrace", level("strict"), 117, nil, "EPERM"},
		{"strict: vmsplice", level("strict"), 75, nil, "ENOSYS"},
		{"strict: libaio", level("strict"), 0, nil, "ENOSYS"},
		{"strict: TIOCSETD", level("strict"), 29, []uint64{0, high | 0x5423}, "EPERM"},
		{"default: TIOCSETD", level("default"), 29, []uint64{0, 0x5423}, "allow"},
		{"strict: TIOCSTI", level("strict"), 29, []uint64{0, 0x5412}, "EPERM"},
		{"strict: TCP", level("strict"), 198, []uint64{2, 1, 6}, "allow"},
		{"strict: MPTCP", level("strict"), 198, []uint64{10, 0o2004001, 262}, "allow"},
		{"strict: ping", level("strict"), 198, []uint64{10, 2, 58}, "allow"},
		{"strict: SCTP", level("strict"), 198, []uint64{2, 1, 132}, "EPROTONOSUPPORT"},
		{"strict: SCTP by its type", level("strict"), 198, []uint64{2, 5, 0}, "EAFNOSUPPORT"},
		{"strict: DCCP", level("strict"), 198, []uint64{10, 6, 0}, "EAFNOSUPPORT"},
		{"strict: SMC", level("strict"), 198, []uint64{2, 1, 256}, "EPROTONOSUPPORT"},
		{"default: SCTP", level("default"), 198, []uint64{2, 1, 132}, "allow"},
		{"strict: no network", Options{Arch: "arm64", Level: "strict", NoInet: true}, 198, []uint64{2, 1, 6},
			"EAFNOSUPPORT"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := action(newMachine(t, tt.o).run(t, audit("arm64"), tt.number, tt.args...)); got != tt.want {
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
			if got := action(m.run(t, audit(o.Arch), uint32(syscallNumber(r.Name, o.Arch)))); got != r.Action {
				t.Errorf("%v: %s: got %s, want %s", o, r.Name, got, r.Action)
			}
		}
		want := newModel(o)
		for name, number := range want.numbers {
			if name == placeholder {
				continue
			}
			refused := false
			for _, args := range [][]uint64{{0, 0, 0}, {1, 2, 3}, {0, 0x5412}, {40}, {0xffff0000}, {0, 0o1101, 0o4755},
				{0, 0, 0o1101, 0o4755}, {0, 0o4755, 0o4755}, {1, 7, 8}, {0x53425821}, {0, 0o1000}, {0, 0, 0o1000}} {
				refused = refused || want.decide(number, args) != "allow"
			}
			if listed[name] != refused {
				t.Errorf("%v: %s: listed %t, want %t", o, name, listed[name], refused)
			}
			delete(listed, name)
		}
		for name := range listed {
			t.Errorf("%v: %s is no call", o, name)
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

func TestRefusedOptions(t *testing.T) {
	tests := []struct {
		o    Options
		want string
	}{
		{Options{}, `seccomp architecture "": not one of amd64, arm64`},
		{Options{Arch: "riscv64", Level: "default"}, `seccomp architecture "riscv64": not one of amd64, arm64`},
		{Options{Arch: "amd64"}, `seccomp level "": not one of default, strict, dev`},
		{Options{Arch: "arm64", Level: "Strict"}, `seccomp level "Strict": not one of default, strict, dev`},
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

// TestSize keeps the filters small, since the kernel's price for loading one
// grows with its length, and the search shallow: it is paid on every call.
func TestSize(t *testing.T) {
	for _, o := range options() {
		code, err := Filter(o)
		if err != nil {
			t.Fatal(err)
		}
		n, path := len(code)/8, longest(t, code)
		most, deepest := 165, 22
		if o.Host {
			most = 180
		}
		if o.Level == "strict" {
			most, deepest = 230, 28
		}
		if n > most || path > deepest {
			t.Errorf("%v: %d instructions, at most %d run for a call", o, n, path)
		} else if o.usual() {
			t.Logf("%v: %d instructions, at most %d run for a call, %d segments", o, n, path, len(segments(o)))
		}
	}
}

// longest is how many instructions run at most for one call.
func longest(t *testing.T, code []byte) int {
	t.Helper()
	runs := make([]int, len(code)/8) // from each instruction to the end
	for i := len(runs) - 1; i >= 0; i-- {
		op, jt, jf, k := binary.LittleEndian.Uint16(code[8*i:]), code[8*i+2], code[8*i+3],
			binary.LittleEndian.Uint32(code[8*i+4:])
		switch {
		case op&7 == 6: // BPF_RET
			runs[i] = 1
		case op == 5: // BPF_JMP | BPF_JA
			runs[i] = 1 + runs[i+1+int(k)]
		case op&7 == 5:
			runs[i] = 1 + max(runs[i+1+int(jt)], runs[i+1+int(jf)])
		default:
			runs[i] = 1 + runs[i+1]
		}
	}
	return runs[0]
}

// TestLongJumps builds a tree too wide for jumps of eight bits.
func TestLongJumps(t *testing.T) {
	var segs []segment
	for n := range uint32(2000) {
		segs = append(segs, segment{n, verdict(n % 3)})
	}
	ops := assemble(Options{Arch: "arm64"}, segs)
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

// TestSameBytes: a dry run shows what a run loads, and what was assembled before
// is what would be assembled now.
func TestSameBytes(t *testing.T) {
	for _, o := range options() {
		a, err1 := Filter(o)
		b, err2 := Assemble(o)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%v: the programs differ", o)
		}
	}
	a, _ := Filter(Options{Arch: runtime.GOARCH, Level: "default"})
	clear(a)
	if b, _ := Filter(Options{Arch: runtime.GOARCH, Level: "default"}); bytes.Equal(a, b) {
		t.Error("who changes a program changes the next one")
	}
}

func BenchmarkFilter(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Filter(Options{Arch: "amd64", Level: "strict", Root: true}); err != nil {
			b.Fatal(err)
		}
	}
}
