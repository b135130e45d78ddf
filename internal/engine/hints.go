// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/credentials"
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

	Screen text.Screen // of standard error
	Typed  []string    // what stands between sbx, or sbx agent, and the command, as it was typed
	Skip   int         // how many words of the command were not typed behind --; -1 when the line is not repeated

	// These are filled in by the plan.
	Flags      string   // SBX_FLAGS, where a shim was called
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

// words are the parts that process 1 is given, by their names.
func (say *Hints) words() []hintWord {
	return []hintWord{{"tool", &say.Tool}, {"agent", &say.Agent}, {"locked", &say.Locked}, {"flags", &say.Flags},
		{"skip", &say.Skip}, {"typed", &say.Typed}, {"husky", &say.Husky}, {"root", &say.Root}, {"lost", &say.Lost},
		{"remap", &say.Remap}, {"cwd", &say.CWD}, {"made", &say.Made},
		{"left", &say.Left}, {"columns", &say.Screen.Width}, {"first", &say.First}, {"until", &say.Until}}
}

type hintWord struct {
	key   string
	value any // a pointer to a string, to a list of them, or to a number
}

// HintWords are the hints as words for process 1, nil for none. Vanishing is of
// [Run.Vanishing].
func (r *Run) HintWords(vanishing []string) []string {
	say, h := r.Request.Hints, r.Host
	if !say.On || len(r.Request.Command) == 0 {
		return nil
	}
	words := append(make([]string, 0, 8), "hints=1")
	for _, flag := range []struct {
		set  bool
		word string
	}{{say.Screen.Colour, pid1.HintColour}, {say.Screen.ASCII, "ascii=1"}, {say.Config, "config=" + h.Config},
		{r.mayWarn(r.Request.Command), pid1.HintAlways}} {
		if flag.set {
			words = append(words, flag.word)
		}
	}
	say.Screen.Width = 0 // process 1 asks for it at the end
	flags, _ := host.LookupEnv(h.Environ, "SBX_FLAGS")
	if say.Tool != "" {
		say.Flags = flags
	}
	if credentials.InLine(text.ShellLine(say.Typed)) || credentials.InLine(flags) {
		say.Typed, say.Skip = nil, -1 // not for ps either
	}
	say.Husky, _ = host.LookupEnv(r.Env, "HUSKY")
	if root := r.Request.Root; root != h.CWD {
		say.Root = root
	}
	outer, _ := host.LookupEnv(h.Environ, "PATH")
	inner, _ := host.LookupEnv(r.Env, "PATH")
	if outer != inner {
		say.Lost = lostDirs(outer, inner)
	}
	if at := r.View.Inside(h.CWD); at != h.CWD {
		say.Remap, say.CWD = at, h.CWD
	}
	for _, l := range r.View.Links {
		if policy.WithinAny(l.Path, vanishing...) {
			say.Made = append(say.Made, l.Path)
		}
	}
	for _, w := range say.words() {
		switch v := w.value.(type) {
		case *string:
			if *v != "" {
				words = append(words, w.key+"="+*v)
			}
		case *int:
			if *v != 0 {
				words = append(words, w.key+"="+strconv.Itoa(*v))
			}
		case *[]string:
			for _, value := range *v {
				words = append(words, w.key+"="+value)
			}
		}
	}
	return words
}

// maxLine bounds, in bytes, a line that is repeated for people.
const maxLine = 200

// Line is what to type for the same run with more flags, which are quoted already: the
// whole line, or where they go when it is long or may hold a credential.
func (say *Hints) Line(flags string, command []string) (line string, whole bool) {
	typed, of := say.split(flags)
	command = command[min(max(say.Skip, 0), len(command)):]
	switch {
	case say.Agent != "":
		return say.whole("sbx agent", typed, flags, []string{say.Agent})
	case say.Tool != "" && !strings.Contains(flags, "$'"): // which SBX_FLAGS does not know
		return say.whole("SBX_FLAGS="+text.SingleQuoted(strings.TrimSpace(say.Flags+" "+flags)), nil, "", command)
	case len(command) > 0:
		of = slices.Concat(of, []string{"--"}, command)
	}
	return say.whole("sbx", typed, flags, of)
}

// Redo is what to type for another command under the same flags and more.
func (say *Hints) Redo(flags string, command []string) string {
	typed, _ := say.split(flags)
	rest := append([]string{"--"}, command...)
	if line, whole := say.whole("sbx", typed, flags, rest); !whole && (say.Skip < 0 || credentials.InLine(line)) {
		return line
	}
	return join("sbx", text.ShellLine(typed), flags, text.ShellLine(rest))
}

func (say *Hints) whole(start string, typed []string, flags string, rest []string) (line string, whole bool) {
	line = join(start, text.ShellLine(typed), flags, text.ShellLine(rest))
	why := ""
	switch {
	case say.Skip < 0:
	case credentials.InLine(strings.Join(slices.Concat(typed, rest), " ")):
		why = ": it may hold a password"
	case len(line) > maxLine:
		why = ": it is long"
	default:
		return line, true
	}
	where := " in front of"
	if flags != "" {
		start, where = flags, " right after "+start+" in"
	}
	return "add " + start + where + " the same line (not repeated here" + why + ")", false
}

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// split takes the string for a shell out of what was typed, and the flag that more
// replaces, where it has a single value.
func (say *Hints) split(more string) (flags, of []string) {
	name, _, _ := strings.Cut(more, " ")
	if slices.Contains([]string{"--git", "--seccomp", "--memory", "--procs", "--file-size"}, name) {
		for i := slices.Index(say.Typed, name); i >= 0; i = slices.Index(say.Typed, name) {
			say.Typed = slices.Concat(say.Typed[:i], say.Typed[min(i+2, len(say.Typed)):])
		}
	}
	for i, w := range say.Typed {
		if w == "-c" || w == "--command" || strings.HasPrefix(w, "--command=") {
			end := min(i+2, len(say.Typed))
			if strings.Contains(w, "=") {
				end = i + 1
			}
			return slices.Concat(say.Typed[:i], say.Typed[end:]), say.Typed[i:end]
		}
	}
	return say.Typed, nil
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
	case r.Policy.Network || !say.Screen.Terminal:
		return ""
	case slices.Contains(say.Locked, "allow_network"), slices.Contains(say.Locked, "default_profile"):
		return " (the administrator has locked allow_network)"
	case say.Config:
		return " (allow_network = true in a profile shares the network)"
	}
	line, _ := say.Line("--net", r.Request.Command)
	return " (to share the network: " + line + ")"
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
	parts := say.words()
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "hints":
			say.On = true
		case "config":
			say.Config, say.ConfigDir = true, value
		case "ascii":
			say.Screen.ASCII = true
		}
		if i := slices.IndexFunc(parts, func(w hintWord) bool { return w.key == key }); i >= 0 {
			switch v := parts[i].value.(type) {
			case *string:
				*v = value
			case *int:
				*v, _ = strconv.Atoi(value)
			case *int64:
				*v, _ = strconv.ParseInt(value, 10, 64)
			case *[]string:
				*v = append(*v, value)
			}
		}
	}
	say.Screen.Width = text.Width(say.Screen.Width)
	return say
}
