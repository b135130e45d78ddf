// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// setupFailure is what a bwrap says that gives up. The watchdog reads it, tells it, and
// sees to it that bwrap then ends with 125: it traces bwrap from the first word
// on, and exchanges the argument of exit_group(2). A process of bwrap's that
// writes waits for the watchdog, and is not gone before that is there; when bwrap
// goes on, for all that it said, process 1 ends the watchdog as always.
type setupFailure struct {
	pidfd   int // of bwrap
	parent  int // its process id, while it runs
	said    int // reading end of the pipe
	explain func(said string) string

	mu    sync.Mutex
	line  []byte // that has no end yet
	words []byte // bwrap's lines
	other bool   // there were other lines
	ours  bool   // and one of them was process 1's
	quit  bool   // the Go runtime of process 1 has got SIGQUIT
	told  bool
}

const (
	bwrapSays = "bwrap: "
	initSays  = "sbx: error: "
)

// execute returns when bwrap has ended.
func (t *setupFailure) execute() {
	runtime.LockOSThread() // the one that traces
	if t.silent() || !t.seize() {
		t.hear(func() bool { return !t.running() })
		how := ""
		if len(t.words) == 0 {
			how = t.end()
		}
		t.tell(how)
		return
	}
	var over atomic.Bool
	var hears sync.WaitGroup
	hears.Go(func() { t.hear(over.Load) })
	t.trace()
	over.Store(true)
	hears.Wait()
	t.tell("")
}

// running reports whether bwrap has not ended.
func (t *setupFailure) running() bool { return !readable(t.pidfd, 0) }

// end says how bwrap has ended, if it ended by itself and the kernel tells who is
// not its parent (Linux 6.15).
func (t *setupFailure) end() string {
	const getInfo, exit = 0xc040ff0b, 1 << 3 // PIDFD_GET_INFO, PIDFD_INFO_EXIT
	for range 50 {                           // it is known when the parent has asked
		info := struct {
			mask uint64
			_    [13]uint32
			code int32
		}{mask: exit}
		_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(t.pidfd), getInfo, uintptr(unsafe.Pointer(&info)))
		switch ws := syscall.WaitStatus(info.code); {
		case errno == syscall.ESRCH, errno == 0 && info.mask&exit == 0:
			sleep(2e6)
		// From 128 on, and 2, it is a signal: to bwrap's child, or to the Go runtime of process 1.
		case errno == 0 && ws.Exited() && ws.ExitStatus() < 128 && ws.ExitStatus() != 2:
			return endedWith(ws.ExitStatus())
		default:
			return ""
		}
	}
	return ""
}

// endedWith says how bwrap ended. Only process 1 ends with the status of sbx's own
// failures, and it has said why.
func endedWith(status int) string {
	if status == statusFailed {
		return ""
	}
	return "ended with status " + strconv.Itoa(status)
}

// silent reports whether bwrap has ended without a word.
func (t *setupFailure) silent() bool { return !readable(t.said, 0) || !t.running() }

// hear reads until no process is left that writes, or for a little longer than it
// takes until over is true.
func (t *setupFailure) hear(over func() bool) {
	for ended := false; ; {
		if readable(t.said, 20e6) {
			if !t.read() {
				return
			}
			continue
		}
		if ended {
			return
		}
		ended = over()
	}
}

// read takes what there is, and reports whether more may come.
func (t *setupFailure) read() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	var buf [4096]byte
	for {
		n, err := syscall.Read(t.said, buf[:])
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err == syscall.EAGAIN
		case n == 0:
			return false
		default:
			t.take(buf[:n])
		}
	}
}

// take sorts lines: bwrap's own are kept, all others passed on.
func (t *setupFailure) take(b []byte) {
	for _, c := range b {
		if t.line = append(t.line, c); c == '\n' || len(t.line) == 4096 {
			t.endLine()
		}
	}
}

func (t *setupFailure) endLine() {
	switch line := string(t.line); {
	case len(line) > len(bwrapSays) && line[:len(bwrapSays)] == bwrapSays:
		if len(t.words) < 1<<16 {
			t.words = append(t.words, line...)
		}
	case line != "":
		t.other = true
		t.quit = t.quit || line == "SIGQUIT: quit\n"
		t.ours = t.ours || len(line) > len(initSays) && line[:len(initSays)] == initSays
		write(passed(line))
	}
	t.line = t.line[:0]
}

// tell says once why there is no sandbox. How is what is known of bwrap's end.
func (t *setupFailure) tell(how string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLine()
	switch {
	case t.told || t.quit || t.ours && len(t.words) == 0: // a path in bwrap's line may hold any line
	case len(t.words) > 0:
		write(t.explain(string(t.words)))
	case how != "":
		if !t.other {
			how += " without a word"
		}
		write(t.explain("bwrap " + how))
	default:
		return
	}
	t.told = true
}

// passed makes another program's line fit for a terminal.
func passed(line string) string {
	line, _ = procfs.Cut(line, '\n')
	b := []byte(line)
	for i, c := range b {
		if c == '\t' {
			b[i] = ' '
		}
	}
	return plain(string(b)) + "\n"
}

// Requests of ptrace(2).
const (
	ptraceSeize     = 0x4206
	ptraceInterrupt = 0x4207
	ptraceListen    = 0x4208
	eventStop       = 128
)

func ptrace(request, pid int, addr, data uintptr) bool {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, uintptr(request), uintptr(pid), addr, data, 0, 0)
	return errno == 0
}

// seize begins to trace bwrap, and waits until that has effect. It is the parent
// still when it is afterwards: no other process has got its number.
func (t *setupFailure) seize() bool {
	if !ptrace(ptraceSeize, t.parent, 0, syscall.PTRACE_O_TRACESYSGOOD) || !t.running() ||
		!ptrace(ptraceInterrupt, t.parent, 0, 0) {
		return false
	}
	var ws syscall.WaitStatus
	for range 500 { // a process that the kernel holds up is not waited for without end
		pid, err := syscall.Wait4(t.parent, &ws, syscall.WALL|syscall.WNOHANG, nil)
		switch {
		case pid == t.parent && ws.Stopped():
			return t.goOn(ws)
		case pid == t.parent || err != nil && err != syscall.EINTR:
			return false
		}
		sleep(1e6)
	}
	return false
}

// goOn continues bwrap to its next system call, or the end of that.
func (t *setupFailure) goOn(ws syscall.WaitStatus) bool {
	sig := ws.StopSignal()
	switch {
	case int(ws)>>16 == eventStop && sig != syscall.SIGTRAP: // a stop of its group
		return ptrace(ptraceListen, t.parent, 0, 0)
	case int(ws)>>16 != 0, sig == syscall.SIGTRAP|0x80:
		sig = 0
	}
	return ptrace(syscall.PTRACE_SYSCALL, t.parent, 0, uintptr(sig))
}

// trace follows bwrap to its end.
func (t *setupFailure) trace() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(t.parent, &ws, syscall.WALL, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case pid != t.parent || !ws.Stopped(), ws.StopSignal() == syscall.SIGTRAP|0x80 && t.exits():
			return
		}
		t.goOn(ws)
	}
}

// exits reports whether bwrap is about to end by itself. Then all that there was
// to say is said, and the status is another one.
func (t *setupFailure) exits() bool {
	var regs [64]uint64
	iov := syscall.Iovec{Base: (*byte)(unsafe.Pointer(&regs))}
	iov.SetLen(len(regs) * 8)
	const status = 1 // NT_PRSTATUS
	if !ptrace(syscall.PTRACE_GETREGSET, t.parent, status, uintptr(unsafe.Pointer(&iov))) ||
		iov.Len <= 8*max(regNumber, regFirst) || regs[regNumber] != syscall.SYS_EXIT_GROUP {
		return false
	}
	t.read()
	t.tell(endedWith(int(regs[regFirst] & 0xff)))
	if !t.quit {
		regs[regFirst] = statusFailed
		_ = ptrace(syscall.PTRACE_SETREGSET, t.parent, status, uintptr(unsafe.Pointer(&iov)))
	}
	_ = ptrace(syscall.PTRACE_DETACH, t.parent, 0, 0)
	return true
}
