// SPDX-License-Identifier: Apache-2.0

package pid1

import "syscall"

// graceTime is how long a command may clean up after it was told to end, in
// nanoseconds.
const graceTime = 5e9

// clock ends the command when its time is up.
func (s *supervisor) clock() {
	switch t := now(); {
	case s.deadline > 0 && t >= s.deadline:
		_ = syscall.Kill(-1, syscall.SIGKILL)
	case s.expires > 0 && t >= s.expires:
		s.expires, s.timedOut = 0, true
		s.deadline = t + graceTime
		// As process 1, "all" is everything in the sandbox but this process.
		_ = syscall.Kill(-1, syscall.SIGTERM)
		_ = syscall.Kill(-1, syscall.SIGCONT)
		say("error: Command timed out after " + seconds(s.config.Limit) + "s in sandbox")
	}
}

// groupTime is how long what the command left may clean up after all of them were
// told to end, in nanoseconds.
const groupTime = 1e9

// endSignals are the signals by which programs are told to end.
var endSignals = bit(sigHUP) | bit(sigINT) | bit(sigQUIT) | bit(sigTERM)

// awaitGroup waits for others that were told to end together with the command: a
// shell dies of SIGTERM at once, while what it started is still removing its
// lock files. Those that the command put into a group of their own, and whatever
// runs after a command that ended by itself, are not waited for.
func (s *supervisor) awaitGroup() {
	if !s.timedOut {
		if !s.status.Signaled() || bit(int(s.status.Signal()))&endSignals == 0 {
			return
		}
		s.signals() // what came together with its death
		n := int(s.status.Signal())
		if typed := s.config.Group == Foreground && (n == sigINT || n == sigQUIT); !typed && s.told&bit(n) == 0 {
			return
		}
	}
	for until := now() + groupTime; s.remains() && now() < until; {
		s.woken(20e6)
		s.signals()
	}
}

// remains reaps who has ended, and reports whether a process is still to be
// waited for.
func (s *supervisor) remains() bool {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR || pid > 0:
			continue
		case err != nil:
			return false
		}
		return s.timedOut || s.config.Group == Shared || syscall.Kill(-s.pid, 0) == nil
	}
}

// finish ends what the command left, and returns the exit status, or dies with
// the parent process as the command died.
func (s *supervisor) finish() int {
	_ = syscall.Kill(-1, syscall.SIGKILL)
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && err != syscall.EINTR {
			break
		}
	}
	s.input.handBack()
	if s.parent.state().stopped {
		s.parent.signal(sigCONT)
	}
	s.masks.last()
	if s.masks.exposed {
		say("hint: the run was ended because a hidden file was replaced, and nothing can hide it again before the next " +
			"run: start it again; with on_unmasked = \"warn\" in a profile it goes on")
		return statusFailed
	}
	s.lastWords(s.outOfMemory())
	switch {
	case s.timedOut:
		return statusTimeout
	case s.status.Exited():
		return s.status.ExitStatus()
	}
	n := int(s.status.Signal())
	if s.parent.blocked&bit(n) == 0 {
		s.parent.signal(n)
		sleep(1e9) // not to be waited for: with the parent process this one ends
	}
	return 128 + n
}

// kills is how many processes the kernel has killed for want of memory, in
// whatever the file that counts them counts.
func (s *supervisor) kills() uint64 {
	var buf [4096]byte
	n, _ := syscall.Pread(s.config.OOM, buf[:], 0)
	return oomKills(buf[:max(n, 0)])
}

// outOfMemory tells that the kernel killed the command, or something that it
// started, for want of memory, and reports whether it did.
func (s *supervisor) outOfMemory() bool {
	if s.kills() <= s.killed {
		return false
	}
	what := "a process that it started"
	if s.status.Signaled() && int(s.status.Signal()) == sigKILL {
		what = "it"
	}
	say("error: Command ran out of memory in sandbox (limit " + s.config.Memory + "): the kernel ended " + what)
	return true
}
