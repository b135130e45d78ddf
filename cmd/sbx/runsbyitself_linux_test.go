// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/sbx-sandbox/sbx/profiles"
)

// runsByItself reads the list of names that docs/runs-by-itself.md is made of:
// each with its grade and with what sbx does for it.
func runsByItself(t *testing.T) (names []string, grade, treatment map[string]string) {
	t.Helper()
	data, err := os.ReadFile("../../internal/tripwire/names.toml")
	must(t, err)
	var list struct {
		Tool []struct {
			Names            []string
			Grade, Treatment string
		}
	}
	must(t, toml.Unmarshal(data, &list))
	grade, treatment = make(map[string]string), make(map[string]string)
	for _, e := range list.Tool {
		for _, n := range e.Names {
			if strings.Contains(n, " ") {
				continue // a description
			}
			n = strings.ReplaceAll(n, "*", "x")
			names = append(names, n)
			grade[n], treatment[n] = e.Grade, e.Treatment
		}
	}
	return names, grade, treatment
}

// pendingIn is what sbx tripwire shows, by path below the project.
func (w *world) pendingIn(t *testing.T, dir string) map[string]pendingJSON {
	t.Helper()
	out, said, _ := w.run(dir, "sbx", "tripwire", "--json")
	var report trippedJSON
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err, out, said)
	}
	all := make(map[string]pendingJSON)
	for _, p := range report.Pending {
		all[strings.TrimPrefix(p.Path, dir+"/")] = p
	}
	return all
}

// What docs/runs-by-itself.md says of a name is what a run does: of names that
// exist before, and of those that the command makes.
func TestRunsByItself(t *testing.T) {
	needBwrap(t)
	t.Parallel()
	if _, _, status := newWorld(t).run("/", "git", "--version"); status != 0 {
		t.Skip("there is no git")
	}
	names, grade, treatment := runsByItself(t)
	// Two of sbx's files are refused, and these are no use in a repository
	// that has to work.
	skip := []string{".sbx.hcl", ".git/commondir", ".git/config.worktree", ".git/info/grafts", ".git/objects/info/alternates"}
	const change = `for name; do if [ -d "$name" ]; then name=$name/new; fi; cat "$name" 2>/dev/null; (echo after >>"$name") 2>/dev/null && echo "$name"; done`

	t.Run("changed", func(t *testing.T) {
		w := newWorld(t)
		w.do(t, "proj", "git init -q .")
		var here []string
		for _, n := range names {
			if slices.Contains(skip, n) {
				continue
			}
			here = append(here, n)
			if _, err := os.Lstat(filepath.Join(w.proj, n)); err != nil {
				text := "# before " + n + "\n"
				if treatment[n] == "hidden" {
					text = "[pypi]\npassword = before " + n + "\n" // of some only these lines are
				}
				w.write(t, "proj/"+n, text)
			}
		}
		_, said, status := w.run(w.proj, "sbx", "-q", "--", "true")
		if status != 0 || said != "" {
			t.Fatal(status, said)
		}
		if got := w.pendingIn(t, w.proj); len(got) > 0 {
			t.Errorf("before anything was changed: %v", got)
		}
		out, said, _ := w.run(w.proj, append([]string{"sbx", "-q", "--", "sh", "-c", change, "sh"}, here...)...)
		lines := strings.Split(out, "\n")
		pending := w.pendingIn(t, w.proj)
		for _, n := range here {
			wrote := slices.Contains(lines, n) || slices.Contains(lines, n+"/new")
			read := strings.Contains(out, "before "+n+"\n")
			p, told := pending[n]
			how := treatment[n]
			if wrote != (how == "told" || how == "left") || told != (how == "told") || how == "hidden" && read {
				t.Errorf("%s is %s: written %v, read %v, told of %v\n%s", n, how, wrote, read, told, said)
			}
			if told && p.Grade != grade[n] {
				t.Errorf("%s: grade %s, and the list says %s", n, p.Grade, grade[n])
			}
			// The control: the host can write them.
			if f, err := os.OpenFile(filepath.Join(w.proj, n), os.O_APPEND|os.O_WRONLY, 0); err == nil {
				f.Close()
			} else if n != ".git/hooks" {
				t.Error(err)
			}
		}
	})

	t.Run("made", func(t *testing.T) {
		w := newWorld(t)
		w.do(t, "proj", "git init -q .; rm -rf .git/hooks .git/info")
		w.do(t, "proj", "sbx -q -- true")
		var here []string
		for _, n := range names {
			if how := treatment[n]; (how == "told" || how == "protected") && n != ".git/config" {
				here = append(here, n)
			}
		}
		const make = `for name; do mkdir -p "$(dirname "$name")" && echo made >"$name" || exit; done`
		if _, said, status := w.run(w.proj, append([]string{"sbx", "-q", "--", "sh", "-c", make, "sh"}, here...)...); status != 0 {
			t.Fatal(said)
		}
		pending := w.pendingIn(t, w.proj)
		for _, n := range here {
			p, told := pending[n]
			if !told {
				t.Errorf("%s was made and is not reported", n)
				continue
			}
			want := grade[n]
			if treatment[n] == "protected" {
				want = "alarm"
			}
			if p.Grade != want || p.What != "new" {
				t.Errorf("%s: %s, %s; the list says %s", n, p.What, p.Grade, want)
			}
		}
	})
}

// All that the default profile protects in a project is on the list.
func TestProtectedIsListed(t *testing.T) {
	_, _, treatment := runsByItself(t)
	for _, p := range profiles.Builtin()["moderate"][0].Protect.Items {
		name, ok := strings.CutPrefix(p.Text, "$CWD/")
		if name = strings.ReplaceAll(name, "*", "x"); ok && treatment[name] != "protected" {
			t.Errorf("%s is protected, and the list says %q", p.Text, treatment[name])
		}
	}
}
