// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/schematest"
)

// documentOf is the name of the document that a command line asks for, "" for none.
func documentOf(words []string) string {
	if !slices.Contains(words, "--json") {
		return ""
	}
	var plain []string
	for _, w := range words {
		if !strings.HasPrefix(w, "-") {
			plain = append(plain, w)
		}
	}
	sub := func(other string, names ...string) string {
		if len(plain) > 1 && slices.Contains(names, plain[1]) {
			return plain[0] + "-" + plain[1]
		}
		return other
	}
	switch words[0] {
	case "profiles":
		return sub("profiles-list", "show", "diff")
	case "config":
		return sub("config-show", "check")
	case "shim":
		return sub("shim-list", "doctor")
	case "agent":
		return "agent-list"
	case "doctor":
		if len(plain) > 1 {
			return "doctor-client"
		}
	case "trust":
		if slices.Contains(words, "--list") {
			return "trust-list"
		}
	}
	if _, ok := documents[words[0]]; ok {
		return words[0]
	}
	return "plan"
}

// checkDocument compares what a command printed with its schema, in which nothing may
// be left out.
func checkDocument(t *testing.T, words []string, out []byte) {
	t.Helper()
	name := documentOf(words)
	text, err := os.ReadFile("../../docs/schema/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Errorf("sbx %q: %v: %.300s", words, err, out)
	}
	if wrong := schematest.Read(t, text, true).Check(doc); wrong != nil {
		t.Errorf("sbx %q: %q", words, wrong)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(bytes.ReplaceAll(out, []byte("\r"), nil)), []byte("{\n  \"version\": 1,\n")) {
		t.Errorf("sbx %q does not begin with its version: %.60s", words, out)
	}
}

// TestDocumentsFollowTheirSchemas runs each command once; TestHostileNames has more.
func TestDocumentsFollowTheirSchemas(t *testing.T) {
	needBwrap(t)
	t.Parallel()
	w := newWorld(t)
	w.write(t, "proj/.env", "x")
	w.write(t, "proj/.sbx.toml", "[profiles.moderate]\nallow_network = true\nblocked_paths = [\"$CWD/x\"]\n")
	w.write(t, "home/.config/sbx/rules.json", `{"defaultAction":"SCMP_ACT_ALLOW"}`)
	w.write(t, "home/.config/sbx/config.toml", "[profiles.bare]\nreadonly_paths = [\"/\"]\nenv_pass = [\"PATH\"]\n")
	w.write(t, "home/bin/claude", "#!/bin/sh\n")
	w.write(t, "home/bin/npm", "#!/bin/sh\n")
	for _, name := range []string{"claude", "npm"} {
		if err := os.Chmod(w.dir+"/home/bin/"+name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, said, status := w.run(w.dir+"/proj", "sbx", "--", "sh", "-c", "mkdir .vscode; echo {} >.vscode/tasks.json"); status != 0 {
		t.Fatal(out, said)
	}
	ran := make(map[string]bool)
	for _, line := range []string{
		"shim add --json npm", "shim list --json", "shim doctor --json", "explain --json", "explain --json --engine landlock -w .", "explain --json --engine sandbox-exec",
		"why --json .env PATH github.com:443 nosuch/x NOTSET @x", "why --json --engine landlock .env", "verify --json", "doctor --json", "doctor --json claude", "doctor --json codex",
		"agent --list --json", "profiles --json", "profiles show --json moderate", "profiles show --json --flat node", "profiles diff --json strict permissive",
		"config --json", "config check --json", "config check --json nosuch.toml .sbx.toml", "status --json", "tripwire --json", "tripwire --json --deep", "cache --json",
		"trust --json", "trust --list --json", "version --json", "shim remove --json npm",
		"explain --json --seccomp W/home/.config/sbx/rules.json", "-n --json --seccomp W/home/.config/sbx/rules.json --timeout 5 -- true", "explain --json -p bare", "-n --json -p bare --net -w . -- true",
		"-q -- env /run/sbx/sbx status --json", "-q -- env /run/sbx/sbx why --json .env PATH @x", "-q -- env /run/sbx/sbx doctor --json", "-q -- env /run/sbx/sbx doctor --json codex",
		"-q -- env /run/sbx/sbx verify -q --json", "-q -- env /run/sbx/sbx config --json", "-q -- env /run/sbx/sbx config check --json", "-q -- env /run/sbx/sbx profiles --json",
		"-n --json -- true", "-n --json --direct -- true", "-n --json --engine landlock -- true", "-n --json --engine sandbox-exec -- true", "-n --json --no-sandbox -- true",
	} {
		words := strings.Fields(strings.ReplaceAll(line, "W/", w.dir+"/"))
		out, said, status := w.run(w.dir+"/proj", append([]string{"sbx"}, words...)...)
		if out == "" {
			t.Errorf("sbx %s: status %d, %s", line, status, said)
			continue
		}
		if i := slices.Index(words, "/run/sbx/sbx"); i >= 0 {
			words = words[i+1:]
		}
		checkDocument(t, words, []byte(out))
		ran[documentOf(words)] = true
	}
	for name := range maps.Keys(documents) {
		if !ran[name] {
			t.Errorf("no command printed the document %s", name)
		}
	}
	for _, line := range []string{"why --json", "explain --json -p nosuch", "profiles show --json nosuch", "-n --json -- nosuch", "profiles diff --json a b", "config --json --nosuch", "doctor --json nosuch"} {
		if out, said, status := w.run(w.dir+"/proj", append([]string{"sbx"}, strings.Fields(line)...)...); out != "" || status == 0 || !strings.HasPrefix(said, "sbx: ") {
			t.Errorf("sbx %s: an error is text, and no document: status %d, %q, %q", line, status, out, said)
		}
	}
}
