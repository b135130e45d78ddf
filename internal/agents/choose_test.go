// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// world is one with the given programs and files.
func world(env string, programs string, files map[string]string) *World {
	execs := map[string]bool{}
	for _, p := range strings.Fields(programs) {
		execs[p] = true
	}
	return &World{
		Env: strings.Fields(env), Passwd: "/bin/bash", Home: "/h", CWD: "/h/p",
		Exec: func(p string) bool { return execs[p] },
		Read: func(p string) (string, error) {
			switch t, ok := files[p]; {
			case !ok:
				return "", fs.ErrNotExist
			case t == "too large":
				return "", errors.New(t)
			default:
				return t, nil
			}
		},
	}
}

const (
	debian = "/bin/bash /usr/bin/bash /bin/sh /usr/bin/sh /bin/zsh /usr/bin/zsh /usr/bin/fish"
	ours   = " /s/bash /s/sh /s/zsh /s/fish /s/sbx-sh /s/sbx-bash /s/sbx-zsh /x/line"
)

func TestChoose(t *testing.T) {
	tests := []struct {
		name, client, env, programs string
		files                       map[string]string
		passwd                      string
		tty                         bool
		want                        string // the shell, "prefix …" or "why …"
	}{
		// The trap this package exists for: sbx-sh in SHELL is passed over in silence.
		{name: "SHELL of another name", client: "claude", env: "SHELL=/s/sbx-sh PATH=/usr/bin", want: "/usr/bin/zsh"},
		{name: "text in the directory is enough", client: "claude", env: "SHELL=/opt/bash-tools/sbx-sh PATH=/usr/bin",
			programs: " /opt/bash-tools/sbx-sh", want: "/opt/bash-tools/sbx-sh"},
		{name: "SHELL with bash in it", client: "claude", env: "SHELL=/s/sbx-bash PATH=/usr/bin", want: "/s/sbx-bash"},
		{name: "a variable of its own comes first", client: "claude",
			env: "CLAUDE_CODE_SHELL=/s/sbx-bash SHELL=/bin/zsh PATH=/usr/bin", want: "/s/sbx-bash"},
		{name: "which cannot be executed", client: "claude",
			env: "CLAUDE_CODE_SHELL=/gone/sbx-bash SHELL=/bin/zsh PATH=/usr/bin", want: "/bin/zsh"},
		{name: "which has no known name", client: "claude",
			env: "CLAUDE_CODE_SHELL=/s/sbx-sh SHELL=/bin/bash PATH=/usr/bin", want: "/bin/bash"},
		{name: "nothing set", client: "claude", env: "PATH=/usr/bin", want: "/usr/bin/zsh"},
		{name: "SHELL is gone, but says bash", client: "claude", env: "SHELL=/gone/bash PATH=/s:/usr/bin",
			want: "/s/bash"},
		{name: "prefix with an option", client: "claude",
			env: "CLAUDE_CODE_SHELL_PREFIX=/s/sbx-bash\x00-c SHELL=/bin/bash", want: "prefix /s/sbx-bash|-c"},
		{name: "prefix of one word", client: "claude", env: "CLAUDE_CODE_SHELL_PREFIX=/x/line SHELL=/bin/bash",
			want: "prefix /x/line"},
		{name: "project settings take the prefix away", client: "claude",
			env:   "CLAUDE_CODE_SHELL_PREFIX=/x/line SHELL=/bin/bash",
			files: map[string]string{"/h/p/.claude/settings.json": `{"env":{"CLAUDE_CODE_SHELL_PREFIX":""}}`},
			want:  "why /h/p/.claude/settings.json sets CLAUDE_CODE_SHELL_PREFIX"},
		{name: "local settings", client: "claude", env: "SHELL=/bin/bash",
			files: map[string]string{"/h/p/.claude/settings.local.json": `{"env":{"SHELL":"/bin/zsh"}}`},
			want:  "why /h/p/.claude/settings.local.json sets SHELL"},
		{name: "settings in another place", client: "claude", env: "SHELL=/bin/bash CLAUDE_CONFIG_DIR=/c",
			files: map[string]string{"/c/settings.json": `{"env":{"SBX_SESSION":"x"}}`},
			want:  "why /c/settings.json sets SBX_SESSION"},
		{name: "other settings", client: "claude", env: "SHELL=/bin/bash",
			files: map[string]string{"/h/.claude/settings.json": `{"env":{"X":"y"}}`}, want: "/bin/bash"},

		{name: "a mark of the byte order", client: "claude",
			files: map[string]string{"/h/p/.claude/settings.json": "\ufeff" +
				`{"env":{"CLAUDE_CODE_SHELL_PREFIX":""}}`},
			want: "why /h/p/.claude/settings.json sets CLAUDE_CODE_SHELL_PREFIX"},
		{name: "keys are exact", client: "claude",
			files: map[string]string{"/h/p/.claude/settings.json": `{"ENV":1,"env":{"SHELL":"x"}}`},
			want:  "why /h/p/.claude/settings.json sets SHELL"},
		{name: "a key with an escape", client: "claude",
			files: map[string]string{"/h/p/.claude/settings.json": `{"\u0065nv":{"SHEL\u004c":"x"}}`},
			want:  "why /h/p/.claude/settings.json sets SHELL"},
		{name: "a key twice", client: "claude",
			files: map[string]string{"/h/p/.claude/settings.json": `{"env":{"SHELL":1},"env":{}}`},
			want:  "why /h/p/.claude/settings.json is not understood"},
		{name: "an inherited key", client: "claude",
			files: map[string]string{"/h/p/.claude/settings.json": `{"__proto__":{"env":{"SHELL":1}}}`},
			want:  "why /h/p/.claude/settings.json is not understood"},
		{name: "deeper than Go reads", client: "claude",
			files: map[string]string{"/h/p/.claude/settings.json": `{"a":` + strings.Repeat("[", 10001) +
				strings.Repeat("]", 10001) + `,"env":{"SHELL":1}}`},
			want: "why /h/p/.claude/settings.json is not understood"},
		{name: "too large", client: "claude", files: map[string]string{"/h/p/.claude/settings.json": "too large"},
			want: "why /h/p/.claude/settings.json cannot be read: too large"},
		{name: "UTF-16", client: "claude", files: map[string]string{"/h/p/.claude/settings.json": "\xff\xfe{\x00}\x00"},
			want: "why /h/p/.claude/settings.json is not understood"},
		{name: "env is no object", client: "claude",
			files: map[string]string{"/h/p/.claude/settings.json": `{"env":["SHELL"]}`},
			want:  "why /h/p/.claude/settings.json has an env that is not understood"},
		{name: "an empty file", client: "claude", env: "SHELL=/bin/bash",
			files: map[string]string{"/h/p/.claude/settings.json": "\n"}, want: "/bin/bash"},
		{name: "BASH_ENV", client: "claude",
			files: map[string]string{"/h/p/.claude/settings.json": `{"env":{"BASH_ENV":"be.sh"}}`},
			want:  "why /h/p/.claude/settings.json sets BASH_ENV"},
		{name: "any variable of a project's", client: "claude",
			files: map[string]string{"/h/p/.claude/settings.json": `{"env":{"WHO_KNOWS":"x"}}`},
			want:  "why /h/p/.claude/settings.json sets WHO_KNOWS: a project"},
		{name: "of a directory above", client: "claude",
			files: map[string]string{"/.claude/settings.json": `{"env":{"NODE_OPTIONS":"x"}}`},
			want:  "why /.claude/settings.json sets NODE_OPTIONS"},
		{name: "but for harmless ones", client: "claude", env: "SHELL=/bin/bash",
			files: map[string]string{"/h/p/.claude/settings.json": `{"env":{"ANTHROPIC_DEFAULT_OPUS_MODEL":"m","MCP_TIMEOUT":"1"}}`}, want: "/bin/bash"},
		{name: "the user's own LD_PRELOAD", client: "claude",
			files: map[string]string{"/h/.claude/settings.json": `{"env":{"LD_PRELOAD":"x"}}`},
			want:  "why /h/.claude/settings.json sets LD_PRELOAD"},
		{name: "a relative directory of settings", client: "claude", env: "CLAUDE_CONFIG_DIR=cc",
			want: "why CLAUDE_CONFIG_DIR is cc, which depends on the directory it is read in"},
		{name: "an empty shell path of the project", client: "pi",
			files: map[string]string{"/h/u/.pi/agent/settings.json": `{"shellPath":"/s/sbx-bash"}`,
				"/h/p/.pi/settings.json": `{"shellPath":null}`}, want: "why /h/p/.pi/settings.json sets shellPath"},
		{name: "a program of the project", client: "pi",
			files: map[string]string{"/h/p/.pi/settings.json": `{"npmCommand":["./x"]}`},
			want:  "why /h/p/.pi/settings.json sets npmCommand"},
		{name: "helpers", client: "claude",
			files: map[string]string{"/h/p/.claude/settings.json": `{"awsAuthRefresh":"x"}`},
			want:  "why /h/p/.claude/settings.json sets awsAuthRefresh, a program"},
		{name: "the user's own helper", client: "claude", env: "SHELL=/bin/bash",
			files: map[string]string{"/h/.claude/settings.json": `{"apiKeyHelper":"x"}`}, want: "/bin/bash"},
		{name: "a hook without a shell", client: "claude",
			files: map[string]string{"/h/p/.claude/settings.json": `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","args":[]}]}]}}`}, want: "why /h/p/.claude/settings.json has a hook with args"},
		{name: "a hook with one", client: "claude", env: "SHELL=/bin/bash",
			files: map[string]string{"/h/p/.claude/settings.json": `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}`}, want: "/bin/bash"},

		{name: ".env", client: "gemini", env: "PATH=/s", files: map[string]string{"/h/p/.env": "A=1\nLD_PRELOAD\n= x"},
			want: "why /h/p/.env names LD_PRELOAD"},
		{name: "another .env", client: "gemini", env: "PATH=/s",
			files: map[string]string{"/h/p/.gemini/.env": "#\u2028export\tNODE_OPTIONS: x"},
			want:  "why /h/p/.gemini/.env names NODE_OPTIONS"},
		{name: "a harmless one", client: "gemini", env: "PATH=/s",
			files: map[string]string{"/h/p/.env": "GEMINI_API_KEY=1\nDEBUG=$PATH"}, want: "/s/bash"},
		{name: "env of its settings", client: "qwen", env: "PATH=/s",
			files: map[string]string{"/h/p/.qwen/settings.json": `{"env":{"BASH_ENV":"x"}}`},
			want:  "why /h/p/.qwen/settings.json sets BASH_ENV"},

		{name: "an escape", client: "pi",
			files: map[string]string{"/h/p/.pi/settings.json": `{"\u0073hellPath":"/bin/sh"}`}, want: "/bin/sh"},
		{name: "too large", client: "pi", files: map[string]string{"/h/p/.pi/settings.json": "too large",
			"/h/.pi/agent/settings.json": `{"shellPath":"/s/sbx-bash"}`},
			want: "why /h/p/.pi/settings.json cannot be read"},
		{name: "a line that ends for some", client: "opencode",
			files: map[string]string{"/h/p/opencode.jsonc": "{ // x\r\"shell\": \"/bin/zsh\"\n}"},
			want:  "why /h/p/opencode.jsonc is not understood"},

		{name: "export and a tab", client: "aider", env: "SHELL=/s/bash", tty: true,
			files: map[string]string{"/h/p/.env": "export\tSHELL=/bin/sh\r"}, want: "why /h/p/.env names SHELL"},
		{name: "set-env", client: "aider", env: "SHELL=/s/bash", tty: true,
			files: map[string]string{"/h/p/.aider.conf.yml": "set-env: [SHELL=/bin/sh]"},
			want:  "why /h/p/.aider.conf.yml is not understood"},
		{name: "a command", client: "aider", env: "SHELL=/s/bash", tty: true,
			files: map[string]string{"/h/p/.aider.conf.yml": "# x\nlint-cmd: x"},
			want:  "why /h/p/.aider.conf.yml sets lint-cmd"},
		{name: "a model", client: "aider", env: "SHELL=/s/bash", tty: true,
			files: map[string]string{"/h/p/.aider.conf.yml": "# x\nmodel: a/b:c\n\n"}, want: "/s/bash"},

		{name: "PATH", client: "gemini", env: "SHELL=/s/bash PATH=/usr/bin", want: "/usr/bin/bash"},
		{name: "sbx first in PATH", client: "gemini", env: "PATH=/s:/usr/bin", want: "/s/bash"},
		{name: "sbx not first in PATH", client: "qwen", env: "PATH=/usr/bin:/s", want: "/usr/bin/bash"},
		{name: "a relative directory in PATH", client: "qwen", env: "PATH=bin:.:/s", want: "/s/bash"},

		{name: "SHELL", client: "opencode", env: "SHELL=/s/sbx-sh PATH=/usr/bin", want: "/s/sbx-sh"},
		{name: "fish is not talked to", client: "opencode", env: "SHELL=/usr/bin/fish PATH=/s:/usr/bin",
			want: "/s/bash"},
		{name: "project configuration", client: "opencode", env: "SHELL=/s/bash",
			files: map[string]string{"/h/p/opencode.json": `{"shell":"/bin/zsh"}`}, want: "/bin/zsh"},
		{name: "with comments", client: "opencode", env: "SHELL=/s/bash",
			files: map[string]string{"/h/opencode.jsonc": "{ // \"a\n\"shell\": \"/bin/zsh\", /* , */ }"},
			want:  "/bin/zsh"},
		{name: "the variable comes after files", client: "opencode",
			env:   `SHELL=/bin/sh OPENCODE_CONFIG_CONTENT={"shell":"/s/bash"}`,
			files: map[string]string{"/h/p/opencode.json": `{"shell":"/bin/zsh"}`}, want: "/s/bash"},
		{name: "one that cannot be read is none of ours", client: "opencode", env: "SHELL=/s/bash",
			files: map[string]string{"/h/p/.opencode/opencode.json": `{"shell": ??? }`},
			want:  "why /h/p/.opencode/opencode.json is not understood"},

		{name: "no setting", client: "pi", env: "SHELL=/s/bash PATH=/s", want: "/bin/bash"},
		{name: "the user's setting", client: "pi",
			files: map[string]string{"/h/.pi/agent/settings.json": `{"shellPath":"/s/sbx-bash"}`}, want: "/s/sbx-bash"},
		{name: "the project's wins", client: "pi",
			files: map[string]string{"/h/.pi/agent/settings.json": `{"shellPath":"/s/sbx-bash"}`,
				"/h/p/.pi/settings.json": `{"shellPath":"/bin/sh"}`}, want: "/bin/sh"},
		{name: "another directory", client: "pi", env: "PI_CODING_AGENT_DIR=/a",
			files: map[string]string{"/a/settings.json": `{"shellPath":"~/s/bash"}`}, want: "/h/s/bash"},

		{name: "GOOSE_SHELL", client: "goose", env: "GOOSE_SHELL=/s/bash PATH=/usr/bin", want: "/s/bash"},
		{name: "without", client: "goose", env: "SHELL=/s/bash PATH=/usr/bin", want: "/usr/bin/bash"},

		{name: "no terminal", client: "aider", env: "SHELL=/s/bash", want: "why aider reads SHELL only on a terminal"},
		{name: "terminal", client: "aider", env: "SHELL=/s/bash", tty: true, want: "/s/bash"},
		{name: ".env comes after", client: "aider", env: "SHELL=/s/bash", tty: true,
			files: map[string]string{"/h/p/.env": "A=1\nexport SHELL='/bin/sh'\n"}, want: "why /h/p/.env names SHELL"},
	}
	for _, tt := range tests {
		t.Run(tt.client+" "+tt.name, func(t *testing.T) {
			w := world(strings.ReplaceAll(tt.env, "\x00", "\x01"), debian+ours+tt.programs, tt.files)
			for i := range w.Env {
				w.Env[i] = strings.ReplaceAll(w.Env[i], "\x01", " ")
			}
			w.TTY = tt.tty
			if tt.passwd != "" {
				w.Passwd = tt.passwd
			}
			c, ok := Find(tt.client)
			if !ok {
				t.Fatal("no such client")
			}
			got := c.Choose(w)
			text := got.Shell
			switch {
			case got.Why != "":
				text, tt.want = "why "+got.Why, tt.want+strings.TrimPrefix("why "+got.Why, tt.want)
			case len(got.Prefix) > 0:
				text = "prefix " + strings.Join(got.Prefix, "|")
			}
			if text != tt.want {
				t.Errorf("chose %q (%s), want %q", text, got.By, tt.want)
			}
		})
	}
}

// TestVarsReachTheShell sets what sbx agent sets and asks the rule again: it has
// to end at sbx, whatever was set before.
func TestVarsReachTheShell(t *testing.T) {
	place := Place{Shells: "/s", Line: "/x/line", Tmp: "/x/tmp"}
	for _, before := range []string{"PATH=/usr/bin", "PATH=/usr/bin SHELL=/bin/zsh",
		"PATH=/usr/bin SHELL=/usr/bin/fish", "PATH=/s:/usr/bin SHELL=/s/sbx-bash", "PATH=/s:/usr/bin",
		"PATH=/usr/bin SHELL=/s/zsh", "PATH=/usr/bin SHELL=/bin/sh CLAUDE_CODE_SHELL=/bin/bash GOOSE_SHELL=/bin/sh",
		`PATH=/usr/bin SHELL=/bin/sh OPENCODE_CONFIG_CONTENT={"shell":"/bin/zsh","x":1} CLAUDE_CODE_SHELL_PREFIX=/bin/echo`} {
		for _, c := range All() {
			if c.Refused != "" || c.Name == "pi" { // pi knows no variable
				continue
			}
			t.Run(c.Name+" "+before, func(t *testing.T) {
				w := world(before, debian+ours, map[string]string{"/h/p/opencode.json": `{"shell":"/bin/zsh"}`})
				w.TTY = true
				set := map[string]string{}
				if c.Vars != nil {
					for _, v := range c.Vars(w, place) {
						set[v.Name] = v.Value
						w.Env = append(w.Env, v.Name+"="+v.Value)
					}
				}
				if c.Path {
					w.Env = append(w.Env, "PATH=/s:/usr/bin")
				}
				got := c.Choose(w)
				mine := strings.HasPrefix(got.Shell, "/s/")
				if len(got.Prefix) > 0 {
					mine = got.Prefix[0] == "/x/line" && !strings.HasPrefix(got.Shell, "/s/") && got.Shell != ""
				}
				if !mine || got.Why != "" {
					t.Errorf("with %v it chooses %+v", set, got)
				}
			})
		}
	}
}

// TestFirst wants found what runs before a command does.
func TestFirst(t *testing.T) {
	for env, want := range map[string]string{
		"BASH_ENV=/h/p/x": "drop BASH_ENV", "ENV=/x": "drop ENV", "BASH_ENV=": "",
		"LD_PRELOAD=/h/p/x.so": "bad LD_PRELOAD", "LD_PRELOAD=/usr/x.so:/h/p/x.so": "bad LD_PRELOAD",
		"LD_PRELOAD=./x.so": "bad LD_PRELOAD", "LD_PRELOAD=/usr/x.so": "",
		"LD_LIBRARY_PATH=/opt:": "bad LD_LIBRARY_PATH", "LD_LIBRARY_PATH=/opt": "", "ZDOTDIR=/h/p": "bad ZDOTDIR",
		"ZDOTDIR=/h/z":                  "",
		"NODE_OPTIONS=--require=/h/p/x": "bad NODE_OPTIONS", "NODE_OPTIONS=--max-old-space-size=1": "",
		"LD_BIND_NOW=1": "",
	} {
		w := world(env, "", nil)
		w.Writable = func(p string) bool { return p == "/h/p" || strings.HasPrefix(p, "/h/p/") }
		drop, bad, _ := First(w)
		got := ""
		if len(drop) > 0 {
			got = "drop " + drop[0]
		}
		if bad != "" {
			got += "bad " + bad
		}
		if got != want {
			t.Errorf("%s: %q, want %q", env, got, want)
		}
	}
}

// TestOuter wants a shell of the system around the line.
func TestOuter(t *testing.T) {
	for env, want := range map[string]string{
		"SHELL=/h/p/bash": "/bin/bash", "SHELL=/bin/zsh": "/bin/zsh", "SHELL=/nix/bash": "/nix/bash",
		"PATH=/h/p": "/bin/zsh", "CLAUDE_CODE_SHELL=/h/p/zsh": "/bin/zsh",
	} {
		w := world(env, debian+ours+" /h/p/bash /h/p/zsh /nix/bash", nil)
		w.Passwd = "/nix/bash"
		if got := claudeOuter(w, Place{Shells: "/s"}); got != want {
			t.Errorf("%s: %s, want %s", env, got, want)
		}
	}
}

// TestOtherSettingsStay wants the rest of a configuration kept that a variable
// of the user's holds.
func TestOtherSettingsStay(t *testing.T) {
	w := world(`OPENCODE_CONFIG_CONTENT={"model":"m","shell":"/bin/sh"} SHELL=/bin/zsh`, debian+ours, nil)
	want := []Var{{"SHELL", "/s/zsh"}, {"OPENCODE_CONFIG_CONTENT", `{"model":"m","shell":"/s/zsh"}`}}
	if diff := cmp.Diff(want, opencodeVars(w, Place{Shells: "/s"})); diff != "" {
		t.Error(diff)
	}
}

func TestPlainJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": "//x", /* c */ "b": [1, ], }`: `{"a": "//x",   "b": [1 ] }`,
		"{\"a\": 1 // x\n}":                  "{\"a\": 1 \n}",
		`{"a": "\"/*"}`:                      `{"a": "\"/*"}`,
		`{"a`:                                `{"a`,
		`/* no end`:                          ``,
		`//`:                                 "",
	} {
		if got := plainJSON(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzSettings feeds what a project may have in place of settings.
func FuzzSettings(f *testing.F) {
	for _, s := range []string{`{"shell":"/bin/sh"}`, `{"env":{"SHELL":1}}`, "{//", "/*", `"\`, "SHELL=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w := world("SHELL=/s/bash PATH=/s", debian+ours, nil)
		w.Read = func(string) (string, error) { return text, nil }
		w.TTY = true
		for _, c := range All() {
			if c.Refused == "" {
				c.Choose(w)
			}
		}
	})
}

// TestTable wants every client to say what it needs to.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range All() {
		for _, n := range append([]string{c.Name}, c.Aliases...) {
			if seen[n] {
				t.Errorf("%s stands for two clients", n)
			}
			seen[n] = true
		}
		if c.Title == "" || len(c.Programs) == 0 || len(c.Outside) == 0 || c.Seen == "" || c.Whole == "" {
			t.Errorf("%s: incomplete", c.Name)
		}
		if c.Refused == "" && (c.choose == nil || c.Call == nil || len(c.Inside) == 0) {
			t.Errorf("%s is started without a rule to check", c.Name)
		}
	}
}
