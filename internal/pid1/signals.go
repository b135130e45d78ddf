// SPDX-License-Identifier: Apache-2.0

package pid1

// InInit is true in a program all of which runs in an init function. There the main
// thread belongs to the goroutine of that function alone.
var InInit bool

// Signals by number, as on all of Linux that sbx runs on.
const (
	sigHUP, sigINT, sigQUIT    = 1, 2, 3
	sigKILL, sigUSR1, sigUSR2  = 9, 10, 12
	sigALRM, sigTERM, sigCHLD  = 14, 15, 17
	sigCONT, sigSTOP, sigTSTP  = 18, 19, 20
	sigTTIN, sigTTOU, sigWINCH = 21, 22, 28
	firstRT, lastRT            = 34, 64

	// marker is a signal that means nothing, neither to the parent process nor to the
	// process 1: see parent_linux.go. It is SIGIO, which the kernel sends in place of
	// another one where the user has no room for more pending signals.
	marker = 29
)

func bit(n int) uint64 { return 1 << (n - 1) }

// blockedSignals are the signals that do not end the parent process: they are blocked there
// and stay pending, and all but the marker are passed on by process 1. Those of job control act
// on the parent process itself, since the caller's shell waits for that. With a
// time limit SIGALRM is the kernel's own means to end the run. In front of a
// terminal nothing but the command gets what is typed, and there SIGINT and
// SIGQUIT stay open, so that the parent process can die of them as the command
// did: by that a shell knows that a loop is to end.
func blockedSignals(group Group, limited bool) uint64 {
	set := bit(sigHUP) | bit(sigUSR1) | bit(sigUSR2) | bit(sigTERM) | bit(sigCONT) | bit(sigWINCH) | bit(marker)
	for n := firstRT; n <= lastRT; n++ {
		set |= bit(n)
	}
	if group != Foreground {
		set |= bit(sigINT) | bit(sigQUIT)
	}
	if !limited {
		set |= bit(sigALRM)
	}
	return set
}

// arrived is what one look finds.
type arrived struct {
	pending uint64 // at the parent process, of those that are passed on
	own     uint64 // came to process 1 itself since the last look: the whole group was sent it
}

// relay passes each signal on once. What is pending at the parent process
// stays so, since nothing takes it from there, and is not new a second time.
type relay struct{ passed uint64 }

// unsure reports whether a second look a moment later could say more: a signal
// to a group reaches its members one after another.
func (c *relay) unsure(s arrived) bool {
	return s.pending&^c.passed != s.own
}

// take decides what is new: sent to the group, or to the parent process alone.
func (c *relay) take(s arrived) (group, one uint64) {
	fresh := s.pending &^ c.passed
	c.passed = s.pending // SIGCONT goes when the process is stopped again
	return s.own, fresh &^ s.own
}
