// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table in DIFFERENCES.md")

// TestTable: what makes the table worth its name.
func TestTable(t *testing.T) {
	rows, err := parse(table)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 80 {
		t.Errorf("%d rows", len(rows))
	}
	used, targets := map[string]bool{}, ""
	for _, r := range rows {
		used[r.Op] = true
		targets += strings.Join(r.Args, "\n") + "\n"
	}
	for op := range ops {
		if !used[op] {
			t.Errorf("no row does %s", op)
		}
	}
	for i, profile := range Profiles {
		var n [2]int
		for _, r := range rows {
			if r.Want[i] {
				n[1]++
			} else {
				n[0]++
			}
		}
		if n[0] < 15 || n[1] < 15 {
			t.Errorf("%s: %d rows deny and %d allow", profile, n[0], n[1])
		}
	}
	for _, n := range Layout() {
		if n.Kind == Socket && !strings.Contains(targets, n.Path+"\n") {
			t.Errorf("no row is about %s", n.Path)
		}
	}
}

func TestParse(t *testing.T) {
	for _, test := range []struct{ name, text, err string }{
		{"unknown act", "look $CWD/a  deny deny deny",
			`table.txt:1: "look $CWD/a": no such act, or not with 1 targets`},
		{"too few targets", "rename $CWD/a  deny deny deny",
			`table.txt:1: "rename $CWD/a": no such act, or not with 1 targets`},
		{"two verdicts", "read $CWD/a  deny deny", `table.txt:1: "deny deny": want three verdicts`},
		{"no verdict", "read $CWD/a  deny deny maybe", `table.txt:1: "maybe" is no verdict`},
		{"one blank", "read $CWD/a deny deny deny", "table.txt:1: want OP TARGET  VERDICTS"},
		{"twice", "read $CWD/a  deny deny deny\n\nread $CWD/a  deny deny allow",
			"table.txt:3: read $CWD/a stands in line 1 already"},
		{"no row", "  bwrap  deny deny deny  because", "table.txt:1: want ENGINE  VERDICTS  REASON below a row"},
		{"no reason", "read $CWD/a  deny deny deny\n  bwrap  deny deny allow",
			"table.txt:2: want ENGINE  VERDICTS  REASON below a row"},
		{"no difference", "read $CWD/a  deny deny deny\n  bwrap  deny deny deny  because",
			"table.txt:2: bwrap does not differ from the row"},
		{"unknown engine", "read $CWD/a  deny deny deny\n  docker  deny deny allow  because",
			`table.txt:2: "docker" is no engine`},
		{"no version", "read $CWD/a  deny deny deny\n  landlock<x  deny deny allow  because",
			`table.txt:2: "x" is no version`},
		{"engine twice", "read $CWD/a  deny deny deny\n  bwrap  deny deny allow  because\n  bwrap  deny allow allow  because", "table.txt:3: bwrap stands here already"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := parse(test.text); err == nil || err.Error() != test.err {
				t.Errorf("got %v, want %s", err, test.err)
			}
		})
	}
	rows, err := parse("# a note\nread $CWD/with one blank  deny allow allow\n  landlock<9  deny deny deny  old\n")
	if err != nil || len(rows) != 1 || rows[0].Args[0] != "$CWD/with one blank" {
		t.Fatal(rows, err)
	}
	for _, test := range []struct {
		engine  string
		version int
		want    bool
	}{{"bwrap", 0, true}, {"landlock", 8, false}, {"landlock", 9, true}, {"sandbox-exec", 0, true}} {
		if got := rows[0].Expect(test.engine, test.version, 1); got != test.want {
			t.Errorf("%s %d: %v", test.engine, test.version, got)
		}
	}
}

// TestCompare: one row that goes otherwise is found, a difference that is not
// there as well, and what cannot be answered ends it.
func TestCompare(t *testing.T) {
	for _, engine := range Engines {
		for profile := range Profiles {
			right := func(r Row) bool { return r.Expect(engine, 0, profile) }
			compare := func(decide func(Row) bool) []Mismatch {
				all, err := Compare(engine, 0, profile, func(r Row) (bool, string, error) { return decide(r), "", nil })
				if err != nil {
					t.Fatal(err)
				}
				return all
			}
			if all := compare(right); len(all) > 0 {
				t.Errorf("%s: %v", engine, all)
			}
			for _, wrong := range Rows() {
				all := compare(func(r Row) bool { return right(r) != (r.Line == wrong.Line) })
				if len(all) != 1 || all[0].Row.Line != wrong.Line {
					t.Errorf("%s: line %d: %v", engine, wrong.Line, all)
				}
			}
			differing := 0
			for _, r := range Rows() {
				if r.Expect(engine, 0, profile) != r.Want[profile] {
					differing++
				}
			}
			if all := compare(func(r Row) bool { return r.Want[profile] }); len(all) != differing {
				t.Errorf("%s: %d differences are missed, of %d", engine, len(all), differing)
			}
		}
	}
	cause := errors.New("cause")
	if _, err := Compare("bwrap", 0, 0, func(Row) (bool, string, error) { return false, "", cause }); !errors.Is(err,
		cause) {
		t.Error(err)
	}
}

// TestDifferences: DIFFERENCES.md lists the differences of the table.
func TestDifferences(t *testing.T) {
	const file, begin, end = "DIFFERENCES.md", "<!-- from internal/conformance/table.txt -->\n",
		"<!-- end -->\n"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: the marks are not there", file)
	}
	want := differences()
	if old == want {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the table says: go test ./internal/conformance -run Differences -update", file)
	}
	if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// differences are the table's, one line for each engine, reason, direction and
// set of profiles.
func differences() string {
	type key struct{ engine, under, what, why string }
	var keys []key
	acts := map[key][]string{}
	for _, r := range Rows() {
		for _, d := range r.Differences {
			for _, more := range []bool{true, false} {
				var under []string
				for i, profile := range Profiles {
					if d.Want[i] == more && r.Want[i] != more {
						under = append(under, profile)
					}
				}
				if under == nil {
					continue
				}
				k := key{d.Engine, strings.Join(under, ", "), "refused", d.Reason}
				if d.Below > 0 {
					k.engine += fmt.Sprintf(" below version %d", d.Below)
				}
				if more {
					k.what = "possible"
				}
				if !slices.Contains(keys, k) {
					keys = append(keys, k)
				}
				acts[k] = append(acts[k], "`"+r.Name()+"`")
			}
		}
	}
	order := func(k key) int { engine, _, _ := strings.Cut(k.engine, " "); return slices.Index(Engines, engine) }
	slices.SortStableFunc(keys, func(a, b key) int { return order(a) - order(b) })
	out := "| engine | under | what | why |\n|---|---|---|---|\n"
	for _, k := range keys {
		out += fmt.Sprintf("| %s | %s | %s: %s | %s |\n", k.engine, k.under, k.what, strings.Join(acts[k], ", "), k.why)
	}
	return out
}
