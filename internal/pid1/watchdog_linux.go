// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// cleanupName is the first argument by which sbx knows that it is to clean up.
// Descriptors follow: one that the processes to end have open; and one of a file with
// what bwrap writes of its child, or two, of a pipe with what bwrap says and of bwrap.
const cleanupName = "--sweep-of-sandbox"

// watchdog starts a process that stays until process 1 is there. bwrap's child
// waits for a word of its parent while it is set up, for ever when the parent is
// killed just then, and asks only in its last step to be ended with it. The
// watchdog waits for the parent's end, or for what bwrap says, and then executes sbx
// anew: see [Cleanup]. Process 1, which ends with the parent process by itself, ends
// it first. It is a few system calls in this program's memory, which the parent
// process leaves behind when it executes bwrap.
func watchdog(w ParentFDs) error {
	pidfd, err := selfFD()
	if pidfd < 0 {
		return err
	}
	said, err := w.opened()
	if err != nil {
		return err
	}
	// The watchdog has both ends as well: the pipe does not end, which would ring, when
	// bwrap does.
	if err := signalPipe(w.WatchdogRead, w.WatchdogWrite); err != nil {
		return err
	}
	g := &watchdogState
	g.wait = [2]pollFD{{int32(pidfd), pollIn, 0}, {int32(said), pollIn, 0}}
	pid, err := g.start(
		append([]step{
			newStep(syscall.SYS_SETSID), // what is sent to the group is not for the watchdog
			newStep(syscall.SYS_CLOSE, uintptr(diverted)),
			newStep(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&g.wait)), 2),
		}, g.cleanup(w.Read, said, pidfd)...))
	if err != nil {
		return err
	}
	_ = syscall.Close(said)
	prctl(syscall.PR_SET_PTRACER, uintptr(pid)) // unknown where only who may send a process signals may trace it
	return aimPipe(w.WatchdogRead, pid, sigKILL)
}

// diverted is the writing end of the pipe that bwrap writes its messages to,
// until it is bwrap's standard error.
var diverted = -1

// opened makes that pipe and puts the caller's standard error at its number. The
// pipe holds one write at a time, so a process of bwrap's that says why it gives
// up, which takes three, cannot be gone before the watchdog has read.
func (w *ParentFDs) opened() (said int, err error) {
	fd, err := fcntl(2, syscall.F_DUPFD_CLOEXEC, 3)
	if err = place(fd, w.Stderr, err); err != nil {
		return -1, err
	}
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC|syscall.O_DIRECT); err != nil {
		return -1, err
	}
	_, _ = fcntl(p[1], syscall.F_SETPIPE_SZ, 1)
	diverted = p[1]
	return p[0], syscall.SetNonblock(p[0], true)
}

// Divert gives the program that this process is about to become the watchdog's pipe
// as standard error. What it returns takes that back.
func (w *ParentFDs) Divert() (back func()) {
	if diverted < 0 {
		return func() {}
	}
	_ = syscall.Dup3(diverted, 2, 0)
	return func() { _ = syscall.Dup3(w.Stderr, 2, 0) }
}

// giveBack is for process 1: from here on standard error is the caller's.
func (w *ParentFDs) giveBack() {
	if w.Stderr >= 0 {
		_ = syscall.Dup3(w.Stderr, 2, 0)
		_ = syscall.Close(w.Stderr)
		w.Stderr = -1
	}
}

// PrepareDirect opens the ends at their numbers, does what [BeforeExec] does and starts
// the watchdog of a run without a process 1. It ends a while after bwrap has closed
// the one pipe, by which time the sandbox has asked to be ended with bwrap. When bwrap
// ends before that, and process 1 not soon after, it cleans up. It holds nothing of the
// caller's: who waits for the end of a pipe would wait for the watchdog.
func PrepareDirect(e SetupFDs) error {
	g := &watchdogState
	above := max(e.Setup, e.Alive, e.Info) + 1
	setup, err := opened(e.Setup, above)
	if err != nil {
		return err
	}
	told := -1 // what tells whom to end
	if e.Info >= 0 {
		told, err = noted(e.Info, above)
	} else {
		told, err = opened(e.Alive, above)
	}
	if err != nil {
		return err
	}
	pidfd, err := selfFD()
	BeforeExec()
	if pidfd < 0 {
		return err
	}
	g.wait = [2]pollFD{{int32(pidfd), pollIn, 0}, {int32(setup), 0, 0}} // its end is always told
	g.alive = pollFD{int32(told), 0, 0}
	g.late, g.soon = syscall.Timespec{Sec: 1}, syscall.Timespec{Nsec: 100e6}
	wait, late := uintptr(unsafe.Pointer(&g.wait)), uintptr(unsafe.Pointer(&g.late))
	steps := append(make([]step, 0, 64), newStep(syscall.SYS_SETSID))
	steps = append(steps, closeAllBut(pidfd, setup, told)...)
	lingers := newStep(syscall.SYS_PPOLL, wait, 1, late)
	lingers.end = 1 + 0 // bwrap still runs
	steps = append(steps, newStep(syscall.SYS_PPOLL, wait, 2), lingers)
	fds := []int{setup, told}
	if e.Info < 0 {
		lives := newStep(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&g.alive)), 1, uintptr(unsafe.Pointer(&g.soon)))
		lives.end = 1 + 1 // nothing is left
		steps, fds = append(steps, lives), fds[1:]
	}
	_, err = g.start(append(steps, g.cleanup(fds...)...))
	return err
}

// opened makes a pipe with the writing end at a number, to be passed on, and
// returns the reading end, which is not among the numbers below another.
func opened(at, above int) (int, error) {
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		return -1, err
	}
	read, err := fcntl(p[0], syscall.F_DUPFD_CLOEXEC, above)
	_ = syscall.Close(p[0])
	return read, place(p[1], at, err)
}

// noted makes a file in memory at a number, to be passed on, and returns another
// descriptor of it.
func noted(at, above int) (int, error) {
	name := [...]byte{'s', 'b', 'x', 0}
	fd, _, errno := syscall.RawSyscall(memfdCreate, uintptr(unsafe.Pointer(&name)), 1 /* MFD_CLOEXEC */, 0)
	if errno != 0 {
		return -1, errno
	}
	own, err := fcntl(int(fd), syscall.F_DUPFD_CLOEXEC, above)
	return own, place(int(fd), at, err)
}

// selfFD returns a descriptor of this process, -1 without an error where there
// are none.
func selfFD() (int, error) {
	fd, _, errno := syscall.RawSyscall(pidfdOpen, uintptr(syscall.Getpid()), 0, 0)
	switch errno {
	case 0:
		return int(fd), nil
	case syscall.ENOSYS, syscall.EPERM: // before Linux 5.3, or a container's filter
		return -1, nil
	}
	return -1, errno
}

type watchdogMemory struct {
	wait       [2]pollFD
	alive      pollFD
	late, soon syscall.Timespec
	image      image
	steps      []step
}

// watchdogState is what the watchdog reads: no stack and no heap keeps it where it is.
var watchdogState watchdogMemory

// cleanup are the steps that execute sbx anew with some descriptors.
func (g *watchdogMemory) cleanup(fds ...int) (steps []step) {
	words := []string{"sbx", cleanupName}
	for _, fd := range fds {
		words = append(words, strconv.Itoa(fd))
		steps = append(steps, newStep(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFD, 0))
	}
	g.image, _ = newImage("/proc/self/exe", words, nil) // no word has a NUL
	return append(steps, g.image.step())
}

func (g *watchdogMemory) start(steps []step) (int, error) {
	g.steps = steps
	old := setMask(2, everySignal)
	pid, failed := run(cloneVM, &g.steps[0], uintptr(len(g.steps)))
	setMask(2, old)
	return int(pid), failure(syscall.Errno(failed))
}

// dismissWatchdog ends the watchdog.
func (p *parent) dismissWatchdog() {
	_, _ = syscall.Write(p.fds.WatchdogWrite, []byte{0})
}

// IsCleanup reports whether the arguments after the program's name tell sbx to
// clean up.
func IsCleanup(args []string) bool {
	return len(args) >= 2 && len(args) <= 4 && args[0] == cleanupName
}

// Cleanup ends what a bwrap left that was killed while it set up: all processes
// that have the pipe open that this process has at the given number. What a bwrap
// says that gives up is told first, in the words of explain, and bwrap then ends
// with the status of a failure of sbx's.
func Cleanup(args []string, explain func(said string) string) int {
	var n [3]int
	for i, word := range args[1:] {
		var err error
		if n[i], err = strconv.Atoi(word); err != nil {
			return statusFailed
		}
	}
	if len(args) == 4 {
		t := &setupFailure{said: n[1], pidfd: n[2], parent: syscall.Getppid(), explain: explain}
		t.execute()
	}
	pipe, err := procfs.Readlink("/proc/self/fd/" + args[1])
	if err != nil || len(pipe) < 6 || pipe[:6] != "pipe:[" {
		return statusFailed
	}
	if len(args) == 3 {
		endChild(n[1])
	}
	self := syscall.Getpid()
	for range 10 {
		found := false
		pids, _ := procfs.Processes()
		for _, pid := range pids {
			if pid != self && holds(pid, pipe) {
				found = true
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if !found {
			break
		}
		sleep(10e6)
	}
	return 0
}

// endChild ends bwrap's child, by the number that bwrap has written of it, if it
// has and that one still is in a sandbox.
func endChild(info int) {
	var buf [4096]byte
	n, _ := syscall.Pread(info, buf[:], 0)
	pid, ok := numberAfter(string(buf[:max(n, 0)]), `"child-pid": `)
	own, err1 := procfs.Readlink("/proc/self/ns/user")
	its, err2 := procfs.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/user")
	if ok && err1 == nil && err2 == nil && own != its {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// holds reports whether a process has a pipe open.
func holds(pid int, pipe string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
	names, _ := procfs.Names(dir)
	return slices.ContainsFunc(names, func(name string) bool {
		to, err := procfs.Readlink(dir + name)
		return err == nil && to == pipe
	})
}
