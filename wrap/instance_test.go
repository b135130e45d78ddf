// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"strings"
	"testing"
)

// TestMacInstance: the name is short, and one that a sweep knows, but for one of
// which nothing is known.
func TestMacInstance(t *testing.T) {
	for _, c := range []struct {
		start, boot, want string
		run               bool
	}{
		{"t2x9kq", "1A2B3C4D-0000-4000-8000-000000000000", "4711.t2x9kq.1a2b3c4d", true},
		{"", "1A2B3C4D-0000", "4711.0.1a2b3c4d", true},
		{"t2x9kq", "", "4711.t2x9kq.unknown", false},
		{"t2x9kq", "../../x", "4711.t2x9kq.unknown", false},
	} {
		got := macInstance(4711, c.start, c.boot)
		if got != c.want || isRun(strings.Split(got, ".")) != c.run {
			t.Errorf("%q %q: %q, %v", c.start, c.boot, got, !c.run)
		}
	}
	for name, want := range map[string]bool{
		"1.2.3.4.0123abcd": true, "1.2.0123abcd": true, "1.z9.0123abcd": true, "1..0123abcd": false, "x.1.0123abcd": false, "1.2.0123abcD": false,
		"1.2.0123abc": false, "1.Z.0123abcd": false, "1.2.3.0123abcd": false, "tmp": false, "1.z.3.4.0123abcd": false, "1.../.0123abcd": false,
	} {
		if isRun(strings.Split(name, ".")) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
