//go:build linux

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// FuzzShellLine: a shell reads back what was quoted, in any locale, and what was
// quoted is harmless.
func FuzzShellLine(f *testing.F) {
	for _, w := range []string{hostile, "", "a b", "it's", "-n", "~", "a\u202e1", "\u009bff", "\x9b0", "é", "a\nb", `\u202e`, "!x", "\ufffd"} {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, w string) {
		if strings.Contains(w, "\x00") {
			t.Skip("no word has that")
		}
		line := shellLine([]string{w})
		if h := harm([]byte(line)); h != "" {
			t.Errorf("%q: %s", w, h)
		}
		for _, locale := range []string{"C", "C.UTF-8"} {
			cmd := exec.Command("bash", "-c", "printf %s "+line)
			cmd.Env = []string{"LC_ALL=" + locale}
			if out, err := cmd.Output(); err != nil || string(out) != w {
				t.Errorf("%q in locale %s: %s is read as %q, %v", w, locale, line, out, err)
			}
		}
	})
}
