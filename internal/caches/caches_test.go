// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sbx-sandbox/sbx/internal/openat"
)

const name = "0123456789abcdef"

func everywhere(string) bool { return true }

// store is one with the cache of a project, and a file in it.
func store(t *testing.T) (s Store, project, file string) {
	t.Helper()
	s, project = Store{filepath.Join(t.TempDir(), "projects"), os.Getuid()}, filepath.Join(t.TempDir(), "p")
	file = filepath.Join(s.Dir, name, "deep", "file")
	for _, dir := range []string{filepath.Dir(file), project} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte("x"), 0o400); err != nil {
		t.Fatal(err)
	}
	if fresh, err := s.Note(name, project); err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	return s, project, file
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

func TestNote(t *testing.T) {
	s, project, file := store(t)
	if fresh, err := s.Note(name, project); err != nil || fresh || !exists(file) {
		t.Error("noted again: ", fresh, err)
	}
	// A directory that is moved away and back is the same.
	if err := os.Rename(project, project+"2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(project+"2", project); err != nil {
		t.Fatal(err)
	}
	if fresh, err := s.Note(name, project); err != nil || fresh || !exists(file) {
		t.Error("moved: ", fresh, err)
	}
	if openat.Born(project) == 0 {
		t.Skip("this file system does not tell when a directory was made")
	}
	if err := os.Remove(project); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond)
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	if fresh, err := s.Note(name, project); err != nil || !fresh || exists(file) || !exists(filepath.Join(s.Dir, name)) {
		t.Error("another directory has the cache of the one before: ", fresh, err)
	}
}

func TestGone(t *testing.T) {
	s, project, file := store(t)
	s.Sweep(everywhere)
	if !exists(file) {
		t.Fatal("a cache in use was removed")
	}
	list, err := s.List(everywhere)
	if d := cmp.Diff([]Cache{{Name: name, Project: project}}, list); d != "" || err != nil {
		t.Error(d, err)
	}
	if err := os.Remove(project); err != nil {
		t.Fatal(err)
	}
	s.Sweep(func(string) bool { return false })
	if !exists(file) {
		t.Error("removed, though no one looked for the project")
	}
	s.Sweep(everywhere)
	if left, _ := os.ReadDir(s.Dir); len(left) > 0 {
		t.Error("left: ", left)
	}
}

// What a command made of its cache takes nothing else along: links are not
// followed, and directories that it closed are removed.
func TestRemove(t *testing.T) {
	s, project, file := store(t)
	kept := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(kept, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"deep/link": filepath.Dir(kept), "deep/file2": kept, "up": ".."} {
		if err := os.Symlink(to, filepath.Join(s.Dir, name, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []os.FileMode{0o555, 0} {
		dir := filepath.Join(s.Dir, name, "closed"+mode.String())
		if err := os.MkdirAll(dir+"/x", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	c := Cache{Name: name, Project: project}
	s.Measure(&c)
	if c.Bytes <= 0 {
		t.Error("it takes no room: ", c)
	}
	if err := s.Remove(time.Minute, c); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(s.Dir); len(left) > 0 || exists(file) || !exists(kept) {
		t.Error("left: ", left, " kept: ", exists(kept))
	}
}

// A command can make directories in directories without end.
func TestMeasureDeep(t *testing.T) {
	s, _, file := store(t)
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for range 1000 {
		if err := root.Mkdir("d", 0o700); err != nil {
			t.Fatal(err)
		}
		next, err := root.OpenRoot("d")
		if err != nil {
			t.Fatal(err)
		}
		_ = root.Close()
		root = next
	}
	c := Cache{Name: name}
	if s.Measure(&c); !c.More || c.Bytes <= 0 || c.Bytes > 1000*512 {
		t.Errorf("looked at all of it: %+v", c)
	}
}
