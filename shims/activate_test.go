// SPDX-License-Identifier: Apache-2.0

package shims

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// odd are names of directories that a shell could take for something else.
var odd = []string{
	"plain", "with space", `it's`, `"double"`, `back\slash`, "$HOME", "`id`", "$(id)", "new\nline", "tab\t", "*",
	"[a-z]", "~", "#no", "!!", "a;b", "a&b|c", "{a,b}", "é", "\xff", "%d", "-n", "=x", "''", `\'`, "(x)", "a^b",
	"$'x'",
}

// shellsHere runs f for each shell that is there, by the name that Activate has
// for it.
func shellsHere(t *testing.T, f func(t *testing.T, shell string, run func(code string, path string) string)) {
	for program, shell := range map[string]string{"bash": "bash", "zsh": "zsh", "fish": "fish", "sh": "sh",
		"dash": "sh", "busybox": "sh", "ksh": "sh"} {
		t.Run(program, func(t *testing.T) {
			exe, err := exec.LookPath(program)
			if err != nil {
				if strings.Contains(","+os.Getenv("SBX_TEST_REQUIRE")+",", ","+program+",") {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			home := t.TempDir()
			f(t, shell, func(code, path string) string {
				t.Helper()
				args := map[string][]string{"bash": {"--norc", "-euc", code}, "zsh": {"-feuc", code},
					"fish": {"--no-config", "-c", code}}[program]
				if args == nil {
					args = []string{"-euc", code}
				}
				if program == "busybox" {
					args = append([]string{"sh"}, args...)
				}
				cmd := exec.Command(exe, args...)
				cmd.Env = []string{"HOME=" + home, "LANG=C.UTF-8"}
				if path != "unset" {
					cmd.Env = append(cmd.Env, "PATH="+path)
				}
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %q\n%s", err, out, code)
				}
				return string(out)
			})
		})
	}
}

func TestActivate(t *testing.T) {
	shellsHere(t, func(t *testing.T, shell string, run func(code, path string) string) {
		show := "printf '%s' \"$PATH\""
		if shell == "fish" {
			show = `printf '%s' (string join : -- $PATH | string collect)`
		}
		for _, name := range odd {
			if shell == "fish" && !utf8.ValidString(name) {
				continue // fish shows what is no UTF-8 in a form of its own
			}
			dir := "/d/" + name
			code, err := Activate(shell, dir, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct{ name, path, want string }{
				{"first", "/usr/bin:/bin", dir + ":/usr/bin:/bin"},
				{"again", dir + ":/usr/bin:/bin", dir + ":/usr/bin:/bin"},
				{"later in PATH", "/usr/bin:" + dir + ":/bin", dir + ":/usr/bin:/bin"},
				{"last", "/usr/bin:/bin:" + dir, dir + ":/usr/bin:/bin"},
				{"thrice", dir + ":/usr/bin:" + dir + ":" + dir, dir + ":/usr/bin"},
				{"alone", dir, dir},
				{"one that is longer", "/usr/bin:" + dir + "2:/x" + dir, dir + ":/usr/bin:" + dir + "2:/x" + dir},
			} {
				if diff := cmp.Diff(c.want, run(code+code+show, c.path)); diff != "" {
					t.Errorf("%q, %s (-want +got):\n%s", name, c.name, diff)
				}
			}
		}
	})
}

// TestActivateNoPath wants a PATH with which commands are found.
func TestActivateNoPath(t *testing.T) {
	shellsHere(t, func(t *testing.T, shell string, run func(code, path string) string) {
		if shell == "fish" {
			t.Skip("this one has a PATH of its own when there is none")
		}
		code, err := Activate(shell, "/d", "")
		if err != nil {
			t.Fatal(err)
		}
		if got := run(code+"printf '%s' \"$PATH\"", ""); !strings.HasPrefix(got,
			"/d:/usr/local/bin:/usr/bin:/bin") { // /etc/zsh/zshenv may add to it
			t.Errorf("PATH is %q", got)
		}
	})
}

func TestActivateColon(t *testing.T) {
	for _, shell := range Shells {
		if _, err := Activate(shell, "/a:b/shims", ""); err == nil {
			t.Errorf("%s: a directory that PATH cannot name", shell)
		}
	}
}

// TestActivateExports wants programs to see the new PATH.
func TestActivateExports(t *testing.T) {
	shellsHere(t, func(t *testing.T, shell string, run func(code, path string) string) {
		code, err := Activate(shell, "/d", "")
		if err != nil {
			t.Fatal(err)
		}
		if got := run(code+"/usr/bin/env", "/usr/bin:/bin"); !strings.Contains(got, "PATH=/d:/usr/bin:/bin\n") {
			t.Errorf("env says %q", got)
		}
		if left := run(code+map[bool]string{true: "echo $rest$entry", false: "echo ${__sbx_path-}"}[shell == "fish"],
			"/usr/bin:/bin"); left != "\n" {
			t.Errorf("a variable is left: %q", left)
		}
	})
}

// TestAlias lets the real shells read an alias back and run it.
func TestAlias(t *testing.T) {
	shellsHere(t, func(t *testing.T, shell string, run func(code, path string) string) {
		bin := t.TempDir()
		if err := os.WriteFile(filepath.Join(bin, "sbx"), []byte("#!/bin/sh\nprintf '<%s>' \"$@\"\n"),
			0o755); err != nil {
			t.Fatal(err)
		}
		for _, word := range append([]string{"work", "a'b c"}, odd...) {
			if strings.ContainsAny(word, "\n\t") || !utf8.ValidString(word) {
				continue // no name of a profile by far
			}
			line := Alias(shell, "g++", []string{"sbx", "-p", word, "--", "g++"})
			setup := map[string]string{"bash": "shopt -s expand_aliases\n"}[shell]
			// An alias holds from the next line on.
			code := setup + line + "eval \"g++ -c 'x y'\"\n"
			if shell == "fish" {
				code = line + "g++ -c 'x y'\n"
			}
			if got, want := run(code, bin+":/usr/bin:/bin"), "<-p><"+word+"><--><g++><-c><x y>"; got != want {
				t.Errorf("%q gives %q, want %q", line, got, want)
			}
		}
	})
}

func TestShellOf(t *testing.T) {
	got := make(map[string]string)
	for _, s := range []string{"/bin/bash", "zsh", "-fish", "/usr/lib/sbx/shells/sbx-bash", "/bin/dash", "/bin/ksh",
		"/bin/tcsh", "", "/usr/bin/nu"} {
		got[s] = ShellOf(s)
	}
	want := map[string]string{"/bin/bash": "bash", "zsh": "zsh", "-fish": "fish",
		"/usr/lib/sbx/shells/sbx-bash": "bash", "/bin/dash": "sh", "/bin/ksh": "sh", "/bin/tcsh": "", "": "",
		"/usr/bin/nu": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
