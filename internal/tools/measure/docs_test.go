// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const top = "../../.."

// pages are the documents of the module, by their names in it.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "internal/*/*.md"} {
		names, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			rel, _ := filepath.Rel(top, name)
			out[rel] = string(text)
		}
	}
	return out
}

// TestArchitecture: what the page names is there, and the page stays short.
func TestArchitecture(t *testing.T) {
	page := pages(t)["docs/architecture.md"]
	if n := strings.Count(page, "\n"); n > 250 {
		t.Errorf("it has %d lines", n)
	}
	path := regexp.MustCompile("`((?:cmd|internal|wrap|profiles|completions|man|docs|shims)(?:/[a-z0-9_.*-]+)*/?)`")
	names := path.FindAllStringSubmatch(page, -1)
	if len(names) < 60 {
		t.Fatalf("only %d names were found", len(names))
	}
	for _, m := range names {
		if found, err := filepath.Glob(filepath.Join(top, m[1])); err != nil || len(found) == 0 {
			t.Errorf("there is no %s", m[1])
		}
	}
	dirs, _ := filepath.Glob(filepath.Join(top, "internal/*"))
	for _, dir := range dirs {
		if name := "internal/" + filepath.Base(dir); !strings.Contains(page, "`"+name+"`") {
			t.Errorf("%s is not on the page", name)
		}
	}
}

// TestLines: text is wrapped at 100 columns; tables and what is printed are not.
func TestLines(t *testing.T) {
	for name, page := range pages(t) {
		if name == "CHANGELOG.md" {
			continue
		}
		fence := false
		for i, line := range strings.Split(page, "\n") {
			fence = fence != strings.HasPrefix(line, "```")
			if fence || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    ") ||
				strings.Contains(line, "](http") {
				continue
			}
			if n := utf8.RuneCountInString(line); n > 100 && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%s:%d has %d columns", name, i+1, n)
			}
		}
	}
}

// TestLinks: a link to a page leads to one, and to a heading that it has.
func TestLinks(t *testing.T) {
	all := pages(t)
	link := regexp.MustCompile(`\]\(([^)\s:]*?)(#[^)\s]*)?\)`)
	code := regexp.MustCompile("`[^`]*`")
	checked := 0
	for name, page := range all {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(page, ""), -1) {
			checked++
			target := name
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(name), m[1])
			}
			if _, err := os.Stat(filepath.Join(top, target)); err != nil {
				t.Errorf("%s: there is no %s", name, target)
			} else if text, ok := all[target]; ok && m[2] != "" && !slices.Contains(anchors(text), m[2][1:]) {
				t.Errorf("%s: %s has no heading %s", name, target, m[2])
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d links were found", checked)
	}
}

// anchors are the names of the headings of a page, as GitHub makes them.
func anchors(page string) (out []string) {
	for line := range strings.Lines(page) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && line[0] == '#' {
			out = append(out, strings.Map(func(r rune) rune {
				switch {
				case r == ' ':
					return '-'
				case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
					return unicode.ToLower(r)
				}
				return -1
			}, strings.TrimSpace(title)))
		}
	}
	return out
}
