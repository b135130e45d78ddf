// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"strings"
	"testing"
)

func TestOwnFault(t *testing.T) {
	for _, tt := range []struct {
		exited bool
		n      int
		status int
		ok     bool
	}{
		{true, 0, 0, false}, {true, 1, 1, true}, {true, 2, 2, true}, {true, 126, 126, true}, {true, 127, 127, true},
		{true, 255, 255, true},
		{true, 130, 130, false}, {true, 137, 137, false}, {true, 141, 141, false}, {true, 143, 143, false},
		{true, 134, 134, true}, {true, 159, 159, true}, {true, 128, 128, true},
		{false, sigINT, 130, false}, {false, sigTERM, 143, false}, {false, sigKILL, 137, false},
		{false, sigHUP, 129, false}, {false, sigPIPE, 141, false},
		{false, 31, 159, true}, {false, 6, 134, true}, {false, 11, 139, true}, {false, 64, 192, true},
	} {
		if status, ok := ownFault(tt.exited, tt.n); status != tt.status || ok != tt.ok {
			t.Errorf("%v %d: %d %v, want %d %v", tt.exited, tt.n, status, ok, tt.status, tt.ok)
		}
	}
}

// Whatever the process that explains a failure writes, process 1 prints one line of
// letters or nothing.
func TestShowable(t *testing.T) {
	for text, want := range map[string]bool{
		"~/x is hidden: -r ~/x shows it": true, "git … é": true, "": false, "a\nb": false, "a\n": false,
		"\x1b[31m": false, "a\x7f": false, "a\u009b": false, "\xff": false, "\x00": false,
		strings.Repeat("z", maxHint): true, strings.Repeat("z", maxHint+1): false,
	} {
		if got := showable(text); got != want {
			t.Errorf("%.40q: %v", text, got)
		}
	}
}
