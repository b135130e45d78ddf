// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/man"
)

// TestManNamesEveryFlag looks for each flag of --help and each command among
// the tags of the manual page.
func TestManNamesEveryFlag(t *testing.T) {
	tags := manTags(man.Page)
	for _, f := range grammar(t, &runCLI{}).Flags {
		if !f.Hidden && !tags["--"+f.Name] {
			t.Errorf("sbx(1) says nothing of --%s", f.Name)
		}
		if f.Short != 0 && !tags["-"+string(f.Short)] {
			t.Errorf("sbx(1) says nothing of -%c", f.Short)
		}
	}
	for _, name := range commandNames {
		if !tags[name] {
			t.Errorf("sbx(1) says nothing of the command %s", name)
		}
	}
}

// manTags returns the words that head a paragraph (.TP), less their values.
func manTags(page string) map[string]bool {
	tags := make(map[string]bool)
	text := strings.NewReplacer(`\fI`, "", `\fP`, "", `\-`, "-", `"`, "").Replace(page)
	lines := strings.Split(text, "\n")
	for i, line := range lines[:len(lines)-1] {
		if line != ".TP" {
			continue
		}
		for _, word := range strings.FieldsFunc(lines[i+1], func(r rune) bool { return r == ' ' || r == ',' }) {
			word, _, _ = strings.Cut(word, "=")
			tags[strings.TrimSuffix(word, "[")] = true
		}
	}
	return tags
}
