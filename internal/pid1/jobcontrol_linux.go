// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// signals passes on what is new. What comes while the parent process is stopped
// waits with the command until both go on.
func (s *supervisor) signals() {
	st := s.parent.state()
	seen := arrived{st.pending & s.forward, s.own()}
	if s.relay.unsure(seen) || s.woke && seen.own == 0 && !s.reaped {
		s.sleepWatching(1e6)
		st = s.parent.state()
		seen = arrived{st.pending & s.forward, seen.own | s.own()}
	}
	group, one := s.relay.take(seen)
	s.told |= group
	// A stop takes a pending SIGCONT away, also where it stops no process itself.
	if (group|one)&bit(sigCONT) != 0 || (s.frozen || s.mirrored) && !st.stopped {
		s.resume(group&bit(sigCONT) != 0)
	}
	// In a shared group the terminal stopped the command as well.
	if st.stopped && !s.stopped && !s.ended && !s.timedOut && s.config.Group != Shared {
		s.frozen = true
		s.kill(true, sigSTOP)
	}
	for n := 1; n <= lastRT; n++ {
		switch {
		case n == sigCONT:
		case group&bit(n) != 0 && s.config.Group != Shared:
			s.kill(true, n)
		case one&bit(n) != 0:
			s.kill(false, n)
		}
	}
}

// own takes the signals that came to this process from outside, some at a time:
// a command that sends them without end must not keep process 1 from its work.
func (s *supervisor) own() (set uint64) {
	set = atomic.SwapUint64(&caught, 0)
	for range 64 {
		n, outside := takePending(s.forward)
		if n == 0 {
			break
		}
		if outside {
			set |= bit(n)
		}
	}
	return set & s.forward
}

// kill sends a signal to the command, or to its whole group when that is its
// own.
func (s *supervisor) kill(group bool, n int) {
	if group && s.config.Group != Shared && syscall.Kill(-s.pid, syscall.Signal(n)) == nil {
		return
	}
	if !s.ended {
		_ = syscall.Kill(s.pid, syscall.Signal(n))
	}
}

// commandStopped stops the parent process as the command was, so that the
// caller's shell sees it.
func (s *supervisor) commandStopped(by int) {
	s.wantsTerminal = false
	if s.frozen {
		return
	}
	if s.config.Group == Foreground && (by == sigTTIN || by == sigTTOU) && s.parent.inForeground() {
		// The shell gave the terminal to the parent process's group without a word.
		s.giveTerminal()
		s.kill(true, sigCONT)
		return
	}
	if s.config.Group == Shared {
		for range 40 { // what stopped the command reaches the parent process, too
			if s.parent.state().stopped || s.moved() {
				return
			}
			s.sleepWatching(5e6)
		}
	}
	if s.parent.state().stopped {
		s.frozen = s.config.Group != Shared
		return
	}
	if by != sigTSTP && by != sigTTIN && by != sigTTOU {
		by = sigSTOP
	}
	s.mirrored = true
	s.parent.signal(by)
	for range 20 {
		st := s.parent.state()
		if st.stopped || st.gone || st.pending&bit(sigCONT)&^s.relay.passed != 0 {
			return
		}
		s.sleepWatching(1e6)
	}
	// No process would continue it: the kernel does not stop a group without a shell.
	s.resume(true)
}

// moved reports whether the command was continued, or has ended, since it was
// seen stopped.
func (s *supervisor) moved() bool {
	var info [128]byte
	_, _, errno := syscall.RawSyscall6(syscall.SYS_WAITID, pPid, uintptr(s.pid), uintptr(unsafe.Pointer(&info[0])),
		syscall.WNOHANG|syscall.WCONTINUED|syscall.WEXITED|syscall.WNOWAIT, 0, 0)
	return errno == 0 && info[0] != 0
}

// resume continues the command: all of its group where all of it was stopped,
// whether or not that has been reported yet.
func (s *supervisor) resume(group bool) {
	stopped := s.stopped || s.frozen
	s.frozen, s.mirrored = false, false
	if s.config.Group == Foreground {
		if s.parent.inForeground() {
			s.giveTerminal()
		} else {
			s.wantsTerminal = s.wantsTerminal || !s.hasTerminal()
		}
	}
	if s.config.Group != Shared || !group {
		s.kill(group || stopped, sigCONT)
	}
}

// giveTerminal gives the terminal to the command's group.
func (s *supervisor) giveTerminal() {
	s.wantsTerminal = false
	group := int32(s.pid)
	if g, err := syscall.Getpgid(s.pid); err == nil && g > 0 {
		group = int32(g)
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(s.tty), syscall.TIOCSPGRP, uintptr(unsafe.Pointer(&group)))
}

// hasTerminal reports whether a group of the sandbox is in the foreground:
// those outside have no number here.
func (s *supervisor) hasTerminal() bool {
	var group int32
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(s.tty), syscall.TIOCGPGRP,
		uintptr(unsafe.Pointer(&group)))
	return errno == 0 && group > 0
}
