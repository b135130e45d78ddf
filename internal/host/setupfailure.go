// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"
	"strings"
)

// SetupFailure is the error for a bwrap that gave up before the command was
// there, by what it wrote.
func SetupFailure(said string, facts func() Diagnostics) *Error {
	// What came later may follow from what came first.
	first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	reason := withoutName(first)
	e := &Error{StatusFailed, "Failed to initialize sandbox: " + reason, "sbx doctor tries what bwrap can do here"}
	scarce := []string{"Resource temporarily unavailable", "Cannot allocate memory", "Too many open files", "Too many users", "No space left on device"}
	switch {
	case strings.Contains(reason, "No such file or directory"), strings.HasSuffix(reason, "Read-only file system"): // the place of a mask is gone
		e.Hint = "it was removed or renamed on the host while the sandbox was being set up; run it again"
	case slices.ContainsFunc(scarce, func(s string) bool { return strings.Contains(reason, s) }):
		e.Hint = "run it again; if it persists, raise the limits on processes, memory and files (ulimit -a), or end what uses them up"
	default:
		if u := diagnose(facts(), "bwrap", first); u.Cause != CauseOther {
			e.Hint = u.Hints[0]
		}
	}
	return e
}
