// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"slices"
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

// escaped takes out of a text what separates states and entries.
var (
	escaped   = strings.NewReplacer("%", "%25", "/", "%2F", "\x00", "%00", "\n", "%0A")
	unescaped = strings.NewReplacer("%25", "%", "%2F", "/", "%00", "\x00", "%0A", "\n")
)

func escape(s string) string   { return escaped.Replace(s) }
func unescape(s string) string { return unescaped.Replace(s) }
