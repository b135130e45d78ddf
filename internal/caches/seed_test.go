// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes files, and the directories above them.
func write(t *testing.T, top string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		must(t, os.MkdirAll(filepath.Dir(top+"/"+name), 0o700))
		must(t, os.WriteFile(top+"/"+name, []byte(data), 0o600))
	}
}

// seeds is the host's npm cache, and an empty private cache.
func seeds(t *testing.T) (from, to, top string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	from, to = top+"/host", top+"/"+name
	write(t, from, map[string]string{"content-v2/sha512/ab/cd/ef": "content", "index-v5/ab/cd/ef01": "line", "tmp/x": "",
		"index-v5/ab/cd/EVIL\nname": "odd", "index-v5/ab/cd/fat": strings.Repeat("x", maxIndex+1), "content-v2/sha512/file": "odd"})
	must(t, os.Symlink(top, from+"/content-v2/sha512/link"))
	must(t, unix.Mkfifo(from+"/index-v5/ab/cd/fifo", 0o600))
	must(t, os.Symlink(top+"/secret", from+"/index-v5/ab/cd/link"))
	must(t, os.Mkdir(to, 0o700))
	return from, to, top
}

const content, index = "/npm/_cacache/content-v2/sha512/ab/cd/ef", "/npm/_cacache/index-v5/ab/cd/ef01"

func TestSeedNpm(t *testing.T) {
	from, to, _ := seeds(t)
	must(t, SeedNpm(from, to, time.Minute))
	if at, err := os.Readlink(to + content); at != from+"/content-v2/sha512/ab/cd/ef" {
		t.Error("the content: ", at, err)
	}
	if data, err := os.ReadFile(to + index); string(data) != "line" {
		t.Error("the index: ", string(data), err)
	}
	if info, err := os.Lstat(to + index); err != nil || !info.Mode().IsRegular() {
		t.Error("the index is no copy: ", err)
	}
	for _, dir := range []string{"index-v5/ab/cd", "content-v2/sha512"} {
		if list, err := os.ReadDir(to + "/npm/_cacache/" + dir); len(list) != 1 {
			t.Error(dir, ": ", list, err)
		}
	}
	// What has not changed is not looked at again, and what has changed replaces nothing.
	must(t, os.WriteFile(to+index, []byte("own"), 0o600))
	must(t, os.Remove(to+content))
	must(t, SeedNpm(from, to, time.Minute))
	if exists(to + content) {
		t.Error("seeded again, without a change")
	}
	write(t, from, map[string]string{"tmp/y": ""})
	must(t, SeedNpm(from, to, time.Minute))
	if data, _ := os.ReadFile(to + index); string(data) != "own" || !exists(to+content) {
		t.Error("after a change: ", string(data))
	}
	// A cache that was removed begins empty.
	must(t, os.RemoveAll(to+"/npm"))
	must(t, SeedNpm(from, to, time.Minute))
	if !exists(to + content) {
		t.Error("not seeded after it was removed")
	}
}

func TestSeedNpmIsBounded(t *testing.T) {
	from, to, _ := seeds(t)
	if err := SeedNpm(from, to, -1); err != errLate || exists(to+content) || exists(to+seeded) {
		t.Error(err)
	}
	must(t, SeedNpm(from, to, time.Minute))
	if !exists(to+content) || !exists(to+index) {
		t.Error("the rest is not added")
	}
}

// TestSeedNpmFollowsNothing: what commands left in the private cache leads nowhere. The
// same step by path names is the control.
func TestSeedNpmFollowsNothing(t *testing.T) {
	for _, at := range []string{"", "/_cacache", "/_cacache/content-v2", "/_cacache/index-v5", "/_cacache/content-v2/sha512",
		"/_cacache/content-v2/sha512/ab", "/_cacache/content-v2/sha512/ab/cd", "/_cacache/index-v5/ab", "/_cacache/index-v5/ab/cd"} {
		for kind, plant := range map[string]func(at, victim string) error{
			"link": func(at, victim string) error { return os.Symlink(victim, at) },
			"fifo": func(at, _ string) error { return unix.Mkfifo(at, 0o600) },
			"file": func(at, _ string) error { return os.WriteFile(at, []byte("own"), 0o600) },
		} {
			from, to, top := seeds(t)
			victim, planted := top+"/victim", to+"/npm"+at
			must(t, os.Mkdir(victim, 0o700))
			must(t, os.MkdirAll(filepath.Dir(planted), 0o700))
			must(t, plant(planted, victim))
			_ = SeedNpm(from, to, time.Minute)
			if list, err := os.ReadDir(victim); err != nil || len(list) > 0 {
				t.Errorf("%s at %q: %v in the victim, %v", kind, at, list, err)
			}
			if kind == "link" {
				if os.WriteFile(planted+"/x", nil, 0o600) != nil || !exists(victim+"/x") {
					t.Errorf("control: nothing can be written through the link at %q", at)
				}
			}
		}
	}
	for _, at := range []string{content, index} { // a name that leads to a file
		from, to, top := seeds(t)
		victim := top + "/victim"
		write(t, top, map[string]string{"victim": "kept"})
		must(t, os.MkdirAll(filepath.Dir(to+at), 0o700))
		must(t, os.Symlink(victim, to+at))
		must(t, SeedNpm(from, to, time.Minute))
		if data, _ := os.ReadFile(victim); string(data) != "kept" {
			t.Errorf("%s: %q", at, data)
		}
		if os.WriteFile(to+at, []byte("x"), 0o600) != nil {
			t.Error("control: nothing can be written through the link")
		}
		if data, _ := os.ReadFile(victim); string(data) != "x" {
			t.Errorf("control: %q", data)
		}
	}
}
