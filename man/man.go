// SPDX-License-Identifier: Apache-2.0

// Package man holds the manual pages of sbx.
package man

import (
	"embed"
	"slices"
	"strings"
)

// pages are in the man macros of groff, as files NAME.SECTION.
//
//go:embed sbx*.[157]
var pages embed.FS

// Names are those of all pages: sbx.1, sbx-config.5 and so on.
func Names() (names []string) {
	entries, _ := pages.ReadDir(".")
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Page returns the source of a page.
func Page(name string) string {
	text, _ := pages.ReadFile(name)
	return string(text)
}

// Find returns the name of the page that words name as people name one to man(1):
// none for sbx.1, "config", "sbx-config.5", "sbx-config(5)", "5 sbx-config",
// "sbx config"; "" when there is none.
func Find(words []string) string {
	name := strings.NewReplacer("(", ".", ")", "").Replace(strings.Join(words, "-"))
	for _, file := range Names() {
		bare, section, _ := strings.Cut(file, ".")
		for _, form := range []string{bare, strings.TrimPrefix(bare, "sbx-")} {
			if slices.Contains([]string{form, form + "." + section, section + "-" + form}, name) || name == "" && form == "sbx" {
				return file
			}
		}
	}
	return ""
}
