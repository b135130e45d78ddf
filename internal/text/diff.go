// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff compares two texts line by line. Each line of the result begins with "-"
// (only in old), "+" (only in new), " " (in both, near a change) or "@" (so many
// lines are left out). It holds nothing that a terminal could take for a command.
func Diff(old, new []byte) (out []string) {
	_, hunks, _ := bytes.Cut(diff.Diff("", old, "", new), []byte("\n+++ \n")) // names of files are left out
	at := 1                                                                   // the next line of old
	for line := range bytes.Lines(hunks) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		switch line[0] {
		case '@': // "@@ -12,7 +12,8 @@"
			start, length := hunk(string(line))
			if start > at {
				out = append(out, "@ "+strconv.Itoa(start-at)+" unchanged")
			}
			at = start + length
		case '\\':
			out[len(out)-1] += "  (no line feed at the end)"
		default:
			out = append(out, string(line[:1])+shownLine(string(line[1:])))
		}
	}
	return out
}

// hunk reads which lines of the old text a stretch of a unified diff is about.
func hunk(head string) (start, length int) {
	head, _, _ = strings.Cut(strings.TrimPrefix(head, "@@ -"), " ")
	a, b, _ := strings.Cut(head, ",")
	start, _ = strconv.Atoi(a)
	length, _ = strconv.Atoi(b)
	return start, length
}

// shownLine is a line as it is when it is ordinary text, quoted otherwise.
func shownLine(s string) string {
	if Printable(strings.ReplaceAll(s, "\t", "")) {
		return s
	}
	return strconv.Quote(s)
}
