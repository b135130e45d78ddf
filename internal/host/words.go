package host

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// tilde shortens a path in the home directory.
func (h *Host) tilde(path string) (rest string, ok bool) {
	if len(h.Homes) > 0 && h.Homes[0] != "/" && policy.Within(path, h.Homes[0]) {
		return path[len(h.Homes[0]):], true
	}
	return path, false
}

func (h *Host) Shown(path string) string {
	if rest, ok := h.tilde(path); ok && policy.Plain("~"+rest) == "~"+rest {
		return "~" + rest
	}
	return policy.Plain(path)
}

// ShellWord is a word as a person can paste it into a shell: nothing in it is
// expanded or run.
func ShellWord(w string) string {
	switch {
	case w != "" && wordSafe(w):
		return w
	case Plain(w):
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

func SingleQuoted(w string) string { return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'" }

func wordSafe(w string) bool {
	return strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-") == ""
}

// Plain reports whether a word can be shown as it is.
func Plain(w string) bool {
	return utf8.ValidString(w) && !strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsPrint(r) })
}
