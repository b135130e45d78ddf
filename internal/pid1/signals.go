package pid1

// Signals by number, as on all of Linux that sbx runs on.
const (
	sigHUP, sigINT, sigQUIT    = 1, 2, 3
	sigKILL, sigUSR1, sigUSR2  = 9, 10, 12
	sigALRM, sigTERM, sigCHLD  = 14, 15, 17
	sigCONT, sigSTOP, sigTSTP  = 18, 19, 20
	sigTTIN, sigTTOU, sigWINCH = 21, 22, 28
	firstRT, lastRT            = 34, 64

	// marker is a signal that means nothing, neither to the outer process nor to the
	// stage: see wires_linux.go. It is SIGIO, which the kernel sends in the place of
	// another one where the user has no room for more pending signals.
	marker = 29
)

func bit(n int) uint64 { return 1 << (n - 1) }

// Held are the signals that do not end the outer process: they are blocked there
// and stay pending, and all but the marker are passed on by the stage. Those of job control act
// on the outer process itself, since the caller's shell waits for that. With a
// time limit SIGALRM is the kernel's own means to end the run. In front of a
// terminal nothing but the command gets what is typed, and there SIGINT and
// SIGQUIT stay open, so that the outer process can die of them as the command
// did: by that a shell knows that a loop is to end.
func Held(group Group, limited bool) uint64 {
	set := bit(sigHUP) | bit(sigUSR1) | bit(sigUSR2) | bit(sigTERM) | bit(sigCONT) | bit(sigWINCH) | bit(marker)
	for n := firstRT; n <= lastRT; n++ {
		set |= bit(n)
	}
	if group != Front {
		set |= bit(sigINT) | bit(sigQUIT)
	}
	if !limited {
		set |= bit(sigALRM)
	}
	return set
}

// sight is what one look finds.
type sight struct {
	pending uint64 // at the outer process, of those that are passed on
	own     uint64 // came to the stage itself since the last look: the whole group was sent it
}

// courier passes each signal on once. What is pending at the outer process
// stays so, since nothing takes it from there, and is not new a second time.
type courier struct{ passed uint64 }

// unsure reports whether a second look a moment later could say more: a signal
// to a group reaches its members one after another.
func (c *courier) unsure(s sight) bool {
	return s.pending&^c.passed != s.own
}

// take decides what is new: sent to the group, or to the outer process alone.
func (c *courier) take(s sight) (group, one uint64) {
	fresh := s.pending &^ c.passed
	c.passed = s.pending // SIGCONT goes when the process is stopped again
	return s.own, fresh &^ s.own
}
