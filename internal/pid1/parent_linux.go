// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"runtime"
	"syscall"
	"unsafe"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// BeforeExec makes what the Go runtime changed in this process as it was: the
// signal mask, and the signals that are not ignored. It locks the goroutine to
// its thread, which has to execute another program then.
func BeforeExec() {
	Lock()
	asBeforeExec()
}

// Lock is [runtime.LockOSThread], but that an init function has its thread already:
// locking there would start a thread.
func Lock() {
	if !InInit || syscall.Gettid() != syscall.Getpid() {
		runtime.LockOSThread()
	}
}

// PrepareParent opens the descriptors of this process, which is about to become
// bwrap, at the numbers that w has, blocks the signals that process 1 will pass on,
// does what [BeforeExec] does, and returns the caller's signal mask.
//
// How process 1 learns of a signal to a process that it has no number for: an
// epoll instance waits for a signalfd of this process, stays with it across an
// execve, and wakes whoever waits for the instance at each signal. What it then
// reports is decided by the signals that are pending at the one who asks
// (signalfd(2), "epoll(7) semantics"), so process 1 keeps one pending for ever.
//
// How it sends one: SIGIO of a pipe goes to the process that F_SETOWN named, and
// F_SETSIG says which signal that is.
func PrepareParent(w ParentFDs, group Group, limited bool) (mask uint64, err error) {
	set := blockedSignals(group, limited)
	// What arrives from now on ends the process, which has started nothing yet, or
	// waits: the runtime's other threads do not get to handle it.
	BeforeExec()
	mask = setMask(0, set)
	if limited {
		setMask(1, bit(sigALRM))
	}
	if err = reserve(w); err == nil {
		err = open(w)
	}
	if err == nil {
		err = watchdog(w)
	}
	return mask, err
}

// reserve takes the planned numbers, so that nothing that is opened meanwhile gets one
// and is lost when another descriptor is placed there.
func reserve(w ParentFDs) error {
	last := -1
	for _, n := range w.list() {
		last = max(last, *n)
	}
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	beyond, err := fcntl(fd, syscall.F_DUPFD_CLOEXEC, last+1)
	if _ = syscall.Close(fd); err == syscall.EINVAL {
		err = syscall.EBADF // what dup3 says of a number above the limit
	}
	for _, n := range w.list() {
		if *n >= 0 && err == nil {
			err = syscall.Dup3(beyond, *n, syscall.O_CLOEXEC)
		}
	}
	_ = syscall.Close(beyond)
	return err
}

func open(w ParentFDs) error {
	const flags = syscall.O_RDONLY | syscall.O_CLOEXEC
	for _, f := range []struct {
		at   int
		open func() (int, error)
	}{
		{w.Status, func() (int, error) { return syscall.Open("/proc/self/status", flags, 0) }},
		{w.Stat, func() (int, error) { return syscall.Open("/proc/self/stat", flags, 0) }},
		{w.Signal, func() (int, error) { return signalfd(bit(marker)) }},
		{w.Epoll, func() (int, error) { return syscall.EpollCreate1(syscall.EPOLL_CLOEXEC) }},
	} {
		if f.at < 0 {
			continue
		}
		fd, err := f.open()
		if err = place(fd, f.at, err); err != nil {
			return err
		}
	}
	if err := watch(w.Epoll, w.Signal); err != nil {
		return err
	}
	if err := signalPipe(w.Read, w.Write); err != nil {
		return err
	}
	return aimPipe(w.Read, syscall.Getpid(), marker)
}

// signalPipe makes a pipe by which whoever holds its ends can signal the process that
// [aimPipe] names.
func signalPipe(read, write int) error {
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		return err
	}
	if err := place(p[0], read, nil); err != nil {
		return err
	}
	return place(p[1], write, nil)
}

func aimPipe(read, pid, sig int) error {
	for _, c := range [...][2]int{{syscall.F_SETOWN, pid}, {syscall.F_SETSIG, sig},
		{syscall.F_SETFL, syscall.O_NONBLOCK | syscall.O_ASYNC}} {
		if _, err := fcntl(read, c[0], c[1]); err != nil {
			return err
		}
	}
	return nil
}

func failure(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// place moves a new descriptor to its number, open across the next execve.
func place(fd, to int, err error) error {
	if err != nil {
		return err
	}
	if fd == to {
		_, err = fcntl(fd, syscall.F_SETFD, 0)
		return err
	}
	err = syscall.Dup3(fd, to, 0)
	_ = syscall.Close(fd)
	return err
}

// watch makes an epoll instance wake at each signal to this process.
func watch(epfd, sfd int) error {
	ev := syscall.EpollEvent{Events: syscall.EPOLLIN | epollEdge}
	return syscall.EpollCtl(epfd, syscall.EPOLL_CTL_ADD, sfd, &ev)
}

// parent is the parent process as process 1 sees it.
type parent struct {
	fds     ParentFDs
	blocked uint64 // signals that it cannot die of
	buf     [4096]byte
}

// state is what /proc/PID/status says.
type state struct {
	gone    bool // or a zombie
	stopped bool
	pending uint64
}

func (p *parent) state() state {
	n, err := syscall.Pread(p.fds.Status, p.buf[:], 0)
	if err != nil || n == 0 {
		return state{gone: true}
	}
	return parseStatus(string(p.buf[:n]))
}

// parseStatus reads State and ShdPnd of proc_pid_status(5).
func parseStatus(text string) state {
	is := procfs.Field(text, "State")
	if is == "" {
		return state{gone: true}
	}
	pending := hex(procfs.Field(text, "ShdPnd"))
	return state{
		gone: is[0] == 'Z' || is[0] == 'X',
		// SIGCONT came after State was written: a stop takes one away that is pending.
		stopped: is[0] == 'T' && pending&bit(sigCONT) == 0,
		pending: pending,
	}
}

// inForeground reports whether the parent process's group is the one that has the
// terminal.
func (p *parent) inForeground() bool {
	n, err := syscall.Pread(p.fds.Stat, p.buf[:], 0)
	return err == nil && parseFront(string(p.buf[:n]))
}

// parseFront reads pgrp and tpgid of proc_pid_stat(5), the third and sixth field
// after the name, which may hold anything.
func parseFront(text string) bool {
	name := len(text)
	for name > 0 && text[name-1] != ')' {
		name--
	}
	var fields [7]string // nothing, state ppid pgrp session tty_nr tpgid
	text = text[name:]
	for i := range fields {
		fields[i], text = procfs.Cut(text, ' ')
	}
	return name > 0 && text != "" && fields[3] == fields[6]
}

// signal sends a signal to the parent process. The end of the pipe, when the
// process 1 ends, sends one more, which must do nothing.
func (p *parent) signal(n int) {
	if _, err := fcntl(p.fds.Read, syscall.F_SETSIG, n); err == nil {
		_, _ = syscall.Write(p.fds.Write, []byte{0})
		_, _ = fcntl(p.fds.Read, syscall.F_SETSIG, marker)
		_, _ = syscall.Read(p.fds.Read, p.buf[:1])
	}
}

// Backstop lets the kernel end the parent process, and with it everything,
// should process 1 not have done so some time after the limit, in seconds. The
// timer survives an execve, and so does one that the caller set, as
// perl -e 'alarm 5; exec @ARGV' does: the earlier counts.
func Backstop(limit float64) error {
	d := int64(limit*1e9) + 2*graceTime
	value := [2]syscall.Timeval{1: syscall.NsecToTimeval(d)} // interval, time left
	var old [2]syscall.Timeval
	_, _, errno := syscall.RawSyscall(syscall.SYS_SETITIMER, 0,
		uintptr(unsafe.Pointer(&value)), uintptr(unsafe.Pointer(&old)))
	if left := old[1].Nano(); errno == 0 && left > 0 && left < d {
		_, _, errno = syscall.RawSyscall(syscall.SYS_SETITIMER, 0, uintptr(unsafe.Pointer(&old)), 0)
	}
	return failure(errno)
}
