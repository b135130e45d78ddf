// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/golden"
)

// kongWords are what the library that reads flags would say.
var kongWords = regexp.MustCompile(`\bexpected |unexpected (argument|token|flag)|must be one of|can't be used|did you mean one|perhaps try|<EOL>|missing (flags|positional)|bool value|context-sensitive|are not understood`)

// lineIn is a line to type in a hint.
var lineIn = regexp.MustCompile(`(?:^|: |, | or )(sbx (?:[^,;]|[,;]\S)+?)(?:$|, | or sbx)`)

// TestWrongLines runs each line of testdata/wronglines.txt in a shell, and each line that
// the answer says to type: that one must be understood.
func TestWrongLines(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	w := newWorld(t)
	for _, name := range []string{"npm", "man", "claude"} {
		w.write(t, "home/bin/"+name, "#!/bin/sh\n")
		if err := os.Chmod(w.dir+"/home/bin/"+name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.write(t, "proj/Makefile", "all:\n")
	w.run(w.proj, "sbx", "--", "true") // from now on it is known that bwrap works
	const file = "testdata/wronglines.txt"
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for l := range strings.Lines(string(before)) {
		if line, ok := strings.CutPrefix(l, "$ "); ok {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) < 60 {
		t.Errorf("%d lines", len(lines))
	}
	answers := make([]string, len(lines))
	turns := make(chan struct{}, 4)
	var done sync.WaitGroup
	for i, line := range lines {
		done.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			answers[i] = w.answer(t, line)
		})
	}
	done.Wait()
	golden.File(t, file, strings.Join(answers, "\n"))
}

// answer is what sbx says to a line; what it says to type is typed.
func (w *world) answer(t *testing.T, line string) string {
	out, said, status := w.run(w.proj, "sh", "-c", line)
	if out != "" || status < 125 {
		t.Errorf("%s: status %d, prints %q", line, status, out)
	}
	if bad := kongWords.FindString(said); bad != "" || strings.Contains(said, "CMD") {
		t.Errorf("%s: says %q in %s", line, bad, said)
	}
	for hint := range strings.Lines(said) {
		hint, ok := strings.CutPrefix(strings.TrimSpace(hint), "sbx: hint: ")
		for _, m := range lineIn.FindAllStringSubmatch(hint, -1) {
			if ok && !strings.Contains(hint, " lists the ") && !strings.Contains(hint, " has the commands ") {
				w.typed(t, line, m[1])
			}
		}
	}
	return fmt.Sprintf("$ %s\n%s# %d\n", line, strings.ReplaceAll(said, w.dir, "$DIR"), status)
}

// typed types what a hint says: of runs only the plan is made.
func (w *world) typed(t *testing.T, wrong, line string) {
	env := "SBX_FLAGS=-n"
	if words := strings.Fields(line); len(words) == 1 || slices.Contains(commandNames, words[1]) {
		env = "SBX_FLAGS="
	}
	_, said, status := w.run(w.proj, "env", env, "sh", "-c", line+" </dev/null")
	right := strings.Contains(said, "error: no command") || strings.Contains(said, "nothing new or changed is known") // but nothing to do
	if (status == 125 || status == 127) && !right {
		t.Errorf("%s: the hint %s ends with %d: %s", wrong, line, status, said)
	}
}
