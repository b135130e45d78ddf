// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"crypto/rand"
	"strings"
	"sync"
)

// Screen is how a stream is shown to people. The zero value is a pipe: nothing is
// wrapped, coloured or replaced.
//
//	s := NewScreen(terminal, columns, "auto", os.Getenv)
//	s.Show("a long line\n")    // what to write: wrapped, its words in ASCII where they must be
//	s.Raw("x = \"a b\"\n")     // the same, but for a program or to paste: not wrapped, not replaced
//	s.Paint("31", "no")        // coloured, where the stream is; only Show and Raw make a sequence of it
//	t := s.Table(w)            // cells end in a tab, rows in "\n", the last cell wraps
//
// In running text a line to paste is never broken: see [Screen.Wrap].
type Screen struct {
	Width    int  // in cells; 0 for no limit
	Terminal bool // it obeys sequences
	Colour   bool
	ASCII    bool // the locale has nothing else
}

const (
	usualWidth = 80  // of a terminal that does not say
	mostWidth  = 120 // of text that can be read
	leastWidth = 20
)

// Width is how wide lines are on a terminal with so many columns, 0 for none.
func Width(columns int) int {
	if columns <= 0 {
		return 0
	}
	return max(leastWidth, min(columns, mostWidth))
}

// NewScreen decides about a stream by the number of columns, where it is a terminal,
// the value of --color and the environment.
func NewScreen(terminal bool, columns int, color string, getenv func(string) string) Screen {
	s := Screen{Terminal: terminal, Colour: terminal && getenv("TERM") != "dumb"}
	if terminal {
		s.Width = Width(cmp.Or(columns, usualWidth))
	}
	is := func(name string) bool { v := getenv(name); return v != "" && v != "0" }
	switch {
	case color == "always" || color == "never":
		s.Colour = color == "always"
	case getenv("NO_COLOR") != "":
		s.Colour = false
	case is("FORCE_COLOR") || is("CLICOLOR_FORCE"):
		s.Colour = true
	}
	locale := getenv("LANG")
	for _, name := range []string{"LC_CTYPE", "LC_ALL"} {
		if v := getenv(name); v != "" {
			locale = v
		}
	}
	s.ASCII = !strings.Contains(strings.ReplaceAll(strings.ToUpper(locale), "-", ""), "UTF8")
	return s
}

// mark begins sbx's own sequences, so that none in a name passes for one of them.
var mark = sync.OnceValue(func() string { return "\x1b" + rand.Text() })

// Paint wraps a text in an SGR sequence when the stream can show it.
func (s Screen) Paint(sgr, text string) string {
	if !s.Colour {
		return text
	}
	return mark() + "[" + sgr + "m" + text + mark() + "[0m"
}

// Show is what to write of text for people: names in it cannot drive the terminal.
func (s Screen) Show(text string) string {
	text = s.plainWords(s.escape(text))
	if s.Width > 0 {
		lines := strings.Split(text, "\n")
		for i, l := range lines {
			lines[i] = s.Wrap(l, hang(l))
		}
		text = strings.Join(lines, "\n")
	}
	return s.unmark(text)
}

// Raw is what to write of text that has its form: harmless to a terminal, else each
// byte as it is.
func (s Screen) Raw(text string) string {
	if s.Terminal {
		text = s.escape(text)
	}
	return s.unmark(text)
}

// escape makes all harmless but what Paint made. What is coloured ends at a terminal, by
// way of a pipe or not.
func (s Screen) escape(text string) string {
	if !s.Terminal && !s.Colour {
		return text
	}
	parts := strings.Split(text, mark())
	for i := range parts {
		parts[i] = Escape(parts[i])
	}
	return strings.Join(parts, mark())
}

func (s Screen) unmark(text string) string {
	if !s.Colour {
		return text
	}
	return strings.ReplaceAll(text, mark(), "\x1b")
}

// inASCII are the signs that sbx itself prints.
var inASCII = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("·", "-", "…", "...", "–", "-", "—", "-", "→", "->", "“", `"`, "”", `"`, "‘", "'",
		"’", "'", "├─", "|-", "└─", "`-", "│", "|", "─", "-", "≤", "<=", "≥", ">=", "×", "x", "•", "*")
})

// plainWords replaces the signs where the locale has none of them. What is quoted or
// holds a slash is a name, and stays.
func (s Screen) plainWords(text string) string {
	if !s.ASCII || !strings.ContainsFunc(text, func(r rune) bool { return r > 0x7f }) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		n := wordEnd(text)
		if word := text[:n]; strings.ContainsAny(word, `/'"`) {
			b.WriteString(word)
		} else {
			b.WriteString(inASCII().Replace(word))
		}
		rest := strings.TrimLeft(text[n:], " \n\t")
		b.WriteString(text[n : len(text)-len(rest)])
		text = rest
	}
	return b.String()
}
