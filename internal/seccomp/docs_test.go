// SPDX-License-Identifier: Apache-2.0

package seccomp

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the tables in FILTERS.md")

const docs = "FILTERS.md"

// TestDocs holds the tables for people to what the filters do.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	got := string(data)
	want := between(t, got, "rules", rulesTable())
	want = between(t, want, "allowed", allowedList())
	if got == want {
		return
	}
	if *update {
		if err := os.WriteFile(docs, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("go test ./internal/seccomp -run Docs -update rewrites it (-want +got):\n%s", cmp.Diff(want, got))
}

// between puts a text between the marks of a name.
func between(t *testing.T, page, name, text string) string {
	t.Helper()
	start, end := "<!-- "+name+": written by go test ./internal/seccomp -run Docs -update -->\n",
		"<!-- end of "+name+" -->\n"
	before, rest, ok1 := strings.Cut(page, start)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s: no %q", docs, name)
	}
	return before + start + "\n" + text + "\n" + end + after
}

// rulesTable has a row for each kind of refusal, with the calls it is for and
// the filters that have it.
func rulesTable() string {
	rules := func(level string, change func(*Options)) map[Rule]bool {
		all := map[Rule]bool{}
		for _, arch := range []string{"amd64", "arm64"} {
			o := Options{Arch: arch, Level: level}
			change(&o)
			for _, r := range Rules(o) {
				all[r] = true
			}
		}
		return all
	}
	plain := func(*Options) {}
	filters := []map[Rule]bool{
		rules("default", plain), rules("strict", plain), rules("dev", plain),
		rules("default", func(o *Options) { o.Root = true }),
		rules("default", func(o *Options) { o.Host = true }),
		rules("default", func(o *Options) { o.Host, o.NoInet, o.NoUnix = true, true, true }),
		rules("default", func(o *Options) { o.Host, o.NoTruncate = true, true }),
	}
	type row struct{ where, args, errno string }
	names := map[row][]string{}
	for _, f := range filters {
		for r := range f {
			k := row{where(r, filters), r.Args, r.Action}
			if !slices.Contains(names[k], r.Name) {
				names[k] = append(names[k], r.Name)
			}
		}
	}
	var rows []row
	for k := range names {
		slices.Sort(names[k])
		rows = append(rows, k)
	}
	order := []string{"all", "default, strict", "default, dev", "strict", "strict; shared", "root",
		"root; shared, old Landlock", "shared", "shared, no network", "shared, old Landlock"}
	slices.SortFunc(rows, func(a, b row) int {
		if i := slices.Index(order, a.where) - slices.Index(order, b.where); i != 0 {
			return i
		}
		return strings.Compare(fmt.Sprint(a.errno, a.args != "", names[a]), fmt.Sprint(b.errno, b.args != "", names[b]))
	})
	var out strings.Builder
	out.WriteString("| filter | call | what of it | answer |\n|---|---|---|---|\n")
	for _, k := range rows {
		args := k.args
		if args == "" {
			args = "all"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", k.where, strings.Join(names[k], ", "),
			strings.ReplaceAll(args, "|", `\|`), k.errno)
	}
	return out.String()
}

func where(r Rule, filters []map[Rule]bool) string {
	var in [7]bool
	for i, f := range filters {
		in[i] = f[r]
	}
	switch {
	case in[0] && in[1] && in[2]:
		return "all"
	case in[0] && in[1]:
		return "default, strict"
	case in[0] && in[2]:
		return "default, dev"
	case in[1] && in[4]:
		return "strict; shared"
	case in[1]:
		return "strict"
	case in[3] && in[6] && !in[4]:
		return "root; shared, old Landlock"
	case in[3]:
		return "root"
	case in[4]:
		return "shared"
	case in[5]:
		return "shared, no network"
	case in[6]:
		return "shared, old Landlock"
	}
	return "?"
}

func allowedList() string {
	names := slices.Sorted(slices.Values(allowed()))
	var out strings.Builder
	line := ""
	for i, n := range names {
		if i < len(names)-1 {
			n += ","
		}
		if len(line)+1+len(n) > 100 {
			out.WriteString(line + "\n")
			line = ""
		}
		line = strings.TrimPrefix(line+" "+n, " ")
	}
	return out.String() + line + "\n"
}
