// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// odd are names and arguments that break what quotes by hand.
var odd = map[string]string{
	"space":           "a b",
	"newline":         "a\nb",
	"trailing line":   "a\n",
	"tab":             "a\tb",
	"single quote":    "a'b",
	"double quote":    `a"b`,
	"backslash":       `a\b`,
	"dollar":          "$(touch planted)${HOME}",
	"backquote":       "`touch planted`",
	"glob":            "*?[a]",
	"dash":            "-rf",
	"dashes":          "--bind",
	"not UTF-8":       "a\xff\xfe\x80b",
	"latin-1":         "caf\xe9",
	"UTF-8":           "café…日本",
	"percent":         "%s%n",
	"escape sequence": "a\x1b[31mb",
	"control":         "a\x01\x7fb",
	"equals":          "A=b",
	"colon":           "a:b",
	"comma":           "a,b",
	"brackets":        "(a){b}[c]",
	"long":            strings.Repeat("x", 255),
	"tilde":           "~",
	"exclamation":     "!x",
	"hash":            "#x",
}

// TestArgv has the arguments that no script can hold: they arrive byte for
// byte.
func TestArgv(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	words := []string{"", "--", "-c", "--args", "9", strings.Repeat("y", 4096), strings.Repeat("z\n", 50_000), ""}
	for _, word := range odd {
		words = append(words, word)
	}
	show := append([]string{"--", "sh", "-c", `printf '%s\0' "$@"`, "sh"}, words...)
	for _, flags := range [][]string{{}, {"-p", "strict"}, {"--net"}, {"--timeout", "60"}} {
		out, said, status := w.run(w.proj, append(append([]string{"sbx"}, flags...), show...)...)
		if status != 0 || said != "" {
			t.Fatalf("%q: status %d: %s", flags, status, said)
		}
		if diff := cmp.Diff(words, words0([]byte(out))); diff != "" {
			t.Errorf("%q: given (-), arrived (+):\n%s", flags, diff)
		}
	}
	// -c hands the words after -- to the shell.
	out, said, status := w.run(w.proj, append([]string{"sbx", "-c", `printf '%s\0' "$@"`, "--", "sh"}, words...)...)
	if diff := cmp.Diff(words, words0([]byte(out))); diff != "" || status != 0 {
		t.Errorf("-c: status %d: %s: given (-), arrived (+):\n%s", status, said, diff)
	}
}

// TestArgvZero runs sbx under names that a caller may make up.
func TestArgvZero(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	for _, name := range []string{"", "-sbx", "--", "/no/such/sbx", "a\nb"} {
		out, said, status := runAs(w, name, "--", "echo", "ran")
		if out != "ran\n" || status != 0 {
			t.Errorf("argv[0] %q: status %d, output %q: %s", name, status, out, said)
		}
	}
}

func runAs(w *world, name string, args ...string) (stdout, stderr string, status int) {
	shell := []string{"sh", "-c", `printf '%s' "$1" >argv0; exec bash -c 'n=$(cat argv0; echo x); n=${n%x}; shift; exec -a "$n" "$0" "$@"' "$0" "$@"`, sbxPath, name}
	return w.run(w.proj, append(shell, args...)...)
}

// TestManyArguments: 1 MB of arguments arrives, or the run is refused with a
// clear line; it is never cut short. (20,000 of them are issue 4's.)
func TestManyArguments(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	tests := []struct {
		name  string
		count int
		size  int
		runs  bool
	}{
		{"a thousand", 1000, 10, true},
		{"eight thousand", 8000, 10, true},
		{"a megabyte", 10, 100_000, true},
		{"twenty thousand", 20_000, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			words := []string{"sbx", "--", "sh", "-c", `echo $#; printf '%s' "$@" | wc -c`, "sh"}
			for range tt.count {
				words = append(words, strings.Repeat("x", tt.size))
			}
			out, said, status := w.run(w.proj, words...)
			whole := strings.Join(strings.Fields(out), " ") == fmt.Sprint(tt.count, " ", tt.count*tt.size) && status == 0
			refused := status == 125 && out == "" && strings.HasPrefix(said, "sbx: error: bwrap takes no more than ")
			if !whole && (tt.runs || !refused) {
				t.Errorf("status %d, output %q: %s", status, out, said)
			}
		})
	}
}

// TestNames stands in, writes to, grants and blocks places of every name.
func TestNames(t *testing.T) {
	needBwrap(t)
	for kind, name := range odd {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			here := filepath.Join(w.proj, name)
			w.write(t, filepath.Join("proj", name, "private", "p"), "PLANTED")
			w.write(t, filepath.Join("given", name, "d"), "data")
			w.write(t, filepath.Join("hidden", name, "d"), "PLANTED")
			out, said, status := w.run(here, "sbx", "-w", filepath.Join(w.dir, "given", name), "--block", "./private", "--", "sh", "-c",
				`pwd; echo x >written; cat "$1/d"; echo x >"$1/new"; cat private/p "$2/d"; echo; readlink /proc/self/cwd`, "sh",
				filepath.Join(w.dir, "given", name), filepath.Join(w.dir, "hidden", name))
			if want := here + "\ndata\n" + here + "\n"; out != want || status != 0 {
				t.Errorf("status %d, output %q, want %q: %s", status, out, want, said)
			}
			for _, path := range []string{filepath.Join(here, "written"), filepath.Join(w.dir, "given", name, "new")} {
				if _, err := os.Stat(path); err != nil {
					t.Error(err)
				}
			}
			if strings.Contains(said, "\x1b") || strings.Contains(said, "sbx:") {
				t.Errorf("said %q", said)
			}
			// Errors that name it are one line, without what drives a terminal.
			_, said, status = w.run(w.proj, "sbx", "-w", "../no/such/"+name, "--", "true")
			if status != 125 || strings.Count(said, "\n") > 2 || strings.ContainsAny(said, "\x1b\x01\x7f") {
				t.Errorf("status %d: said %q", status, said)
			}
			_, said, status = w.run(w.proj, "sbx", "--", "./no-such-"+name)
			if status != 127 || strings.Count(said, "\n") > 2 || strings.ContainsAny(said, "\x1b\x01\x7f") {
				t.Errorf("status %d: said %q", status, said)
			}
		})
	}
}

// TestDeepPath stands in a directory whose path is nearly as long as one can
// be, and asks for longer ones.
func TestDeepPath(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	deep := w.proj
	for len(deep) < 3700 {
		deep = filepath.Join(deep, strings.Repeat("d", 240))
	}
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	out, said, status := w.run(deep, "sbx", "--", "sh", "-c", "echo x >f && pwd -P")
	if out != deep+"\n" || status != 0 {
		t.Errorf("status %d, output of %d bytes: %s", status, len(out), said)
	}
	long := "/" + strings.Repeat("n", 5000)
	for _, words := range [][]string{{"-w", long, "--", "true"}, {"-r", strings.Repeat("/n", 3000), "--", "true"}, {"--", long}, {"--", strings.Repeat("n", 5000)}} {
		_, said, status := w.run(w.proj, append([]string{"sbx"}, words...)...)
		if status != 125 && status != 126 && status != 127 || !strings.HasPrefix(said, "sbx: error: ") {
			t.Errorf("%.20q: status %d: %.200s", words, status, said)
		}
	}
}
