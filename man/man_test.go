// SPDX-License-Identifier: Apache-2.0

package man

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPages lets the formatters that are there read the pages. groff has to be
// when SBX_TEST_REQUIRE names it.
func TestPages(t *testing.T) {
	for _, lint := range [][]string{
		{"groff", "-man", "-ww", "-z"},
		{"mandoc", "-Tlint", "-Wwarning"},
	} {
		for _, name := range Names() {
			t.Run(lint[0]+" "+name, func(t *testing.T) {
				if out := format(t, Page(name), lint); out != "" {
					t.Errorf("%s\n%s", strings.Join(lint, " "), out)
				}
			})
		}
	}
}

// format is what a formatter says of a page.
func format(t *testing.T, page string, words []string) string {
	path, err := exec.LookPath(words[0])
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("SBX_TEST_REQUIRE"), ","), words[0]) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	cmd := exec.Command(path, words[1:]...)
	cmd.Stdin = strings.NewReader(page)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", strings.Join(words, " "), err)
	}
	return string(out)
}

// TestSections wants what a reader of manual pages looks for, in the customary
// order, and the same date and version in each head.
func TestSections(t *testing.T) {
	want := []string{
		"NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "EXIT STATUS", "SIGNALS", "ENVIRONMENT", "FILES",
		"EXAMPLES", "SEE ALSO",
	}
	must := []string{"NAME", "DESCRIPTION", "EXAMPLES", "SEE ALSO"}
	date := strings.Fields(Page("sbx.1")[strings.Index(Page("sbx.1"), ".TH"):])[3]
	titles := map[string]string{"1": "User Commands", "5": "File Formats", "7": "Miscellaneous"}
	for _, name := range Names() {
		bare, section, _ := strings.Cut(name, ".")
		head := ".TH " + strings.ToUpper(bare) + " " + section + " " + date + ` "sbx 0.1" "` + titles[section] + `"`
		if !strings.Contains(Page(name), head+"\n") {
			t.Errorf("%s does not begin with %s", name, head)
		}
		var got []string
		for line := range strings.Lines(Page(name)) {
			if title, ok := strings.CutPrefix(line, ".SH "); ok {
				got = append(got, strings.Trim(title, "\"\n"))
			}
		}
		if name == "sbx.1" {
			must = want
		}
		missing := slices.ContainsFunc(must, func(s string) bool { return !slices.Contains(got, s) })
		if missing || !slices.IsSortedFunc(got, func(a, b string) int { return slices.Index(want, a) - slices.Index(want, b) }) {
			t.Errorf("%s has the sections %q, want %q of %q", name, got, must, want)
		}
	}
}

// TestSeeAlso: each page names all others, and what they name of sbx is a page.
func TestSeeAlso(t *testing.T) {
	reference := regexp.MustCompile(`(?m)^\.BR (sbx\S*) \((\d)\)`)
	for _, name := range Names() {
		_, also, _ := strings.Cut(Page(name), ".SH SEE ALSO\n")
		var got []string
		for _, m := range reference.FindAllStringSubmatch(also, -1) {
			got = append(got, strings.ReplaceAll(m[1], `\-`, "-")+"."+m[2])
		}
		want := slices.DeleteFunc(Names(), func(s string) bool { return s == name })
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("SEE ALSO of %s names %q, want %q", name, got, want)
		}
		for _, m := range reference.FindAllStringSubmatch(Page(name), -1) {
			if page := strings.ReplaceAll(m[1], `\-`, "-") + "." + m[2]; !slices.Contains(Names(), page) {
				t.Errorf("%s names %s, which is no page", name, page)
			}
		}
	}
}

func TestFind(t *testing.T) {
	for words, want := range map[string]string{
		"": "sbx.1", "sbx": "sbx.1", "1 sbx": "sbx.1", "sbx(1)": "sbx.1", "sbx.1": "sbx.1",
		"config": "sbx-config.5", "sbx-config": "sbx-config.5", "5 config": "sbx-config.5", "config.5": "sbx-config.5",
		"7 sbx-security": "sbx-security.7", "sbx-security(7)": "sbx-security.7", "sbx profiles": "sbx-profiles.7",
		"sh": "sbx-sh.1", "sbx-sh": "sbx-sh.1",
		"1 config": "", "why": "", "1": "", "sbx-": "", ".1": "", "../man/sbx.1": "",
	} {
		if got := Find(strings.Fields(words)); got != want {
			t.Errorf("Find(%q) is %q, want %q", words, got, want)
		}
	}
}

// TestText: the words of a page, in their order, are those that mandoc prints, in
// lines that fit.
func TestText(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			page := strings.ReplaceAll(Page(name), `\(bu`, "*") // mandoc has another sign for it
			got := Text(page, 60)
			for line := range strings.Lines(got) {
				if len(line) > 61 && strings.Contains(strings.TrimLeft(line, " "), " ") && strings.HasPrefix(line, strings.Repeat(" ", 14)) {
					t.Errorf("a line is too long: %s", line)
				}
			}
			want := strings.Fields(regexp.MustCompile(".\b").ReplaceAllString(
				format(t, page, []string{"mandoc", "-Tascii", "-man", "-Owidth=999"}), ""))
			words := strings.Fields(got)
			if n := strings.Count(got, "\n\n"); n < 10 {
				t.Errorf("%d paragraphs", n)
			}
			head, foot := slices.Index(want, "NAME"), len(want)-4 // sbx 0.1, the date, the page
			if want = want[head:foot]; !slices.Equal(words[slices.Index(words, "NAME"):], want) {
				for i, w := range words[slices.Index(words, "NAME"):] {
					if i >= len(want) || want[i] != w {
						t.Fatalf("at %q mandoc has %q", words[max(0, i):][:10], want[max(0, i-5):][:10])
					}
				}
				t.Error("words are missing at the end")
			}
		})
	}
}
