// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// claudeShell is Claude Code's rule: CLAUDE_CODE_SHELL, then SHELL, each only
// when the text "bash" or "zsh" is somewhere in the path; then zsh and bash of
// PATH and of fixed directories, bash first when SHELL holds "bash". Its settings
// files can set variables, too.
func claudeShell(l *look) Choice {
	l.claudeSettings()
	c := claudeReal(l.World)
	if prefix := l.Get("CLAUDE_CODE_SHELL_PREFIX"); prefix != "" {
		// What follows the last " -" is options; the rest is one path.
		c.Prefix = []string{prefix}
		if i := strings.LastIndex(prefix, " -"); i > 0 {
			c.Prefix = append([]string{prefix[:i]}, strings.Fields(prefix[i:])...)
		}
		c.By = "CLAUDE_CODE_SHELL_PREFIX"
	}
	return c
}

func claudeReal(w *World) Choice {
	known := func(p string) bool { return strings.Contains(p, "bash") || strings.Contains(p, "zsh") }
	if s := w.Get("CLAUDE_CODE_SHELL"); known(s) && w.Exec(s) {
		return Choice{Shell: s, By: "CLAUDE_CODE_SHELL"}
	}
	login := w.Get("SHELL")
	if known(login) && w.Exec(login) {
		return Choice{Shell: login, By: "SHELL"}
	}
	names := []string{"zsh", "bash"}
	if strings.Contains(login, "bash") {
		names = []string{"bash", "zsh"}
	}
	// PATH's of the first kind come before the fixed ones; those of bash come
	// behind unless SHELL says bash.
	list := slices.Concat([]string{w.Look(names[0])}, inSystem(names[0]), inSystem(names[1]),
		[]string{w.Look(names[1])})
	return Choice{Shell: w.first(list...), By: "the first of zsh and bash that it found"}
}

var systemDirs = []string{"/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"}

// inSystem are the files of a name in the directories of the system.
func inSystem(name string) (files []string) {
	for _, dir := range systemDirs {
		files = append(files, dir+"/"+name)
	}
	return files
}

// claudeSettings looks at the settings files. What a command could write, or came
// with the project, may do less than the user's own.
func (l *look) claudeSettings() {
	dir := l.Get("CLAUDE_CONFIG_DIR")
	state := dir + "/.claude.json"
	switch {
	case dir == "":
		dir, state = l.Home+"/.claude", l.Home+"/.claude.json"
	case dir[0] != '/':
		l.refuse("CLAUDE_CONFIG_DIR is "+dir+", which depends on the directory it is read in", "write it from / on")
		return
	}
	const managed = "/etc/claude-code/managed-settings.json"
	own := []string{managed, dir + "/settings.json", dir + "/settings.local.json", state}
	files := slices.Clone(own)
	for _, at := range upward(l.World) {
		files = append(files, path.Join(at, ".claude/settings.local.json"), path.Join(at, ".claude/settings.json"))
	}
	for _, f := range files {
		project := !slices.Contains(own, f) || l.Writable != nil && l.Writable(f)
		doc := l.readJSON(f)
		l.setsEnv(f, doc, project)
		if project {
			l.claudeProject(f, doc)
		}
	}
}

// claudeProject stops at programs that the settings of a project start past the shell.
func (l *look) claudeProject(file string, doc map[string]json.RawMessage) {
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		if starts(key) {
			l.refuse(file+" sets "+key+", a program that the client starts outside",
				"take "+key+" out of "+file+", or put it into your own settings")
		}
	}
	if raw, ok := doc["hooks"]; ok && hasArgs(raw) {
		l.refuse(file+" has a hook with args, which the client starts outside, without a shell",
			"write it as a command line, or put it into your own settings")
	}
}

// starts reports whether a setting of Claude Code's names a program that goes
// past its shell.
func starts(key string) bool {
	return strings.HasSuffix(key, "Helper") || strings.HasSuffix(key, "AuthRefresh") ||
		strings.HasSuffix(key, "CredentialExport") || key == "fileSuggestion"
}

// hasArgs reports whether "args" is a key anywhere in a document that was read.
func hasArgs(raw json.RawMessage) bool {
	var doc any
	if json.Unmarshal(raw, &doc) != nil {
		return true
	}
	var has func(any) bool
	has = func(v any) bool {
		switch v := v.(type) {
		case []any:
			return slices.ContainsFunc(v, has)
		case map[string]any:
			for k, e := range v {
				if k == "args" || has(e) {
					return true
				}
			}
		}
		return false
	}
	return has(doc)
}

// claudeMakes is where the client writes what commands print.
func claudeMakes(uid int) string { return "claude-" + strconv.Itoa(uid) }

// claudeVars: the line that Claude Code would run goes to sbx as one word, and
// so do its hooks and the MCP servers it starts. The shell around it is the
// user's own, which writes the snapshot of aliases and functions at the start.
// If sbx went away, every command would fail: it is in the command line. (A
// CLAUDE_CODE_SHELL that no longer exists is ignored in silence.)
func claudeVars(w *World, p Place) []Var {
	prefix := p.Line
	if prefix == "" { // no place to execute from: servers cannot be started, which shows
		prefix = p.Shells + "/" + claudeLine(w) + " -c"
	}
	return []Var{
		{"CLAUDE_CODE_SHELL", claudeOuter(w, p)},
		{"CLAUDE_CODE_SHELL_PREFIX", prefix},
		{"CLAUDE_CODE_TMPDIR", p.Tmp},
	}
}

// claudeOuter is the shell around the line, which runs outside: the user's own
// if it is the one of the password database or in a directory of the system,
// else the system's of that language. One that only SHELL or PATH name may be a
// project's; and with one of sbx's two walls, one in the other, would hide the
// program that the lines go to.
func claudeOuter(w *World, p Place) string {
	shell := claudeReal(w).Shell
	sbx := path.Dir(shell) == p.Shells || strings.HasPrefix(path.Base(shell), "sbx-")
	if !sbx && (shell == w.Passwd || slices.Contains(systemDirs, path.Dir(shell))) {
		return shell
	}
	name := strings.TrimPrefix(claudeLine(w), "sbx-")
	list := inSystem(name)
	if path.Base(w.Passwd) == name {
		list = append(list, w.Passwd)
	}
	return w.first(list...)
}

// claudeReads are the client's directory, when it is not at its usual place, and
// names in it.
func claudeReads(w *World) []string {
	if dir := w.Get("CLAUDE_CONFIG_DIR"); strings.HasPrefix(dir, "/") {
		return []string{dir, "shell-snapshots", "hooks", "plugins", "skills"}
	}
	return nil
}

// claudeLine is the shell whose language the lines are in.
func claudeLine(w *World) string {
	if strings.Contains(claudeReal(w).Shell, "bash") {
		return "sbx-bash"
	}
	return "sbx-zsh"
}
