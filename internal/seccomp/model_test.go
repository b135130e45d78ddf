// SPDX-License-Identifier: Apache-2.0

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
	arg := func(i int) uint64 {
		if i >= len(args) {
			return 0
		}
		return args[i]
	}
	name, known := m.names[number]
	if errno := m.everywhere(name, arg); errno != "allow" {
		return errno
	}
	if m.o.Level == "strict" {
		return m.strict(name, known)
	}
	return "allow"
}

// strict is a list of what is refused; the filter has one of what is allowed.
func (m model) strict(name string, known bool) string {
	switch name {
	case "adjtimex", "clock_adjtime", // CAP_SYS_TIME
		"setgroups", "setfsuid", "setfsgid": // CAP_SETUID, CAP_SETGID
		return "EPERM"
	case "uselib", "_sysctl", "sysfs", "ustat", "remap_file_pages", // of old kernels
		"getpmsg", "putpmsg", "afs_syscall", "tuxcall", "security", "vserver", "arch_specific_syscall", // of none
		"set_thread_area", "get_thread_area", "epoll_ctl_old", "epoll_wait_old", // not for 64 bits
		"io_setup", "io_destroy", "io_getevents", "io_submit", "io_cancel", "io_pgetevents",
		"mbind", "set_mempolicy", "get_mempolicy", "migrate_pages", "move_pages", "set_mempolicy_home_node",
		"vmsplice", "name_to_handle_at", "memfd_secret", "process_mrelease", "futex_waitv", "cachestat",
		"futex_wake", "futex_wait", "futex_requeue", "lsm_get_self_attr", "lsm_set_self_attr", "lsm_list_modules",
		"file_getattr", "file_setattr", "listns":
		return "ENOSYS"
	}
	if !known {
		return "ENOSYS"
	}
	return "allow"
}

// looks reports whether arguments of a call matter, under some options.
func (m model) looks(name string) bool {
	return slices.Contains([]string{"clone", "unshare", "ioctl", "personality", "socket", "socketpair", "chmod",
		"fchmod", "creat", "mknod", "fchmodat", "fchmodat2", "mknodat",
		"open", "openat", "prlimit64", "setpriority", "sched_setaffinity", "sched_setparam", "sched_setscheduler",
		"sched_setattr", "ioprio_set", "prctl"}, name)
}

// everywhere is what all levels have.
func (m model) everywhere(name string, full func(int) uint64) string {
	arg := func(i int) uint32 { return uint32(full(i)) }
	setid := func(mode uint32) bool { return mode&0o4000 != 0 || mode&0o2000 != 0 }
	refuse := func(cond bool, errno string) string {
		if cond {
			return errno
		}
		return "allow"
	}
	strict := m.o.Level == "strict"

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
		return refuse(m.o.Level != "dev", "EPERM")
	case "modify_ldt":
		return refuse(m.o.Level != "dev", "ENOSYS")
	case "shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop", "msgget", "msgsnd", "msgrcv",
		"msgctl",
		"mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr":
		return refuse(m.o.Host || strict, "ENOSYS")
	case "fanotify_init", "fanotify_mark":
		return refuse(m.o.Host || strict, "EPERM")
	case "setpriority":
		if m.o.Host || strict {
			return refuse(arg(0) != 0 || arg(1) != 0, "EPERM")
		}
		return refuse(arg(0) != 0 || arg(1) == 1, "EPERM")
	case "sched_setaffinity":
		return refuse(arg(0) == 1, "EPERM")
	case "sched_setparam", "sched_setscheduler", "sched_setattr":
		return refuse(strict || arg(0) == 1, "EPERM")
	case "ioprio_set":
		return refuse((m.o.Host || strict) && !(arg(0) == 1 && arg(1) == 0), "EPERM")
	case "prlimit64":
		return refuse(arg(0) != 0 && full(2) != 0, "EPERM")
	case "prctl":
		return refuse(m.o.Host && arg(0) == 'S'<<24|'B'<<16|'X'<<8|'!', "errno 1464")
	case "truncate":
		return refuse(m.o.NoTruncate, "EPERM")
	case "clone":
		if m.o.Host && arg(0)>>15&1 == 1 {
			return "EPERM"
		}
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
		return refuse(arg(1) == 0x5412 || arg(1) == 0x541C || strict && arg(1) == 0x5423, "EPERM")
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
		case 1:
			return refuse(m.o.NoUnix, "EAFNOSUPPORT")
		case 2, 10:
			switch {
			case m.o.NoInet, strict && arg(1)%16 > 3, arg(0) == 2 && arg(1)%16 == 10:
				return "EAFNOSUPPORT"
			case strict && !slices.Contains([]uint32{0, 1, 6, 17, 58, 262}, arg(2)):
				return "EPROTONOSUPPORT"
			}
			return "allow"
		case 16:
			return refuse(arg(2) != 0, "EPROTONOSUPPORT")
		}
		return "EAFNOSUPPORT"
	case "socketpair":
		return refuse(arg(0) != 1 || m.o.NoUnix && arg(1)%16 != 1 && arg(1)%16 != 5, "EAFNOSUPPORT")
	}
	// Truncation of what is not opened for writing.
	shortens := func(flags uint32) bool { return m.o.NoTruncate && flags&0o1000 != 0 && (flags%4 == 0 || flags%4 == 3) }
	if name == "open" && shortens(arg(1)) || name == "openat" && shortens(arg(2)) {
		return "EPERM"
	}
	if name == "openat2" && (m.o.NoTruncate || m.o.Root) {
		return "ENOSYS"
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
	}
	return "allow"
}

// placeholder is a number of arm64 that no call has.
const placeholder = "arch_specific_syscall"

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
	}
}

// TestCallsListedOnce: a call named twice would get the verdict of either, and
// one that does not exist would be left out.
func TestCallsListedOnce(t *testing.T) {
	var ruled []string
	for _, g := range slices.Concat(denied[:], unusual[:]) {
		ruled = append(ruled, strings.Fields(g.calls)...)
	}
	for _, list := range [][]string{ruled, allowed()} {
		seen := map[string]bool{}
		for _, name := range list {
			i, ok := findSyscall(name)
			if !ok || syscalls[i].amd64 == none && syscalls[i].arm64 == none {
				t.Errorf("%s is no call of amd64 or arm64", name)
			}
			if seen[name] {
				t.Errorf("%s is listed twice", name)
			}
			seen[name] = true
		}
	}
}

// TestStrictDecides: of each call there is, level strict says on purpose what
// becomes of it.
func TestStrictDecides(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		numbers, err := sysNumbers(arch)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Arch: arch, Level: "strict"}
		listed, ruled := map[string]bool{}, map[string]bool{}
		for _, name := range allowed() {
			listed[name] = true
		}
		for name := range refused(o) {
			ruled[name] = true
		}
		for name := range numbers {
			if name == placeholder {
				continue
			}
			if listed[name] == ruled[name] {
				t.Errorf("%s on %s: allowed %t, and ruled %t: want one", name, arch, listed[name], ruled[name])
			}
		}
	}
}
