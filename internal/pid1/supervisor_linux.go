// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"runtime"
	"strconv"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// supervisor is process 1 while the command runs.
type supervisor struct {
	config  *InitConfig
	parent  parent
	forward uint64
	relay   relay
	masks   masks
	input   input
	private []private
	tty     int
	pid     int // of the command

	stopped       bool  // the command is
	mirrored      bool  // the parent process was stopped since the command was
	frozen        bool  // by process 1, since the parent process was stopped
	wantsTerminal bool  // it goes on in the background: look now and then whether it got the terminal
	expires       int64 // when the time is up; 0 is never
	deadline      int64 // when whatever still runs is killed; 0 is never
	portsAt       int64 // when to look at the ports; 0 is never
	timedOut      bool
	told          uint64 // signals that the whole group was sent
	ended         bool
	status        syscall.WaitStatus
	killed        uint64 // for want of memory, before the command started
	woke          bool   // something woke process 1
	reaped        bool   // and it was a child
	small         bool   // process 1 has given back the memory that starting took
	poll          int64  // ns between two looks when nothing wakes; 0 is for ever
}

// serve starts the command, waits for it and returns the exit status.
func serve(cfg *InitConfig, w restrictions) int {
	runtime.LockOSThread()
	s := newSupervisor(cfg, w.input)
	// Nothing inside may look into this process, nor use what it has open.
	prctl(syscall.PR_SET_DUMPABLE, 0)
	for _, fd := range append(cfg.Parent.list(), &cfg.OOM) {
		_, _ = fcntl(*fd, syscall.F_SETFD, syscall.FD_CLOEXEC)
	}
	if cfg.Group == Foreground {
		var err error
		if s.tty, err = syscall.Open("/dev/tty", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0); err != nil {
			cfg.Group = Shared
		}
	}
	// With the parent process everything ends, and the kernel sees to it.
	prctl(syscall.PR_SET_PDEATHSIG, sigKILL)
	if s.parent.state().gone {
		return 128 + sigKILL
	}
	s.parent.dismissWatchdog()
	// A signal without a handler never ends process 1, whoever in its namespace
	// sends it.
	defaults()
	setMask(2, everySignal)
	catch()
	s.killed = s.kills()
	if !s.masks.open(cfg) {
		return statusFailed
	}
	s.private = openPrivate(cfg.Private)
	if status, err := s.start(w); err != nil {
		return status
	}
	s.listen()
	return s.serve()
}

func newSupervisor(cfg *InitConfig, in input) *supervisor {
	held := blockedSignals(cfg.Group, cfg.Limit > 0)
	return &supervisor{config: cfg, forward: held &^ bit(marker), tty: -1, input: in,
		parent: parent{fds: cfg.Parent, blocked: held | cfg.Mask}}
}

// serve goes on until the command has ended, and what it left.
func (s *supervisor) serve() int {
	for !s.ended {
		if s.look(); !s.ended {
			s.wait()
		}
	}
	s.awaitGroup()
	return s.finish()
}

// start starts the command.
func (s *supervisor) start(w restrictions) (int, error) {
	cfg := s.config
	giveBackFiles()
	c := &child{
		path: cfg.Path, argv: cfg.Argv, env: syscall.Environ(), group: cfg.Group, tty: s.tty,
		mask: cfg.Mask, rlimits: cfg.Rlimits, restrictions: w,
	}
	for i := range c.rlimits {
		l := &c.rlimits[i]
		if l.Resource == rlimitNproc { // counts threads, and those of process 1 with them
			l.Max += threads()
		}
		// No one here may raise a hard limit of the caller's.
		var now syscall.Rlimit
		if syscall.Getrlimit(l.Resource, &now) == nil {
			l.Max = min(l.Max, now.Max)
		}
	}
	var err error
	if s.pid, err = c.start(); err == syscall.ENOEXEC && !isELF(c.path) {
		c.path, c.argv = shell, viaShell(cfg.Path, cfg.Argv)
		s.pid, err = c.start()
	}
	if err != nil {
		return refused(cfg, err), err
	}
	if cfg.Limit > 0 {
		s.expires = now() + int64(cfg.Limit*1e9)
	}
	if cfg.Ports != "" {
		s.portsAt = now() + portsAfter
	}
	// Of the caller's descriptors the command alone holds a copy from here on: who
	// waits for the end of a pipe does not wait for process 1. Of standard error it
	// keeps one, as the parent process does: there the messages go.
	keep := append(s.masks.fds(), 2, s.tty, s.input.caller, s.input.command)
	for _, fd := range append(cfg.Parent.list(), &cfg.OOM) {
		keep = append(keep, *fd)
	}
	for _, p := range s.private {
		keep = append(keep, p.fd)
	}
	for _, step := range closeAllBut(keep...) {
		step.do()
	}
	return 0, nil
}

// threads is the number of threads of this process.
func threads() uint64 {
	if n, err := strconv.ParseUint(procfs.Status("Threads"), 10, 64); err == nil {
		return n
	}
	return 8
}

// listen makes signals wake process 1, its own as well as the parent process's.
func (s *supervisor) listen() {
	w := s.parent.fds
	_, _, _ = syscall.RawSyscall(syscall.SYS_TGKILL, 1, uintptr(syscall.Gettid()), marker)
	if fd, err := fcntl(w.Signal, syscall.F_DUPFD_CLOEXEC, 3); err != nil || watch(w.Epoll, fd) != nil {
		s.poll = 25e6
	}
	// A kernel that gave the parent process new signal handling when it executed
	// bwrap (before Linux 5.7 it depends on timing) wakes no one. Try.
	s.woken(0)
	s.parent.signal(marker)
	if !s.woken(0) {
		s.poll = 25e6
	}
	neverStopped()
}

// woken waits for a signal, at most for ns, for ever when that is negative.
// That one came is known a little before a handler has noted which.
func (s *supervisor) woken(ns int64) bool {
	var ev [2]syscall.EpollEvent
	ms := -1
	if ns >= 0 {
		ms = int((ns + 999999) / 1000000)
	}
	n, _ := syscall.EpollWait(s.parent.fds.Epoll, ev[:], ms)
	s.checkMasks()
	return n > 0 && (ev[0].Fd != maskEvent || n > 1)
}

// checkMasks looks at the masks when something has happened to one.
func (s *supervisor) checkMasks() {
	if s.masks.changed(0) {
		s.masks.look()
	}
}

// sleepWatching sleeps, and heeds the masks all the same.
func (s *supervisor) sleepWatching(ns int64) {
	for until := now() + ns; ns > 0 && s.masks.changed(ns); ns = until - now() {
		s.masks.look()
	}
}

// shrinkAfter is how long nothing happens until the command is taken to be one that
// stays for a while, in nanoseconds: the shortest ones do not pay for tidiness.
const shrinkAfter = 50e6

// wait sleeps until something may have happened.
func (s *supervisor) wait() {
	ns, t := int64(-1), now()
	ns = sooner(ns, s.expires > 0, s.expires-t)
	ns = sooner(ns, s.deadline > 0, s.deadline-t)
	ns = sooner(ns, s.portsAt > 0, s.portsAt-t)
	ns = sooner(ns, s.wantsTerminal, 100e6)
	ns = sooner(ns, s.poll > 0, s.poll)
	ns = sooner(ns, !s.small, shrinkAfter)
	s.woke = s.woken(ns)
	if !s.woke && !s.small {
		shrink()
		s.small = true
	}
}

// sooner is the shorter of two waits where the second one counts; below 0 is for ever.
func sooner(ns int64, counts bool, other int64) int64 {
	if counts && (ns < 0 || other < ns) {
		return max(other, 0)
	}
	return ns
}

// look finds out what has happened, and acts on it.
func (s *supervisor) look() {
	s.checkMasks()
	s.reap()
	if s.ended {
		return
	}
	s.clock()
	s.signals()
	s.tellPorts()
	if s.wantsTerminal && s.parent.inForeground() {
		s.giveTerminal()
	}
}

// reap waits for every child, orphans of the command's included.
func (s *supervisor) reap() {
	s.reaped = false
	takePending(bit(sigCHLD)) // while one is pending, the next wakes no one
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG|syscall.WUNTRACED|syscall.WCONTINUED, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil || pid <= 0:
			return
		}
		s.reaped = true
		switch {
		case pid != s.pid:
		case ws.Stopped():
			s.stopped = true
			s.commandStopped(int(ws.StopSignal()))
		case ws.Continued():
			s.stopped = false
			if s.mirrored { // not by way of the parent process, so that goes on, too
				s.mirrored = false
				s.parent.signal(sigCONT)
			}
		default:
			s.ended, s.status = true, ws
		}
	}
}
