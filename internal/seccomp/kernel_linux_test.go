// SPDX-License-Identifier: Apache-2.0

package seccomp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/landlock"
)

// The helper is this test binary started again. It loads the filter that
// levelVar names and then does what modeVar says.
const (
	levelVar = "SBX_SECCOMP_TEST_LEVEL" // none, or a level and options, as default-root
	modeVar  = "SBX_SECCOMP_TEST_MODE"  // probe, usual, truncate, pairs, threads, exec
)

func TestMain(m *testing.M) {
	if os.Getenv(modeVar) == "" {
		os.Exit(m.Run())
	}
	if err := helper(os.Getenv(levelVar), os.Getenv(modeVar)); err != nil {
		fmt.Fprintln(os.Stderr, "helper:", err)
		os.Exit(99)
	}
}

func helper(level, mode string) error {
	if level != "none" {
		if err := load(optionsOf(level)); err != nil {
			return err
		}
	}
	switch mode {
	case "probe":
		return probe(level)
	case "usual":
		return callUsual()
	case "truncate":
		return truncate(os.Args[1])
	case "pairs":
		return reach(os.Args[1:])
	case "threads":
		return threads()
	case "exec":
		path, err := exec.LookPath(os.Args[1])
		if err != nil {
			return err
		}
		os.Unsetenv(modeVar)
		return syscall.Exec(path, os.Args[1:], os.Environ())
	}
	return fmt.Errorf("mode %q", mode)
}

func optionsOf(level string) Options {
	words := strings.Split(level, "-")
	has := func(option string) bool { return slices.Contains(words, option) }
	return Options{Arch: runtime.GOARCH, Level: words[0], Root: has("root"), Host: has("host"), NoInet: has("noinet"),
		NoUnix: has("nounix"), NoTruncate: has("notruncate")}
}

// load puts the filter on all threads of this process.
func load(o Options) error {
	code, err := Filter(o)
	if err != nil {
		return err
	}
	ops := make([]unix.SockFilter, len(code)/8)
	if _, err := binary.Decode(code, binary.LittleEndian, ops); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(ops)), Filter: &ops[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	tid, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&prog)))
	if tid != 0 || errno != 0 {
		return fmt.Errorf("seccomp: thread %d: %w", tid, errno)
	}
	return nil
}

// trial is one call whose result tells what the filter does to it.
type trial struct {
	name string
	by   func(Options) bool // whether a filter refuses it
	want syscall.Errno
	call func(*fixture) syscall.Errno
}

func byAll(Options) bool          { return true }
func byNone(Options) bool         { return false }
func byRoot(o Options) bool       { return o.Root }
func byHost(o Options) bool       { return o.Host }
func byStrict(o Options) bool     { return o.Level == "strict" }
func byCloser(o Options) bool     { return o.Host || byStrict(o) }
func byNoInet(o Options) bool     { return o.NoInet }
func byNoUnix(o Options) bool     { return o.NoUnix }
func byNoTruncate(o Options) bool { return o.NoTruncate }

// fixture is what trials work on.
type fixture struct {
	tty, dir int
	far      uintptr // 16 bytes of zero at 1<<32
	file     *byte   // name of an existing file below dir
	fresh    *byte   // name of none
}

func raw(number uintptr, args ...uintptr) syscall.Errno {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := syscall.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno == 0 && (number == unix.SYS_SOCKET || number == unix.SYS_OPENAT) {
		unix.Close(int(r))
	}
	return errno
}

func socket(family, kind, protocol uintptr) func(*fixture) syscall.Errno {
	return func(*fixture) syscall.Errno { return raw(unix.SYS_SOCKET, family, kind, protocol) }
}

// trials are harmless where no filter stops them.
var trials = []trial{
	{"clone3", byAll, unix.ENOSYS, func(*fixture) syscall.Errno { return raw(unix.SYS_CLONE3) }},
	// CLONE_FS makes it invalid, so that no process comes of it.
	{"clone NEWUSER", byAll, unix.EPERM,
		func(*fixture) syscall.Errno { return raw(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS) }},
	// Invalid too: a process with threads cannot enter a user namespace.
	{"unshare NEWUSER", byAll, unix.EPERM,
		func(*fixture) syscall.Errno { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) }},
	{"unshare FS", byNone, 0, func(*fixture) syscall.Errno { return raw(unix.SYS_UNSHARE, unix.CLONE_FS) }},
	{"setns", byAll, unix.EPERM, func(*fixture) syscall.Errno { return raw(unix.SYS_SETNS, ^uintptr(0)) }},
	{"TIOCSTI", byAll, unix.EPERM, tiocstiOf(unix.TIOCSTI)},
	{"TIOCSTI upper half", byAll, unix.EPERM, tiocstiOf(1<<32 | unix.TIOCSTI)},
	{"TIOCLINUX", byAll, unix.EPERM,
		func(s *fixture) syscall.Errno { return raw(unix.SYS_IOCTL, uintptr(s.tty), unix.TIOCLINUX, 0) }},
	{"TIOCGPTPEER", byNone, unix.ENOTTY,
		func(s *fixture) syscall.Errno { return raw(unix.SYS_IOCTL, uintptr(s.dir), unix.TIOCGPTPEER, 0) }},
	{"socket packet", byAll, unix.EAFNOSUPPORT, socket(unix.AF_PACKET, unix.SOCK_DGRAM, 0)},
	{"socket netlink generic", byAll, unix.EPROTONOSUPPORT,
		socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC)},
	{"socket route", byNone, 0, socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)},
	{"socket unix", byNoUnix, unix.EAFNOSUPPORT, socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)},
	{"socket inet", byNoInet, unix.EAFNOSUPPORT, socket(unix.AF_INET, unix.SOCK_STREAM, 0)},
	{"socket inet6", byNoInet, unix.EAFNOSUPPORT,
		socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)},
	{"socket of an unusual protocol", byStrict, unix.EPROTONOSUPPORT,
		socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_IGMP)},
	{"socket of an unusual type", byStrict, unix.EAFNOSUPPORT, socket(unix.AF_INET, unix.SOCK_RDM, 0)},
	{"pair of streams", byNone, 0, pair(unix.SOCK_STREAM | unix.SOCK_CLOEXEC)},
	{"pair of packets", byNone, 0, pair(unix.SOCK_SEQPACKET)},
	{"pair of datagrams", byNoUnix, unix.EAFNOSUPPORT, pair(unix.SOCK_DGRAM | unix.SOCK_NONBLOCK)},
	{"pair of raw", byNoUnix, unix.EAFNOSUPPORT, pair(unix.SOCK_RAW)},
	{"own limit", byNone, 0, func(s *fixture) syscall.Errno { return s.limit(0, false) }},
	{"limit of another", byAll, unix.EPERM, func(s *fixture) syscall.Errno { return s.limit(os.Getppid(), false) }},
	// All of the pointer is in its upper half.
	{"limit of another, at 1<<32", byAll, unix.EPERM,
		func(s *fixture) syscall.Errno { return s.limit(os.Getppid(), true) }},
	{"ask a limit of another", byNone, 0, func(*fixture) syscall.Errno {
		return raw(unix.SYS_PRLIMIT64, uintptr(os.Getppid()), unix.RLIMIT_CORE, 0, 0)
	}},
	{"own priority", byNone, 0, func(*fixture) syscall.Errno { return setNice(unix.PRIO_PROCESS, 0) }},
	{"priority of another", byCloser, unix.EPERM,
		func(*fixture) syscall.Errno { return setNice(unix.PRIO_PROCESS, os.Getppid()) }},
	{"priority of a group", byAll, unix.EPERM, func(*fixture) syscall.Errno { return setNice(unix.PRIO_PGRP, 0) }},
	// Invalid: a thread shares the signal handlers.
	{"clone PARENT", byHost, unix.EPERM,
		func(*fixture) syscall.Errno { return raw(unix.SYS_CLONE, unix.CLONE_PARENT|unix.CLONE_THREAD) }},
	{"clone THREAD", byNone, 0, func(*fixture) syscall.Errno { return raw(unix.SYS_CLONE, unix.CLONE_THREAD) }},
	{"shmget", byCloser, unix.ENOSYS, func(*fixture) syscall.Errno { return raw(unix.SYS_SHMGET, 0, 0) }},
	{"mark", byHost, Mark, func(*fixture) syscall.Errno { return raw(unix.SYS_PRCTL, 0x53425821) }},
	{"mark, upper half", byHost, Mark, func(*fixture) syscall.Errno { return raw(unix.SYS_PRCTL, 1<<32|0x53425821) }},
	{"other prctl", byNone, 0, func(*fixture) syscall.Errno { return raw(unix.SYS_PRCTL, 0x53425820) }},
	{"truncate", byNoTruncate, unix.EPERM,
		func(s *fixture) syscall.Errno { return raw(unix.SYS_TRUNCATE, uintptr(unsafe.Pointer(s.file)), 0) }},
	{"open to read and truncate", byNoTruncate, unix.EPERM,
		func(s *fixture) syscall.Errno { return s.open(unix.O_RDONLY | unix.O_TRUNC) }},
	{"open for nothing and truncate", byNoTruncate, unix.EPERM,
		func(s *fixture) syscall.Errno { return s.open(unix.O_ACCMODE | unix.O_TRUNC) }},
	{"open to write and truncate", byNone, 0,
		func(s *fixture) syscall.Errno { return s.open(unix.O_WRONLY | unix.O_TRUNC) }},
	{"vmsplice", byStrict, unix.ENOSYS, func(*fixture) syscall.Errno { return raw(unix.SYS_VMSPLICE, ^uintptr(0)) }},
	{"libaio", byStrict, unix.ENOSYS, func(*fixture) syscall.Errno { return raw(unix.SYS_IO_DESTROY, ^uintptr(0)) }},
	{"TIOCSETD", byStrict, unix.EPERM, func(s *fixture) syscall.Errno {
		var plain uint32 // N_TTY, which it has
		return raw(unix.SYS_IOCTL, uintptr(s.tty), unix.TIOCSETD, uintptr(unsafe.Pointer(&plain)))
	}},
	{"personality", byAll, unix.EPERM, func(*fixture) syscall.Errno { return raw(unix.SYS_PERSONALITY, 0x400000) }},
	{"chmod u+s", byRoot, unix.EPERM, func(s *fixture) syscall.Errno {
		return raw(unix.SYS_FCHMODAT, uintptr(s.dir), uintptr(unsafe.Pointer(s.file)), 0o4755)
	}},
	{"chmod", byNone, 0, func(s *fixture) syscall.Errno {
		return raw(unix.SYS_FCHMODAT, uintptr(s.dir), uintptr(unsafe.Pointer(s.file)), 0o755)
	}},
	{"create u+s", byRoot, unix.EPERM, func(s *fixture) syscall.Errno {
		return raw(unix.SYS_OPENAT, uintptr(s.dir), uintptr(unsafe.Pointer(s.fresh)), unix.O_CREAT|unix.O_WRONLY,
			0o4755)
	}},
	{"create", byNone, 0, func(s *fixture) syscall.Errno {
		return raw(unix.SYS_OPENAT, uintptr(s.dir), uintptr(unsafe.Pointer(s.fresh)), unix.O_CREAT|unix.O_WRONLY, 0o755)
	}},
	{"openat2", func(o Options) bool { return o.Root || o.NoTruncate }, unix.ENOSYS, func(s *fixture) syscall.Errno {
		return raw(unix.SYS_OPENAT2, uintptr(s.dir), uintptr(unsafe.Pointer(s.file)), 0, 0)
	}},
}

func pair(kind uintptr) func(*fixture) syscall.Errno {
	return func(*fixture) syscall.Errno {
		fds := [2]int32{-1, -1}
		errno := raw(unix.SYS_SOCKETPAIR, unix.AF_UNIX, kind, 0, uintptr(unsafe.Pointer(&fds)))
		for _, fd := range fds {
			unix.Close(int(fd))
		}
		return errno
	}
}

// limit sets what a process has already: no core dumps, as newFixture sees to.
func (s *fixture) limit(pid int, far bool) syscall.Errno {
	var none [2]uint64
	at := uintptr(unsafe.Pointer(&none))
	if far {
		at = s.far
	}
	return raw(unix.SYS_PRLIMIT64, uintptr(pid), unix.RLIMIT_CORE, at, 0)
}

// setNice sets a nice value to what it is: the kernel tells 20 less it.
func setNice(which, who int) syscall.Errno {
	now, err := unix.Getpriority(which, who)
	if err != nil {
		return err.(syscall.Errno)
	}
	return raw(unix.SYS_SETPRIORITY, uintptr(which), uintptr(who), uintptr(20-now))
}

func (s *fixture) open(flags uintptr) syscall.Errno {
	return raw(unix.SYS_OPENAT, uintptr(s.dir), uintptr(unsafe.Pointer(s.file)), flags, 0)
}

func tiocstiOf(command uintptr) func(*fixture) syscall.Errno {
	return func(s *fixture) syscall.Errno {
		c := byte('x')
		return raw(unix.SYS_IOCTL, uintptr(s.tty), command, uintptr(unsafe.Pointer(&c)))
	}
}

// probe prints the errno of every trial and, under a filter, of every call
// that it refuses whatever the arguments.
func probe(level string) error {
	s, err := newFixture()
	if err != nil {
		return err
	}
	for _, tr := range trials {
		fmt.Printf("%s=%s\n", tr.name, errnoName(tr.call(s)))
	}
	// From here on a missing filter could do harm.
	if level == "none" || raw(unix.SYS_CLONE3) != unix.ENOSYS {
		return nil
	}
	bad := ^uintptr(0)
	for name, do := range refused(optionsOf(level)) {
		if do < finals {
			number := uintptr(syscallNumber(name, runtime.GOARCH))
			fmt.Printf("%s()=%s\n", name, unix.ErrnoName(raw(number, bad, bad, bad, bad, bad, bad)))
		}
	}
	fmt.Printf("ptrace()=%s\n", unix.ErrnoName(raw(unix.SYS_PTRACE, bad, bad, bad, bad)))
	return nil
}

func errnoName(e syscall.Errno) string {
	if e == Mark {
		return "Mark"
	}
	return unix.ErrnoName(e)
}

// newFixture opens a new pty as the controlling terminal, which TIOCSTI asks
// for, and the working directory.
func newFixture() (*fixture, error) {
	ptmx, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.IoctlSetPointerInt(ptmx, unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(ptmx, unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	tty, err := unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	dir, err := unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		return nil, err
	}
	file, _ := unix.BytePtrFromString("file")
	fresh, _ := unix.BytePtrFromString("fresh")
	far, _, errno := syscall.RawSyscall6(unix.SYS_MMAP, 1<<32, 4096, unix.PROT_READ,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE, ^uintptr(0), 0)
	if errno != 0 {
		return nil, errno
	}
	for _, pid := range []int{0, os.Getppid()} {
		var now unix.Rlimit
		if err := unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &now); err != nil || now != (unix.Rlimit{}) {
			return nil, fmt.Errorf("core limit %v, %v", now, err)
		}
	}
	return &fixture{tty, dir, far, file, fresh}, nil
}

// threads does what makes the Go runtime busy with the kernel.
func threads() error {
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			runtime.LockOSThread() // and exit with it: the thread ends
			errs[i] = exec.Command("true").Run()
		})
	}
	wg.Wait()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	_, err = net.InterfaceAddrs()
	return errors.Join(append(errs, err, c.Close(), l.Close())...)
}

// command starts the helper in an empty directory and a session of its own.
func command(t *testing.T, level, mode string, argv ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, argv...)
	cmd.Env = append(os.Environ(), levelVar+"="+level, modeVar+"="+mode)
	cmd.Dir = t.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

func results(t *testing.T, level string) map[string]string {
	t.Helper()
	out, err := command(t, level, "probe").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, errno, _ := strings.Cut(strings.TrimSpace(line), "=")
		got[name] = errno
	}
	return got
}

func TestKernelRefuses(t *testing.T) {
	// What the trials set anew, in this process as well.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		t.Fatal(err)
	}
	control := results(t, "none")
	for _, tr := range trials {
		if got, is := control[tr.name], errnoName(tr.want); tr.want != 0 &&
			tr.by(Options{Level: "strict", Root: true, Host: true, NoTruncate: true}) && got == is {
			t.Errorf("without a filter %s is %s too: this proves nothing", tr.name, got)
		}
	}
	for _, level := range []string{
		"default", "default-root", "strict", "strict-root", "dev", "dev-root", "default-host", "dev-host-noinet",
		"default-host-nounix", "default-host-notruncate",
		"default-host-noinet-nounix-notruncate", "strict-host-noinet-nounix-notruncate",
		"dev-root-host-noinet-nounix-notruncate",
	} {
		t.Run(level, func(t *testing.T) {
			got := results(t, level)
			for _, tr := range trials {
				want := control[tr.name]
				if tr.by(optionsOf(level)) {
					want = errnoName(tr.want)
				}
				if optionsOf(level).NoInet && strings.HasPrefix(tr.name,
					"socket of") { // an unusual one of a family that is gone
					want = "EAFNOSUPPORT"
				}
				if got[tr.name] != want {
					t.Errorf("%s: got %q, want %q", tr.name, got[tr.name], want)
				}
			}
			for _, r := range Rules(optionsOf(level)) {
				if r.Args == "" && got[r.Name+"()"] != r.Action {
					t.Errorf("%s: got %q, want %s", r.Name, got[r.Name+"()"], r.Action)
				}
			}
			if dev := strings.HasPrefix(level, "dev"); dev && got["ptrace()"] == "EPERM" {
				t.Error("ptrace is refused in level dev")
			}
		})
	}
}

// TestKernelAllows: what level strict lets through, the kernel answers as
// without a filter.
func TestKernelAllows(t *testing.T) {
	answers := func(level string) map[string]string {
		out, err := command(t, level, "usual").Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", level, err, out)
		}
		got := map[string]string{}
		for line := range strings.Lines(string(out)) {
			name, errno, _ := strings.Cut(strings.TrimSpace(line), "=")
			got[name] = errno
		}
		return got
	}
	bare, got := answers("none"), answers("strict")
	// The control: a call that is not on the list.
	if bare["vmsplice"] != "EBADF" || got["vmsplice"] != "ENOSYS" {
		t.Errorf("vmsplice: %q without a filter, %q with it", bare["vmsplice"], got["vmsplice"])
	}
	delete(bare, "vmsplice")
	if len(bare) < 150 {
		t.Fatalf("only %d calls were made", len(bare))
	}
	for name, want := range bare {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
}

// untried cannot be called in passing: they end, stop or multiply the caller,
// or wait for all disks.
var untried = []string{"exit", "exit_group", "pause", "fork", "vfork", "rt_sigreturn", "rt_sigsuspend",
	"restart_syscall", "uretprobe", "uprobe", "sync"}

// TestPairs: with NoUnix no socket of a pair reaches one that has a name. The
// control is a pair of datagrams without the filter.
func TestPairs(t *testing.T) {
	dir := t.TempDir()
	names, fds := make([]string, 3), make([]int, 3)
	for i, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
		fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		names[i], fds[i] = filepath.Join(dir, fmt.Sprint(i)), fd
		if err := unix.Bind(fd, &unix.SockaddrUnix{Name: names[i]}); err != nil {
			t.Fatal(err)
		}
		if kind != unix.SOCK_DGRAM {
			if err := unix.Listen(fd, 8); err != nil {
				t.Fatal(err)
			}
		}
	}
	for level, want := range map[string]bool{"none": true, "default-host": true, "default-host-nounix": false,
		"strict-nounix": false} {
		if out, err := command(t, level, "pairs", names...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", level, err, out)
		}
		reached := false
		var buf [16]byte
		for { // all of it, or the next would find it
			if _, err := unix.Read(fds[0], buf[:]); err != nil {
				break
			}
			reached = true
		}
		for _, fd := range fds[1:] {
			if c, _, err := unix.Accept(fd); err == nil {
				unix.Close(c)
				t.Errorf("%s: a pair is connected to a socket with a name", level)
			}
		}
		if reached != want {
			t.Errorf("%s: reached %t, want %t", level, reached, want)
		}
	}
}

// reach tries to get at sockets with names by the ends of pairs of each type,
// as they are, with the other end closed, shut down, and disconnected.
func reach(names []string) error {
	for kind := range 16 {
		for _, name := range names {
			for way := range 4 {
				fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
				if err != nil {
					continue
				}
				switch way {
				case 1:
					unix.Close(fds[1])
				case 2:
					_ = unix.Shutdown(fds[0], unix.SHUT_RDWR)
				case 3:
					raw(unix.SYS_CONNECT, uintptr(fds[0]), uintptr(unsafe.Pointer(&[2]byte{unix.AF_UNSPEC})), 2)
				}
				at := &unix.SockaddrUnix{Name: name}
				_ = unix.Sendto(fds[0], []byte("x"), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, at)
				_ = unix.Connect(fds[0], at)
				_, _ = unix.SendmsgN(fds[0], []byte("x"), nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
			}
		}
	}
	return nil
}

// TestTruncation: a Landlock that knows nothing of truncation, as before its
// third version, lets a file be emptied that it lets no one write. The filter
// stands in for it.
func TestTruncation(t *testing.T) {
	if landlock.ABI() == 0 {
		t.Skip("this kernel has no Landlock")
	}
	for _, way := range []string{"truncate", "open", "open3", "creat", "write"} {
		left := func(level string) string {
			cmd := command(t, level, "truncate", way)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", level, err, out)
			}
			data, err := os.ReadFile(filepath.Join(cmd.Dir, "kept"))
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		// The control: Landlock alone refuses only what opens for writing.
		want := ""
		if way == "creat" || way == "write" {
			want = "text"
		}
		if got := left("none"); got != want {
			t.Errorf("%s: Landlock alone leaves %q, want %q", way, got, want)
		}
		for _, level := range []string{"default-host-notruncate", "strict-host-notruncate",
			"dev-root-host-notruncate"} {
			if got := left(level); got != "text" {
				t.Errorf("%s: %s leaves %q", way, level, got)
			}
		}
	}
}

// truncate tries to empty a file where Landlock, without a word on truncation,
// allows nothing but to read.
func truncate(way string) error {
	if err := os.WriteFile("kept", []byte("text"), 0o644); err != nil {
		return err
	}
	dir, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	attr := struct{ fs uint64 }{unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE}
	rules, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)),
		unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	var below [12]byte // struct landlock_path_beneath_attr, packed
	binary.LittleEndian.PutUint64(below[:], unix.LANDLOCK_ACCESS_FS_READ_FILE)
	binary.LittleEndian.PutUint32(below[8:], uint32(dir))
	if errno := raw(unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&below))); errno != 0 {
		return errno
	}
	runtime.LockOSThread()
	if errno := raw(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1); errno != 0 {
		return errno
	}
	if errno := raw(unix.SYS_LANDLOCK_RESTRICT_SELF, rules); errno != 0 {
		return errno
	}
	switch way {
	case "truncate":
		_ = unix.Truncate("kept", 0)
	case "open":
		_, _ = unix.Open("kept", unix.O_RDONLY|unix.O_TRUNC, 0)
	case "open3":
		_, _ = unix.Open("kept", unix.O_ACCMODE|unix.O_TRUNC, 0)
	case "creat":
		_, _ = unix.Open("kept", unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, 0o644)
	case "write":
		_, _ = unix.Open("kept", unix.O_RDWR|unix.O_TRUNC, 0)
	}
	return nil
}

// callUsual makes each call on the list with arguments that mean nothing, and
// prints the errno.
func callUsual() error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil { // as load does
		return err
	}
	for _, name := range allowed() {
		if n := syscallNumber(name, runtime.GOARCH); n != none && !slices.Contains(untried, name) {
			bad := ^uintptr(0)
			errno := raw(uintptr(n), bad, bad, bad, bad, bad, bad)
			fmt.Printf("%s=%s\n", name, unix.ErrnoName(errno))
		}
	}
	fmt.Printf("vmsplice=%s\n", unix.ErrnoName(raw(unix.SYS_VMSPLICE, ^uintptr(0), 0, 0, 0)))
	return nil
}

func TestProgramsRun(t *testing.T) {
	programs := []struct {
		name string
		argv []string // nil: the helper itself
	}{
		{"go", nil},
		{"sh", []string{"sh", "-c", "true | true && (exit 0) & wait $!"}},
		{"python3", []string{"python3", "-c", `
import multiprocessing, os, socket, subprocess, tempfile, threading
ts = [threading.Thread(target=subprocess.check_call, args=(["true"],)) for _ in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
p = multiprocessing.Process(target=os.getpid); p.start(); p.join(); assert p.exitcode == 0
socket.socketpair(); socket.if_nameindex()
with tempfile.NamedTemporaryFile() as f: os.chmod(f.name, 0o755)
`}},
		{"node", []string{"node", "-e", `
const { Worker } = require("worker_threads"), { execFileSync } = require("child_process");
for (let i = 0; i < 4; i++) new Worker("require('fs').readFileSync('/dev/null')", { eval: true });
execFileSync("true"); require("fs").promises.readFile("/dev/null"); require("os").networkInterfaces();
`}},
	}
	for _, level := range []string{"default", "default-root", "strict", "strict-root", "dev", "default-host",
		"dev-host-notruncate"} {
		for _, p := range programs {
			t.Run(level+"/"+p.name, func(t *testing.T) {
				mode := "threads"
				if p.argv != nil {
					mode = "exec"
					if _, err := exec.LookPath(p.argv[0]); err != nil {
						t.Skip(err)
					}
				}
				var stderr bytes.Buffer
				cmd := command(t, level, mode, p.argv...)
				cmd.Stderr = &stderr
				if err := cmd.Run(); err != nil || stderr.Len() > 0 {
					t.Errorf("%v\n%s", err, &stderr)
				}
			})
		}
	}
}

// TestDebuggers: level dev is what strace and gdb need, default is not.
func TestDebuggers(t *testing.T) {
	for _, argv := range [][]string{
		{"strace", "-o", "/dev/null", "-f", "sh", "-c", "true | true"},
		{"gdb", "-nx", "-batch", "-return-child-result", "-ex", "run", "true"},
	} {
		t.Run(argv[0], func(t *testing.T) {
			if _, err := exec.LookPath(argv[0]); err != nil {
				t.Skip(err)
			}
			if out, err := command(t, "none", "exec", argv...).CombinedOutput(); err != nil {
				t.Skipf("does not work without a filter either: %v\n%s", err, out)
			}
			if out, err := command(t, "dev", "exec", argv...).CombinedOutput(); err != nil {
				t.Errorf("dev: %v\n%s", err, out)
			}
			for _, level := range []string{"default", "strict"} {
				if out, err := command(t, level, "exec", argv...).CombinedOutput(); err == nil {
					t.Errorf("%s lets it work:\n%s", level, out)
				}
			}
		})
	}
}

// TestForeignEntry enters the kernel by int 0x80, where 1 is exit, not write.
func TestForeignEntry(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other architectures have no second entry for 64-bit programs")
	}
	path := filepath.Join(t.TempDir(), "int80")
	if err := os.WriteFile(path, int80(), 0o755); err != nil {
		t.Fatal(err)
	}
	status := func(level string) syscall.WaitStatus {
		cmd := command(t, level, "exec", path)
		cmd.Run()
		return cmd.ProcessState.Sys().(syscall.WaitStatus)
	}
	if s := status("none"); s.ExitStatus() != 7 {
		t.Skipf("this kernel has no 32-bit entry: %#x", s)
	}
	if s := status("default"); !s.Signaled() || s.Signal() != syscall.SIGSYS {
		t.Errorf("got status %#x, want death by SIGSYS", s)
	}
}

// int80 is a program that exits with 7 by i386's exit(2).
func int80() []byte {
	const base, head = 0x400000, 64 + 56
	code := []byte{
		0xb8, 1, 0, 0, 0, // mov $1, %eax
		0xbb, 7, 0, 0, 0, // mov $7, %ebx
		0xcd, 0x80, // int $0x80
	}
	le := binary.LittleEndian
	b := []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	b = le.AppendUint16(b, 2)  // ET_EXEC
	b = le.AppendUint16(b, 62) // EM_X86_64
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, base+head) // entry
	b = le.AppendUint64(b, 64)        // program headers
	b = le.AppendUint64(b, 0)
	b = le.AppendUint32(b, 0)
	for _, n := range []uint16{64, 56, 1, 64, 0, 0} {
		b = le.AppendUint16(b, n)
	}
	b = le.AppendUint32(b, 1) // PT_LOAD
	b = le.AppendUint32(b, 5) // read, execute
	size := uint64(head + len(code))
	for _, n := range []uint64{0, base, base, size, size, 0x1000} {
		b = le.AppendUint64(b, n)
	}
	return append(b, code...)
}
