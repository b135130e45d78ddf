package tripwire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
)

// maxSettings bounds the bytes of a State of Settings. A file with more than
// that is a matter of its own.
const maxSettings = 16 << 10

// SettingsOf is the State of a config file with this content.
func SettingsOf(data []byte) string {
	lines := gitdir.Notable(data)
	for i, l := range lines {
		lines[i] = escape(l)
	}
	slices.Sort(lines)
	state := strings.Join(slices.Compact(lines), "/")
	if len(state) > maxSettings {
		return escape("more than 16 KiB of settings: " + sum([]byte(state)))
	}
	return state
}

// escaped are the bytes that separate states and entries, and %.
const escaped = "%/\x00\n"

// escape takes out of a text what separates states and entries.
func escape(s string) string {
	if !strings.ContainsAny(s, escaped) {
		return s
	}
	const hex = "0123456789ABCDEF"
	out := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); i++ {
		if c := s[i]; strings.IndexByte(escaped, c) >= 0 {
			out = append(out, '%', hex[c>>4], hex[c&15])
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}

func unescape(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil && strings.IndexByte(escaped, byte(n)) >= 0 {
				c, i = byte(n), i+2
			}
		}
		out = append(out, c)
	}
	return string(out)
}
