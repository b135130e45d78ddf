// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// Hints says whether and how a failure is explained. A hint is one line on
// standard error after a command has failed, about what the policy probably had
// to do with it (package hint). What sbx knows outside, and the sandbox does not,
// goes with the plan.
type Hints struct {
	On     bool
	Config bool     // remedies are keys of the config file: the caller has no flags
	Tool   string   // the shim whose name sbx was called by, whose words are all the tool's
	Agent  string   // remedies are flags of sbx agent, with which this client is started; "" for none
	Locked []string // keys that the administrator lets no one loosen

	Terminal bool // standard error is one

	// These are filled in by the plan.
	Flags      bool     // SBX_FLAGS is set
	ConfigDir  string   // where the config file is; "" without Config
	Lost       []string // directories of PATH that the command does not have
	Remap, CWD string   // the working directory inside and outside; "" for the same
	Made       []string // links that sbx makes in private directories
	Husky      string   // the command's variable HUSKY
	Root       string   // of the project, where it is above the working directory

	// These are process 1's, at the end.
	Left  []string // private directories that hold more than at the start
	First int      // the number of the command's process
	Until int64    // when to end looking at them, on the monotonic clock
}

// HintWords are the hints as words for process 1, nil for none. Vanishing is of
// [Run.Vanishing].
func (r *Run) HintWords(vanishing []string) []string {
	say, h := r.Request.Hints, r.Host
	if !say.On || len(r.Request.Command) == 0 {
		return nil
	}
	words := append(make([]string, 0, 8), "hints=1")
	add := func(key, value string) {
		if value != "" {
			words = append(words, key+"="+value)
		}
	}
	if say.Config {
		words = append(words, "config="+h.Config)
	}
	add("tool", say.Tool)
	add("agent", say.Agent)
	for _, key := range say.Locked {
		add("locked", key)
	}
	flags, _ := host.LookupEnv(h.Environ, "SBX_FLAGS")
	if say.Tool != "" && flags != "" {
		add("flags", "1")
	}
	husky, _ := host.LookupEnv(r.Env, "HUSKY")
	add("husky", husky)
	if root := r.Request.Root; root != h.CWD {
		add("root", root)
	}
	if r.mayWarn(r.Request.Command) {
		words = append(words, pid1.HintAlways)
	}
	outer, _ := host.LookupEnv(h.Environ, "PATH")
	inner, _ := host.LookupEnv(r.Env, "PATH")
	if outer != inner {
		for _, dir := range lostDirs(outer, inner) {
			add("lost", dir)
		}
	}
	if at := r.View.Inside(h.CWD); at != h.CWD {
		add("remap", at)
		add("cwd", h.CWD)
	}
	for _, l := range r.View.Links {
		if policy.WithinAny(l.Path, vanishing...) {
			add("made", l.Path)
		}
	}
	return words
}

// Vanishing are the directories whose content ends with the sandbox and may be missed:
// the home directory, those above the project, and those for temporary files.
func (r *Run) Vanishing() (dirs []string) {
	home, _ := host.LookupEnv(r.Env, "HOME") // env_set may have another one
	above := append([]string{home, r.Host.CWD}, r.Host.Homes...)
	for i := range r.View.Entries {
		m := &r.View.Entries[i]
		if m.Access != policy.Private || m.Redundant {
			continue
		}
		holds := func(dir string) bool { return policy.Within(dir, m.Path) }
		if m.Path == "/tmp" || m.Path == "/var/tmp" || slices.ContainsFunc(above, holds) {
			dirs = append(dirs, m.Path)
		}
	}
	return dirs
}

// PortsHint is what to say of ports that are open only inside, "" where that is not
// looked at.
func (r *Run) PortsHint() string {
	say := r.Request.Hints
	switch {
	case r.Policy.Network || !say.Terminal:
		return ""
	case slices.Contains(say.Locked, "allow_network"), slices.Contains(say.Locked, "default_profile"):
		return " (the administrator has locked allow_network)"
	case say.Config:
		return " (allow_network = true in a profile shares the network)"
	case say.Tool != "":
		return " (SBX_FLAGS=--net " + text.ShellWord(say.Tool) + " … shares the network)"
	}
	return " (--net shares the network)"
}

// mayWarn reports whether a command may end with 0 though not all is as it says: git, or
// what runs it, that could not write its configuration or replace a file; cargo, which
// installs elsewhere.
func (r *Run) mayWarn(command []string) bool {
	guarded := slices.ContainsFunc(r.View.Entries,
		func(m view.Entry) bool { return strings.HasPrefix(m.Rule.Source, "git = ") })
	switch name := path.Base(command[0]); {
	case name == "cargo":
		return len(command) > 1 && command[1] == "install"
	case !guarded:
		return false
	case slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, name):
		return len(command) == 1 || slices.Contains([]string{"install", "i", "ci", "add"}, command[1])
	case name != "git":
		i := slices.IndexFunc(command, func(w string) bool { return strings.Contains(w, "git ") })
		if i < 0 {
			return false
		}
		command = strings.Fields(command[i])
	}
	return slices.ContainsFunc(command, func(w string) bool {
		return slices.Contains([]string{"checkout", "switch", "branch", "merge", "pull", "rebase", "reset", "stash",
			"restore", "cherry-pick", "revert", "am", "deinit", "-u", "--set-upstream"}, w)
	})
}

// lostDirs are the first directories of a PATH that another one has no more.
func lostDirs(outer, inner string) (lost []string) {
	kept := strings.Split(inner, ":")
	for dir := range strings.SplitSeq(outer, ":") {
		if strings.HasPrefix(dir, "/") && !slices.Contains(kept, dir) && !slices.Contains(lost, filepath.Clean(dir)) {
			lost = append(lost, filepath.Clean(dir))
		}
		if len(lost) == 4 {
			break
		}
	}
	return lost
}

// ParseHints reads the words that process 1 was given.
func ParseHints(words []string) (say Hints) {
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "hints":
			say.On = true
		case "config":
			say.Config, say.ConfigDir = true, value
		case "tool":
			say.Tool = value
		case "agent":
			say.Agent = value
		case "locked":
			say.Locked = append(say.Locked, value)
		case "flags":
			say.Flags = true
		case "lost":
			say.Lost = append(say.Lost, value)
		case "remap":
			say.Remap = value
		case "cwd":
			say.CWD = value
		case "husky":
			say.Husky = value
		case "root":
			say.Root = value
		case "made":
			say.Made = append(say.Made, value)
		case "left":
			say.Left = append(say.Left, value)
		case "first":
			say.First, _ = strconv.Atoi(value)
		case "until":
			say.Until, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return say
}
