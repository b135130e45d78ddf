// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sbx-sandbox/sbx/internal/ptytest"
)

// hostile is a name with all that a terminal obeys, hides or reorders: C0, DEL, C1
// (as a letter and as a byte), a colour, a title, bidi controls, zero width, the
// mark of the byte order, line separators, a tag, a byte that is no UTF-8, and a
// line that pretends to be sbx's.
const hostile = "x\u009b7m\x9b7m\x1b[7m\x1b]0;t\x07\x7f\b\r\nFORGED\n\u202a\u202e\u2066\u2069\u200e\u200f\u061c\u200b\u200d\u2060\ufeff\u2028\u2029\u00ad\U000e0001\xffy"

// hostileUTF8 is the same for what has to be UTF-8.
var hostileUTF8 = strings.ToValidUTF8(hostile, "")

// ownColours are the sequences that sbx itself writes.
var ownColours = regexp.MustCompile(`\x1b\[(0|1|2|31|32|33|36)m`)

// harm finds what must not have arrived at a terminal.
func harm(out []byte) string {
	out = ownColours.ReplaceAll(out, nil)
	for i := 0; i < len(out); {
		r, size := utf8.DecodeRune(out[i:])
		if r == utf8.RuneError && size == 1 || r != '\r' && r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return strconv.QuoteToASCII(string(out[max(0, i-40):min(len(out), i+40)]))
		}
		i += size
	}
	if m := regexp.MustCompile(`(?m)\r[^\r\n]|^FORGED`).FindIndex(out); m != nil {
		return strconv.QuoteToASCII(string(out[max(0, m[0]-40):min(len(out), m[1]+40)]))
	}
	return ""
}

func TestHarm(t *testing.T) {
	for _, text := range []string{"\x1b[35m", "\u009b", "\x9b", "a\rb", "a\r\nFORGED", "\u202e", "\u200b", "\x7f", "\U000e0001", "\x1b"} {
		if harm([]byte(text)) == "" {
			t.Errorf("%q passes", text)
		}
	}
	if h := harm([]byte("\x1b[31mbad\x1b[0m\r\n\tü\r\n")); h != "" {
		t.Error(h)
	}
}

// TestOneWayOut: nothing in this package writes to standard output but output.go.
func TestOneWayOut(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	decides, err := filepath.Glob("../../internal/app/*.go")
	if err != nil || len(decides) < 10 {
		t.Fatal(decides, err)
	}
	for _, name := range append(files, decides...) {
		if strings.HasSuffix(name, "_test.go") || name == "output.go" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if m := regexp.MustCompile(`os\.Stdout|fmt\.Print|\bprintln?\(|Write\(1,`).Find(text); m != nil {
			t.Errorf("%s: %s goes past stdout, which escapes what a terminal would obey", name, m)
		}
	}
}

// hostileWorld is a project in which all has hostile names.
func hostileWorld(t *testing.T) (w *world, proj string) {
	w = newWorld(t)
	proj = filepath.Join(w.dir, "proj", hostile)
	quoted, err := json.Marshal(hostileUTF8) // in TOML the same escapes count
	if err != nil {
		t.Fatal(err)
	}
	q := strings.ReplaceAll(string(quoted), "\x7f", `\u007f`)
	in := func(name string) string { return "proj/" + hostile + "/" + name }
	w.write(t, in(hostile), "x")
	w.write(t, in(".env"+hostile), "secret")
	w.write(t, in(".sbx.toml"), "default_profile = \"h\"\n[profiles.h]\nextends = [\"moderate\"]\nblocked_paths = [\"$CWD/"+q[1:]+"]\nprotected_paths = [\"$CWD/"+q[1:]+"]\nenv_set = { H = "+q+" }\n")
	w.write(t, "home/.config/sbx/config.toml", "[profiles.own]\nextends = [\"moderate\"]\nblocked_paths = [\"~/"+q[1:]+"]\nenv_set = { H = "+q+" }\n")
	w.write(t, in(".claude/settings.json"), `{"env":{`+string(quoted)+`:"1"}}`)
	w.write(t, in("opencode.json"), `{"shell":`+string(quoted)+`}`)
	w.write(t, in(".aider.conf.yml"), "env-file: "+string(quoted)+"\n")
	w.write(t, in(".gemini/settings.json"), `{`+string(quoted)+`:{}}`)
	w.write(t, in("bad.toml"), "[profiles."+q+"]\nextends = ["+q+"]\n"+q+" = 1\n")
	w.write(t, in("bad.hcl"), "profile "+q+" {\n "+hostileUTF8+"\n}\n")
	w.write(t, in("rules.json"), `{"defaultAction":`+string(quoted)+`}`)
	for _, name := range []string{"claude", "opencode", "aider", "gemini", "npm"} {
		w.write(t, "home/bin/"+name, "#!/bin/sh\n")
		if err := os.Chmod(filepath.Join(w.dir, "home/bin", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.write(t, in("run"), "#!/"+hostile+"\n")
	if err := os.Chmod(filepath.Join(proj, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.env = append(slices.DeleteFunc(slices.Clone(w.env), func(kv string) bool { return strings.HasPrefix(kv, "TERM=") }),
		"TERM=xterm", "SHELL=/bin/sh", hostile+"="+hostile, "H_TOKEN="+hostile, "KUBECONFIG="+proj+"/"+hostile)
	return w, proj
}

// TestHostileNames runs every command of sbx on a terminal, in a project whose
// files, profiles, settings, variables and arguments have hostile names. Nothing of
// these reaches the terminal as it is, and where names are shown, they are
// recognizable.
func TestHostileNames(t *testing.T) {
	needBwrap(t)
	t.Parallel()
	w, proj := hostileWorld(t)
	// A run that leaves something new under a hostile name.
	if out, said, status := w.run(proj, "sbx", "-q", "--", "sh", "-c", `git init -q . 2>/dev/null; mkdir -p .vscode; git init -q "$1"; git -C "$1" config core.fsmonitor "$1"; printf %s "$1" >"$1/.git/hooks/pre-commit"; chmod 755 "$1/.git/hooks/pre-commit"; printf '{"%s":1}' "$1" >.vscode/tasks.json`, "sh", "d"+hostile); status != 0 {
		t.Fatal(out, said)
	}
	bare, other := append(slices.Clone(w.env), "HOME="+filepath.Join(w.dir, hostile)), append(slices.Clone(w.env), "SBX_PROFILE="+hostile)
	if err := os.Mkdir(filepath.Join(w.dir, hostile), 0o700); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		words string // H is the hostile name
		shows bool   // it, in some form
		env   []string
		keys  string
	}{
		{words: "-n -- echo H", shows: true},
		{words: "-n --json -- echo H", shows: true},
		{words: "-n -v -- ./H", shows: true},
		{words: "-n --direct -- echo H", shows: true},
		{words: "-n --engine landlock -- echo H", shows: true},
		{words: "-n --engine landlock --json -- echo H", shows: true},
		{words: "-n --engine sandbox-exec -- echo H", shows: true},
		{words: "-n --engine sandbox-exec --json -- echo H", shows: true},
		{words: "-n -w H -r /H --block H --env H=H -- true", shows: true},
		{words: "-v -w H -- true", shows: true},
		{words: "-v --log-level debug -- true", shows: true},
		{words: "-- H", shows: true},
		{words: "-- ./H", shows: true},
		{words: "-- ./run", shows: true},
		{words: "--direct -- ./run", shows: true},
		{words: "--engine landlock -- ./run", shows: true},
		{words: "--argv0 H -- ./run", shows: true},
		{words: "--no-sandbox -- ./H", shows: true},
		{words: "--no-sandbox -- rm -rf /H"},
		{words: "-- cat .envH", shows: true},
		{words: "-- sh -c exit\t3 H"},
		{words: "-p H -- true", shows: true},
		{words: "-p strict,H -- true", shows: true},
		{words: "--H -- true", shows: true},
		{words: "H", shows: true},
		{words: "-w nosuch/H -- true", shows: true},
		{words: "--engine H -- true", shows: true},
		{words: "--min-tier H -- true", shows: true},
		{words: "--workspace H -- true", shows: true},
		{words: "--workspace /H -- ./run", shows: true},
		{words: "--seccomp ./H -- true", shows: true},
		{words: "--seccomp rules.json -- true", shows: true},
		{words: "--timeout H -- true", shows: true},
		{words: "--memory H -- true", shows: true},
		{words: "--keep-fd H -- true", shows: true},
		{words: "--config H -- true", shows: true},
		{words: "--config bad.toml -- true", shows: true},
		{words: "--config bad.hcl -- true"},
		{words: "-- true", env: other, shows: true},
		{words: "-- true", env: append(slices.Clone(w.env), "SBX_FLAGS=--"+hostile), shows: true},
		{words: "-- true", env: append(slices.Clone(w.env), "SBX_ENGINE="+hostile), shows: true},
		{words: "-n -- true", env: bare, shows: true},
		{words: "status", env: bare, shows: true},
		{words: "explain", env: bare, shows: true},
		{words: "doctor", env: bare},
		{words: "explain", shows: true},
		{words: "explain --json", shows: true},
		{words: "explain --engine landlock", shows: true},
		{words: "explain -w H H", shows: true},
		{words: "why H", shows: true},
		{words: "why --json H", shows: true},
		{words: "why .envH", shows: true},
		{words: "why nosuch/H", shows: true},
		{words: "why env H", shows: true},
		{words: "why var H", shows: true},
		{words: "why host H", shows: true},
		{words: "why --engine landlock .envH", shows: true},
		{words: "why --engine sandbox-exec .envH", shows: true},
		{words: "status", shows: true},
		{words: "status --json", shows: true},
		{words: "tripwire", shows: true, keys: "q\r"},
		{words: "tripwire list", shows: true, keys: "s\r\x04\x04"},
		{words: "tripwire list --json", shows: true},
		{words: "tripwire accept H", shows: true},
		{words: "tripwire remove H", shows: true},
		{words: "profiles", shows: true},
		{words: "profiles list --json", shows: true},
		{words: "profiles show own", shows: true},
		{words: "profiles show own --flat", shows: true},
		{words: "profiles show h", shows: true},
		{words: "profiles show H", shows: true},
		{words: "profiles diff own moderate"},
		{words: "profiles diff --json own moderate"},
		{words: "profiles diff H moderate", shows: true},
		{words: "trust", shows: true, keys: "n\r"},
		{words: "trust H", shows: true},
		{words: "trust bad.toml"},
		{words: "trust --json", shows: true},
		{words: "trust -y", shows: true},
		{words: "trust --list", shows: true},
		{words: "trust --list --json", shows: true},
		{words: "untrust H", shows: true},
		{words: "untrust", shows: true},
		{words: "doctor"},
		{words: "doctor --json"},
		{words: "config", shows: true},
		{words: "config show --json", shows: true},
		{words: "config check"},
		{words: "config check --json .sbx.toml"},
		{words: "config check H bad.toml bad.hcl", shows: true},
		{words: "config check --json H bad.toml bad.hcl", shows: true},
		{words: "schema"},
		{words: "cache", shows: true},
		{words: "cache list --json", shows: true},
		{words: "cache clean xH", shows: true, keys: "n\r"},
		{words: "cache clean H", keys: "n\r"},
		{words: "doctor H", shows: true},
		{words: "doctor --min-tier H", shows: true},
		{words: "doctor claude", shows: true},
		{words: "doctor --json claude", shows: true},
		{words: "doctor opencode", shows: true},
		{words: "doctor aider"},
		{words: "doctor gemini"},
		{words: "agent H", shows: true},
		{words: "agent --list"},
		{words: "agent -n claude H", shows: true},
		{words: "agent -n opencode H", shows: true},
		{words: "agent -n aider H", shows: true},
		{words: "agent -n gemini H", shows: true},
		{words: "agent -p H claude", shows: true},
		{words: "agent --print-env gemini", shows: true},
		{words: "init --H", shows: true},
		{words: "init H", shows: true},
		{words: "init"},
		{words: "init --project"},
		{words: "shim add H", shows: true},
		{words: "shim add npm"},
		{words: "shim remove H", shows: true},
		{words: "shim list"},
		{words: "shim list --json"},
		{words: "shim doctor H", shows: true},
		{words: "activate H", shows: true},
		{words: "alias H", shows: true},
		{words: "alias bash H", shows: true},
		{words: "completion H", shows: true},
		{words: "completion bash"},
		{words: "man H", shows: true},
		{words: "man", env: append(slices.Clone(w.env), "TERM=dumb")}, // else man shows it
		{words: "help H", shows: true},
		{words: "help"},
		{words: "version"},
		{words: "version --json"},
		{words: "xH", shows: true},
		{words: "explaiH", shows: true},
		{words: "--neH x", shows: true},
		{words: "-cH x y", shows: true},
		{words: "–H x", shows: true},
		{words: "x –H -- y"},
		{words: "npm --H -- ci", shows: true},
		{words: "--net statuH", shows: true},
		{words: "--timeout=H x", shows: true},
		{words: "explain H", shows: true},
		{words: "explain --H", shows: true},
		{words: "--version"},
		{words: "--help"},
		{words: "verify -p H", shows: true},
		{words: "verify -v", shows: true},
		{words: "verify --json", shows: true},
	}
	ran := map[string]bool{}
	for i, c := range cases {
		words := strings.Split(c.words, " ")
		ran[words[0]] = true
		for i := range words {
			words[i] = strings.ReplaceAll(strings.ReplaceAll(words[i], "\t", " "), "H", hostile)
		}
		cmd := exec.Command(sbxPath, words...)
		if i%2 == 1 { // lines are broken
			cmd = exec.Command("sh", append([]string{"-c", `stty cols 24; exec "$@"`, "sh", sbxPath}, words...)...)
		}
		cmd.Dir, cmd.Env = proj, slices.Concat(w.env, []string{"PWD=" + proj})
		if c.env != nil {
			cmd.Env = c.env
		}
		out := ptytest.Output(t, cmd, c.keys)
		if h := harm(out); h != "" {
			t.Errorf("sbx %s: on the terminal: %s", c.words, h)
		}
		if bytes.Contains(out, []byte("goroutine ")) {
			t.Errorf("sbx %s: panics: %s", c.words, out)
		}
		if c.shows && !regexp.MustCompile(`(?i)u202e|\\342\\200\\256|\\xe2\\x80\\xae`).Match(out) {
			t.Errorf("sbx %s: shows no name: %.300q", c.words, out)
		}
		if slices.Contains(words, "--json") && cmd.ProcessState.ExitCode() < 2 {
			checkDocument(t, words, regexp.MustCompile(`(?sm)^\{\r?$.*^\}\r?$`).Find(out)) // less what is on standard error
		}
	}
	for _, name := range commandNames {
		if !ran[name] {
			t.Errorf("sbx %s was not run", name)
		}
	}
}
