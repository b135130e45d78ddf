// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// With protect = "auto" Landlock leaves open what git runs, and what a row of the table
// changed there during the run is as before when sbx has returned.
func TestPutBack(t *testing.T) {
	sbx := build(t)
	landlock := engines()[1]
	if err := landlock.works(); err != nil {
		if strings.Contains(os.Getenv("SBX_TEST_REQUIRE"), landlock.name) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	rows := slices.DeleteFunc(Rows(), func(r Row) bool {
		return r.Want[1] || !slices.Contains(changing, r.Op) || !slices.ContainsFunc(r.Args, func(path string) bool {
			return strings.HasPrefix(path, "$CWD/.git") || strings.HasPrefix(path, "$CWD/to-hooks/")
		})
	})
	for _, profile := range Profiles[1:] {
		changed := 0
		for _, r := range rows {
			t.Run(profile+"/"+r.Name(), func(t *testing.T) {
				h := newHost(t)
				a := h.actor(t, sbx, "--engine", "landlock", "-p", profile, "--protect", "auto", "--")
				before := gitNames(t, h.CWD)
				allowed, detail, err := h.judge(t, r, a.do)
				if err != nil {
					t.Fatal(err)
				}
				during := gitNames(t, h.CWD)
				h.ends[len(h.ends)-1]() // of the actor
				h.ends = h.ends[:len(h.ends)-1]
				if d := cmp.Diff(before, gitNames(t, h.CWD)); d != "" {
					t.Errorf("%s: (-before +after):\n%s", detail, d)
				}
				if allowed && !cmp.Equal(before, during) {
					changed++
				}
			})
		}
		if changed < 10 {
			t.Errorf("%s: %d of %d rows changed anything: that is no test", profile, changed, len(rows))
		}
	}
}

// gitNames is what git runs in a project.
func gitNames(t *testing.T, cwd string) (out []string) {
	t.Helper()
	for _, top := range []string{".git", ".git/config", ".git/hooks", "to-hooks"} {
		err := filepath.WalkDir(filepath.Join(cwd, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				out = append(out, err.Error())
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			data, _ := os.ReadFile(path)
			out = append(out, fmt.Sprint(path[len(cwd):], info.Mode(), string(data)))
			if top == ".git" {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
