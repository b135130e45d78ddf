package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode"
)

// errSettings is of a settings file that is there and cannot be understood in
// full. The client may understand it all the same, so it is not started.
type errSettings struct{ file, why string }

func (e *errSettings) Error() string { return e.file + " " + e.why }

// choice is the refusal.
func (e *errSettings) choice() Choice {
	return Choice{Why: e.Error(), Fix: "put " + e.file + " right, or remove it"}
}

// readText returns a file of settings as text; ok is false when it is not there.
func readText(w *World, file string) (text string, ok bool, bad *errSettings) {
	text, err := w.Read(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return "", false, nil
	case err != nil:
		return "", false, &errSettings{file, "cannot be read: " + err.Error()}
	}
	return strings.TrimPrefix(text, "\ufeff"), true, nil
}

// readJSON returns the top of a file of JSON, with comments or without. Keys
// are exact, as they are to the clients.
func readJSON(w *World, file string) (map[string]json.RawMessage, *errSettings) {
	text, ok, bad := readText(w, file)
	if !ok || bad != nil {
		return nil, bad
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	doc, err := object(text)
	if err != nil {
		return nil, &errSettings{file, "is not understood: " + err.Error()}
	}
	return doc, nil
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
		return nil, errors.New("it is no object")
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

// jsonText returns a text at the top of a file of JSON; ok is false when there
// is none.
func jsonText(w *World, file, key string) (value string, ok bool, bad *errSettings) {
	doc, bad := readJSON(w, file)
	raw, ok := doc[key]
	if !ok || string(raw) == "null" {
		return "", false, bad
	}
	if json.Unmarshal(raw, &value) != nil {
		return "", false, &errSettings{file, "has a " + key + " that is no text"}
	}
	return value, value != "", nil
}

// plainJSON takes comments and the commas before a closing bracket out.
func plainJSON(text string) string {
	text = strip(text, func(rest string) (skip int, with string) {
		switch {
		case strings.HasPrefix(rest, "//"):
			if n := strings.IndexByte(rest, '\n'); n >= 0 {
				return n, ""
			}
			return len(rest), ""
		case strings.HasPrefix(rest, "/*"):
			if n := strings.Index(rest[2:], "*/"); n >= 0 {
				return n + 4, " "
			}
			return len(rest), ""
		}
		return 0, ""
	})
	return strip(text, func(rest string) (int, string) {
		if rest[0] == ',' && closes(rest[1:]) {
			return 1, ""
		}
		return 0, ""
	})
}

// strip replaces what cut finds outside of strings.
func strip(text string, cut func(rest string) (skip int, with string)) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] == '"' {
			j := i + 1
			for j < len(text) && text[j] != '"' {
				if text[j] == '\\' {
					j++
				}
				j++
			}
			end := min(j+1, len(text))
			b.WriteString(text[i:end])
			i = end
			continue
		}
		n, with := cut(text[i:])
		b.WriteString(with)
		if n == 0 {
			b.WriteByte(text[i])
			n = 1
		}
		i += n
	}
	return b.String()
}

// closes reports whether nothing but a closing bracket comes next.
func closes(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n")
	return rest != "" && (rest[0] == '}' || rest[0] == ']')
}

// Variables that a project's settings may set for a client: names without
// effect on any program. Which names have one cannot be known.
var harmless = []string{
	"ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_*_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL", "CLAUDE_CODE_EFFORT_LEVEL",
	"MAX_THINKING_TOKENS", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "MAX_MCP_OUTPUT_TOKENS", "BASH_MAX_OUTPUT_LENGTH",
	"BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS", "MCP_TIMEOUT", "MCP_TOOL_TIMEOUT", "API_TIMEOUT_MS",
	"DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER", "DISABLE_COST_WARNINGS", "DISABLE_BUG_COMMAND", "DISABLE_PROMPT_CACHING",
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "CLAUDE_CODE_DISABLE_TERMINAL_TITLE", "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR",
	"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "AWS_REGION", "CLOUD_ML_REGION",
	"OPENAI_MODEL", "GEMINI_MODEL", "QWEN_MODEL", "NO_COLOR", "FORCE_COLOR",
}

// Variables that nobody's settings may set: sbx's own, and what makes shells
// and loaders run something else or something first.
var obeyed = []string{
	"SBX_*", "CLAUDE_CODE_SHELL", "CLAUDE_CODE_SHELL_PREFIX", "CLAUDE_CODE_TMPDIR", "CLAUDE_CONFIG_DIR", "GOOSE_SHELL", "OPENCODE_CONFIG*",
	"SHELL", "PATH", "HOME", "TMPDIR", "BASH_ENV", "ENV", "BASH_FUNC_*", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS4", "ZDOTDIR",
	"LD_*", "DYLD_*", "MallocLogFile", "MallocStackLogging*", "GLIBC_TUNABLES", "GCONV_PATH",
}

// Variables besides those that a file .env of a project may not set: node,
// python, git and their like obey them, and so does aider its own.
var obeyedToo = []string{
	"NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "PYTHON*", "PERL5*", "RUBY*", "GIT_*", "SSH_*", "XDG_*", "EDITOR", "VISUAL", "PAGER", "BROWSER",
	"LESSOPEN", "LESSCLOSE", "AIDER_*", "GEMINI_CLI_*", "GEMINI_SANDBOX*", "QWEN_SANDBOX*", "SANDBOX*", "JAVA_TOOL_OPTIONS",
}

func oneOf(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return err == nil && ok
	})
}

// setsEnv looks at the variables that a settings file sets under "env", and
// returns the refusal.
func setsEnv(w *World, file string, project bool) (Choice, bool) {
	doc, bad := readJSON(w, file)
	if bad != nil {
		return bad.choice(), true
	}
	raw, ok := doc["env"]
	if !ok || string(raw) == "null" {
		return Choice{}, false
	}
	env, err := object(string(raw))
	if err != nil {
		return (&errSettings{file, "has an env that is not understood: " + err.Error()}).choice(), true
	}
	names := make([]string, 0, len(env))
	for n := range env {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		switch {
		case oneOf(n, obeyed):
			return Choice{
				Why: file + " sets " + n + ", which the client takes in the place of what it was started with",
				Fix: "take " + n + " out of env in " + file,
			}, true
		case project && !oneOf(n, harmless):
			return Choice{
				Why: file + " sets " + n + ": a project sets variables of a few harmless names only, since programs outside may obey the others",
				Fix: "take " + n + " out of env in " + file + ", or put it into your own settings",
			}, true
		}
	}
	return Choice{}, false
}

var name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`) })

// dotenv looks at a file .env, which a client reads into its environment, and
// returns the refusal. Readers differ in what is a line, a comment and a space:
// a name counts wherever = or : may follow it.
func dotenv(w *World, file string, project bool) (Choice, bool) {
	text, ok, bad := readText(w, file)
	if bad != nil {
		return bad.choice(), true
	}
	if !ok {
		return Choice{}, false
	}
	// Readers do not agree on what is a blank: none but the usual ones, then.
	if i := strings.IndexFunc(text, func(r rune) bool { return (r < ' ' || r == 0x7f) && !strings.ContainsRune("\t\r\n", r) }); i >= 0 {
		return Choice{Why: file + " holds a control character, which readers take in different ways", Fix: "take it out of " + file}, true
	}
	space := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("'\"\ufeff\u180e", r) }
	for _, at := range name().FindAllStringIndex(text, -1) {
		n := text[at[0]:at[1]]
		rest := strings.TrimLeftFunc(text[at[1]:], space)
		sets := strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ":")
		if key, ok := strings.CutPrefix(n, "AIDER_"); ok && slices.Contains(aiderKeys, strings.ReplaceAll(strings.ToLower(key), "_", "-")) {
			continue
		}
		if n == "SHELL" || sets && (oneOf(n, obeyed) || project && oneOf(n, obeyedToo)) {
			return Choice{
				Why: file + " names " + n + ", which the client takes into its environment from there",
				Fix: "take " + n + " out of " + file,
			}, true
		}
	}
	return Choice{}, false
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
func mine(w *World, dir, file string) bool {
	return dir == w.Home && (w.Writable == nil || !w.Writable(file))
}

// First are the variables of an environment that make the shell or the loader of
// a client run something first, outside: those that are taken out, and those
// that lead to where commands may write, which nobody can take out unseen.
func First(w *World) (drop []string, bad, value string) {
	for _, e := range w.Env {
		n, v, ok := strings.Cut(e, "=")
		switch {
		case !ok || v == "":
		case n == "BASH_ENV" || n == "ENV":
			drop = append(drop, n)
		case oneOf(n, []string{"LD_*", "DYLD_*", "ZDOTDIR", "NODE_OPTIONS", "NODE_PATH", "PYTHONPATH", "PYTHONHOME", "GCONV_PATH"}) && leads(w, n, v):
			bad, value = n, v
		}
	}
	return drop, bad, value
}

// leads reports whether a path in a value is one that commands may write. An
// empty or relative one counts from the working directory.
func leads(w *World, name, value string) bool {
	if name == "NODE_OPTIONS" && !strings.ContainsAny(value, "/.") { // numbers and switches
		return false
	}
	for _, p := range strings.FieldsFunc(value+" ", func(r rune) bool { return r == ':' || r == ' ' || r == '=' || r == ';' || r == ',' }) {
		if strings.HasPrefix(p, "-") || strings.HasPrefix(p, "$") {
			continue
		}
		if !strings.HasPrefix(p, "/") {
			if !strings.Contains(p, "/") && !strings.HasPrefix(p, ".") && name != "PYTHONPATH" && name != "NODE_PATH" && name != "ZDOTDIR" {
				continue // a name that is looked up
			}
			p = path.Join(w.CWD, p)
		}
		if w.Writable != nil && w.Writable(path.Clean(p)) {
			return true
		}
	}
	return strings.HasSuffix(name, "_LIBRARY_PATH") && (strings.HasPrefix(value, ":") || strings.HasSuffix(value, ":") || strings.Contains(value, "::"))
}
