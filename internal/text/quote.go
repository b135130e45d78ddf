// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Plain shows s as it is when it is an ordinary word, quoted otherwise.
func Plain(s string) string {
	if s == "" || !Printable(s) || strings.ContainsAny(s, ` "'\`) {
		return strconv.Quote(s)
	}
	return s
}

// Escape makes a text that may quote anything harmless to a terminal: characters
// that drive it, hide or reorder text become \u202e as in JSON, bytes that are no
// UTF-8 \x9b. Newline and tab stay.
func Escape(s string) string {
	bad := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) && r != '\n' && r != '\t' }
	if !strings.ContainsFunc(s, bad) {
		return s
	}
	var b strings.Builder
	for i, size := 0, 0; i < len(s); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !bad(r) || r == utf8.RuneError:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Nearest returns the known word that word was probably meant to be, or "".
// At most a third of its letters may differ.
func Nearest(word string, known []string) string { return Within(word, known, max(len(word)/3, 1)) }

// Within returns the nearest known word of which at most so many letters differ, or "".
func Within(word string, known []string, most int) string {
	best, limit := "", most+1
	if len(word) > 64 {
		return ""
	}
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < limit {
			best, limit = k, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete, replace or swap.
func distance(a, b string) int {
	prev2, prev := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, cur
	}
	return prev[len(b)]
}
