// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the table in docs/profiles.md")

// TestToolDocs compares the table in docs/profiles.md with the one here.
func TestToolDocs(t *testing.T) {
	const file, from, to = "../../docs/profiles.md",
		"<!-- caches: written by go test ./internal/engine -run ToolDocs -update -->\n", "<!-- end of caches -->\n"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), from)
	have, after, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatal("no marks in " + file)
	}
	var b strings.Builder
	b.WriteString("\n| tool | private cache | the host's cache | with the network off | left alone, where it says the same |\n|---|---|---|---|---|\n")
	for i := range tools {
		tool := &tools[i]
		var private, outside, quick []string
		for _, s := range tool.set {
			value := strings.ReplaceAll(strings.ReplaceAll(s.value, "$CACHE/..", "~/.cache"), "$DEFAULT/../../bin", "~/go/bin")
			value = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(value, "$OUTSIDE", "~/"+tool.outside), "$URL", "file://~/"+tool.outside), "$CACHE", "~/.cache/"+tool.dir)
			word := "`" + s.name + "=" + value + "`"
			switch s.when {
			case kept:
				private = append(private, word)
			case instead:
				private = append(private, word+" ¹")
			case onMac:
				private = append(private, word+" ²")
			case closed:
				private = append(private, word+" ³")
			case fallback, unfed:
				outside = append(outside, word)
			case offline:
				quick = append(quick, word)
			}
		}
		files := ""
		if len(tool.files) > 0 {
			files = "`" + strings.Join(tool.files, "`, `") + "`"
		}
		b.WriteString("| " + strings.Join([]string{tool.name, strings.Join(private, ", "), strings.Join(outside, ", "),
			strings.Join(quick, ", "), files}, " | ") + " |\n")
	}
	b.WriteString("\n")
	if *update {
		if err := os.WriteFile(file, []byte(before+from+b.String()+to+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(have, b.String()); diff != "" {
		t.Errorf("go test ./internal/engine -run ToolDocs -update writes it again (-file +table):\n%s", diff)
	}
}
