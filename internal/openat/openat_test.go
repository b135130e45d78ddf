// SPDX-License-Identifier: Apache-2.0

package openat

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// However a directory is opened, no link leads there, and the error tells a link from
// what is no directory and from nothing.
func TestDir(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	long := "/" + strings.Repeat("n", 200)
	must(t, os.MkdirAll(top+"/dir/below", 0o755), os.WriteFile(top+"/file", nil, 0o600), os.Symlink("dir", top+"/link"),
		os.Symlink("/none", top+"/nowhere"))
	for path, want := range map[string]error{
		"": nil, "/dir": nil, "/dir/below": nil, "/none": unix.ENOENT, "/none/x": unix.ENOENT,
		"/file": unix.ENOTDIR, "/file/x": unix.ENOTDIR, "/link": unix.ELOOP, "/link/below": unix.ELOOP,
		"/nowhere": unix.ELOOP, "/nowhere/x": unix.ELOOP, strings.Repeat(long, 25): unix.ENOENT,
	} {
		for name, open := range map[string]func(string) (int, error){"Dir": Dir, "walk": walk} {
			fd, err := open(top + path)
			if err != want {
				t.Errorf("%s %q: %v, want %v", name, path, err, want)
			}
			if (fd >= 0) != (err == nil) {
				t.Errorf("%s %q: descriptor %d, %v", name, path, fd, err)
			}
			if err == nil {
				var got, is unix.Stat_t
				must(t, unix.Fstat(fd, &got), unix.Lstat(top+path, &is))
				if got.Ino != is.Ino {
					t.Errorf("%s %q: another directory", name, path)
				}
				unix.Close(fd)
			}
		}
	}
	for _, open := range []func(string) (int, error){Dir, walk} {
		fd, err := open("/")
		must(t, err)
		unix.Close(fd)
	}
}

func TestReadFile(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	text := strings.Repeat("0123456789", 1000)
	must(t, os.WriteFile(top+"/file", []byte(text), 0o600), os.WriteFile(top+"/empty", nil, 0o600),
		os.Symlink("file", top+"/link"), unix.Mkfifo(top+"/fifo", 0o600))
	dir, err := Dir(top)
	must(t, err)
	defer unix.Close(dir)
	for _, c := range []struct {
		name  string
		limit int
		want  string
		bad   bool
	}{
		{"file", len(text), text, false}, {"file", len(text) + 1, text, false}, {"file", 9, text[:10], false},
		{"file", 0, "0", false}, {"empty", 0, "", false}, {"empty", 5, "", false},
		{"link", 5, "", true}, {"fifo", 5, "", true}, {".", 5, "", true}, {"none", 5, "", true},
	} {
		got, err := ReadFile(dir, c.name, c.limit)
		if string(got) != c.want || (err != nil) != c.bad {
			t.Errorf("%s, %d: %d bytes, %v", c.name, c.limit, len(got), err)
		}
	}
	fd, err := Open(dir, "file", unix.O_RDONLY, 0)
	must(t, err)
	defer unix.Close(fd)
	if got, err := Read(fd, 0, len(text)); err != nil || string(got) != text { // as of files whose size is not known
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
