// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// maxNamed bounds how many names a line has.
const maxNamed = 3

// by is the setting of a key and who says so: "moderate: allow_network = false".
func (h *hinter) by(key string) string {
	value, source := h.Setting(key)
	what := key + " = " + text.Plain(value)
	switch {
	case source == "":
		return " (" + what + ")"
	case strings.HasPrefix(source, "--"):
		return " (" + source + ")"
	}
	return " (" + named(source) + ": " + what + ")"
}

// named is the source of a rule: "go, $GOMODCACHE", "/home/u/x y.toml:3:1".
func named(source string) string {
	if text.Printable(source) {
		return source
	}
	return strconv.Quote(source)
}

// rule names one as its file has it.
func (h *hinter) rule(m *view.Rule) string {
	key := listKey(m.Access)
	switch {
	case strings.Contains(m.Source, " = ") || key == "":
		return " (" + m.Source + ")"
	case strings.HasPrefix(m.Source, "--"):
		return " (" + m.Source + " " + h.shown(m.Written) + ")"
	}
	return " (" + named(m.Source) + ": " + key + " " + h.shown(m.Written) + ")"
}

// listKey is the key of a profile by which paths get an access.
func listKey(a policy.Access) string {
	return map[policy.Access]string{
		policy.Read: "readonly_paths", policy.Write: "writable_paths", policy.Protect: "protected_paths",
		policy.Block: "blocked_paths", policy.Private: "private_paths",
	}[a]
}

// outside is the host's name of a path inside.
func (h *hinter) outside(path string) string {
	if h.say.Remap != "" && policy.Within(path, h.say.Remap) {
		return h.say.CWD + path[len(h.say.Remap):]
	}
	return path
}

// tilde shortens a path in the home directory.
func (h *hinter) tilde(path string) (rest string, ok bool) {
	if h.Home != "" && h.Home != "/" && policy.Within(path, h.Home) {
		return path[len(h.Home):], true
	}
	return path, false
}

// shown is a path as people read it.
func (h *hinter) shown(path string) string {
	if rest, ok := h.tilde(path); ok && text.Plain("~"+rest) == "~"+rest {
		return "~" + rest
	}
	return text.Plain(path)
}

// typed is a path as a shell takes it.
func (h *hinter) typed(path string) string {
	if rest, ok := h.tilde(path); ok && (rest == "" || text.ShellWord(rest) == rest) {
		return "~" + rest
	}
	return text.ShellWord(path)
}
