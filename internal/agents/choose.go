// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// geminiShell is Gemini CLI's rule: bash of PATH, in an environment to which it
// adds what files .env set. Qwen Code's settings set variables, too.
func (l *look) geminiShell(dir string, settings bool) Choice {
	for _, at := range append(upward(l.World), l.Home) {
		for _, f := range []string{path.Join(at, dir, ".env"), path.Join(at, ".env")} {
			l.dotenv(f, !l.mine(at, f))
		}
		f := path.Join(at, dir, "settings.json")
		if doc := l.readJSON(f); settings {
			l.setsEnv(f, doc, !l.mine(at, f))
		}
	}
	return l.bash(Choice{Shell: l.first("/bin/bash"), By: "/bin/bash, without one on PATH"})
}

// bash is bash of PATH, or what a client takes without one.
func (w *World) bash(without Choice) Choice {
	if s := w.Look("bash"); s != "" {
		return Choice{Shell: s, By: "bash on PATH"}
	}
	return without
}

// opencodeShell: shell of its configuration, then SHELL unless that is one it
// does not know how to talk to, then bash of PATH, then /bin/sh.
func opencodeShell(l *look) Choice {
	var found *Choice
	const content = "OPENCODE_CONFIG_CONTENT"
	if text := l.Get(content); text != "" {
		if shell := l.textOf(content, l.parse(content, text), "shell"); shell != "" {
			found = &Choice{Shell: abs(l.World, shell), By: "shell in " + content}
		}
	}
	// All are looked at: one that cannot be read is none that can be passed over.
	for _, f := range opencodeFiles(l.World) {
		v := l.textOf(f, l.readJSON(f), "shell")
		if v != "" && (found == nil || strings.HasPrefix(f, "/etc/")) {
			found = &Choice{Shell: abs(l.World, v), By: "shell in " + f, Fix: "take shell out of " + f}
		}
	}
	if found != nil {
		return *found
	}
	switch s := l.Get("SHELL"); path.Base(s) {
	case "fish", "nu", ".":
	default:
		if l.Exec(s) {
			return Choice{Shell: s, By: "SHELL"}
		}
	}
	return l.bash(Choice{Shell: l.first("/bin/sh"), By: "/bin/sh"})
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
	add(cmp.Or(w.Get("XDG_CONFIG_HOME"), w.Home+"/.config") + "/opencode")
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
	vars, doc := []Var{{"SHELL", shell}}, map[string]any{}
	if text := w.Get("OPENCODE_CONFIG_CONTENT"); text != "" && json.Unmarshal([]byte(text), &doc) != nil {
		return vars // comments, or nonsense: what is in force then is seen by Choose
	}
	doc["shell"] = shell
	if text, err := json.Marshal(doc); err == nil {
		vars = append(vars, Var{"OPENCODE_CONFIG_CONTENT", string(text)})
	}
	return vars
}

// piShell: shellPath of the project's settings, then of the user's; /bin/bash;
// bash of PATH.
func piShell(l *look) Choice {
	user := cmp.Or(l.Get("PI_CODING_AGENT_DIR"), l.Home+"/.pi/agent") + "/settings.json"
	for _, f := range []string{l.CWD + "/.pi/settings.json", user} {
		doc := l.readJSON(f)
		v := l.textOf(f, doc, "shellPath")
		if f != user {
			l.piProject(f, doc)
		}
		if v != "" {
			return Choice{Shell: abs(l.World, v), By: "shellPath in " + f,
				Fix: `put "shellPath": "SHELLS/sbx-bash" into ` + f}
		}
	}
	fix := `pi knows no variable for it: put "shellPath": "SHELLS/sbx-bash" into ` + user
	if l.Exec("/bin/bash") {
		return Choice{Shell: "/bin/bash", By: "/bin/bash, without shellPath in its settings", Fix: fix}
	}
	shell := l.first(l.Look("bash"), "/bin/sh")
	return Choice{Shell: shell, By: "bash on PATH, without shellPath in its settings", Fix: fix}
}

// piProject stops at what a project's settings take away or start: an empty
// shellPath replaces the user's, and the rest are programs.
func (l *look) piProject(file string, settings map[string]json.RawMessage) {
	for _, key := range []string{"shellPath", "shellCommandPrefix", "npmCommand"} {
		if v, there := settings[key]; there && (key != "shellPath" || len(v) <= 2 || v[0] != '"') {
			l.refuse(file+" sets "+key, "take "+key+" out of "+file)
		}
	}
}

// gooseShell: GOOSE_SHELL, then bash of PATH, then sh.
func gooseShell(l *look) Choice {
	if s := l.Get("GOOSE_SHELL"); s != "" {
		if !strings.Contains(s, "/") {
			s = l.Look(s)
		}
		return Choice{Shell: s, By: "GOOSE_SHELL"}
	}
	return l.bash(Choice{Shell: l.first(l.Look("sh"), "/bin/sh"), By: "sh on PATH"})
}

func gooseVars(_ *World, p Place) []Var { return []Var{{"GOOSE_SHELL", p.Shells + "/bash"}} }

// aiderShell: SHELL on a terminal; without one always /bin/sh. Files .env and
// .aider.conf.yml of the project come after the environment.
func aiderShell(l *look) Choice {
	if !l.TTY {
		return Choice{
			Shell: "/bin/sh", By: "no terminal: /bin/sh whatever SHELL says",
			Why: "aider reads SHELL only on a terminal", Fix: "start it on a terminal",
		}
	}
	for _, dir := range append(upward(l.World), l.Home) {
		env := path.Join(dir, ".env")
		l.dotenv(env, !l.mine(dir, env))
		for _, n := range []string{".aider.conf.yml", ".aider.conf.yaml"} {
			f := path.Join(dir, n)
			l.aiderConf(f, !l.mine(dir, f))
		}
	}
	if s := l.Get("SHELL"); l.Exec(s) {
		return Choice{Shell: s, By: "SHELL"}
	}
	return Choice{Shell: "/bin/sh", By: "/bin/sh, without a SHELL that can be executed"}
}

// aiderKeys are what a project may set: models and looks. The others run
// programs, or read files that set variables.
var aiderKeys = []string{
	"model", "weak-model", "editor-model", "editor-edit-format", "edit-format", "reasoning-effort", "thinking-tokens",
	"architect", "chat-language", "commit-language", "map-tokens", "map-refresh", "max-chat-history-tokens",
	"auto-commits", "dirty-commits", "attribute-author", "attribute-committer", "attribute-co-authored-by",
	"gitignore", "subtree-only", "dark-mode", "light-mode", "pretty", "stream", "code-theme", "show-diffs", "vim",
	"cache-prompts", "analytics", "check-update", "show-release-notes", "suggest-shell-commands",
}

// aiderConf looks at a file of YAML. Of a project's, no more is taken than lines
// that cannot be read in two ways.
func (l *look) aiderConf(file string, project bool) {
	text := l.readText(file)
	if !project {
		for _, word := range []string{"SHELL", "set-env", "env-file"} {
			if strings.Contains(text, word) && !commented(text, word) {
				l.refuse(file+" names "+word+", which can take SHELL's place", "take "+word+" out of "+file)
			}
		}
		return
	}
	for _, line := range strings.Split(text, "\n") {
		m := plainLine().FindStringSubmatch(strings.TrimSuffix(line, "\r"))
		switch {
		case m == nil:
			l.unreadable(file, "is not understood: a project's may have lines KEY: VALUE only")
		case m[1] != "" && !slices.Contains(aiderKeys, m[1]):
			l.refuse(file+" sets "+m[1]+", which may run programs outside or set variables",
				"take "+m[1]+" out of "+file+", or put it into your own ~/.aider.conf.yml")
		}
	}
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

func shellVar(w *World, p Place) []Var {
	return []Var{{"SHELL", p.Shells + "/" + dialect(w.Get("SHELL"))}}
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
