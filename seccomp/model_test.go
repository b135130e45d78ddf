package seccomp

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// model says again, in the plainest way and from other sources, what a filter
// must do: names from man pages, numbers from x/sys.
type model struct {
	o       Options
	numbers map[string]uint32
	names   map[uint32]string
}

func newModel(o Options) model {
	numbers, err := sysNumbers(o.Arch)
	if err != nil {
		panic(err)
	}
	names := map[uint32]string{}
	for name, n := range numbers {
		names[n] = name
	}
	return model{o, numbers, names}
}

func (m model) decide(number uint32, args []uint64) string {
	if number > 471 {
		return "ENOSYS"
	}
	arg := func(i int) uint32 {
		if i >= len(args) {
			return 0
		}
		return uint32(args[i])
	}
	setid := func(mode uint32) bool { return mode&0o4000 != 0 || mode&0o2000 != 0 }
	refuse := func(cond bool, errno string) string {
		if cond {
			return errno
		}
		return "allow"
	}
	name := m.names[number]

	switch name {
	case "clone3", "io_uring_setup", "io_uring_enter", "io_uring_register",
		"add_key", "request_key", "keyctl",
		"open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick",
		"mount_setattr", "statmount", "listmount":
		return "ENOSYS"
	case "setns", "mount", "umount2", "pivot_root", "chroot", "open_by_handle_at",
		"bpf", "perf_event_open", "userfaultfd",
		"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
		"create_module", "get_kernel_syms", "query_module", "nfsservctl", "lookup_dcookie",
		"swapon", "swapoff", "reboot", "quotactl", "quotactl_fd", "acct", "iopl", "ioperm",
		"syslog", "settimeofday", "clock_settime", "sethostname", "setdomainname", "vhangup":
		return "EPERM"
	case "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "process_madvise", "pidfd_getfd":
		return refuse(m.o.Level == "default", "EPERM")
	case "modify_ldt":
		return refuse(m.o.Level == "default", "ENOSYS")
	case "clone":
		for _, flag := range []uint32{1 << 17, 1 << 25, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30} {
			if arg(0)&flag != 0 {
				return "EPERM"
			}
		}
		return "allow"
	case "unshare":
		rest := arg(0)
		for _, flag := range []uint32{0x100, 0x200, 0x400, 0x800, 0x10000, 0x40000} {
			rest &^= flag
		}
		return refuse(rest != 0, "EPERM")
	case "ioctl":
		return refuse(arg(1) == 0x5412 || arg(1) == 0x541C, "EPERM")
	case "personality":
		ok := []uint32{0xffffffff}
		for _, low := range []uint32{0, 8} {
			for _, uname26 := range []uint32{0, 0x20000} {
				for _, norandom := range []uint32{0, 0x40000} {
					ok = append(ok, low|uname26|norandom)
				}
			}
		}
		return refuse(!slices.Contains(ok, arg(0)), "EPERM")
	case "socket":
		switch arg(0) {
		case 1, 10:
			return "allow"
		case 2:
			return refuse(arg(1)%16 == 10, "EAFNOSUPPORT")
		case 16:
			return refuse(arg(2) != 0, "EPROTONOSUPPORT")
		}
		return "EAFNOSUPPORT"
	case "socketpair":
		return refuse(arg(0) != 1, "EAFNOSUPPORT")
	}
	if !m.o.Root {
		return "allow"
	}
	creates := func(flags uint32) bool { return flags&0o100 != 0 || flags&0o20000000 != 0 }
	switch name {
	case "chmod", "fchmod", "creat", "mknod":
		return refuse(setid(arg(1)), "EPERM")
	case "fchmodat", "fchmodat2", "mknodat":
		return refuse(setid(arg(2)), "EPERM")
	case "open":
		return refuse(creates(arg(1)) && setid(arg(2)), "EPERM")
	case "openat":
		return refuse(creates(arg(2)) && setid(arg(3)), "EPERM")
	case "openat2":
		return "ENOSYS"
	}
	return "allow"
}

var xsysDir = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	return strings.TrimSpace(string(out)), err
})

// sysNumbers reads the constants SYS_* of x/sys, keyed by lower-case name.
// It works on any system, since the sources of all are in the module.
func sysNumbers(arch string) (map[string]uint32, error) {
	dir, err := xsysDir()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "unix", "zsysnum_linux_"+arch+".go"))
	if err != nil {
		return nil, err
	}
	numbers := map[string]uint32{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[1] != "=" || !strings.HasPrefix(f[0], "SYS_") {
			continue
		}
		n, err := strconv.ParseUint(f[2], 10, 32)
		if err != nil {
			return nil, err
		}
		numbers[strings.ToLower(f[0][len("SYS_"):])] = uint32(n)
	}
	return numbers, nil
}

func TestNumbers(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		numbers, err := sysNumbers(arch)
		if err != nil {
			t.Fatal(err)
		}
		if len(numbers) < 300 {
			t.Fatalf("%s: only %d numbers read", arch, len(numbers))
		}
		highest := uint32(0)
		for _, n := range numbers {
			highest = max(highest, n)
		}
		if highest != newest {
			t.Errorf("%s: newest known number is %d, x/sys has %d: read up on the new calls", arch, newest, highest)
		}
		for i := range calls {
			c := &calls[i]
			want, ok := numbers[c.name]
			if !ok {
				want = 1<<32 - 1
			}
			if got := uint32(int32(c.number(arch))); got != want {
				t.Errorf("%s on %s: got %d, want %d", c.name, arch, int32(got), int32(want))
			}
		}
	}
}

// TestCallsListedOnce: a number named twice would get the verdict of either.
func TestCallsListedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range calls {
		if seen[c.name] {
			t.Errorf("%s is listed twice", c.name)
		}
		seen[c.name] = true
	}
}
