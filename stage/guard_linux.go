package stage

import (
	"syscall"
	"unsafe"
)

// sweepName is the first argument by which sbx knows that it is to sweep; the
// second is the number of a descriptor that the processes to end have open.
const sweepName = "--sweep-of-sandbox"

// guard starts a process that stays until the stage is there. bwrap's child
// waits for a word of its parent while it is set up, for ever when the parent is
// killed just then, and asks only in its last step to be ended with it. The
// guard waits for the parent's end and then executes sbx anew, to sweep; the
// stage, which ends with the outer process by itself, ends the guard first. It
// is no program of its own but two system calls in this one's memory, which the
// outer process leaves behind when it executes bwrap.
func guard(w Wires) error {
	pidfd, _, errno := syscall.RawSyscall(pidfdOpen, uintptr(syscall.Getpid()), 0, 0)
	if errno == syscall.ENOSYS || errno == syscall.EPERM { // before Linux 5.3, or a container's filter
		return nil
	}
	if errno != 0 {
		return errno
	}
	g := &guarding
	g.wait.fd, g.wait.events = int32(pidfd), 1 // POLLIN
	for i, word := range []string{"sbx", sweepName, utoa(uint64(w.Read))} {
		g.argv[i], _ = syscall.BytePtrFromString(word)
	}
	g.path, _ = syscall.BytePtrFromString("/proc/self/exe")
	g.steps = [3]step{
		{nr: syscall.SYS_SETSID}, // what is sent to the group is not for the guard
		{nr: syscall.SYS_PPOLL, args: [6]uintptr{uintptr(unsafe.Pointer(&g.wait)), 1}},
		{nr: syscall.SYS_EXECVE, args: [6]uintptr{uintptr(unsafe.Pointer(g.path)), uintptr(unsafe.Pointer(&g.argv)), uintptr(unsafe.Pointer(&g.env))}},
	}
	old := setMask(2, everySignal)
	pid, failed := run(cloneVM, &g.steps[0], uintptr(len(g.steps)))
	setMask(2, old)
	if failed != 0 {
		return syscall.Errno(failed)
	}
	return bell(w.Guard, w.Relief, int(pid), sigKILL)
}

// guarding is what the guard reads: no stack and no heap keeps it where it is.
var guarding struct {
	wait struct {
		fd              int32
		events, revents int16
	}
	path  *byte
	argv  [4]*byte
	env   [1]*byte
	steps [3]step
}

// relieve ends the guard.
func (o *outer) relieve() {
	_, _ = syscall.Write(o.wires.Relief, []byte{0})
}

// IsSweep reports whether the arguments after the program's name tell sbx to
// sweep.
func IsSweep(args []string) bool { return len(args) == 2 && args[0] == sweepName }

// Sweep ends what a bwrap left that was killed while it set up: all processes
// that have the pipe open that this process has at the given number.
func Sweep(args []string) int {
	fd, ok := atou(args[1])
	pipe, err := readlink("/proc/self/fd/" + utoa(fd))
	if !ok || err != nil || len(pipe) < 6 || pipe[:6] != "pipe:[" {
		return statusFailed
	}
	self := syscall.Getpid()
	for range 10 {
		found := false
		for _, name := range list("/proc") {
			pid, ok := atou(name)
			if !ok || int(pid) == self || !holds(name, pipe) {
				continue
			}
			found = true
			_ = syscall.Kill(int(pid), syscall.SIGKILL)
		}
		if !found {
			break
		}
		sleep(10e6)
	}
	return 0
}

// holds reports whether a process has a pipe open.
func holds(pid, pipe string) bool {
	dir := "/proc/" + pid + "/fd"
	for _, n := range list(dir) {
		if to, err := readlink(dir + "/" + n); err == nil && to == pipe {
			return true
		}
	}
	return false
}

func readlink(path string) (string, error) {
	var buf [256]byte
	n, err := syscall.Readlink(path, buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// list returns the names in a directory, none when it cannot be read.
func list(dir string) (names []string) {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	buf := make([]byte, 16384)
	for {
		n, err := syscall.ReadDirent(fd, buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return names
		}
		_, _, names = syscall.ParseDirent(buf[:n], -1, names)
	}
}
