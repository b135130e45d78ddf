// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// maxNamed bounds how many names a line has.
const maxNamed = 3

const (
	neverWritable = " and is never made writable"
	ownFiles      = ": sbx keeps its own files there, and that is never made writable"
)

// The beginnings of what to type.
const (
	allow    = "; to allow: "
	ifExists = "; to allow, if it exists: "
	secretTo = "; to let the command see the secret: "
)

// change says how a switch or a number is changed, by a flag or a key of the config
// file; or that the administrator has locked it.
func (h *hinter) change(flag, key, value, to string) string {
	switch {
	case h.locked(key):
		return isLocked
	case h.say.Config && (h.say.Agent == "" || flag != "--net"): // sbx agent has that, too
		return to + key + " = " + value + h.inConfig()
	}
	return to + h.line("", flag)
}

// line is what to type for the run with more flags, after another command.
func (h *hinter) line(first, flags string) string {
	line, whole := h.say.Line(flags, h.words)
	switch {
	case first != "" && whole:
		return first + " && " + line
	case first != "":
		return first + ", then " + line
	}
	return line
}

func (h *hinter) inConfig() string {
	if h.say.ConfigDir == "" {
		return " in a profile"
	}
	return " in a profile in " + h.shown(h.say.ConfigDir+"/config.toml")
}

// locked reports whether the administrator lets no one loosen one of the keys.
func (h *hinter) locked(keys ...string) bool {
	return slices.ContainsFunc(h.say.Locked, func(k string) bool {
		return k == "default_profile" || slices.Contains(keys, k)
	})
}

const isLocked = "; the administrator has locked that"

// remedy is how a path, by its name inside, is opened that a rule with an access
// keeps: "to write" or "to read" it, or to make it with a command first.
func (h *hinter) remedy(how, path string, access policy.Access, m *view.Rule, to string) string {
	flag, key := "-r ", "readonly_paths"
	if how != "read" {
		flag, key = "-w ", "writable_paths"
	}
	path = h.outside(path)
	typed, first := h.typed(path), ""
	if how != "read" && how != "write" {
		first = how + " " + typed
	}
	switch {
	case flag == "-w " && h.sbxOwn(path):
		return ownFiles
	case h.locked(key, listKey(access)):
		return isLocked
	case !h.say.Config || h.say.Agent != "":
		return to + h.line(first, flag+typed)
	case m != nil && m.Written == path && (m.Access == policy.Block || m.Access == policy.Protect):
		return "; no configuration file can undo that" + to + h.line(first, flag+typed) // at one path the tighter rule wins
	case !text.Printable(path): // not every file can hold that name
		return to + h.line(first, flag+typed)
	}
	if first != "" {
		to += first + ", then "
	}
	return to + key + " = [" + strconv.Quote(strings.ReplaceAll(path, "$", "$$")) + "]" + h.inConfig()
}

// sbxOwn reports whether sbx keeps files in a directory.
func (h *hinter) sbxOwn(path string) bool {
	rest, ok := h.tilde(path)
	dirs := strings.Fields("/.local/share/sbx /.local/state/sbx /.cache/sbx /.config/sbx")
	return ok && slices.ContainsFunc(dirs, func(dir string) bool { return policy.Within(rest, dir) })
}

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

// typed is a path as a shell takes it: relative to the working directory where that is
// shorter than by the home directory.
func (h *hinter) typed(path string) string {
	typed, cwd := text.ShellWord(path), h.outside(h.CWD)
	if rest, ok := h.tilde(path); ok && (rest == "" || text.ShellWord(rest) == rest) {
		typed = "~" + rest
	}
	if path == cwd && !h.say.Config {
		return "."
	}
	for _, dir := range []string{cwd, policy.Dir(cwd)} {
		rest, ok := strings.CutPrefix(path, dir+"/")
		if !ok || h.say.Config {
			continue
		}
		if dir != cwd {
			rest = "../" + rest
		} else if strings.ContainsAny(rest[:1], "-~") {
			rest = "./" + rest
		}
		if near := text.ShellWord(rest); len(near) < len(typed) {
			return near
		}
	}
	return typed
}
