package agents

import (
	"encoding/json"
	"path"
	"strings"
)

// claudeShell is Claude Code's rule: CLAUDE_CODE_SHELL, then SHELL, each only
// when the text "bash" or "zsh" is somewhere in the path; then zsh and bash of
// PATH and of fixed directories, bash first when SHELL holds "bash". Its settings
// files can set variables, too.
func claudeShell(w *World) Choice {
	if file, name := claudeSettings(w); file != "" {
		return Choice{
			Why: file + " sets " + name + ", which the client takes in the place of what it was started with",
			Fix: "take " + name + " out of env in " + file,
		}
	}
	c := claudeReal(w)
	if prefix := w.Get("CLAUDE_CODE_SHELL_PREFIX"); prefix != "" {
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
	dirs := []string{"/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"}
	var fixed []string
	for _, n := range names {
		for _, d := range dirs {
			fixed = append(fixed, d+"/"+n)
		}
	}
	list := append([]string{w.Look(names[0])}, fixed...)
	list = append(list, w.Look(names[1]))
	return Choice{Shell: w.first(list...), By: "the first of zsh and bash that it found"}
}

// claudeSettings returns a settings file that sets a variable that decides
// about the shell, and the variable.
func claudeSettings(w *World) (file, name string) {
	dir := w.Get("CLAUDE_CONFIG_DIR")
	if dir == "" {
		dir = w.Home + "/.claude"
	}
	files := []string{"/etc/claude-code/managed-settings.json", dir + "/settings.json", dir + "/settings.local.json"}
	for at := w.CWD; ; at = path.Dir(at) {
		files = append(files, at+"/.claude/settings.local.json", at+"/.claude/settings.json")
		if at == "/" || at == "." {
			break
		}
	}
	for _, f := range files {
		var doc struct {
			Env map[string]any `json:"env"`
		}
		if !readJSON(w, f, &doc) {
			continue
		}
		for _, n := range []string{"CLAUDE_CODE_SHELL_PREFIX", "CLAUDE_CODE_SHELL", "SHELL", "PATH", "TMPDIR", "CLAUDE_CODE_TMPDIR", "SBX_SESSION", "SBX_ROOT"} {
			if _, ok := doc.Env[n]; ok {
				return f, n
			}
		}
	}
	return "", ""
}

// claudeVars: the line that Claude Code would run goes to sbx as one word, and
// so do its hooks and the MCP servers it starts. The shell around it is the
// user's own, which writes the snapshot of aliases and functions at the start.
// If sbx went away, every command would fail: it is in the command line. (A
// CLAUDE_CODE_SHELL that is not there any more is passed over without a word.)
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

// claudeOuter is the user's own shell: where the client would take one of sbx's
// already, since SHELL or PATH say so, the real one of that language. Two walls,
// one in the other, would hide the program that the lines go to.
func claudeOuter(w *World, p Place) string {
	shell := claudeReal(w).Shell
	if path.Dir(shell) != p.Shells && !strings.HasPrefix(path.Base(shell), "sbx-") {
		return shell
	}
	name := strings.TrimPrefix(claudeLine(w), "sbx-")
	return w.first("/bin/"+name, "/usr/bin/"+name, "/usr/local/bin/"+name, "/opt/homebrew/bin/"+name)
}

// claudeReads is where the snapshots are when the client's directory is not at
// its usual place.
func claudeReads(w *World) []string {
	if dir := w.Get("CLAUDE_CONFIG_DIR"); strings.HasPrefix(dir, "/") {
		return []string{dir + "/shell-snapshots", dir + "/hooks", dir + "/plugins", dir + "/skills"}
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

// codexShell is Codex's rule: the shell of the password database when it is
// bash, zsh or sh; else bash of PATH, else /bin/bash. The model can name another
// with each command, which no rule catches.
func codexShell(w *World) Choice {
	switch path.Base(w.Passwd) {
	case "bash", "zsh", "sh":
		return Choice{Shell: w.Passwd, By: "the password database", Why: "the model can name another shell"}
	}
	c := bashOnPath(w)
	c.Why = "the model can name another shell"
	return c
}

// bashOnPath is the rule of Gemini CLI and Qwen Code.
func bashOnPath(w *World) Choice {
	if s := w.Look("bash"); s != "" {
		return Choice{Shell: s, By: "bash on PATH"}
	}
	return Choice{Shell: w.first("/bin/bash"), By: "/bin/bash, without one on PATH"}
}

// opencodeShell: shell of its configuration, then SHELL unless that is one it
// does not know how to talk to, then bash of PATH, then /bin/sh.
func opencodeShell(w *World) Choice {
	var inline struct {
		Shell string `json:"shell"`
	}
	if json.Unmarshal([]byte(w.Get("OPENCODE_CONFIG_CONTENT")), &inline) == nil && inline.Shell != "" {
		return Choice{Shell: abs(w, inline.Shell), By: "shell in OPENCODE_CONFIG_CONTENT"}
	}
	for _, f := range opencodeFiles(w) {
		if v, ok := jsonText(w, f, "shell"); ok {
			return Choice{Shell: abs(w, v), By: "shell in " + f, Fix: "take shell out of " + f}
		}
	}
	switch s := w.Get("SHELL"); path.Base(s) {
	case "fish", "nu", ".":
	default:
		if w.Exec(s) {
			return Choice{Shell: s, By: "SHELL"}
		}
	}
	if s := w.Look("bash"); s != "" {
		return Choice{Shell: s, By: "bash on PATH"}
	}
	return Choice{Shell: w.first("/bin/sh"), By: "/bin/sh"}
}

// opencodeFiles are where its configuration may be, what counts most first.
func opencodeFiles(w *World) []string {
	var out []string
	add := func(dir string) {
		for _, n := range []string{"opencode.jsonc", "opencode.json", "config.json"} {
			out = append(out, dir+"/"+n)
		}
	}
	if dir := w.Get("OPENCODE_CONFIG_DIR"); dir != "" {
		add(dir)
	}
	for dir := w.CWD; ; dir = path.Dir(dir) {
		add(dir + "/.opencode")
		out = append(out, dir+"/opencode.jsonc", dir+"/opencode.json")
		if dir == "/" || dir == "." {
			break
		}
	}
	if f := w.Get("OPENCODE_CONFIG"); f != "" {
		out = append(out, f)
	}
	config := w.Get("XDG_CONFIG_HOME")
	if config == "" {
		config = w.Home + "/.config"
	}
	add(config + "/opencode")
	return out
}

// opencodeVars: SHELL is enough, but a configuration in the project can say
// something else; the one in the variable comes after those.
func opencodeVars(w *World, p Place) []Var {
	shell := p.Shells + "/" + dialect(w.Get("SHELL"))
	if dialect(shell) == "fish" {
		shell = p.Shells + "/bash"
	}
	doc := map[string]any{}
	if text := w.Get("OPENCODE_CONFIG_CONTENT"); text != "" && json.Unmarshal([]byte(text), &doc) != nil {
		return []Var{{"SHELL", shell}} // comments, or nonsense: what is in force then is seen by Choose
	}
	doc["shell"] = shell
	text, err := json.Marshal(doc)
	if err != nil {
		return []Var{{"SHELL", shell}}
	}
	return []Var{{"SHELL", shell}, {"OPENCODE_CONFIG_CONTENT", string(text)}}
}

// piShell: shellPath of the project's settings, then of the user's; /bin/bash;
// bash of PATH.
func piShell(w *World) Choice {
	dir := w.Get("PI_CODING_AGENT_DIR")
	if dir == "" {
		dir = w.Home + "/.pi/agent"
	}
	user := dir + "/settings.json"
	fix := `pi knows no variable for it: put "shellPath": "SHELLS/sbx-bash" into ` + user
	for _, f := range []string{w.CWD + "/.pi/settings.json", user} {
		if v, ok := jsonText(w, f, "shellPath"); ok {
			return Choice{Shell: abs(w, v), By: "shellPath in " + f, Fix: `put "shellPath": "SHELLS/sbx-bash" into ` + f}
		}
	}
	if w.Exec("/bin/bash") {
		return Choice{Shell: "/bin/bash", By: "/bin/bash, without shellPath in its settings", Fix: fix}
	}
	return Choice{Shell: w.first(w.Look("bash"), "/bin/sh"), By: "bash on PATH, without shellPath in its settings", Fix: fix}
}

// gooseShell: GOOSE_SHELL, then bash of PATH, then sh.
func gooseShell(w *World) Choice {
	if s := w.Get("GOOSE_SHELL"); s != "" {
		if !strings.Contains(s, "/") {
			s = w.Look(s)
		}
		return Choice{Shell: s, By: "GOOSE_SHELL"}
	}
	if s := w.Look("bash"); s != "" {
		return Choice{Shell: s, By: "bash on PATH"}
	}
	return Choice{Shell: w.first(w.Look("sh"), "/bin/sh"), By: "sh on PATH"}
}

func gooseVars(_ *World, p Place) []Var { return []Var{{"GOOSE_SHELL", p.Shells + "/bash"}} }

// aiderShell: SHELL on a terminal; without one always /bin/sh. A .env file of
// the project comes after the environment.
func aiderShell(w *World) Choice {
	if !w.TTY {
		return Choice{Shell: "/bin/sh", By: "no terminal: /bin/sh whatever SHELL says", Why: "aider reads SHELL only on a terminal", Fix: "start it on a terminal"}
	}
	for dir := w.CWD; ; dir = path.Dir(dir) {
		if v, ok := envFile(w, dir+"/.env", "SHELL"); ok {
			return Choice{Shell: v, By: "SHELL in " + dir + "/.env", Fix: "take SHELL out of " + dir + "/.env"}
		}
		if dir == "/" || dir == "." {
			break
		}
	}
	if v, ok := envFile(w, w.Home+"/.env", "SHELL"); ok {
		return Choice{Shell: v, By: "SHELL in " + w.Home + "/.env", Fix: "take SHELL out of " + w.Home + "/.env"}
	}
	if s := w.Get("SHELL"); w.Exec(s) {
		return Choice{Shell: s, By: "SHELL"}
	}
	return Choice{Shell: "/bin/sh", By: "/bin/sh, without a SHELL that can be executed"}
}

func aiderVars(w *World, p Place) []Var { return shellVar(w, p) }

func shellVar(w *World, p Place) []Var {
	return []Var{{"SHELL", p.Shells + "/" + dialect(w.Get("SHELL"))}}
}

// cursorShell is what others saw: SHELL when its last element is bash or zsh.
func cursorShell(w *World) Choice {
	switch s := w.Get("SHELL"); path.Base(s) {
	case "bash", "zsh":
		return Choice{Shell: s, By: "SHELL"}
	}
	return bashOnPath(w)
}

func fixedShell(file string) func(*World) Choice {
	return func(*World) Choice { return Choice{Shell: file, By: file + ", always"} }
}

// abs is the program that a setting names.
func abs(w *World, s string) string {
	switch {
	case strings.HasPrefix(s, "~/"):
		return w.Home + s[1:]
	case !strings.Contains(s, "/"):
		return w.Look(s)
	case s[0] != '/':
		return path.Join(w.CWD, s)
	}
	return s
}
