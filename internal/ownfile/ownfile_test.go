// SPDX-License-Identifier: Apache-2.0

package ownfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-sandbox/sbx/internal/ownfile"
)

var uid = os.Geteuid()

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// open makes a store of its own and opens it.
func open(t *testing.T) (*ownfile.Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state", "store")
	made, err := ownfile.Make(path, uid)
	if err != nil || !made {
		t.Fatalf("Make: %v, %v", made, err)
	}
	d, err := ownfile.Open(path, uid)
	must(t, err)
	t.Cleanup(d.Close)
	return d, path
}

func refused(t *testing.T, err error, why string) {
	t.Helper()
	var unsafe *ownfile.UnsafeError
	if !errors.As(err, &unsafe) || !strings.Contains(unsafe.Why, why) {
		t.Errorf("got %v, want: %s", err, why)
	}
}

func TestMake(t *testing.T) {
	_, path := open(t)
	for _, dir := range []string{path, filepath.Dir(path)} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
	if made, err := ownfile.Make(path, uid); made || err != nil {
		t.Errorf("again: %v, %v", made, err)
	}
	_, err := ownfile.Make(path, uid+1)
	refused(t, err, "not to you")
	link, file := filepath.Join(path, "link"), filepath.Join(path, "file")
	must(t, os.Symlink(".", link), os.WriteFile(file, nil, 0o600))
	_, err = ownfile.Make(link, uid)
	refused(t, err, "symbolic link")
	_, err = ownfile.Make(file, uid)
	refused(t, err, "not a directory")
}

func TestOpen(t *testing.T) {
	_, path := open(t)
	if _, err := ownfile.Open(path+"/none", uid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without one: %v", err)
	}
	_, err := ownfile.Open(path, uid+1)
	refused(t, err, "not to you")
	must(t, os.Symlink(".", path+"/link"), os.WriteFile(path+"/file", nil, 0o600))
	_, err = ownfile.Open(path+"/link", uid)
	refused(t, err, "symbolic link")
	_, err = ownfile.Open(path+"/file", uid)
	refused(t, err, "not a directory")
	must(t, os.Chmod(path, 0o770))
	_, err = ownfile.Open(path, uid)
	refused(t, err, "writable by others")
	refused(t, ownfile.CheckAbove(path, uid), "writable by others")
	must(t, os.Chmod(path, 0o755))
	must(t, ownfile.CheckAbove(path, uid), ownfile.CheckAbove("/", uid))
	refused(t, ownfile.CheckAbove(path+"/link", uid), "symbolic link")
}

func TestReadAndWrite(t *testing.T) {
	d, path := open(t)
	if _, err := d.Read("a", 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without one: %v", err)
	}
	for _, text := range []string{"one", "", "0123456789"} {
		must(t, d.Write("a", []byte(text), len(text) > 3))
		if got, err := d.Read("a", 10); err != nil || string(got) != text {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if info, err := os.Stat(path + "/a"); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	_, err := d.Read("a", 9)
	refused(t, err, "larger")
	must(t, os.Symlink("a", path+"/link"), syscall.Mkfifo(path+"/fifo", 0o600), os.Mkdir(path+"/dir", 0o700))
	_, err = d.Read("link", 10)
	refused(t, err, "symbolic link")
	for _, name := range []string{"fifo", "dir"} {
		_, err = d.Read(name, 10)
		refused(t, err, "not a regular file")
	}
	// A link is replaced, not followed.
	must(t, d.Write("link", []byte("x"), false))
	if got, err := d.Read("a", 10); err != nil || string(got) != "0123456789" {
		t.Errorf("written through a link: %q, %v", got, err)
	}
	must(t, os.Chmod(path+"/a", 0o620))
	_, err = d.Read("a", 10)
	refused(t, err, "writable by others")
	must(t, d.Remove("a"), d.Remove("a"))
	// The directory is the one that was opened, whatever stands at its path.
	must(t, os.Rename(path, path+".old"), os.Mkdir(path, 0o700), d.Write("b", []byte("b"), false))
	if _, err := os.Stat(path + ".old/b"); err != nil {
		t.Error(err)
	}
}

// TestWriteIsWhole: a reader sees one of the contents, never a part.
func TestWriteIsWhole(t *testing.T) {
	d, _ := open(t)
	texts := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 50_000)}
	must(t, d.Write("f", []byte(texts[0]), false))
	var wait sync.WaitGroup
	for _, text := range texts {
		wait.Go(func() {
			for range 50 {
				if err := d.Write("f", []byte(text), false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		if got, err := d.Read("f", 1<<20); err != nil || !slices.Contains(texts, string(got)) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	wait.Wait()
	if names, err := d.Names(); err != nil || !slices.Equal(names, []string{"f"}) {
		t.Errorf("%q, %v", names, err)
	}
}

func TestNames(t *testing.T) {
	d, path := open(t)
	must(t, d.Write("a", nil, false), os.WriteFile(path+"/.new-left", nil, 0o600))
	if names, err := d.Names(); err != nil || !slices.Equal(names, []string{"a"}) {
		t.Errorf("%q, %v", names, err)
	}
	if _, err := os.Stat(path + "/.new-left"); err != nil {
		t.Error("what may still be written was removed")
	}
}

func TestLock(t *testing.T) {
	d, path := open(t)
	unlock, err := d.Lock("lock", 0)
	must(t, err)
	if _, err := d.Lock("lock", time.Millisecond); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("locked twice: %v", err)
	}
	time.AfterFunc(10*time.Millisecond, unlock)
	unlock, err = d.Lock("lock", 10*time.Second)
	must(t, err)
	unlock()
	must(t, os.Remove(path+"/lock"), os.Symlink("other", path+"/lock"))
	_, err = d.Lock("lock", 0)
	refused(t, err, "symbolic link")
	if _, err := os.Lstat(path + "/other"); err == nil {
		t.Error("a link was followed")
	}
}

func all(string, func() time.Duration) bool { return true }

func TestSweep(t *testing.T) {
	_, path := open(t)
	outside := filepath.Join(t.TempDir(), "keep")
	must(t, os.WriteFile(outside, make([]byte, 5<<20), 0o600))
	deep := filepath.Join(path, "gone", strings.Repeat("deeper/", 200))
	closed := filepath.Join(path, "gone", "closed", "more")
	must(t, os.MkdirAll(deep, 0o700), os.MkdirAll(closed, 0o700), os.MkdirAll(path+"/stays/a", 0o700),
		os.WriteFile(closed+"/f", make([]byte, 9<<20), 0o600), os.Symlink(outside, deep+"/out"),
		os.Link(outside, path+"/gone/linked"),
		os.Chmod(closed, 0), os.Chmod(filepath.Dir(closed), 0))
	ownfile.Sweep(path, uid, 10*time.Second, func(name string, age func() time.Duration) bool {
		if age() <= 0 || age() > time.Minute {
			t.Errorf("%s is %v old", name, age())
		}
		return name == "gone"
	})
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 1 || entries[0].Name() != "stays" {
		t.Errorf("%v, %v", entries, err)
	}
	if info, err := os.Stat(outside); err != nil || info.Size() != 5<<20 {
		t.Errorf("outside: %v, %v", info, err)
	}
}

// TestSweepIsBounded: a sweep ends in time, and the next goes on.
func TestSweepIsBounded(t *testing.T) {
	_, path := open(t)
	must(t, os.Mkdir(path+"/many", 0o700))
	for i := range 3000 {
		must(t, os.WriteFile(path+"/many/"+strings.Repeat("x", i%50)+string(rune('a'+i%26))+time.Duration(i).String(),
			nil, 0o600))
	}
	for n := 0; ; n++ {
		start := time.Now()
		ownfile.Sweep(path, uid, time.Millisecond, all)
		if took := time.Since(start); took > time.Second {
			t.Fatalf("a sweep took %v", took)
		}
		if _, err := os.Lstat(path + "/many"); err != nil {
			break
		}
		if n == 3000 {
			t.Fatal("it is never done")
		}
	}
}

func TestSweepRefuses(t *testing.T) {
	_, path := open(t)
	must(t, os.Mkdir(path+"/in", 0o700), os.Mkdir(path+"/in/a", 0o700), os.Symlink("in", path+"/link"))
	ownfile.Sweep(path+"/link", uid, time.Second, all)
	ownfile.Sweep(path+"/in", uid+1, time.Second, all)
	must(t, os.Chmod(path+"/in", 0o777))
	ownfile.Sweep(path+"/in", uid, time.Second, all)
	if _, err := os.Stat(path + "/in/a"); err != nil {
		t.Error(err)
	}
	must(t, os.Chmod(path+"/in", 0o700)) // the control
	ownfile.Sweep(path+"/in", uid, time.Second, all)
	if _, err := os.Stat(path + "/in/a"); err == nil {
		t.Error("nothing is removed at all")
	}
}
