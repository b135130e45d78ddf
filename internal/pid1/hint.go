// SPDX-License-Identifier: Apache-2.0

package pid1

import "unicode/utf8"

// hintName is the first argument by which sbx knows that it is to explain why a
// command failed, or what it left. The status follows, as a shell would have it and 0
// for no explanation, then the words of [InitConfig.Hints], "left=" and a directory for
// each of [InitConfig.Private] that holds more than before, "until=" and the time on the
// monotonic clock, in nanoseconds, up to which it may look at them, "first=" and the
// number of the command's process, "columns=" and those of the terminal, "--", and the words of the command. The
// process writes lines to its standard output, of which the first two count: "notice: …", "hint: …", and those that
// go on with them, which begin with a space.
const hintName = "--hint-of-sandbox"

// HintAlways is one of the words: a command that ended with 0 may have something to be
// explained. Its status is then [Succeeded], and that of one that ran out of memory
// [Starved].
const (
	HintAlways = "always=1"
	HintColour = "colour=1" // the line is coloured
	Succeeded  = -1
	Starved    = -2
)

// maxHint bounds a line, in bytes, and maxLines their number: a pipe takes them whole.
const (
	maxHint  = 1024
	maxLines = 2
)

// IsHint reports whether the arguments after the program's name tell sbx to
// explain a failure.
func IsHint(args []string) bool { return len(args) > 3 && args[0] == hintName }

// showable reports whether a text is one line that a terminal takes as letters.
func showable(text string) bool {
	if text == "" || len(text) > maxHint || !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return false
		}
	}
	return true
}

// byOthers are the signals that end a command because someone wants it ended,
// or no process reads what it writes. The rest are faults of its own.
const byOthers = uint64(1<<(sigHUP-1) | 1<<(sigINT-1) | 1<<(sigQUIT-1) | 1<<(sigKILL-1) |
	1<<(sigUSR1-1) | 1<<(sigUSR2-1) | 1<<(sigPIPE-1) | 1<<(sigALRM-1) | 1<<(sigTERM-1))

const sigPIPE = 13

// ownFault reads how a command ended: the status that a shell would have for it.
// ok is false for success, and where the end was not the command's own doing.
func ownFault(exited bool, n int) (status int, ok bool) {
	status = n
	if !exited {
		status += 128
	}
	if by := status - 128; by > 0 && by < firstRT {
		return status, byOthers&bit(by) == 0
	}
	return status, status != 0
}
