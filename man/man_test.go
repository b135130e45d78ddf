// SPDX-License-Identifier: Apache-2.0

package man

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestPage lets the formatters that are there read the page. groff has to be
// when SBX_TEST_REQUIRE names it.
func TestPage(t *testing.T) {
	for _, lint := range [][]string{
		{"groff", "-man", "-ww", "-z"},
		{"mandoc", "-Tlint", "-Wwarning"},
	} {
		for name, page := range map[string]string{"sbx": Page, "sbx-sh": Shell} {
			t.Run(lint[0]+" "+name, func(t *testing.T) { check(t, page, lint) })
		}
	}
}

func check(t *testing.T, page string, lint []string) {
	path, err := exec.LookPath(lint[0])
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("SBX_TEST_REQUIRE"), ","), lint[0]) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	cmd := exec.Command(path, lint[1:]...)
	cmd.Stdin = strings.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s: %v\n%s", strings.Join(lint, " "), err, out)
	}
}

// TestSections wants what a reader of manual pages looks for, in the customary
// order.
func TestSections(t *testing.T) {
	want := []string{
		"NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "PROFILES", "FILES", "ENVIRONMENT",
		"SIGNALS", "EXIT STATUS", "EXAMPLES", "SECURITY NOTES", "SEE ALSO",
	}
	var got []string
	for _, line := range strings.Split(Page, "\n") {
		if name, ok := strings.CutPrefix(line, ".SH "); ok {
			got = append(got, strings.Trim(name, `"`))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("sections %q, want %q", got, want)
	}
}
