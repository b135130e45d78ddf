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

// TestShownOutput runs the lines that a page shows after a $, and wants the
// lines of sbx that it shows below them.
func TestShownOutput(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	w := newWorld(t)
	home := w.dir + "/home"
	proj := home + "/project"
	for _, dir := range []string{proj, home + "/data", home + "/out", home + "/.ssh"} {
		must(t, os.Mkdir(dir, 0o755))
	}
	for _, file := range []string{home + "/.ssh/id_rsa", home + "/data/f", home + "/notes", proj + "/.env"} {
		must(t, os.WriteFile(file, []byte("x\n"), 0o600))
	}
	if _, said, status := w.run(proj, "git", "init", "-q"); status != 0 {
		t.Fatal(said)
	}
	compared := 0
	for _, page := range []string{"README.md", "docs/troubleshooting.md"} {
		text, err := os.ReadFile("../../" + page)
		must(t, err)
		for _, m := range regexp.MustCompile(`(?m)^    \$ ((?:FOO_TOKEN=s )?sbx (?:-|why).*)\n((?:    [^$].*\n)*)`).FindAllStringSubmatch(string(text), -1) {
			line := regexp.MustCompile(` {2,}# .*| +# .*$`).ReplaceAllString(m[1], "")
			if regexp.MustCompile(`curl|make install`).MatchString(line) { // one says what its version says, the other needs a project
				if _, err := exec.LookPath("curl"); err != nil || !strings.Contains(line, "curl") {
					continue
				}
			}
			out, said, _ := w.run(proj, "sh", "-c", line)
			got := strings.NewReplacer(proj, "/home/ada/project", home, "/home/ada").Replace(out + said)
			for want := range strings.Lines(m[2]) {
				want = strings.TrimSpace(want)
				if strings.Contains(want, "file") && !strings.Contains(want, "block") || strings.HasPrefix(want, "curl: ") {
					continue
				}
				compared++
				if !strings.Contains(got, want+"\n") {
					t.Errorf("%s: %s does not print %q:\n%s", page, line, want, got)
				}
			}
		}
	}
	if compared < 12 {
		t.Errorf("only %d lines were compared", compared)
	}
}
