// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tripwire

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tree writes files below a new directory, whose canonical path it returns.
// "-> TEXT" is a link, "|" a fifo, "/" at the end a directory, "x " in front of
// the content an executable.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		put(t, dir+"/"+name, text)
	}
	return dir
}

func put(t testing.TB, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	mode := os.FileMode(0o644)
	if rest, ok := strings.CutPrefix(text, "x "); ok {
		mode, text = 0o755, rest
	}
	switch to, link := strings.CutPrefix(text, "-> "); {
	case err != nil:
	case strings.HasSuffix(path, "/"):
		err = os.MkdirAll(path, 0o755)
	case link:
		err = os.Symlink(to, path)
	case text == "|":
		err = syscall.Mkfifo(path, 0o644)
	default:
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func sha(text string) string { return sum([]byte(text)) }

func TestLook(t *testing.T) {
	long := strings.Repeat("a", maxFile+1)
	dir := tree(t, map[string]string{
		"file": "text\n", "run": "x #!/bin/sh\n", "empty": "", "link": "-> file", "dangling": "-> nowhere/at all",
		"loop": "-> loop", "fifo": "|",
		"dir/a": "1", "other/.envrc": "x", "away": "-> other", "long": long,
		"a.code-workspace": "", "b.code-workspace": "", "b.code": "", "new\nline.code-workspace": "",
		"caf\xe9.code-workspace": "",
		"n/plain/x":              "", "n/repo/.git/HEAD": "", "n/tree/.git": "gitdir: x", "n/odd/.git": "-> x", "n/bare/HEAD": "",
		"n/bare/objects/": "", "n/bare/refs/": "",
		"n/half/HEAD": "", "n/half/objects/": "", "n/file": "", "n/linked": "-> repo", "n/.git/HEAD": "",
		"n/.git/objects/": "", "n/.git/refs/": "",
	})
	var st syscall.Stat_t
	if err := syscall.Lstat(dir+"/long", &st); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		kind Kind
		path string
		want string // a state, or "error: " and a part of its text
	}{
		{"absent", Name, "nothing", ""},
		{"absent below absent", Name, "nothing/at/all", ""},
		{"absent below a file", Name, "file/x", ""},
		{"file", Name, "file", "file " + sha("text\n")},
		{"executable", Name, "run", "file " + sha("#!/bin/sh\n") + " executable"},
		{"empty", Name, "empty", "file " + sha("")},
		{"large", Name, "long", fmt.Sprintf("file %d %d %d", st.Size, st.Mtim.Nano(), st.Ctim.Nano())},
		{"link", Name, "link", "link file"},
		{"dangling", Name, "dangling", "link nowhere/at all"},
		{"loop", Name, "loop", "link loop"},
		{"below a loop", Name, "loop/x", ""}, // no one gets there
		{"fifo", Name, "fifo", "other fifo"},
		{"through a link", Name, "away/.envrc", "error: has become a link"},
		{"absent through a link", Name, "away/.vscode", ""},
		{"root", Name, "/", "dir"},
		{"pattern", Pattern, "*.code-workspace",
			"a.code-workspace/b.code-workspace/caf\xe9.code-workspace/new\nline.code-workspace"},
		{"pattern without a match", Pattern, "*.x", ""},
		{"pattern in no directory", Pattern, "nothing/*", ""},
		{"pattern in a file", Pattern, "file/*", ""},
		{"pattern through a link", Pattern, "away/*", "error: has become a link"},
		{"nested", Nested, "n", "bare/linked/odd/repo/tree"},
		{"nested in none", Nested, "dir", ""},
		{"nested in nothing", Nested, "nothing", ""},
		{"nested through a link", Nested, "away", "error: has become a link"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := tt.path
			if path != "/" {
				path = dir + "/" + path
			}
			got, err := Look(tt.kind, path)
			if want, ok := strings.CutPrefix(tt.want, "error: "); ok {
				if err == nil || !strings.Contains(err.Error(), want) || got != "" {
					t.Errorf("got %q, %v; want an error with %q", got, err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "dir" {
				got, _, _ = strings.Cut(got, " ")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	for _, path := range []string{"", "relative", "a\x00", "/a\x00b"} {
		if got, err := Look(Name, path); err == nil {
			t.Errorf("Look(%q) = %q without an error", path, got)
		}
	}
	if _, err := Look(9, "/"); err == nil {
		t.Error("a kind that does not exist gives no error")
	}
}

// Each act makes another digest, and undoing it gives the first again.
func TestLookDir(t *testing.T) {
	dir := tree(t, map[string]string{"d/a": "1", "d/sub/b": "2", "d/link": "-> a", "d/sub/deep/er/c": "3"})
	d := dir + "/d"
	look := func() string {
		t.Helper()
		s, err := Look(Name, d)
		if err != nil || !strings.HasPrefix(s, "dir ") {
			t.Fatalf("%q, %v", s, err)
		}
		return s
	}
	first := look()
	if strings.HasSuffix(first, "truncated") {
		t.Fatalf("a small directory: %s", first)
	}
	seen := []string{first}
	for _, act := range []struct {
		name     string
		do, undo func() error
	}{
		{"content", func() error { return os.WriteFile(d+"/a", []byte("x"), 0o644) },
			func() error { return os.WriteFile(d+"/a", []byte("1"), 0o644) }},
		{"content below", func() error { return os.WriteFile(d+"/sub/deep/er/c", []byte("x"), 0o644) },
			func() error { return os.WriteFile(d+"/sub/deep/er/c", []byte("3"), 0o644) }},
		{"executable", func() error { return os.Chmod(d+"/a", 0o755) },
			func() error { return os.Chmod(d+"/a", 0o644) }},
		{"a name", func() error { return os.Rename(d+"/a", d+"/z") },
			func() error { return os.Rename(d+"/z", d+"/a") }},
		{"a new file", func() error { return os.WriteFile(d+"/n", nil, 0o644) },
			func() error { return os.Remove(d + "/n") }},
		{"a new directory", func() error { return os.Mkdir(d+"/n", 0o755) },
			func() error { return os.Remove(d + "/n") }},
		{"one level up", func() error { return os.Rename(d+"/sub/b", d+"/b") },
			func() error { return os.Rename(d+"/b", d+"/sub/b") }},
		{"a link", func() error { return relink(d+"/link", "sub/b") }, func() error { return relink(d+"/link", "a") }},
		{"a fifo", func() error { return syscall.Mkfifo(d+"/p", 0o644) }, func() error { return os.Remove(d + "/p") }},
	} {
		if err := act.do(); err != nil {
			t.Fatal(err)
		}
		if s := look(); slices.Contains(seen, s) {
			t.Errorf("%s: the digest does not tell", act.name)
		} else {
			seen = append(seen, s)
		}
		if err := act.undo(); err != nil {
			t.Fatal(err)
		}
		if s := look(); s != first {
			t.Errorf("%s undone: another digest", act.name)
		}
	}
}

func relink(path, to string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.Symlink(to, path)
}

// What is more than a digest takes is cut off, says so, and takes no long time.
func TestLookDirBounds(t *testing.T) {
	dir := tree(t, map[string]string{"deep/1/2/3/4/5/6": "x", "bytes/big": strings.Repeat("x", maxFile+1)})
	for i := range maxEntries + 1 {
		put(t, fmt.Sprintf("%s/many/%04d", dir, i), "")
	}
	for i := range maxEntries {
		put(t, fmt.Sprintf("%s/enough/%04d", dir, i), "")
	}
	for i := range 5 {
		put(t, fmt.Sprintf("%s/total/%d", dir, i), strings.Repeat("x", maxFile))
	}
	for name, cut := range map[string]bool{"deep": true, "bytes": true, "many": true, "enough": false, "total": true} {
		start := time.Now()
		s, err := Look(Name, dir+"/"+name)
		if err != nil || strings.HasSuffix(s, " truncated") != cut {
			t.Errorf("%s: %q, %v; want truncated %v", name, s, err, cut)
		}
		if again, _ := Look(Name, dir+"/"+name); again != s {
			t.Errorf("%s: another digest the second time", name)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s took %v", name, d)
		}
	}
}

// What cannot be read is not nothing.
func TestLookUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := tree(t, map[string]string{"file": "x", "sub/name": "x", "d/x": ""})
	for _, name := range []string{"file", "sub", "d"} {
		if err := os.Chmod(dir+"/"+name, 0); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(dir+"/"+name, 0o755)
	}
	if s, err := Look(Name, dir+"/file"); err != nil || !strings.HasPrefix(s, "file 1 ") {
		t.Errorf("a file: %q, %v", s, err)
	}
	if s, err := Look(Name, dir+"/d"); err != nil || !strings.HasPrefix(s, "dir ") {
		t.Errorf("a directory: %q, %v", s, err)
	}
	if s, err := Look(Name, dir+"/sub/name"); err == nil {
		t.Errorf("in a directory that may not be searched: %q without an error", s)
	}
	if s, err := Look(Pattern, dir+"/sub/*"); err == nil {
		t.Errorf("a pattern in such a directory: %q without an error", s)
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		e    entry
		path string
		want string
		ok   bool
	}{
		{entry{kind: Pattern, path: "/p/*.x"}, "/p/a.x", "a.x", true},
		{entry{kind: Pattern, path: "/p/*.x"}, "/p/a.y", "a.y", false},
		{entry{kind: Pattern, path: "/p/*.x"}, "/q/a.x", "", false},
		{entry{kind: Nested, path: "/p"}, "/p/a/.git", "a", true},
		{entry{kind: Nested, path: "/p"}, "/p/a", "a", true},
		{entry{kind: Nested, path: "/p"}, "/p/a/b", "", false},
		{entry{kind: Nested, path: "/p"}, "/p", "", false},
		{entry{kind: Nested, path: "/"}, "/a/.git", "a", true},
		{entry{kind: Name, path: "/p/a"}, "/p/a", "", false},
	} {
		got, ok := tt.e.names(tt.path)
		if diff := cmp.Diff([]any{tt.want, tt.ok}, []any{got, ok}); diff != "" {
			t.Errorf("%+v, %s: (-want +got)\n%s", tt.e, tt.path, diff)
		}
	}
}

// A Place is a directory by what it is, not by what is in it.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/d"
	look := func() string {
		t.Helper()
		s, err := Look(Place, path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if s := look(); s != "" {
		t.Error(s)
	}
	must(os.Mkdir(path, 0o755))
	first := look()
	must(os.WriteFile(path+"/f", nil, 0o644))
	if first == "" || look() != first {
		t.Errorf("%q, then %q", first, look())
	}
	must(os.Rename(path, dir+"/e"))
	must(os.Mkdir(path, 0o755))
	if look() == first {
		t.Error("another directory is taken for the first")
	}
	must(os.Remove(path))
	must(os.Symlink("e", path))
	if s := look(); s != "link e" {
		t.Error(s)
	}
}

// What is Kept has to stay: all that is in it counts, however much that is, and
// that it is gone or became something else is a change.
func TestKept(t *testing.T) {
	root := t.TempDir()
	path := root + "/d"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(path+"/a/b/c/d/e/f", 0o755))
	for i := range 600 {
		must(os.WriteFile(path+"/"+strconv.Itoa(i), nil, 0o644))
	}
	look := func() string {
		t.Helper()
		s, err := Look(Kept, path)
		must(err)
		return s
	}
	first := look()
	for name, change := range map[string]func() error{
		"past many names": func() error { return os.WriteFile(path+"/z", nil, 0o644) },
		"deep":            func() error { return os.WriteFile(path+"/a/b/c/d/e/f/g", nil, 0o644) },
		"executable":      func() error { return os.Chmod(path+"/7", 0o755) },
		"gone inside":     func() error { return os.Remove(path + "/9") },
	} {
		before := look()
		must(change())
		if look() == before {
			t.Errorf("%s: not seen", name)
		}
	}
	must(os.Chmod(path+"/7", 0o644))
	must(os.Remove(path + "/z"))
	must(os.Remove(path + "/a/b/c/d/e/f/g"))
	must(os.WriteFile(path+"/9", nil, 0o644))
	if look() != first {
		t.Error("the same is not the same")
	}
	s := newStore(t)
	watch := []Watch{{Kind: Kept, Path: path, State: first}}
	if c, err := s.Check(root, watch); err != nil || len(c) != 0 {
		t.Fatal(c, err)
	}
	must(os.Rename(path, root+"/elsewhere"))
	c, err := s.Pending(root)
	if err != nil || len(c) != 1 || c[0].Now != "" || c[0].Path != path {
		t.Errorf("gone: %+v, %v", c, err)
	}
	must(os.Symlink("elsewhere", path))
	if c, err := s.Pending(root); err != nil || len(c) != 1 || c[0].Now != "link elsewhere" {
		t.Errorf("a link: %+v, %v", c, err)
	}
	// A part of too much could be changed unseen.
	must(os.Remove(path))
	deep := path
	for range 70 {
		deep += "/d"
	}
	must(os.MkdirAll(deep, 0o755))
	if s, err := Look(Kept, path); err == nil {
		t.Errorf("too deep: %q", s)
	}
}
