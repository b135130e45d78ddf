package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCreateAndOpen(t *testing.T) {
	want := Session{Client: "claude", Root: "/home/u/project", Home: "/home/u", Profile: []string{"claude-sh"}, Net: true}
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
	planted := t.TempDir() + "/1.1.0123456789abcdef"
	for _, d := range []string{planted, planted + "/tmp"} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(planted+"/"+file, good, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{planted, "", "/", real + "/", real + "/tmp", real + "/../" + filepath.Base(real), "/var/./" + strings.TrimPrefix(real, "/var/"), filepath.Dir(real), filepath.Dir(real) + "/x"} {
		if s, err := Open(dir, uid); err == nil {
			t.Errorf("Open(%q) = %+v", dir, s)
		}
	}
	link := filepath.Dir(real) + "/1.1.fedcba9876543210"
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
		"a second name":     func() error { return os.Link(real+"/"+file, t.TempDir()+"/x") },
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
