// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unicode/utf8"
	"unsafe"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// Numbers of the kernel's that package syscall lacks.
const (
	epollEdge   = 1 << 31 // EPOLLET
	pPid        = 1
	rlimitNproc = 6
	pidfdOpen   = 434 // pidfd_open(2), the same on all architectures
)

// everySignal is the full set.
const everySignal = ^uint64(0)

// exit ends this process, whatever the command's filter says to that: it may
// have been loaded when the command could not be executed. exit(2) would end this
// thread alone, and a trap ends all of them.
func exit(status int) {
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(status), 0, 0)
		runtime.Breakpoint()
	}
}

func prctl(option, arg uintptr) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, option, arg, 0, 0, 0, 0)
}

func fcntl(fd, cmd, arg int) (int, error) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), uintptr(cmd), uintptr(arg))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// asBeforeExec gives this thread the signal mask that the process was started
// with, and the signals that the Go runtime handles back to the kernel. The
// runtime does so in a child between fork and execve, and keeps to itself what
// that mask was.
//
//go:linkname asBeforeExec syscall.runtime_AfterForkInChild
func asBeforeExec()

// beforeExec keeps the Go runtime from making threads, as syscall.Exec does, until
// afterExec.
//
//go:linkname beforeExec syscall.runtime_BeforeExec
func beforeExec()

//go:linkname afterExec syscall.runtime_AfterExec
func afterExec()

// setMask sets the thread's signal mask and returns the one before; how is
// SIG_BLOCK 0, SIG_UNBLOCK 1 or SIG_SETMASK 2.
func setMask(how int, mask uint64) (old uint64) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, uintptr(how),
		uintptr(unsafe.Pointer(&mask)), uintptr(unsafe.Pointer(&old)), 8, 0, 0)
	return old
}

// sigaction is the kernel's struct; arm64 has no restorer, and no kernel that
// does minds the longer one.
type sigaction struct {
	handler  uintptr // 0 SIG_DFL, 1 SIG_IGN
	flags    uint64
	restorer uintptr
	mask     uint64
}

// rtSigaction is rt_sigaction(2) past the Go runtime.
func rtSigaction(n int, act, old *sigaction) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(act)),
		uintptr(unsafe.Pointer(old)), 8, 0, 0)
	return errno
}

// defaults takes the Go runtime's handlers back. What the caller ignores stays
// ignored, as far as the runtime leaves it so: SIGHUP and SIGINT, and those that
// it has no handlers for.
func defaults() {
	var none, now sigaction
	for n := 1; n <= 64; n++ {
		switch n {
		case sigKILL, sigSTOP, sigCONT, sigTSTP, sigTTIN, sigTTOU, 32, 33, 34: // the last are the C library's
			continue
		case sigHUP, sigINT:
			if rtSigaction(n, nil, &now) != 0 || now.handler == 1 {
				continue
			}
		}
		rtSigaction(n, &none, nil)
	}
}

// caught are the signals that onSignal has noted.
var caught uint64

// anyone lets onSignal note all: where there is no namespace of processes, and so no
// process in it that must be told from others.
var anyone uint32

// handler returns the addresses of onSignal and of what it returns to, 0 where
// the kernel has that itself.
func handler() (onSignal, signalReturn uintptr)

// catch installs onSignal for the signals that end a process without a core
// dump. The Go runtime leaves some open in its threads, whatever the mask that
// the process came with: whoever ends processes does it with these, and a thread
// that is not asked would take them away unseen. And though the kernel keeps what
// is not handled from the first process of a namespace, it does not where one
// thread blocks a signal and another leaves it open: then a command could end
// process 1 with it. All others stay blocked everywhere until takePending.
func catch() {
	var now sigaction
	act := sigaction{flags: 0x4 | 0x08000000 | 0x10000000, mask: everySignal} // SA_SIGINFO, SA_ONSTACK, SA_RESTART
	if act.handler, act.restorer = handler(); act.restorer != 0 {
		act.flags |= 0x04000000 // SA_RESTORER
	}
	for n := 1; n <= lastRT; n++ {
		if bit(n)&keepsDefault != 0 {
			continue
		}
		if rtSigaction(n, nil, &now) == 0 && now.handler != 1 {
			rtSigaction(n, &act, nil)
		}
	}
}

// keepsDefault are the signals of which catch leaves the disposition as it is:
// those that cannot be caught, those that stop, those that do nothing by default
// (SIGCHLD, SIGURG, SIGWINCH), and those that dump core but for SIGQUIT: a fault of
// process 1's own has to end it.
const keepsDefault = uint64(1<<(sigKILL-1) | 1<<(sigSTOP-1) | 1<<(sigCONT-1) | 1<<(sigTSTP-1) | 1<<(sigTTIN-1) |
	1<<(sigTTOU-1) | 1<<(sigCHLD-1) | 1<<(23-1) | 1<<(sigWINCH-1) |
	1<<(4-1) | 1<<(5-1) | 1<<(6-1) | 1<<(7-1) | 1<<(8-1) | 1<<(11-1) | 1<<(24-1) | 1<<(25-1) | 1<<(31-1))

// takePending takes one signal of the set that is pending, of the process or
// of this thread, and reports whether it came from outside: the kernel says 0
// for a sender that has no number here. No process inside can say so itself but with
// a si_code below 0 (rt_sigqueueinfo(2)).
func takePending(set uint64) (n int, outside bool) {
	var info [128]byte
	var zero syscall.Timespec
	r, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)),
		uintptr(unsafe.Pointer(&info[0])), uintptr(unsafe.Pointer(&zero)), 8, 0, 0)
	if errno != 0 {
		return 0, false
	}
	code, sender := *(*int32)(unsafe.Pointer(&info[8])), *(*int32)(unsafe.Pointer(&info[16]))
	return int(r), sender == 0 && code >= 0
}

func now() int64 {
	var ts syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

// neverStopped lets a timer continue this process once a second. A SIGSTOP to
// the caller's group stops it as well, and then a SIGCONT to the parent process
// alone, or the end of the time, would find no process. Where the kernel refuses the
// timer, a SIGCONT to the group is needed.
func neverStopped() {
	event := struct {
		value          uint64
		signal, notify int32 // SIGEV_SIGNAL
		_              [48]byte
	}{signal: sigCONT}
	second := syscall.Timespec{Sec: 1}
	every := [2]syscall.Timespec{second, second} // interval, first
	var id int32
	_, _, errno := syscall.RawSyscall(syscall.SYS_TIMER_CREATE, 1, uintptr(unsafe.Pointer(&event)),
		uintptr(unsafe.Pointer(&id)))
	if errno == 0 {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_TIMER_SETTIME, uintptr(id), 0, uintptr(unsafe.Pointer(&every)),
			0, 0, 0)
	}
}

// pollFD is struct pollfd of poll(2).
type pollFD struct {
	fd              int32
	events, revents int16
}

const (
	pollIn  = 1
	pollPri = 2 // also EPOLLPRI
	pollOut = 4
)

// poll waits for one of some descriptors, for at most ns, and returns how many are
// ready. The runtime may rest meanwhile.
func poll(fds []pollFD, ns int64) int {
	ts := syscall.NsecToTimespec(ns)
	at := unsafe.Pointer(unsafe.SliceData(fds))
	n, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(at), uintptr(len(fds)), uintptr(unsafe.Pointer(&ts)),
		0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

func sleep(ns int64) { poll(nil, ns) }

func readable(fd int, ns int64) bool { return poll([]pollFD{{int32(fd), pollIn, 0}}, ns) == 1 }

// writable reports whether a write to a descriptor would not block.
func writable(fd int) bool {
	p := []pollFD{{int32(fd), pollOut, 0}}
	return poll(p, 100e6) == 1 && p[0].revents&pollOut != 0
}

// signalfd makes a descriptor that reports pending signals of the set.
func signalfd(set uint64) (int, error) {
	none := -1
	fd, _, errno := syscall.RawSyscall6(syscall.SYS_SIGNALFD4, uintptr(none), uintptr(unsafe.Pointer(&set)), 8,
		syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0, 0)
	return int(fd), failure(errno)
}

// say writes a line to standard error, unless no process reads there: process 1
// must never wait for a reader.
func say(text string) {
	write("sbx: " + text + "\n")
}

func write(text string) {
	if writable(2) {
		_, _ = syscall.Write(2, []byte(text))
	}
}

// plain makes a path or word fit for a line of text. Of a letter beyond ASCII it
// keeps no more than is sure to be harmless: package unicode would cost at each start.
func plain(s string) string {
	b := make([]byte, 0, len(s))
	const hex = "0123456789abcdef"
	for i, size := 0, 0; i < len(s); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		if r >= ' ' && r < 0x7f || r > 0xad && r < 0x2000 && r != 0x61c || r >= 0x3041 && r < 0xd800 {
			b = append(b, s[i:i+size]...)
			continue
		}
		for _, c := range []byte(s[i : i+size]) {
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

// closeRangeNr is close_range(2), the same on all architectures.
const closeRangeNr = 436

// closeAllBut are the system calls that close all descriptors but these; -1 is none.
func closeAllBut(keep ...int) (steps []step) {
	if _, _, errno := syscall.RawSyscall(closeRangeNr, maxFD, maxFD, 0); errno != 0 { // before Linux 5.9
		names, _ := procfs.Names("/proc/self/fd")
		for _, name := range names {
			fd, _ := strconv.Atoi(name)
			if _, err := fcntl(fd, syscall.F_GETFD, 0); err == nil && !slices.Contains(keep, fd) {
				steps = append(steps, newStep(syscall.SYS_CLOSE, uintptr(fd)))
			}
		}
		return steps
	}
	return ranges(keep)
}

// ranges are the calls of close_range(2) for all descriptors but these.
func ranges(keep []int) (steps []step) {
	slices.Sort(keep)
	from := 0
	for _, fd := range append(keep, maxFD) {
		if fd > from {
			steps = append(steps, newStep(closeRangeNr, uintptr(from), uintptr(fd-1)))
		}
		from = max(from, fd+1)
	}
	return steps
}

// shrink gives back the pages of the program that were needed to come here. The
// file behind them stays in the kernel's cache, and the few that the loop of
// process 1 wants are mapped again at once.
func shrink() {
	text, _ := procfs.Head("/proc/self/maps", 4096) // the program comes first
	for text != "" {
		var line string
		line, text = procfs.Cut(text, '\n')
		if from, to, ok := program(line); ok {
			_, _, _ = syscall.RawSyscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED)
		}
	}
}

// program reads a line of proc_pid_maps(5) and reports whether it is a part of
// the program that no process can have written to: "400000-84e000 r-xp … /run/sbx/sbx".
func program(line string) (from, to uintptr, ok bool) {
	first, rest := procfs.Cut(line, '-')
	last, rest := procfs.Cut(rest, ' ')
	if len(rest) < 2 || rest[:2] != "r-" || rest[len(rest)-1] == ']' || rest[len(rest)-1] == ' ' {
		return 0, 0, false
	}
	return uintptr(hex(first)), uintptr(hex(last)), true
}

// hex reads what the kernel writes. Process 1 does so again and again, and package
// strconv would then stay in its memory.
func hex(s string) (n uint64) {
	for _, c := range []byte(s) {
		if c > '9' {
			c -= 'a' - '9' - 1
		}
		n = n<<4 | uint64(c-'0')
	}
	return n
}
