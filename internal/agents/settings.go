// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode"
)

// look is a client's view of the world, and the first refusal because of what its
// settings say. After one the answers no longer count.
type look struct {
	*World
	refused *Choice
}

// refuse is for a client that is not started.
func (l *look) refuse(why, fix string) {
	if l.refused == nil {
		l.refused = &Choice{Why: why, Fix: fix}
	}
}

// unreadable refuses because of settings that are there and cannot be understood in
// full. The client may understand them all the same.
func (l *look) unreadable(file, why string) {
	l.refuse(file+" "+why, "put "+file+" right, or remove it")
}

// readText returns a file of settings as text, "" when it does not exist.
func (l *look) readText(file string) string {
	text, err := l.Read(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return ""
	}
	if err != nil {
		l.unreadable(file, "cannot be read: "+err.Error())
	}
	return strings.TrimPrefix(text, "\ufeff")
}

// readJSON returns the top of a file of JSON, with comments or without. Keys
// are exact, as they are to the clients.
func (l *look) readJSON(file string) map[string]json.RawMessage {
	text := l.readText(file)
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return l.parse(file, text)
}

func (l *look) parse(file, text string) map[string]json.RawMessage {
	doc, err := object(text)
	if err != nil {
		l.unreadable(file, "is not understood: "+err.Error())
	}
	return doc
}

// object reads one object of JSON. What two readers may take differently is an
// error: a key that is there twice, a line that ends where only some see it end.
func object(text string) (map[string]json.RawMessage, error) {
	if !json.Valid([]byte(text)) { // comments
		if strings.ContainsAny(strings.ReplaceAll(text, "\r\n", "\n"), "\r\u2028\u2029\u0085\x00") {
			return nil, errors.New("it has comments, and a line end that not all readers take for one")
		}
		text = plainJSON(text)
	}
	doc := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(strings.NewReader(text))
	if _, err := dec.Token(); err != nil || doc == nil {
		return nil, errors.New("it is not an object")
	}
	for seen := map[string]bool{}; dec.More(); {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := tok.(string)
		if seen[key] || key == "__proto__" {
			return nil, fmt.Errorf("%q is there twice, or no key at all", key)
		}
		seen[key] = true
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// textOf returns a text at the top of a file of JSON, "" when there is none.
func (l *look) textOf(file string, doc map[string]json.RawMessage, key string) (value string) {
	if raw, ok := doc[key]; ok && json.Unmarshal(raw, &value) != nil {
		l.unreadable(file, "has a "+key+" that is no text")
	}
	return value
}

// plainJSON takes comments and the commas before a closing bracket out. What
// stands between quotes stays, a text without an end to the end of the file.
func plainJSON(text string) string {
	text = comment().ReplaceAllStringFunc(text, func(part string) string {
		switch {
		case part[0] == '"':
			return part
		case part[1] == '*' && len(part) > 3 && strings.HasSuffix(part, "*/"):
			return " "
		}
		return ""
	})
	return comma().ReplaceAllStringFunc(text, func(part string) string {
		return strings.TrimPrefix(part, ",")
	})
}

const quoted = `"(?:[^"\\]|\\.)*(?:"|\\?\z)`

var (
	comment = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)` + quoted + `|//[^\n]*|/\*.*?(?:\*/|\z)`)
	})
	comma = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)` + quoted + `|,[ \t\r\n]*[}\]]`) })
	name  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`) })
)

// Variables that a project's settings may set for a client: names without
// effect on any program. Which names have one cannot be known.
var harmless = []string{
	"ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_*_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL",
	"CLAUDE_CODE_EFFORT_LEVEL", "MAX_THINKING_TOKENS", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "MAX_MCP_OUTPUT_TOKENS",
	"BASH_MAX_OUTPUT_LENGTH", "BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS", "MCP_TIMEOUT", "MCP_TOOL_TIMEOUT",
	"API_TIMEOUT_MS", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER",
	"DISABLE_COST_WARNINGS", "DISABLE_BUG_COMMAND", "DISABLE_PROMPT_CACHING",
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "CLAUDE_CODE_DISABLE_TERMINAL_TITLE",
	"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR", "CLAUDE_CODE_USE_BEDROCK",
	"CLAUDE_CODE_USE_VERTEX", "AWS_REGION", "CLOUD_ML_REGION", "OPENAI_MODEL", "GEMINI_MODEL", "QWEN_MODEL",
	"NO_COLOR", "FORCE_COLOR",
}

// Variables that no settings may set: sbx's own, and what makes shells
// and loaders run something else or something first.
var obeyed = []string{
	"SBX_*", "CLAUDE_CODE_SHELL", "CLAUDE_CODE_SHELL_PREFIX", "CLAUDE_CODE_TMPDIR", "CLAUDE_CONFIG_DIR", "GOOSE_SHELL",
	"OPENCODE_CONFIG*", "SHELL", "PATH", "HOME", "TMPDIR", "BASH_ENV", "ENV", "BASH_FUNC_*", "SHELLOPTS", "BASHOPTS",
	"PROMPT_COMMAND", "PS4", "ZDOTDIR", "LD_*", "DYLD_*", "MallocLogFile", "MallocStackLogging*", "GLIBC_TUNABLES",
	"GCONV_PATH",
}

// Variables besides those that a file .env of a project may not set: node,
// python, git and their like obey them, and so does aider its own.
var obeyedToo = []string{
	"NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "PYTHON*", "PERL5*", "RUBY*", "GIT_*", "SSH_*", "XDG_*",
	"EDITOR", "VISUAL", "PAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "AIDER_*", "GEMINI_CLI_*", "GEMINI_SANDBOX*",
	"QWEN_SANDBOX*", "SANDBOX*", "JAVA_TOOL_OPTIONS",
}

func oneOf(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return err == nil && ok
	})
}

// setsEnv looks at the variables that settings set under "env".
func (l *look) setsEnv(file string, doc map[string]json.RawMessage, project bool) {
	raw, ok := doc["env"]
	if !ok || string(raw) == "null" {
		return
	}
	env, err := object(string(raw))
	if err != nil {
		l.unreadable(file, "has an env that is not understood: "+err.Error())
	}
	for _, n := range slices.Sorted(maps.Keys(env)) {
		switch {
		case oneOf(n, obeyed):
			l.refuse(file+" sets "+n+", which the client uses instead of what it was started with",
				"take "+n+" out of env in "+file)
		case project && !oneOf(n, harmless):
			l.refuse(file+" sets "+n+
				": a project sets variables of a few harmless names only, since programs outside may obey the others",
				"take "+n+" out of env in "+file+", or put it into your own settings")
		}
	}
}

// dotenv looks at a file .env, which a client reads into its environment. Readers
// differ in what is a line, a comment and a space: a name counts wherever = or :
// may follow it.
func (l *look) dotenv(file string, project bool) {
	text := l.readText(file)
	// Readers do not agree on what is a blank: none but the usual ones, then.
	odd := func(r rune) bool { return (r < ' ' || r == 0x7f) && !strings.ContainsRune("\t\r\n", r) }
	if strings.ContainsFunc(text, odd) {
		l.refuse(file+" holds a control character, which readers take in different ways", "take it out of "+file)
	}
	space := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("'\"\ufeff\u180e", r) }
	for _, at := range name().FindAllStringIndex(text, -1) {
		n := text[at[0]:at[1]]
		rest := strings.TrimLeftFunc(text[at[1]:], space)
		sets := strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ":")
		key, ok := strings.CutPrefix(n, "AIDER_")
		if ok && slices.Contains(aiderKeys, strings.ReplaceAll(strings.ToLower(key), "_", "-")) {
			continue
		}
		if n == "SHELL" || sets && (oneOf(n, obeyed) || project && oneOf(n, obeyedToo)) {
			l.refuse(file+" names "+n+", which the client takes into its environment from there",
				"take "+n+" out of "+file)
		}
	}
}

// upward are the directories from the working directory to the top.
func upward(w *World) []string {
	var out []string
	for dir := w.CWD; ; dir = path.Dir(dir) {
		out = append(out, dir)
		if dir == "/" || dir == "." {
			return out
		}
	}
}

// mine reports whether a file is the user's own: not one of a project, and none
// that a command could have written.
func (l *look) mine(dir, file string) bool {
	return dir == l.Home && (l.Writable == nil || !l.Writable(file))
}

// First are the variables of an environment that make the shell or the loader of
// a client run something first, outside: those that are taken out, and those
// that lead to where commands may write, which cannot be taken out unseen.
func First(w *World) (drop []string, bad, value string) {
	for _, e := range w.Env {
		n, v, ok := strings.Cut(e, "=")
		switch {
		case !ok || v == "":
		case n == "BASH_ENV" || n == "ENV":
			drop = append(drop, n)
		case oneOf(n, loading) && leads(w, n, v):
			bad, value = n, v
		}
	}
	return drop, bad, value
}

// loading are variables with paths of what loaders, shells and interpreters read.
var loading = []string{
	"LD_*", "DYLD_*", "ZDOTDIR", "NODE_OPTIONS", "NODE_PATH", "PYTHONPATH", "PYTHONHOME", "GCONV_PATH",
}

// leads reports whether a path in a value is one that commands may write. An
// empty or relative one counts from the working directory.
func leads(w *World, name, value string) bool {
	if name == "NODE_OPTIONS" && !strings.ContainsAny(value, "/.") { // numbers and switches
		return false
	}
	for _, p := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(": =;,", r) }) {
		if strings.HasPrefix(p, "-") || strings.HasPrefix(p, "$") {
			continue
		}
		if !strings.HasPrefix(p, "/") {
			here := name == "PYTHONPATH" || name == "NODE_PATH" || name == "ZDOTDIR"
			if !here && !strings.Contains(p, "/") && !strings.HasPrefix(p, ".") {
				continue // a name that is looked up
			}
			p = path.Join(w.CWD, p)
		}
		if w.Writable != nil && w.Writable(path.Clean(p)) {
			return true
		}
	}
	return strings.HasSuffix(name, "_LIBRARY_PATH") && strings.Contains(":"+value+":", "::")
}
