// SPDX-License-Identifier: Apache-2.0

package text

import (
	"io"
	"slices"
	"strings"
	"unicode"
)

// wide are the characters that take two cells: first and last of each range.
var wide = [][2]rune{{0x1100, 0x115f}, {0x231a, 0x231b}, {0x23e9, 0x23ec}, {0x25fd, 0x25fe}, {0x2614, 0x2615},
	{0x26a1, 0x26a1}, {0x2705, 0x2705}, {0x274c, 0x274c}, {0x2728, 0x2728}, {0x2753, 0x2757}, {0x2b50, 0x2b50},
	{0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xa960, 0xa97c}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f},
	{0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}}

// Cells is how many columns of a terminal a text takes. Painting takes none, a tab
// eight.
func Cells(s string) (n int) {
	if strings.Contains(s, "\x1b") {
		parts := strings.Split(s, mark())
		for i, p := range parts[1:] {
			_, parts[i+1], _ = strings.Cut(p, "m")
		}
		s = strings.Join(parts, "")
	}
	for _, r := range s {
		switch {
		case r == '\t':
			n += 8
		case r < 0x300:
			n++
		case unicode.In(r, unicode.Mn, unicode.Me):
		case slices.ContainsFunc(wide, func(w [2]rune) bool { return w[0] <= r && r <= w[1] }):
			n += 2
		default:
			n++
		}
	}
	return n
}

// Wrap breaks a line between words where it is wider than the screen; the lines after
// the first are indented by hang. A path or what stands in quotes is one word. So is
// a line to paste: from "sbx", "sudo" and the like at the beginning or after a colon,
// to the end or to a word with a comma or a semicolon after it; one with flags or
// arguments gets a line of its own when not everything fits on one.
func (s Screen) Wrap(line string, hang int) string { return s.wrap(line, 0, hang) }

// wrap knows in which column the line begins.
func (s Screen) wrap(line string, start, hang int) string {
	if s.Width <= 0 || start+Cells(line) <= s.Width {
		return line
	}
	hang = start + min(hang, (s.Width-start)/2)
	var b strings.Builder
	at, own := start, false // the column, and whether a line to paste stands before it
	for first := true; line != ""; first = false {
		rest := strings.TrimLeft(line, " ")
		gap, n, paste := len(line)-len(rest), 0, false
		if n, paste = command(rest, b.String(), start > 0); n == 0 {
			n = wordEnd(rest)
		}
		word := rest[:n]
		line = rest[n:]
		if (!first || start > 0) && (own || paste || at+gap+Cells(word) > s.Width) {
			b.WriteString("\n")
			at, gap = 0, min(hang, max(1, s.Width-Cells(word))) // what is wide moves to the left
		}
		if own = paste; paste {
			word = strings.TrimRight(word, ",;")
		}
		b.WriteString(strings.Repeat(" ", gap) + word)
		at += gap + Cells(word)
	}
	return b.String()
}

// programs are those that lines to paste begin with.
var programs = []string{"sbx", "sudo", "git", "export", "unset", "eval", "env", "cp", "mv", "rm", "cat", "npm", "pipx",
	"brew", "apt-get", "dnf", "apk", "pacman", "zypper", "docker", "podman", "mount"}

// command is the length of the line to paste that a text begins with, 0 for none, and
// whether it has more than names of commands, as of running text. A cell begins with none,
// and ShellLine leaves no word of one with a comma or a semicolon at its end.
func command(s, before string, cell bool) (n int, paste bool) {
	n = wordEnd(s)
	before = strings.TrimRight(before, " \n")
	last := before[strings.LastIndexAny(before, " \n")+1:]
	first, inner := strings.CutPrefix(s[:n], "(")
	name, _, set := strings.Cut(first, "=")
	begins := slices.Contains(programs, first) || set && ValidName(name, "_") && strings.ToUpper(name) == name
	if !begins || (last != "" || cell) && !inner && !strings.HasSuffix(last, ":") &&
		!slices.Contains([]string{"or", "with", "run", "type", "write", "->"}, last) {
		return 0, false
	}
	kind := slices.Contains([]string{"error:", "hint:", "notice:", "warning:"}, last) // prose, too, begins after these
	short, words, end := 0, 1, n
	for paste = set; ; words++ {
		word := s[n-end : n]
		paste = paste || words > 1 && (strings.HasPrefix(word, "-") || strings.ContainsAny(word, `/='"`))
		if words == 3 {
			short = n
		}
		gap := len(s[n:]) - len(strings.TrimLeft(s[n:], " "))
		if gap == 0 || gap == len(s[n:]) || strings.HasSuffix(word, ",") || strings.HasSuffix(word, ";") ||
			inner && strings.Contains(word, ")") {
			break
		}
		end = wordEnd(s[n+gap:])
		n += gap + end
	}
	if !paste && !kind && words <= 6 && strings.HasSuffix(last, ":") {
		paste = true
	} else if !paste && short > 0 {
		n = short
	}
	return n, paste && !inner
}

// wordEnd is the length of the first word of a text. Spaces between quotes that begin
// a word or a value are part of it.
func wordEnd(s string) int {
	for i := 0; i < len(s); {
		c := s[i]
		begins := i == 0 || strings.IndexByte("($='\"", s[i-1]) >= 0
		switch {
		case (c == ' ' || c == '\n' || c == '\t') && i > 0: // a word has one byte at least
			return i
		case c == '\\' && i+1 < len(s) && s[i+1] == '\'':
			i++
		case begins && (c == '\'' || c == '"'):
			if n := quoted(s[i:]); n > 0 {
				i += n - 1
			}
		}
		i++
	}
	return len(s)
}

// quoted is the length of the quoted text that s begins with, 0 when it has no end.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return i + 1
		case s[i] == '\\' && s[0] == '"':
			i++
		}
	}
	return 0
}

// hang is by how much the lines after the first are indented: as the text behind an
// arrow or a label, else two more than the first.
func hang(line string) int {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	for _, label := range []string{"-> ", "sbx: ", "+ ", "- "} {
		if strings.HasPrefix(line[indent:], label) {
			return indent + len(label)
		}
	}
	if i := strings.Index(line[indent:], "  "); i > 0 && i <= 16 {
		return Cells(line) - Cells(strings.TrimLeft(line[indent+i:], " "))
	}
	return indent + 2
}

// Table collects rows of cells that end in a tab. Nothing is written before Flush;
// then the columns stand below each other, and the last cell of a row wraps.
type Table struct {
	w    io.Writer
	s    Screen
	text strings.Builder
}

// Table is a table on the screen. What w gets is laid out, and still to be shown by Raw.
func (s Screen) Table(w io.Writer) *Table { return &Table{w: w, s: s} }

func (t *Table) Write(p []byte) (int, error) { return t.text.Write(p) }

// Flush writes the rows.
func (t *Table) Flush() error {
	var rows [][]string
	for line := range strings.Lines(t.text.String()) {
		rows = append(rows, strings.Split(t.s.plainWords(t.s.escape(strings.TrimSuffix(line, "\n"))), "\t"))
	}
	t.text.Reset()
	widths, fits := t.s.columns(rows)
	var b strings.Builder
	for _, row := range rows {
		t.s.writeRow(&b, row[:len(row)-1], row[len(row)-1], widths, fits)
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

// writeRow writes cells in columns, and the last below them where it or they are too
// wide. Where columns do not fit, that is so unless all cells fit on a line.
func (s Screen) writeRow(b *strings.Builder, cells []string, last string, widths []int, fits bool) {
	const indent = 4
	lead, start := strings.Join(cells, "  "), 0
	if fits = fits && (s.Width == 0 || Cells(lead) <= s.Width); fits {
		lead = ""
		for i, cell := range cells {
			lead += strings.Repeat(" ", max(2*min(i, 1), start-Cells(lead))) + cell
			start += widths[i] + 2
		}
	} else {
		lead, start = strings.TrimRight(lead, " "), indent*min(len(cells), 1)
	}
	at, body := Cells(lead), s.wrapCell(last, start)
	switch {
	case !fits && at > 0 && at+2+Cells(last) <= s.Width:
		body = "  " + last
	case start == 0 || fits && (last == "" || body[0] == '\n'):
	case at+2 > start && s.Width > 0 || !fits && at > 0:
		body = "\n" + strings.Repeat(" ", start) + body
	default:
		body = strings.Repeat(" ", start-at) + body
	}
	if !fits {
		lead = s.wrap(lead, 0, indent)
	}
	b.WriteString(lead + body + "\n")
}

// wrapCell wraps the last cell of a row, which begins at a column.
func (s Screen) wrapCell(cell string, start int) string {
	indent := hang(cell)
	if start > 0 && !strings.HasPrefix(cell, "-> ") {
		indent = len(cell) - len(strings.TrimLeft(cell, " "))
	}
	return s.wrap(cell, start, indent)
}

// columns are the widths of all cells but the last of each row: less than they need
// where the last would be left too little. They do not fit where it would be even so.
func (s Screen) columns(rows [][]string) (widths []int, fit bool) {
	const least = 22 // for the last
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Cells(cell))
		}
	}
	total := 2 * len(widths)
	for _, w := range widths {
		total += w
	}
	if s.Width == 0 || total == 0 || s.Width-total >= least {
		return widths, true
	}
	widest := &widths[slices.Index(widths, slices.Max(widths))]
	*widest -= total - s.Width*3/5
	return widths, s.Width*2/5 >= least && *widest > 0
}
