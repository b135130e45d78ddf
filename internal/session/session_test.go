// SPDX-License-Identifier: Apache-2.0

package session

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCreateAndOpen(t *testing.T) {
	want := Session{Client: "claude", Root: "/home/u/project", Home: "/home/u", Profile: []string{"claude-sh"},
		Net: true}
	dir, err := Create(os.Geteuid(), want)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	got, err := Open(dir, os.Geteuid())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Error(diff)
	}
	for _, d := range []string{dir, Tmp(dir), filepath.Dir(dir)} {
		if info, err := os.Stat(d); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", d, info.Mode(), err)
		}
	}
}

// A variable can name any directory; only what Create made counts.
func TestForged(t *testing.T) {
	uid := os.Geteuid()
	real, err := Create(uid, Session{Root: "/r", Home: "/h"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(real) })
	good, err := os.ReadFile(real + "/" + file)
	if err != nil {
		t.Fatal(err)
	}
	planted := t.TempDir() + "/1.1.1.0123456789abcdef"
	for _, d := range []string{planted, planted + "/tmp"} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(planted+"/"+file, good, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{planted, "", "/", real + "/", real + "/tmp", real + "/../" + filepath.Base(real),
		"/var/./" + strings.TrimPrefix(real, "/var/"), filepath.Dir(real), filepath.Dir(real) + "/x"} {
		if s, err := Open(dir, uid); err == nil {
			t.Errorf("Open(%q) = %+v", dir, s)
		}
	}
	link := filepath.Dir(real) + "/1.1.1.fedcba9876543210"
	if err := os.Symlink(planted, link); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(link) })
	if s, err := Open(link, uid); err == nil {
		t.Errorf("through a link: %+v", s)
	}
	if _, err := Open(real, uid+1); err == nil {
		t.Error("another user's")
	}
	for name, spoil := range map[string]func() error{
		"a second name":     func() error { return os.Link(real+"/"+file, real+"/x") },
		"a mode for others": func() error { return os.Chmod(real+"/"+file, 0o644) },
		"unknown keys": func() error {
			return os.WriteFile(real+"/"+file, []byte(`{"root":"/r","home":"/h","sudo":true}`), 0o600)
		},
		"no root":     func() error { return os.WriteFile(real+"/"+file, []byte(`{"home":"/h"}`), 0o600) },
		"half a file": func() error { return os.WriteFile(real+"/"+file, good[:len(good)/2], 0o600) },
		"a directory": func() error { return os.Chmod(real, 0o755) },
	} {
		if _, err := Open(real, uid); err != nil {
			t.Fatalf("before %s: %v", name, err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(real, uid); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
		if err := os.Remove(real + "/" + file); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(real+"/"+file, good, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(real, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOver(t *testing.T) {
	self, here := strconv.Itoa(os.Getpid())+"."+started(os.Getpid()), "."+processes()
	const id = ".0123456789abcdef"
	for _, tt := range []struct {
		name string
		age  time.Duration
		want bool
	}{
		{self + here + id, 1000 * time.Hour, false},
		{"4194304.5" + here + id, 2 * time.Hour, true}, // no process has this number
		{"4194304.5" + here + id, time.Minute, false},
		{strconv.Itoa(os.Getpid()) + ".1" + here + id, 2 * time.Hour, true}, // another one with the number
		{"4194304.5.7" + id, 2 * time.Hour, false},                          // of another namespace
		{"4194304.5.7" + id, 200 * time.Hour, true},
		{"anything", 1000 * time.Hour, false},
		{"4194304.5" + here + ".x", 1000 * time.Hour, false},
	} {
		if got := over(tt.name, tt.age, time.Hour); got != tt.want {
			t.Errorf("over(%q, %v) = %v", tt.name, tt.age, got)
		}
	}
}

// What commands left in a session goes with it, links not followed.
func TestSweep(t *testing.T) {
	top, outside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(outside+"/kept", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := top + "/4194304.5." + processes() + ".0123456789abcdef"
	if err := os.MkdirAll(dir+"/tmp/a", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, dir+"/tmp/a/link"); err != nil {
		t.Fatal(err)
	}
	sweep(top, os.Geteuid(), 0)
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
	if _, err := os.Lstat(outside + "/kept"); err != nil {
		t.Error(err)
	}
}

func TestTold(t *testing.T) {
	dir := t.TempDir()
	for i, tt := range []struct {
		text string
		want bool
	}{{"a", false}, {"a", true}, {"b", false}, {"b", true}, {"a", false}} {
		if got := Told(dir, tt.text); got != tt.want {
			t.Errorf("%d: Told(%q) = %v", i, tt.text, got)
		}
	}
}
