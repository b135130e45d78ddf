// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/engine"
)

// The acts are tried where they succeed, and must leave everything as it was.
func TestActsDoNoDamage(t *testing.T) {
	dir := t.TempDir()
	file, sub := filepath.Join(dir, "file"), filepath.Join(dir, "sub")
	fifo := filepath.Join(dir, "fifo")
	for _, err := range []error{os.WriteFile(file, []byte("content\n"), 0o644), os.Mkdir(sub, 0o755),
		os.WriteFile(sub+"/f", []byte("x"), 0o600), os.Symlink("file", dir+"/link"), unix.Mkfifo(fifo, 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := contents(t, dir)
	asked := []question{
		ask(actOpen, file), ask(actRead, file), ask(actMode, file), ask(actRemove, file), ask(actRemove, sub),
		ask(actLook, fifo), ask(actLook, file),
		ask(actCreate, sub+"/new"), askMake(dir+"/d", "directory"), askMake(dir+"/d/l", "link"),
		askMake(dir+"/d/p", "fifo"), askMake(dir+"/d/s", "socket"),
		{Act: actRename, Path: []byte(file), To: []byte(dir + "/was")},
		{Act: actRename, Path: []byte(sub), To: []byte(dir + "/was")},
		{Act: actLink, Path: []byte(file), To: []byte(dir + "/second")},
	}
	made := attempt(asked, func(a answer) bool {
		if a.Errno != 0 {
			t.Errorf("%s", a.why())
		}
		return true
	})
	for _, name := range []string{"/sub/new", "/d/l", "/d/p", "/d/s"} {
		if _, err := os.Lstat(dir + name); err != nil {
			t.Error("what was made is to stay until it was looked for: ", err)
		}
	}
	clean(made)
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("changed (-before +after):\n%s", diff)
	}
	// Nothing that exists is taken for a free name.
	over := []question{
		ask(actCreate, file), askMake(sub, "directory"), askMake(file, "link"), askMake(dir+"/x", "nonsense"),
		{Act: actRename, Path: []byte(sub), To: []byte(file)},
		{Act: actLink, Path: []byte(sub + "/f"), To: []byte(file)}, {Act: "nonsense"}, {Act: actCall, Text: "nonsense"},
		{Act: actSocket, Args: []int{1}}, {Act: actSearch},
	}
	clean(attempt(over, func(a answer) bool {
		if a.Errno == 0 {
			t.Error("an act over what exists succeeded")
		}
		return true
	}))
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("changed (-before +after):\n%s", diff)
	}
}

// A probe that dies in between leaves names that were given to it.
func TestRestore(t *testing.T) {
	dir := t.TempDir()
	s := &target{Nonce: "abc", CWD: dir, Remap: "/ws"}
	if err := os.WriteFile(dir+"/kept", []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/hooks", 0o755); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	asked := []question{s.move("/ws/hooks"), {Act: actCreate, Path: []byte("/ws/made")},
		{Act: actCreate, Path: []byte("/ws/kept")}, {Act: actLink, Path: []byte("/ws/kept"), To: []byte("/ws/second")},
		askMake("/ws/able", "directory"), ask(actCreate, "/ws/able/f"), askMake("/ws/able/s", "link")}
	for _, err := range []error{os.Rename(dir+"/hooks", s.outsidePath(string(asked[0].To))),
		os.WriteFile(dir+"/made", nil, 0o600), os.Link(dir+"/kept", dir+"/second"), os.Mkdir(dir+"/able", 0o700),
		os.WriteFile(dir+"/able/f", nil, 0o600), os.Symlink("f", dir+"/able/s")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	holes := 0
	for _, r := range restore(s, asked) {
		if r.Verdict == hole {
			holes++
		}
	}
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" || holes != 7 {
		t.Errorf("%d holes; restored (-before +after):\n%s", holes, diff)
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(data)
		}
		out[path] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What is tried outside is harmless: none of it changes this process.
func TestOutcomes(t *testing.T) {
	spaces := ownSpaces()
	s := &target{Walls: true, Seccomp: "strict", Gaps: []string{engine.GapUnix}}
	checks := s.checks()
	s.Seccomp = "default"
	checks = append(checks, s.checks()...)
	s.tryOutside(checks)
	for _, c := range checks {
		if c.Twin && c.Out == nil {
			t.Errorf("%s %s was not tried", c.Name, c.Subject)
		}
	}
	if diff := cmp.Diff(spaces, ownSpaces()); diff != "" {
		t.Errorf("namespaces (-before +after):\n%s", diff)
	}
	persona, err := os.ReadFile("/proc/self/personality")
	if err == nil && string(persona) != "00000000\n" {
		t.Errorf("personality %s", persona)
	}
}
