package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sbx-sandbox/sbx/internal/text"
	"mvdan.cc/sh/v3/syntax"
)

// shellLine quotes words so that a person can paste them into a shell.
func shellLine(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		q, err := syntax.Quote(w, syntax.LangBash)
		if err != nil {
			q = text.Quote(w)
		} else if strings.ContainsFunc(w, func(r rune) bool { return r == utf8.RuneError || r > 0x7f && !unicode.IsPrint(r) }) {
			q = byBytes(w)
		}
		out[i] = q
	}
	return strings.Join(out, " ")
}

// byBytes quotes a word with characters that no terminal should get. syntax.Quote
// writes them as \u202e, which a shell understands in a locale of UTF-8 only, and
// \x may swallow a digit after it.
func byBytes(w string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i, r := range w {
		size := utf8.RuneLen(r)
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(w[i:], "\uFFFD"):
			size = 1
			fallthrough
		case !unicode.IsPrint(r):
			for _, c := range []byte(w[i : i+size]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + "'"
}
