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

// Find returns the name of the page that words name as people name one to man(1):
// none for sbx.1, "config", "sbx-config.5", "sbx-config(5)", "5 sbx-config",
// "sbx config"; "" when there is none.
func Find(words []string) string {
	name := strings.NewReplacer("(", ".", ")", "").Replace(strings.Join(words, "-"))
	if section, rest, ok := strings.Cut(name, "-"); ok && len(section) == 1 {
		name = rest + "." + section
	}
	for _, file := range Names() {
		bare := file[:len(file)-len(".1")]
		if name == "" && bare == "sbx" || slices.Contains([]string{file, bare}, name) ||
			slices.Contains([]string{file, bare}, "sbx-"+name) {
			return file
		}
	}
	return ""
}

// Page returns the source of a page.
func Page(name string) string {
	text, _ := pages.ReadFile(name)
	return string(text)
}
