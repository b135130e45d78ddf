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
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The helper is this test binary started again. It loads the filter that
// levelVar names and then does what modeVar says.
const (
	levelVar = "SBX_SECCOMP_TEST_LEVEL" // none, default, dev, default-root, dev-root
	modeVar  = "SBX_SECCOMP_TEST_MODE"  // probe, threads, exec
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
	name, root := strings.CutSuffix(level, "-root")
	return Options{Arch: runtime.GOARCH, Level: name, Root: root}
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
	tid, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if tid != 0 || errno != 0 {
		return fmt.Errorf("seccomp: thread %d: %w", tid, errno)
	}
	return nil
}

// trial is one call whose result tells what the filter does to it.
type trial struct {
	name  string
	level string // the least that refuses it: default, or root; "" if always allowed
	want  syscall.Errno
	call  func(*fixture) syscall.Errno
}

// fixture is what trials work on.
type fixture struct {
	tty, dir int
	file     *byte // name of an existing file below dir
	fresh    *byte // name of none
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
	{"clone3", "default", unix.ENOSYS, func(*fixture) syscall.Errno { return raw(unix.SYS_CLONE3) }},
	// CLONE_FS makes it invalid, so that no process comes of it.
	{"clone NEWUSER", "default", unix.EPERM, func(*fixture) syscall.Errno { return raw(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS) }},
	// Invalid too: a process with threads cannot enter a user namespace.
	{"unshare NEWUSER", "default", unix.EPERM, func(*fixture) syscall.Errno { return raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) }},
	{"unshare FS", "", 0, func(*fixture) syscall.Errno { return raw(unix.SYS_UNSHARE, unix.CLONE_FS) }},
	{"setns", "default", unix.EPERM, func(*fixture) syscall.Errno { return raw(unix.SYS_SETNS, ^uintptr(0)) }},
	{"TIOCSTI", "default", unix.EPERM, tiocstiOf(unix.TIOCSTI)},
	{"TIOCSTI upper half", "default", unix.EPERM, tiocstiOf(1<<32 | unix.TIOCSTI)},
	{"TIOCLINUX", "default", unix.EPERM, func(s *fixture) syscall.Errno { return raw(unix.SYS_IOCTL, uintptr(s.tty), unix.TIOCLINUX, 0) }},
	{"TIOCGPTPEER", "", unix.ENOTTY, func(s *fixture) syscall.Errno { return raw(unix.SYS_IOCTL, uintptr(s.dir), unix.TIOCGPTPEER, 0) }},
	{"socket packet", "default", unix.EAFNOSUPPORT, socket(unix.AF_PACKET, unix.SOCK_DGRAM, 0)},
	{"socket netlink generic", "default", unix.EPROTONOSUPPORT, socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC)},
	{"socket route", "", 0, socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)},
	{"socket unix", "", 0, socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)},
	{"socket inet", "", 0, socket(unix.AF_INET, unix.SOCK_STREAM, 0)},
	{"personality", "default", unix.EPERM, func(*fixture) syscall.Errno { return raw(unix.SYS_PERSONALITY, 0x400000) }},
	{"chmod u+s", "root", unix.EPERM, func(s *fixture) syscall.Errno {
		return raw(unix.SYS_FCHMODAT, uintptr(s.dir), uintptr(unsafe.Pointer(s.file)), 0o4755)
	}},
	{"chmod", "", 0, func(s *fixture) syscall.Errno {
		return raw(unix.SYS_FCHMODAT, uintptr(s.dir), uintptr(unsafe.Pointer(s.file)), 0o755)
	}},
	{"create u+s", "root", unix.EPERM, func(s *fixture) syscall.Errno {
		return raw(unix.SYS_OPENAT, uintptr(s.dir), uintptr(unsafe.Pointer(s.fresh)), unix.O_CREAT|unix.O_WRONLY, 0o4755)
	}},
	{"create", "", 0, func(s *fixture) syscall.Errno {
		return raw(unix.SYS_OPENAT, uintptr(s.dir), uintptr(unsafe.Pointer(s.fresh)), unix.O_CREAT|unix.O_WRONLY, 0o755)
	}},
	{"openat2", "root", unix.ENOSYS, func(s *fixture) syscall.Errno {
		return raw(unix.SYS_OPENAT2, uintptr(s.dir), uintptr(unsafe.Pointer(s.file)), 0, 0)
	}},
}

func tiocstiOf(command uintptr) func(*fixture) syscall.Errno {
	return func(s *fixture) syscall.Errno {
		c := byte('x')
		return raw(unix.SYS_IOCTL, uintptr(s.tty), command, uintptr(unsafe.Pointer(&c)))
	}
}

// refusedBy reports whether the filter of a level stops the trial.
func (tr trial) refusedBy(level string) bool {
	switch tr.level {
	case "default":
		return level != "none"
	case "root":
		return strings.HasSuffix(level, "-root")
	}
	return false
}

// probe prints the errno of every trial and, under a filter, of every call
// that it refuses whatever the arguments.
func probe(level string) error {
	s, err := newFixture()
	if err != nil {
		return err
	}
	for _, tr := range trials {
		fmt.Printf("%s=%s\n", tr.name, unix.ErrnoName(tr.call(s)))
	}
	// From here on a missing filter could do harm.
	if level == "none" || raw(unix.SYS_CLONE3) != unix.ENOSYS {
		return nil
	}
	o := optionsOf(level)
	for i := range calls {
		if c := &calls[i]; c.in.holds(o) && c.number(o.Arch) != none && c.do < finals {
			bad := ^uintptr(0)
			fmt.Printf("%s()=%s\n", c.name, unix.ErrnoName(raw(uintptr(c.number(o.Arch)), bad, bad, bad, bad, bad, bad)))
		}
	}
	bad := ^uintptr(0)
	fmt.Printf("ptrace()=%s\n", unix.ErrnoName(raw(unix.SYS_PTRACE, bad, bad, bad, bad)))
	return nil
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
	return &fixture{tty, dir, file, fresh}, nil
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
	control := results(t, "none")
	for _, tr := range trials {
		if got, is := control[tr.name], unix.ErrnoName(tr.want); tr.level != "" && got == is {
			t.Errorf("without a filter %s is %s too: this proves nothing", tr.name, got)
		}
	}
	for _, level := range []string{"default", "default-root", "dev", "dev-root"} {
		t.Run(level, func(t *testing.T) {
			got := results(t, level)
			for _, tr := range trials {
				want := control[tr.name]
				if tr.refusedBy(level) {
					want = unix.ErrnoName(tr.want)
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
	for _, level := range []string{"default", "default-root", "dev"} {
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
			if out, err := command(t, "default", "exec", argv...).CombinedOutput(); err == nil {
				t.Errorf("default lets it work:\n%s", out)
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
