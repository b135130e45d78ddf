package agents

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// claudeShell is Claude Code's rule: CLAUDE_CODE_SHELL, then SHELL, each only
// when the text "bash" or "zsh" is somewhere in the path; then zsh and bash of
// PATH and of fixed directories, bash first when SHELL holds "bash". Its settings
// files can set variables, too.
func claudeShell(w *World) Choice {
	if c, bad := claudeSettings(w); bad {
		return c
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
	var fixed []string
	for _, n := range names {
		for _, d := range systemDirs {
			fixed = append(fixed, d+"/"+n)
		}
	}
	list := append([]string{w.Look(names[0])}, fixed...)
	list = append(list, w.Look(names[1]))
	return Choice{Shell: w.first(list...), By: "the first of zsh and bash that it found"}
}

// claudeSettings looks at the settings files and returns the refusal. What a
// command could write, or came with the project, may do less than the user's own.
func claudeSettings(w *World) (Choice, bool) {
	dir, state := w.Get("CLAUDE_CONFIG_DIR"), ""
	if dir == "" {
		dir, state = w.Home+"/.claude", w.Home+"/.claude.json"
	} else {
		if !strings.HasPrefix(dir, "/") {
			return Choice{Why: "CLAUDE_CONFIG_DIR is " + dir + ", which depends on the directory it is read in", Fix: "write it from / on"}, true
		}
		state = dir + "/.claude.json"
	}
	own := []string{dir + "/settings.json", dir + "/settings.local.json", state}
	files := append([]string{"/etc/claude-code/managed-settings.json"}, own...)
	for _, at := range upward(w) {
		for _, f := range []string{path.Join(at, ".claude/settings.local.json"), path.Join(at, ".claude/settings.json")} {
			if !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
	}
	for i, f := range files {
		project := i > len(own) || w.Writable != nil && w.Writable(f)
		if c, bad := setsEnv(w, f, project); bad {
			return c, true
		}
		if !project {
			continue
		}
		doc, bad := readJSON(w, f)
		if bad != nil {
			return bad.choice(), true
		}
		for _, key := range slices.Sorted(maps.Keys(doc)) {
			if starts(key) {
				return Choice{
					Why: f + " sets " + key + ", a program that the client starts outside",
					Fix: "take " + key + " out of " + f + ", or put it into your own settings",
				}, true
			}
		}
		if raw, ok := doc["hooks"]; ok && hasArgs(raw) {
			return Choice{
				Why: f + " has a hook with args, which the client starts outside, without a shell",
				Fix: "write it as a command line, or put it into your own settings",
			}, true
		}
	}
	return Choice{}, false
}

// starts reports whether a setting of Claude Code's names a program that goes
// past its shell.
func starts(key string) bool {
	return strings.HasSuffix(key, "Helper") || strings.HasSuffix(key, "AuthRefresh") || strings.HasSuffix(key, "CredentialExport") || key == "fileSuggestion"
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
func claudeMakes(uid int) []string { return []string{"claude-" + strconv.Itoa(uid)} }

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

// claudeOuter is the shell around the line, which runs outside: the user's own
// if it is the one of the password database or in a directory of the system,
// else the system's of that language. One that only SHELL or PATH name may be a
// project's; and with one of sbx's two walls, one in the other, would hide the
// program that the lines go to.
func claudeOuter(w *World, p Place) string {
	shell := claudeReal(w).Shell
	if sbx := path.Dir(shell) == p.Shells || strings.HasPrefix(path.Base(shell), "sbx-"); !sbx && (shell == w.Passwd || slices.Contains(systemDirs, path.Dir(shell))) {
		return shell
	}
	name := strings.TrimPrefix(claudeLine(w), "sbx-")
	var list []string
	for _, dir := range systemDirs {
		list = append(list, dir+"/"+name)
	}
	if passwd := path.Base(w.Passwd); passwd == name {
		list = append(list, w.Passwd)
	}
	return w.first(list...)
}

var systemDirs = []string{"/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"}

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

// geminiShell is Gemini CLI's rule: bash of PATH, in an environment to which it
// adds what files .env set.
func geminiShell(w *World) Choice { return withFiles(w, ".gemini", false) }

// qwenShell: the same, and its settings set variables, too.
func qwenShell(w *World) Choice { return withFiles(w, ".qwen", true) }

func withFiles(w *World, dir string, settings bool) Choice {
	for _, at := range append(upward(w), w.Home) {
		for _, f := range []string{path.Join(at, dir, ".env"), path.Join(at, ".env")} {
			if c, bad := dotenv(w, f, !mine(w, at, f)); bad {
				return c
			}
		}
		f := path.Join(at, dir, "settings.json")
		if !settings {
			if _, bad := readJSON(w, f); bad != nil {
				return bad.choice()
			}
		} else if c, bad := setsEnv(w, f, !mine(w, at, f)); bad {
			return c
		}
	}
	return bashOnPath(w)
}

// bashOnPath is what those do.
func bashOnPath(w *World) Choice {
	if s := w.Look("bash"); s != "" {
		return Choice{Shell: s, By: "bash on PATH"}
	}
	return Choice{Shell: w.first("/bin/bash"), By: "/bin/bash, without one on PATH"}
}

// opencodeShell: shell of its configuration, then SHELL unless that is one it
// does not know how to talk to, then bash of PATH, then /bin/sh.
func opencodeShell(w *World) Choice {
	var found *Choice
	if text := w.Get("OPENCODE_CONFIG_CONTENT"); text != "" {
		doc, err := object(text)
		if err != nil {
			return (&errSettings{"OPENCODE_CONFIG_CONTENT", "is not understood: " + err.Error()}).choice()
		}
		var shell string
		if raw, ok := doc["shell"]; ok && json.Unmarshal(raw, &shell) != nil {
			return (&errSettings{"OPENCODE_CONFIG_CONTENT", "has a shell that is no text"}).choice()
		}
		if shell != "" {
			found = &Choice{Shell: abs(w, shell), By: "shell in OPENCODE_CONFIG_CONTENT"}
		}
	}
	// All are looked at: one that cannot be read is none that can be passed over.
	for _, f := range opencodeFiles(w) {
		v, ok, bad := jsonText(w, f, "shell")
		if bad != nil {
			return bad.choice()
		}
		if ok && (found == nil || strings.HasPrefix(f, "/etc/")) {
			found = &Choice{Shell: abs(w, v), By: "shell in " + f, Fix: "take shell out of " + f}
		}
	}
	if found != nil {
		return *found
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
	for _, dir := range upward(w) {
		add(path.Join(dir, ".opencode"))
		out = append(out, path.Join(dir, "opencode.jsonc"), path.Join(dir, "opencode.json"))
	}
	if f := w.Get("OPENCODE_CONFIG"); f != "" {
		out = append(out, f)
	}
	config := w.Get("XDG_CONFIG_HOME")
	if config == "" {
		config = w.Home + "/.config"
	}
	add(config + "/opencode")
	add("/etc/opencode") // a company's, over all else
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
		v, ok, bad := jsonText(w, f, "shellPath")
		if bad != nil {
			return bad.choice()
		}
		if f != user {
			if c, found := piProject(w, f); found {
				return c
			}
		}
		if ok {
			return Choice{Shell: abs(w, v), By: "shellPath in " + f, Fix: `put "shellPath": "SHELLS/sbx-bash" into ` + f}
		}
	}
	if w.Exec("/bin/bash") {
		return Choice{Shell: "/bin/bash", By: "/bin/bash, without shellPath in its settings", Fix: fix}
	}
	return Choice{Shell: w.first(w.Look("bash"), "/bin/sh"), By: "bash on PATH, without shellPath in its settings", Fix: fix}
}

// piProject stops at what a project's settings take away or start: an empty
// shellPath replaces the user's, and the rest are programs.
func piProject(w *World, file string) (Choice, bool) {
	settings, bad := readJSON(w, file)
	if bad != nil {
		return bad.choice(), true
	}
	for _, key := range []string{"shellPath", "shellCommandPrefix", "npmCommand"} {
		v, there := settings[key]
		if !there || key == "shellPath" && len(v) > 2 && v[0] == '"' {
			continue
		}
		return Choice{Why: file + " sets " + key, Fix: "take " + key + " out of " + file}, true
	}
	return Choice{}, false
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

// aiderShell: SHELL on a terminal; without one always /bin/sh. Files .env and
// .aider.conf.yml of the project come after the environment.
func aiderShell(w *World) Choice {
	if !w.TTY {
		return Choice{Shell: "/bin/sh", By: "no terminal: /bin/sh whatever SHELL says", Why: "aider reads SHELL only on a terminal", Fix: "start it on a terminal"}
	}
	for _, dir := range append(upward(w), w.Home) {
		if c, bad := dotenv(w, path.Join(dir, ".env"), !mine(w, dir, path.Join(dir, ".env"))); bad {
			return c
		}
		for _, n := range []string{".aider.conf.yml", ".aider.conf.yaml"} {
			if c, bad := aiderConf(w, path.Join(dir, n), !mine(w, dir, path.Join(dir, n))); bad {
				return c
			}
		}
	}
	if s := w.Get("SHELL"); w.Exec(s) {
		return Choice{Shell: s, By: "SHELL"}
	}
	return Choice{Shell: "/bin/sh", By: "/bin/sh, without a SHELL that can be executed"}
}

// aiderKeys are what a project may set: models and looks. The others run
// programs, or read files that set variables.
var aiderKeys = []string{
	"model", "weak-model", "editor-model", "editor-edit-format", "edit-format", "reasoning-effort", "thinking-tokens", "architect", "chat-language", "commit-language",
	"map-tokens", "map-refresh", "max-chat-history-tokens", "auto-commits", "dirty-commits", "attribute-author", "attribute-committer", "attribute-co-authored-by", "gitignore", "subtree-only",
	"dark-mode", "light-mode", "pretty", "stream", "code-theme", "show-diffs", "vim", "cache-prompts", "analytics", "check-update", "show-release-notes", "suggest-shell-commands",
}

// aiderConf looks at a file of YAML. Of a project's, no more is taken than lines
// that cannot be read in two ways.
func aiderConf(w *World, file string, project bool) (Choice, bool) {
	text, ok, bad := readText(w, file)
	if bad != nil {
		return bad.choice(), true
	}
	if !ok {
		return Choice{}, false
	}
	if !project {
		for _, word := range []string{"SHELL", "set-env", "env-file"} {
			if strings.Contains(text, word) && !commented(text, word) {
				return Choice{Why: file + " names " + word + ", which can take SHELL's place", Fix: "take " + word + " out of " + file}, true
			}
		}
		return Choice{}, false
	}
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		m := plainLine().FindStringSubmatch(line)
		switch {
		case m == nil:
			return (&errSettings{file, "is not understood: a project's may have lines KEY: VALUE only"}).choice(), true
		case m[1] != "" && !slices.Contains(aiderKeys, m[1]):
			return Choice{Why: file + " sets " + m[1] + ", which may run programs outside or set variables", Fix: "take " + m[1] + " out of " + file + ", or put it into your own ~/.aider.conf.yml"}, true
		}
	}
	return Choice{}, false
}

// plainLine is a comment, an empty line, or a key with a plain value.
var plainLine = sync.OnceValue(func() *regexp.Regexp { // compiled when it is wanted: every start pays for a variable
	return regexp.MustCompile(`^(?:[ ]*(?:#[\t\x20-\x7e\p{L}]*)?|([a-z-]+):[ ]*[A-Za-z0-9_./:@+-]*[ ]*)$`)
})

// commented reports whether a word is in comments alone.
func commented(text, word string) bool {
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if strings.Contains(line, word) && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			return false
		}
	}
	return true
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
