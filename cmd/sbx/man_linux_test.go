// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/man"
)

// TestManExamples runs what the manual pages show under EXAMPLES, in a project with
// what it names; npm, gh and the like are stand-ins.
func TestManExamples(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	w := newWorld(t)
	home := w.dir + "/home/"
	for _, dir := range []string{home + "data", home + ".ssh"} {
		must(t, os.Mkdir(dir, 0o755))
	}
	for _, program := range []string{home + "bin/npm", home + "bin/make", home + "bin/gh", home + "bin/claude", w.proj + "/x"} {
		must(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\"\n"), 0o755))
	}
	for _, file := range []string{w.proj + "/.env", w.proj + "/x.js", home + ".ssh/id_rsa"} {
		must(t, os.WriteFile(file, nil, 0o600))
	}
	if _, said, status := w.run(w.proj, "git", "init", "-q"); status != 0 {
		t.Fatal(said)
	}
	ran := 0
	for _, page := range man.Names() {
		_, examples, _ := strings.Cut(man.Page(page), ".SH EXAMPLES\n")
		for _, m := range regexp.MustCompile(`(?m)^\.TP\n\.B (sbx .*)`).FindAllStringSubmatch(examples, -1) {
			line := strings.NewReplacer(`\-`, "-", `\(aq`, "'", `\(ti`, "~").Replace(m[1])
			words := strings.Fields(line)
			if words[1] == "verify" { // has tests of its own, and takes seconds
				continue
			}
			if _, err := exec.LookPath("node"); err != nil && slices.Contains(words, "node") {
				continue
			}
			ran++
			out, said, status := w.run(w.proj, "sh", "-c", line)
			if want := map[bool]int{true: 1}[words[1] == "profiles" && words[2] == "diff"]; status != want || strings.Contains(said, "sbx: error") {
				t.Errorf("%s: %s: status %d\n%s%s", page, line, status, out, said)
			}
		}
	}
	if ran < 15 {
		t.Errorf("only %d examples were found", ran)
	}

	// What sbx-config(5) shows can be read.
	_, examples, _ := strings.Cut(man.Page("sbx-config.5"), ".SH EXAMPLES\n")
	for i, m := range regexp.MustCompile(`(?s)\.nf\n(.*?)\.fi`).FindAllStringSubmatch(examples, 2) {
		f, err := os.OpenFile(home+"config.toml", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		must(t, err)
		_, err = f.WriteString(m[1])
		must(t, err)
		must(t, f.Close())
		if out, said, status := w.run(w.proj, "sbx", "config", "check", home+"config.toml"); status != 0 {
			t.Errorf("example %d: %s%s", i, out, said)
		}
	}
}
