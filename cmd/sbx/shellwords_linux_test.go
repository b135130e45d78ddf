// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestShellWords: whatever a client says to its shell arrives at the real one,
// byte for byte, and nothing of it is sbx's.
func TestShellWords(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	told := filepath.Join(w.proj, "told")
	must(t, linkOrCopy(filepath.Join(w.dir, "home/bin/told"), told))
	shell := filepath.Join(w.dir, "sbx-sh")
	must(t, os.Symlink(sbxPath, shell))
	passwd := filepath.Join(w.dir, "passwd")
	must(t, os.WriteFile(passwd, []byte("root:*:0:0::"+w.dir+"/home:/bin/sh\n"), 0o644))
	rows := map[string][]string{
		"none":             {},
		"one empty":        {""},
		"empty":            {"-c", "", "", ""},
		"a long string":    {"-c", strings.Repeat("y", 128<<10-1)},
		"long lines":       {"-c", strings.Repeat("z\n", 60<<10), "\n"},
		"many":             append([]string{"-c", ":"}, strings.Split(strings.Repeat("x ", 20_000), " ")...),
		"like sbx's":       {"--no-sandbox", "--net", "-p", "permissive", "--", "doctor"},
		"like the stage":   {"--stage-of-sandbox", "20"},
		"like bwrap's":     {"--args", "20", "--bind", "/", "/", "--"},
		"a name of sbx's":  {"doctor"},
		"unknown to shell": {"-o", "-O", "+x", "--rcfile", "-", "--", "-c"},
	}
	odds := []string{"-c"}
	for _, word := range odd {
		odds = append(odds, word)
	}
	rows["odd"] = odds
	for name, words := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bare, _, _ := w.run(w.proj, append([]string{told}, words...)...)
			out, said, status := w.run(w.proj, withUsers(passwd, append([]string{"env", "SBX_SHELL=" + told, shell}, words...)...)...)
			if out != bare || status != 0 || said != "" || !strings.Contains(bare, fmt.Sprint("argc ", len(words)+1, " ")) {
				t.Errorf("status %d: %.200q, bare %.200q: %.300s", status, out, bare, said)
			}
		})
	}
	t.Run("no argument 0", func(t *testing.T) {
		for _, argv0 := range []string{"", "-", "-sbx"} {
			words := withUsers(passwd, "bash", "-c", `printf 'test -e /run/sbx/policy.json && echo inside; exit 5' | exec -a "$1" "$0"`, shell, argv0)
			if out, said, status := w.run(w.proj, words...); status != 5 || out != "inside\n" {
				t.Errorf("%q: status %d, %q: %s", argv0, status, out, said)
			}
		}
	})
}
