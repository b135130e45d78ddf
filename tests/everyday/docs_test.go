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
	b.Write(intro)
	fmt.Fprintf(&b, "\n## Counts\n\n%d commands, as the tables below have them:\n\n", len(tab.rows))
	b.WriteString("| | tried | as without sbx | refused by the profile | broken |\n|---|---|---|---|---|\n")
	for _, way := range ways {
		n := map[string]int{}
		for _, r := range tab.rows {
			switch v, not := r.want[way.name]; {
			case slices.Contains(r.not, way.name):
			case not:
				n[v.reason.kind]++
			default:
				n["ok"]++
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", titles[way.name], n["ok"]+n["refused"]+n["broken"], n["ok"], n["refused"], n["broken"])
	}
	b.WriteString("\n## Reasons\n\n| | | what the hint says |\n|---|---|---|\n")
	for _, x := range tab.reasons {
		remedy := ""
		if x.remedy != "" {
			remedy = "`" + x.remedy + "`"
		}
		fmt.Fprintf(&b, "| %s | %s: %s | %s |\n", x.name, x.kind, x.text, remedy)
	}
	b.WriteString("\n## Commands\n\n`ok` is: as without sbx. `-` was not tried, since it would take long.\n")
	for _, g := range tab.groups {
		fmt.Fprintf(&b, "\n### %s\n\n| in | command | strict | moderate | permissive | Landlock |\n|---|---|---|---|---|---|\n", g.title)
		for _, r := range g.rows {
			fmt.Fprintf(&b, "| %s | %s |", strings.TrimSuffix(r.block.project+"/"+r.block.dir, "/"), cell(r.command))
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
