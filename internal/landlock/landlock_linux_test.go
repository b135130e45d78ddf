// SPDX-License-Identifier: Apache-2.0

package landlock

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestOpenNoLinks holds both ways of opening a rule's path against each other:
// the one call and the walk give the same file, and follow no link.
func TestOpenNoLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.MkdirAll(dir+"/a/b", 0o755), os.WriteFile(dir+"/a/b/f", nil, 0o644),
		os.Symlink("a", dir+"/l"), os.Symlink("b/f", dir+"/a/m"), os.Symlink("nowhere", dir+"/n"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path string
		ok   bool // opens what is no link
	}{
		{"/a", true}, {"/a/b", true}, {"/a/b/f", true}, {"/l", false}, {"/l/b", false}, {"/l/b/f", false},
		{"/a/m", false}, {"/n", false}, {"/a/b/f/g", false}, {"/no", false},
	} {
		for name, by := range map[string]func(string) (uintptr, syscall.Errno){"open": open, "walk": walk} {
			fd, errno := by(dir + c.path)
			ok := errno == 0
			if ok {
				var st, want syscall.Stat_t
				if err := syscall.Fstat(int(fd), &st); err != nil {
					t.Fatal(err)
				}
				ok = st.Mode&syscall.S_IFMT != syscall.S_IFLNK // of which a rule allows nothing
				if err := syscall.Lstat(dir+c.path, &want); err != nil || st.Ino != want.Ino {
					t.Errorf("%s %s: another file", name, c.path)
				}
				syscall.Close(int(fd))
			}
			if ok != c.ok {
				t.Errorf("%s %s: %v, want %v (%v)", name, c.path, ok, c.ok, errno)
			}
		}
	}
	if n := len(openFDs(t)); n > 32 {
		t.Errorf("%d descriptors are open", n)
	}
}

func openFDs(t *testing.T) []os.DirEntry {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func need(t *testing.T) int {
	t.Helper()
	abi := ABI()
	if abi > 0 {
		return abi
	}
	if slices.Contains(strings.Split(os.Getenv("SBX_TEST_REQUIRE"), ","), "landlock") {
		t.Fatal("the kernel has no Landlock")
	}
	t.Skip("the kernel has no Landlock")
	return 0
}

// A ruleset that the kernel does not know is an error, one fitted to it is none.
func TestOpen(t *testing.T) {
	abi := need(t)
	dir := t.TempDir()
	all := Ruleset{FS: 1<<17 - 1, Net: 15, Scope: 3,
		Rules: []Rule{{Path: dir, Allow: Write}, {Path: "/dev/null", Allow: Write}, {FD: 0, Allow: ReadFile}}}
	fitted := all.For(abi)
	fd, err := fitted.Open()
	if err != nil {
		t.Fatal(err)
	}
	syscall.Close(fd)
	over := Ruleset{FS: 1 << 62}
	if fd, err := over.Open(); err == nil {
		syscall.Close(fd)
		t.Error("a right that no kernel knows is taken")
	}
	for name, c := range map[string]struct {
		rule Rule
		want syscall.Errno // 0 is no error
	}{
		"gone":          {Rule{Path: dir + "/no", Allow: Read}, syscall.ENOENT},
		"may be gone":   {Rule{Path: dir + "/no", Allow: Read, Fleeting: true}, 0},
		"another file":  {Rule{Path: dir, Allow: Read, Dev: 1, Ino: 1}, syscall.ESTALE},
		"relative":      {Rule{Path: "x", Allow: Read}, syscall.EINVAL},
		"NUL":           {Rule{Path: "/a\x00b", Allow: Read}, syscall.EINVAL},
		"no descriptor": {Rule{FD: 9999, Allow: Read}, syscall.EBADF},
	} {
		r := Ruleset{FS: Read, Rules: []Rule{c.rule}}
		fd, err := r.Open()
		var e *stepError
		if c.want == 0 && err != nil || c.want != 0 && (!errors.As(err, &e) || e.Err != c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err == nil {
			syscall.Close(fd)
		}
	}
}
