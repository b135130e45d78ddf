// SPDX-License-Identifier: Apache-2.0

//go:build linux

package everyday

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/compatibility.md")

const pagePath = "../../docs/compatibility.md"

// TestCompatibilityPage: docs/compatibility.md is what the table says, which TestEveryday
// proves.
func TestCompatibilityPage(t *testing.T) {
	tab, err := readTable("testdata/rows/*.txt")
	must(t, err)
	odd, err := readPlaces("testdata/places.txt")
	must(t, err)
	want := page(tab, odd)
	if *update {
		must(t, os.WriteFile(pagePath, []byte(want), 0o644))
		return
	}
	got, err := os.ReadFile(pagePath)
	must(t, err)
	if string(got) != want {
		t.Error("docs/compatibility.md is not what the table says: go generate ./tests/everyday writes it")
	}
}

func page(tab *table, odd []place) string {
	var b strings.Builder
	intro, err := os.ReadFile("testdata/page.md")
	if err != nil {
		panic(err)
	}
	head, rest, _ := strings.Cut(string(intro), "\n\n")
	m, l := count(tab.rows, "moderate"), count(tab.rows, "landlock")
	fmt.Fprintf(&b, "%s\n\nOf %d everyday commands %d work with bwrap as without sbx, %d are refused on purpose and %d are\n"+
		"broken; with Landlock %d, %d and %d.\n\n%s", head, len(tab.rows), m["ok"], m["refused"], m["broken"], l["ok"], l["refused"], l["broken"], rest)
	fmt.Fprintf(&b, "\n## Counts\n\n%d commands, as the tables below have them:\n\n", len(tab.rows))
	b.WriteString("| | tried | as without sbx | refused by the profile | broken |\n|---|---|---|---|---|\n")
	for _, way := range ways {
		n := count(tab.rows, way.name)
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", titles[way.name], n.total(), n["ok"], n["refused"], n["broken"])
	}
	b.WriteString("\nBroken of those tried, by group:\n\n| | moderate, bwrap | moderate, Landlock |\n|---|---|---|\n")
	for _, g := range tab.groups {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", g.title, broken(g.rows, "moderate"), broken(g.rows, "landlock"))
	}
	fmt.Fprintf(&b, "| **git, builds, installs and tests** | %s | %s |\n", broken(ordinary(tab.rows), "moderate"), broken(ordinary(tab.rows), "landlock"))
	b.WriteString("\n## Reasons\n\n| | | what the hint says |\n|---|---|---|\n")
	for _, x := range tab.reasons {
		fmt.Fprintf(&b, "| %s | %s: %s | %s |\n", x.name, x.kind, x.text, x.remedy)
	}
	b.WriteString("\n## Commands\n\n`ok` is: as without sbx. `-` was not tried: of strict and permissive\nevery third, so that all are tried in a few minutes.\n")
	for _, g := range tab.groups {
		fmt.Fprintf(&b, "\n### %s\n\n| in | command | strict | moderate | permissive | Landlock |\n|---|---|---|---|---|---|\n", g.title)
		for _, r := range g.rows {
			fmt.Fprintf(&b, "| %s | %s |", strings.TrimSuffix(r.block.project+"/"+r.dir, "/"), cell(r.command))
			for _, way := range ways {
				fmt.Fprintf(&b, " %s |", r.verdict(way.name))
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n## Odd places\n\nIn each: make a file, commit it, build, test; with moderate and with Landlock.\n\n| place | moderate | Landlock |\n|---|---|---|\n")
	for _, p := range odd {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.title, p.verdict("moderate"), p.verdict("landlock"))
	}
	return b.String()
}

// count is how many rows have which verdict.
func count(rows []*row, way string) tally {
	t := tally{}
	for _, r := range rows {
		if !slices.Contains(r.not, way) {
			t.add(r, way, false, false)
		}
	}
	return t
}

// ordinary are the rows of git, builds, installs and tests.
func ordinary(rows []*row) []*row {
	return slices.DeleteFunc(slices.Clone(rows), func(r *row) bool {
		return !slices.Contains([]string{"git", "worktree", "hooks", "make", "go", "npm", "python", "rust", "maven", "ruby"}, r.group.name)
	})
}

// broken is a cell: how many, and in percent.
func broken(rows []*row, way string) string {
	n := count(rows, way)
	return fmt.Sprintf("%d of %d (%.1f %%)", n["broken"], n.total(), 100*float64(n["broken"])/float64(n.total()))
}

var titles = map[string]string{"strict": "strict, bwrap", "moderate": "moderate, bwrap", "permissive": "permissive, bwrap", "landlock": "moderate, Landlock"}

func (r *row) verdict(way string) string {
	v, not := r.want[way]
	switch {
	case slices.Contains(r.not, way):
		return "-"
	case not:
		return v.reason.name
	}
	return "ok"
}

// cell is code in a cell of a table.
func cell(s string) string {
	fence := "`"
	if strings.Contains(s, "`") {
		fence = "``"
	}
	return fence + strings.ReplaceAll(s, "|", `\|`) + fence
}
