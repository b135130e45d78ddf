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

const (
	neverWritable = " and is never made writable"
	ownFiles      = ": sbx keeps its own files there, and that is never made writable"
)

// setting is how a switch or a number is changed: a flag, or a key of the config
// file; "" where the administrator has locked it.
func (h *hinter) setting(flag, key, value string) string {
	switch {
	case h.locked(key):
		return ""
	case h.say.Agent != "" && flag == "--net": // sbx agent has that, too
		return "sbx agent " + flag + " " + h.say.Agent
	case h.say.Config:
		return key + " = " + value + h.inConfig()
	}
	return h.flags(flag)
}

// change says what a setting does, or that it is locked.
func (h *hinter) change(flag, key, value, does string) string {
	if remedy := h.setting(flag, key, value); remedy != "" {
		return ": " + remedy + does
	}
	return isLocked
}

// flags is how flags are given: before a shim's own name they stand in SBX_FLAGS.
func (h *hinter) flags(flag string) string {
	if h.say.Tool == "" {
		return flag
	}
	had := ""
	if h.say.Flags {
		had, flag = `"$SBX_FLAGS"`, " "+flag
	}
	return "SBX_FLAGS=" + had + text.SingleQuoted(flag) + " " + text.ShellWord(h.say.Tool) + " …"
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
// keeps, and what that does.
func (h *hinter) remedy(to, path string, access policy.Access, m *view.Rule, does string) string {
	flag, key := "-r ", "readonly_paths"
	if to == "write" {
		flag, key = "-w ", "writable_paths"
	}
	path = h.outside(path)
	typed := flag + h.typed(path)
	switch {
	case to == "write" && h.sbxOwn(path):
		return ownFiles
	case h.locked(key, listKey(access)):
		return isLocked
	case h.say.Agent != "":
		return ": sbx agent " + typed + " " + h.say.Agent + does
	case !h.say.Config && h.say.Tool != "" && !text.Printable(path):
		return ": sbx " + typed + " -- " + text.ShellWord(h.say.Tool) + " …" + does
	case !h.say.Config:
		return ": " + h.flags(typed) + does
	case m != nil && m.Written == path && (m.Access == policy.Block || m.Access == policy.Protect):
		return ": no configuration file can undo that; sbx " + typed + " -- COMMAND does" // at one path the tighter rule wins
	case !text.Printable(path):
		return ": sbx " + typed + " -- COMMAND" + does // not every file can hold that name
	}
	return ": " + key + " = [" + strconv.Quote(strings.ReplaceAll(path, "$", "$$")) + "]" + h.inConfig() + does
}

// sbxOwn reports whether sbx keeps files in a directory.
func (h *hinter) sbxOwn(path string) bool {
	rest, ok := h.tilde(path)
	return ok && slices.ContainsFunc(strings.Fields("/.local/share /.local/state /.cache /.config"), func(dir string) bool {
		return policy.Within(rest, dir+"/sbx")
	})
}
