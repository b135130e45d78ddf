// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// Both ways to see whether something is mounted at a path agree.
func TestMountRoot(t *testing.T) {
	table, _ := procfs.Read("/proc/self/mountinfo")
	if !strings.HasSuffix(table, "\n") {
		t.Fatalf("the table is cut: %q", table)
	}
	for path, want := range map[string]bool{"/proc": true, "/": true, "/proc/self": false, "/etc/passwd": false,
		t.TempDir(): false} {
		root, known, err := mountRoot(path)
		if err != nil || mountedAt(table, path) != want || known && root != want {
			t.Errorf("%s: statx %t (known: %t, %v), the table %t", path, root, known, err, mountedAt(table, path))
		}
	}
	var table2 mountTable
	for path, want := range map[string]presence{"/proc": mounted, "/etc/passwd": gone, "/nowhere/x": vacant,
		"/etc/passwd/x": vacant} {
		if got := table2.at(path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}

// What is compared tells any change of content, kind and mode, and says when it
// has not seen all.
func TestContent(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) func() {
		return func() {
			path := filepath.Join(dir, name)
			_ = os.MkdirAll(filepath.Dir(path), 0o755)
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	at := func() (c content) {
		c.read(filepath.Join(dir, "d"))
		return c
	}
	if c := at(); !c.absent || c.cut {
		t.Errorf("nothing: %+v", c)
	}
	before := at()
	for i, change := range []func(){
		func() { _ = os.Mkdir(filepath.Join(dir, "d"), 0o755) },
		file("d/a", "1"), file("d/a", "2"), file("d/b", ""), file("d/x/y", "1"), file("d/x/y", "2"),
		func() { _ = os.Chmod(filepath.Join(dir, "d/a"), 0o755) },
		func() { _ = os.Remove(filepath.Join(dir, "d/b")) },
		func() { _ = os.Symlink("a", filepath.Join(dir, "d/b")) },
		func() { _ = os.Remove(filepath.Join(dir, "d/b")); _ = os.Symlink("x", filepath.Join(dir, "d/b")) },
		file("d/large", strings.Repeat("x", maxContent+1)),
		file("d/large", strings.Repeat("y", maxContent+1)),
	} {
		time.Sleep(10 * time.Millisecond) // the kernel's clock for files may stand still that long
		change()
		now := at()
		if now.absent || now.cut || bytes.Equal(now.data, before.data) {
			t.Errorf("change %d is not seen", i)
		}
		if again := at(); !bytes.Equal(again.data, now.data) {
			t.Errorf("after change %d two looks differ", i)
		}
		before = now
	}
	if file("d/1/2/3/4/5/6/7/8/9/z", "")(); !at().cut {
		t.Error("what lies too deep is taken for compared")
	}
}

// Before Linux 5.8 the table of mounts says what statx(2) does not.
func TestMountedAt(t *testing.T) {
	table := "21 1 0:20 / / rw - tmpfs tmpfs rw\n" +
		"92 89 254:0 /p /h/a\\040b rw,nosuid - ext4 /dev/vda rw\n" +
		"93 92 0:31 /x /h/a\\040b/.env ro,nosuid - tmpfs tmpfs rw\n" +
		"94 92 0:31 /h/secret /h/n\\134\\012\\011x ro master:1 - tmpfs tmpfs rw"
	for path, want := range map[string]bool{"/": true, "/h/a b": true, "/h/a b/.env": true, "/h/n\\\n\tx": true,
		"/h": false, "/h/a": false, "/h/secret": false, "/x": false, "/h/a b/.en": false, "": false} {
		if mountedAt(table, path) != want {
			t.Errorf("%q: %t", path, !want)
		}
	}
}

// A name leads to the old file for a moment after its mount is gone; what is
// compared with at the end is the new one.
func TestFoundAfterRename(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "config"), filepath.Join(dir, "config.lock")
	for p, text := range map[string]string{path: "old", other: "new"} {
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	source := idOf(path)
	var m masks
	if c := m.found(path, source); !strings.Contains(string(c.data), "old") {
		t.Errorf("nothing was renamed: %q", c.data)
	}
	renamed := make(chan error)
	go func() {
		time.Sleep(2 * time.Millisecond)
		renamed <- os.Rename(other, path)
	}()
	c := m.found(path, source)
	if err := <-renamed; err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(c.data), "new") {
		t.Errorf("renamed 2 ms later: %q", c.data)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if c := m.found(path, source); !c.absent {
		t.Errorf("removed: %+v", c)
	}
}

// A name leads to what was removed for a moment after its mount is gone. What has no
// name any more is taken for something else only after a while: a file system may
// count no links at all.
func TestRemovedIsAwaited(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	var table mountTable
	for _, removed := range []bool{false, true} {
		if removed {
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		if got := table.at("."); got != gone {
			t.Errorf("removed %t: %d", removed, got)
		}
		if took := time.Since(start); removed && took < 15*time.Millisecond {
			t.Errorf("decided after %v", took)
		}
	}
}
