// SPDX-License-Identifier: Apache-2.0

package pid1

import "testing"

// A signal is passed on once: by what is seen at one look after another.
func TestCourier(t *testing.T) {
	term, usr1, cont := bit(sigTERM), bit(sigUSR1), bit(sigCONT)
	type looked struct {
		arrived
		unsure     bool
		group, one uint64
	}
	for name, looks := range map[string][]looked{
		"to the process alone": {
			{arrived{term, 0}, true, 0, term},
			{arrived{term, 0}, false, 0, 0},
		},
		"to the group": {
			{arrived{term, term}, false, term, 0},
			{arrived{term, 0}, false, 0, 0},
		},
		"to the group, three times": {
			{arrived{term, term}, false, term, 0},
			{arrived{term, term}, true, term, 0},
			{arrived{term, term}, true, term, 0},
		},
		"to the process, then to the group": {
			{arrived{term, 0}, true, 0, term},
			{arrived{term, term}, true, term, 0},
		},
		"two at once": {
			{arrived{term | usr1, usr1}, true, usr1, term},
		},
		"to process 1 alone": {
			{arrived{0, term}, true, term, 0},
		},
		"continued after each stop": {
			{arrived{cont, 0}, true, 0, cont},
			{arrived{cont, 0}, false, 0, 0},
			{arrived{0, 0}, false, 0, 0},
			{arrived{cont, 0}, true, 0, cont},
		},
		"nothing": {{}},
	} {
		var c relay
		for i, l := range looks {
			if got := c.unsure(l.arrived); got != l.unsure {
				t.Errorf("%s, look %d: unsure %t", name, i, got)
			}
			if group, one := c.take(l.arrived); group != l.group || one != l.one {
				t.Errorf("%s, look %d: %#x to the group and %#x to the process, want %#x and %#x", name, i, group, one,
					l.group, l.one)
			}
		}
	}
}

func TestHeld(t *testing.T) {
	never := bit(sigKILL) | bit(sigSTOP) | bit(sigTSTP) | bit(sigTTIN) | bit(sigTTOU) | bit(sigCHLD) | bit(11) |
		bit(6) | bit(13)
	always := bit(sigTERM) | bit(sigHUP) | bit(sigUSR1) | bit(sigUSR2) | bit(sigCONT) | bit(marker) | bit(35) | bit(64)
	for _, group := range []Group{Shared, Foreground, NewSession} {
		for _, limited := range []bool{false, true} {
			set := blockedSignals(group, limited)
			if set&never != 0 || set&always != always {
				t.Errorf("%d, %t: %#x", group, limited, set)
			}
			if (set&bit(sigALRM) != 0) == limited {
				t.Errorf("%d, %t: SIGALRM is the kernel's means with a limit, and the caller's without", group, limited)
			}
			if typed := bit(sigINT) | bit(sigQUIT); (set&typed == 0) != (group == Foreground) {
				t.Errorf("%d, %t: %#x", group, limited, set)
			}
		}
	}
}
