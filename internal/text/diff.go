package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

// lineDiff compares two texts line by line. Each line of the result begins
// with "-" (only in old), "+" (only in new), " " (in both) or "@" (lines are
// left out). It holds nothing that a terminal could take for a command.
func lineDiff(old, new []byte) (out []string) {
	const header = 3 // lines: diff, ---, +++
	unified := strings.Split(string(diff.Diff("old", shownLines(old), "new", shownLines(new))), "\n")
	after := 1 // number of the line of old that follows the hunk before
	for _, line := range unified[min(header, len(unified)-1) : len(unified)-1] {
		var first, lines int
		if _, err := fmt.Sscanf(line, "@@ -%d,%d ", &first, &lines); err != nil {
			out = append(out, line)
			continue
		}
		if first > after {
			out = append(out, "@ "+strconv.Itoa(first-after)+" unchanged")
		}
		after = first + lines
	}
	return out
}

// shownLines is a text with each line as [shownLine] has it. That the last line feed
// is missing is a difference, too.
func shownLines(text []byte) []byte {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		whole, ended := strings.CutSuffix(line, "\n")
		b.WriteString(shownLine(whole))
		if !ended {
			b.WriteString("  (no line feed at the end)")
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// shownLine is a line as it is when it is ordinary text, quoted otherwise.
func shownLine(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }) {
		return s
	}
	return strconv.Quote(s)
}
