// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWords: words of every kind and number arrive, and the command is called
// as it was typed.
func TestWords(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	must(t, os.Symlink(filepath.Join(w.dir, "home/bin/told"), filepath.Join(w.proj, "told")))
	many := func(n, size int) []string {
		return strings.Split(strings.Repeat(strings.Repeat("x", size)+"\n", n-1)+strings.Repeat("x", size), "\n")
	}
	for name, words := range map[string][]string{
		"none":                {"told"},
		"empty":               {"told", "", "", ""},
		"many empty":          append([]string{"told"}, many(20_000, 0)...),
		"nine thousand":       append([]string{"told"}, many(9_000, 1)...),
		"twenty thousand":     append([]string{"told"}, many(20_000, 1)...),
		"a megabyte":          append([]string{"told"}, many(10, 100_000)...),
		"a megabyte of many":  append([]string{"told"}, many(10_000, 100)...),
		"a long one":          {"told", strings.Repeat("y", 120<<10)},
		"not UTF-8":           {"told", "\xff\xfe", "a\x80b"},
		"newlines":            {"told", "\n", "a\nb\n"},
		"by path":             {filepath.Join(w.dir, "home/bin/told"), "x"},
		"by relative path":    {"./told", "x"},
		"by roundabout path":  {"../proj/.././proj//told", "x"},
		"like the stage":      {"told", "--stage-of-sandbox", "20"},
		"like bwrap's":        {"told", "--args", "20", "--"},
		"twenty thousand odd": append([]string{"./told", "\xff", ""}, many(20_000, 2)...),
	} {
		t.Run(name, func(t *testing.T) {
			bare, _, _ := w.run(w.proj, words...)
			for _, flags := range [][]string{nil, {"--timeout", "10m"}} {
				out, said, status := w.run(w.proj, append(append([]string{"sbx", "-q"}, flags...), append([]string{"--"}, words...)...)...)
				if out != bare || status != 0 || !strings.Contains(bare, fmt.Sprint("argc ", len(words), " ")) {
					t.Errorf("%v: status %d: %.200q, bare %.200q: %.300s", flags, status, out, bare, said)
				}
			}
		})
	}
}

// TestNoInterpreter: a script without a first line that names a shell is run
// by sh, as every shell and execvp(3) do.
func TestNoInterpreter(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	w.write(t, "proj/script", "echo \"$0 $# $1\"\nexit 7\n")
	w.write(t, "proj/empty", "")
	for _, name := range []string{"script", "empty"} {
		must(t, os.Chmod(filepath.Join(w.proj, name), 0o755))
	}
	for _, flags := range [][]string{nil, {"--timeout", "10m"}, {"--direct"}, {"--share-pid"}, {"--no-sandbox"}} {
		for _, name := range []string{"./script", w.proj + "/script"} {
			bare, _, want := w.run(w.proj, "sh", "-c", `"$@"`, "sh", name, "a b", "c")
			out, said, status := w.run(w.proj, append(append([]string{"sbx", "-q"}, flags...), "--", name, "a b", "c")...)
			if out != bare || status != want || want != 7 {
				t.Errorf("%v %s: status %d: %q, bare %d %q: %s", flags, name, status, out, want, bare, said)
			}
		}
		if out, said, status := w.run(w.proj, append(append([]string{"sbx", "-q"}, flags...), "--", "./empty")...); status != 0 || out != "" {
			t.Errorf("%v: an empty script: status %d: %s%s", flags, status, out, said)
		}
	}
}
