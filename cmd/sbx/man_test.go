// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/sbx-sandbox/sbx/man"
	"github.com/sbx-sandbox/sbx/profiles"
)

// TestManNamesEveryFlag looks for each flag and each command of the grammar in the
// manual page: those of a run and the commands among the tags, the flags of a command in
// what is said of it.
func TestManNamesEveryFlag(t *testing.T) {
	page := man.Page("sbx.1")
	tags := manTags(page)
	for _, f := range grammar(t, &runCLI{}).Flags {
		if !f.Hidden && !tags["--"+f.Name] {
			t.Errorf("sbx(1) says nothing of --%s", f.Name)
		}
		if f.Short != 0 && !tags["-"+string(f.Short)] {
			t.Errorf("sbx(1) says nothing of -%c", f.Short)
		}
	}
	text := man.Text(page, 200)
	var walk func(path string, n *kong.Node)
	walk = func(path string, n *kong.Node) {
		for _, child := range n.Children {
			name := path + child.Name
			if child.Hidden {
				continue
			}
			if head, _, _ := strings.Cut(name, " "); !tags[head] || !strings.Contains(text, name) &&
				!strings.Contains(text, head+" ["+child.Name+"]") {
				t.Errorf("sbx(1) says nothing of the command %s", name)
			}
			for _, f := range child.Flags {
				if !f.Hidden && !strings.Contains(text, "--"+f.Name) {
					t.Errorf("sbx(1) says nothing of %s --%s", name, f.Name)
				}
			}
			walk(name+" ", child)
		}
	}
	walk("", grammar(t, &commandCLI{}).Node)
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

// TestManNamesProfiles: each built-in profile and module heads a paragraph of
// sbx-profiles(7).
func TestManNamesProfiles(t *testing.T) {
	tags := manTags(man.Page("sbx-profiles.7"))
	for name := range profiles.Builtin() {
		if !tags[name] {
			t.Errorf("sbx-profiles(7) says nothing of %s", name)
		}
	}
}

// TestManNamesVariablesAndFiles looks for each variable that the product's own code
// names (SBX_*, XDG_*, those about colours), each of its directories and each exit
// status in sbx(1) and sbx-sh(1).
func TestManNamesVariablesAndFiles(t *testing.T) {
	pages := man.Text(man.Page("sbx.1"), 200) + man.Text(man.Page("sbx-sh.1"), 200)
	name := regexp.MustCompile(`"[^"\n]*\b(SBX_[A-Z]+|XDG_[A-Z]+_(?:HOME|DIR)|(?:NO|FORCE|CLICOLOR)(?:_FORCE)?_?COLOR|CLICOLOR_FORCE)\b[^"\n]*"`)
	place := regexp.MustCompile(`"(\$XDG_[A-Z]+_(?:HOME|DIR)/sbx(?:/[a-z]+)?|/(?:run|var/tmp|tmp)/sbx[-a-z/]*)`)
	found := map[string]bool{}
	for _, top := range []string{"../../cmd", "../../internal", "../../shims", "../../wrap"} {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && slices.Contains([]string{"tools", "bench", "jailtest", "testenv", "conformance", "testdata", "verify", "agents"}, d.Name()) {
				return fs.SkipDir
			}
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, re := range []*regexp.Regexp{name, place} {
				for _, m := range re.FindAllSubmatch(source, -1) {
					found[strings.TrimRight(string(m[1]), "-/")] = true
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 25 {
		t.Fatalf("only %d were found: %v", len(found), found)
	}
	for _, status := range []string{"124", "125", "126", "127", "128+n"} {
		found["\n       "+status] = true
	}
	for word := range found {
		if !strings.Contains(pages, word) {
			t.Errorf("sbx(1) and sbx-sh(1) say nothing of %s", word)
		}
	}
}
