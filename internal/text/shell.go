// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ValidName reports whether s is at most 64 letters and digits of ASCII, with others
// after the first byte.
func ValidName(s, others string) bool {
	for i := range len(s) {
		c := s[i]
		plain := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		if !plain && (i == 0 || strings.IndexByte(others, c) < 0) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// ShellWord writes any bytes but NUL as one word that a person can paste into a
// shell: nothing in it is expanded or run, nor obeyed by the terminal.
func ShellWord(w string) string {
	switch {
	case w != "" && shellSafe(w) && !strings.HasSuffix(w, ","): // else it would end a line to paste in a text
		return w
	case Printable(w):
		return SingleQuoted(w)
	}
	// A shell that does not know $'…' reads the same as a dollar sign and a word
	// in single quotes, so no quote may stand in it.
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(w) {
		if c := w[i]; c >= ' ' && c < 0x7f && c != '\'' && c != '\\' && c != '!' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'\\', '0' + c>>6, '0' + c>>3&7, '0' + c&7})
		}
	}
	return b.String() + "'"
}

// ShellLine quotes words so that a person can paste them into a shell.
func ShellLine(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = ShellWord(w); out[i] == w && (w[0] == '=' || i == 0 && w[0] != '-' && strings.Contains(w, "=")) {
			out[i] = "'" + w + "'" // else it might be an assignment, or =x a path for zsh
		}
	}
	return strings.Join(out, " ")
}

// SingleQuoted writes a text as a shell has it between single quotes.
func SingleQuoted(w string) string { return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'" }

// Printable reports whether a text can be shown as it is.
func Printable(w string) bool {
	return utf8.ValidString(w) && !strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsPrint(r) })
}

// shellSafe reports whether a text means itself to each shell, be it a word or a
// part of one.
func shellSafe(w string) bool {
	return strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-") == ""
}
