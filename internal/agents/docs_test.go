// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table in docs/agents.md")

// TestDocs compares the table in docs/agents.md with the one here.
func TestDocs(t *testing.T) {
	const file, from, to = "../../docs/agents.md",
		"<!-- clients: written by go test ./internal/agents -run Docs -update -->\n", "<!-- end of clients -->\n"
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
	b.WriteString("\n| client | start | inside | not inside | how its rule is known |\n|---|---|---|---|---|\n")
	for _, c := range All() {
		start, inside := "`sbx agent "+c.Name+"`", strings.Join(c.Inside, "; ")
		if c.Refused != "" {
			start, inside = "`sbx -p "+c.Whole+" -- "+c.Programs[0]+"`",
				"all, as a whole. Commands alone cannot be: "+c.Refused
		}
		outside := strings.Join(c.Outside, "; ")
		if c.Refused != "" {
			outside = "nothing, as a whole"
		}
		b.WriteString("| " + strings.Join([]string{c.Title, start, inside, outside, c.Seen}, " | ") + " |\n")
	}
	b.WriteString("\n")
	if *update {
		if err := os.WriteFile(file, []byte(before+from+b.String()+to+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(have, b.String()); diff != "" {
		t.Errorf("go test ./internal/agents -run Docs -update writes it anew (-file +table):\n%s", diff)
	}
}
