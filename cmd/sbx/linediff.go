package main

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	diffContext = 3       // unchanged lines shown around a change
	diffCells   = 4 << 20 // bounds the table of the comparison, two bytes each
)

// lineDiff compares two texts line by line. Each line of the result begins
// with "-" (only in old), "+" (only in new), " " (in both) or "@" (lines are
// left out). It holds nothing that a terminal could take for a command.
func lineDiff(old, new []byte) []string {
	a, b := splitLines(old), splitLines(new)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var all []string
	for _, l := range a[:head] {
		all = append(all, " "+l)
	}
	all = append(all, diffMiddle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, l := range a[len(a)-tail:] {
		all = append(all, " "+l)
	}
	return withContext(all)
}

// splitLines cuts after each line feed. That the last one is missing is a
// difference, too.
func splitLines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	lines := strings.Split(string(bytes.TrimSuffix(text, []byte("\n"))), "\n")
	for i, l := range lines {
		lines[i] = shownLine(l)
	}
	if text[len(text)-1] != '\n' {
		lines[len(lines)-1] += "  (no line feed at the end)"
	}
	return lines
}

// shownLine is a line as it is when it is ordinary text, quoted otherwise.
func shownLine(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }) {
		return s
	}
	return strconv.Quote(s)
}

// diffMiddle finds the longest common subsequence. Where its table would be
// too large the whole stretch is given as replaced: long, and never wrong.
func diffMiddle(a, b []string) (out []string) {
	w := len(b) + 1
	if len(a)*w > diffCells || len(a) > 1<<16-1 {
		return append(marked("-", a), marked("+", b)...)
	}
	common := make([]uint16, (len(a)+1)*w) // of a[i:] and b[j:]
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*w+j] = common[(i+1)*w+j+1] + 1
			} else {
				common[i*w+j] = max(common[(i+1)*w+j], common[i*w+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			out = append(out, " "+a[i])
			i++
			j++
		case common[(i+1)*w+j] >= common[i*w+j+1]:
			out = append(out, "-"+a[i])
			i++
		default:
			out = append(out, "+"+b[j])
			j++
		}
	}
	return append(append(out, marked("-", a[i:])...), marked("+", b[j:])...)
}

func marked(mark string, lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = mark + l
	}
	return out
}

// withContext leaves out the unchanged lines that are far from a change.
func withContext(all []string) (out []string) {
	near := make([]bool, len(all))
	for i, l := range all {
		if l[0] == ' ' {
			continue
		}
		for j := max(0, i-diffContext); j <= min(len(all)-1, i+diffContext); j++ {
			near[j] = true
		}
	}
	for i, skipped := 0, 0; i < len(all); i++ {
		if !near[i] {
			skipped++
			continue
		}
		if skipped > 0 {
			out = append(out, "@ "+strconv.Itoa(skipped)+" unchanged")
		}
		skipped = 0
		out = append(out, all[i])
	}
	return slices.Clip(out)
}
