// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package host

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// counting counts what is asked of a file system.
type counting struct {
	OS
	looks, lists map[string]int
}

func (c counting) Lstat(path string) (Info, error) {
	c.looks[path]++
	return c.OS.Lstat(path)
}

func (c counting) ReadDir(path string) ([]Entry, error) {
	c.lists[path]++
	return c.OS.ReadDir(path)
}

// TestEachPathIsAskedOnce: by whatever names a path is asked for, and what a listing
// tells is not asked at all.
func TestEachPathIsAskedOnce(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/real/sub", "/listed"} {
		if err := os.MkdirAll(top+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for at, to := range map[string]string{"/link": "real", "/real/sub/up": "..", "/real/file": "none"} {
		if err := os.Symlink(to, top+at); err != nil {
			t.Fatal(err)
		}
	}
	c := counting{looks: map[string]int{}, lists: map[string]int{}}
	r := NewResolver(c)
	r.List(top + "/listed")
	for range 2 {
		for _, path := range []string{"/real/sub", "/link/sub", "/link/sub/up/sub", "/link/none", "/real/none", "/link/file",
			"/real/file", "/listed/a", "/listed/b/c", "/real/none/x"} {
			if _, err := r.Resolve(top + path); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{"/real/sub", "/real/none", "/listed/a"} {
			if _, err := r.Lstat(top + path); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Entries(top + "/listed"); err != nil {
			t.Fatal(err)
		}
	}
	for path, n := range c.looks {
		if n != 1 || filepath.Dir(path) == top+"/listed" {
			t.Error(path, "was asked for", n, "times")
		}
	}
	if n := c.lists[top+"/listed"]; n != 1 || len(c.looks) < 6 {
		t.Error("read", n, "times;", len(c.looks), "paths were asked for")
	}
}

// TestListedNames: a listing tells that a name is absent only where the file system could
// not find it all the same, under another spelling or after a chmod.
func TestListedNames(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/plain/A", "/odd/.g\u200cit", "/closed/a"} {
		if err := os.MkdirAll(top+name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := closed{counting{looks: map[string]int{}, lists: map[string]int{}}, top + "/closed"}
	r := NewResolver(c)
	for path, want := range map[string]int{"/plain/b": 0, "/plain/a": 1, "/plain/e\u0301": 1, "/plain/\xff": 1,
		"/odd/.git": 1, "/closed/b": 1} {
		r.List(top + filepath.Dir(path))
		if _, err := r.Resolve(top + path); err != nil || c.looks[top+path] != want {
			t.Errorf("%q was asked for %d times, want %d; %v", path, c.looks[top+path], want, err)
		}
	}
}

// closed has a directory that may not be searched.
type closed struct {
	counting
	dir string
}

func (c closed) Access(path string, rwx byte) bool {
	return (path != c.dir || rwx != 'x') && c.counting.Access(path, rwx)
}

// TestMake: what is to be made is there for whoever asks later, by each of its names,
// although its absence is known.
func TestMake(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(top, top+"/link"); err != nil {
		t.Fatal(err)
	}
	r := NewResolver(OS{})
	names := []string{top + "/new", top + "/link/new"}
	for i := range 2 {
		for _, path := range append(names, top+"/link/new/below") {
			to, err := r.Resolve(path)
			want := Absent
			if i == 1 && filepath.Base(path) == "new" {
				want = Dir
			}
			if err != nil || to.Info.Kind != want {
				t.Error(strconv.Itoa(i), path, to, err)
			}
		}
		if r.Makes(top+"/new") != (i == 1) {
			t.Error("Makes says otherwise")
		}
		r.Make(top+"/new", 7)
	}
}
