// SPDX-License-Identifier: Apache-2.0

package shims

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckName(t *testing.T) {
	for _, name := range []string{"npm", "g++", "python3.12", "7z", "x", "R", "clang-format", "node_x",
		strings.Repeat("a", 64)} {
		if err := CheckName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{
		"", ".", "..", "-x", ".x", "a/b", "/npm", "npm/", "sbx", "sbx-sh", "sbxx", "a b", "a\nb", "a\x00b", "a'b",
		"a;b", "é", "\xff", "$x", "a=b", "sh", "bash", "fish", "sudo", "doas", "bwrap", "env", "cd", "export", "if",
		"then", "while", "for", "do", "done", "case", "function", "time", "select", "until", "coproc",
		strings.Repeat("a", 65),
	} {
		var bad *NameError
		if err := CheckName(name); !errors.As(err, &bad) || strings.ContainsAny(err.Error(), "\n\x00") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestCheckShim: what shells have built in can have an alias, and a shim of it
// would never answer.
func TestCheckShim(t *testing.T) {
	d := Dir(t.TempDir() + "/sbx/shims")
	for _, name := range []string{"echo", "printf", "test", "pwd", "kill", "true", "false", "let", "declare"} {
		var bad *NameError
		if err := CheckShim(name); !errors.As(err, &bad) || !strings.Contains(err.Error(), "built into shells") {
			t.Errorf("%s: %v", name, err)
		}
		if err := CheckName(name); err != nil {
			t.Error(err)
		}
		if _, err := d.Add(name, "/usr/bin/true"); err == nil {
			t.Errorf("a shim of %s was made", name)
		}
	}
	for _, name := range []string{"if", "[", "npm"} {
		if got := CheckShim(name); (got == nil) != (name == "npm") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestDir(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "data dir", "sbx", "shims"))
	step := func(want any, got any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
	list, err := d.List()
	step([]Link(nil), list, err)
	was, err := d.Remove("npm")
	step(false, was, err)
	change, err := d.Add("npm", "/usr/bin/env")
	step(Added, change, err)
	change, err = d.Add("npm", "/usr/bin/env")
	step(Kept, change, err)
	change, err = d.Add("npm", "/usr/bin/true")
	step(Renewed, change, err)
	change, err = d.Add("gone", "/nowhere/sbx")
	step(Added, change, err)
	if err := os.WriteFile(filepath.Join(string(d), "file"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	list, err = d.List()
	step([]Link{{"gone", "/nowhere/sbx", true}, {"npm", "/usr/bin/true", false}}, list, err)
	if _, err := d.Add("file", "/usr/bin/true"); err == nil {
		t.Error("a file was replaced")
	}
	if _, err := d.Remove("file"); err == nil {
		t.Error("a file was removed")
	}
	was, err = d.Remove("npm")
	step(true, was, err)
	was, err = d.Remove("../shims/gone")
	step(false, was, err)
	names, err := filepath.Glob(string(d) + "/.new-*")
	step([]string(nil), names, err)
}

// TestDirUnsafe puts each directory that counts into a state in which others
// could put something in place of a shim.
func TestDirUnsafe(t *testing.T) {
	for name, spoil := range map[string]func(data string) error{
		"shims writable by the group": func(d string) error { return os.Chmod(d+"/sbx/shims", 0o775) },
		"shims writable by everyone":  func(d string) error { return os.Chmod(d+"/sbx/shims", 0o777|os.ModeSticky) },
		"sbx writable by the group":   func(d string) error { return os.Chmod(d+"/sbx", 0o770) },
		"data writable by everyone":   func(d string) error { return os.Chmod(d, 0o777) },
		"data writable by the group":  func(d string) error { return os.Chmod(d, 0o775) },
		"above data":                  func(d string) error { return os.Chmod(filepath.Dir(d), 0o777) },
		"sticky, and not there": func(d string) error {
			return errors.Join(os.RemoveAll(d+"/sbx"), os.Chmod(d, 0o777|os.ModeSticky))
		},
		"the place of a link": func(d string) error {
			return errors.Join(os.Mkdir(d+"/open", 0o755), os.Chmod(d+"/open", 0o777), os.Rename(d, d+".away"),
				os.Symlink(filepath.Base(d)+".away/open/../../"+filepath.Base(d)+".away", d))
		},
		"where a link leads": func(d string) error {
			open := filepath.Dir(d) + "/open"
			return errors.Join(os.Mkdir(open, 0o755), os.Chmod(open, 0o777), os.Rename(d, open+"/data"),
				os.Symlink("open/data", d))
		},
		"a link to itself": func(d string) error { return errors.Join(os.RemoveAll(d), os.Symlink(d, d)) },
		"shims is a link": func(d string) error {
			return errors.Join(os.Rename(d+"/sbx/shims", d+"/other"), os.Symlink("../other", d+"/sbx/shims"))
		},
		"sbx is a link": func(d string) error {
			return errors.Join(os.Rename(d+"/sbx", d+"/other"), os.Symlink("other", d+"/sbx"))
		},
		"shims is a file": func(d string) error {
			return errors.Join(os.Remove(d+"/sbx/shims"), os.WriteFile(d+"/sbx/shims", nil, 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir() + "/data"
			d := Dir(data + "/sbx/shims")
			if err := os.MkdirAll(string(d), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := d.Check(); err != nil {
				t.Fatal("control:", err)
			}
			if err := spoil(data); err != nil {
				t.Fatal(err)
			}
			if err := d.Check(); err == nil {
				t.Error("taken for safe")
			}
			if _, err := d.Add("npm", "/usr/bin/true"); err == nil {
				t.Error("a shim was made there")
			}
			if err := (Dir(data + "/sbx/shells")).AddShells("/usr/bin/true"); err == nil &&
				!strings.HasPrefix(name, "shims") {
				t.Error("names of shells were made there")
			}
		})
	}
	if os.Geteuid() != 0 {
		return
	}
	for _, other := range []string{"/sbx/shims", "/sbx", "", "/.."} {
		data := t.TempDir() + "/data"
		d := Dir(data + "/sbx/shims")
		if err := errors.Join(os.MkdirAll(string(d), 0o755), d.Check()); err != nil {
			t.Fatal("control:", err)
		}
		if err := os.Chown(data+other, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if d.Check() == nil {
			t.Errorf("another user's %s is taken for safe", other)
		}
		if (Dir(data+"/sbx/shells")).AddShells("/usr/bin/true") == nil && other != "/sbx/shims" {
			t.Errorf("names of shells are made in another user's %s", other)
		}
	}
}

// TestDirSafe has the ways that are fine: a sticky directory with the user's own
// in it, and links.
func TestDirSafe(t *testing.T) {
	top := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(top+"/sticky/data/sbx/shims", 0o755))
	must(os.Chmod(top+"/sticky", 0o777|os.ModeSticky))
	must(os.Symlink("sticky/./data", top+"/short"))
	must(os.Symlink(top+"/short/../data", top+"/sticky/long"))
	for _, data := range []string{"/sticky/data", "/short", "/sticky/long", "/sticky/data/new/and/more"} {
		if err := Dir(top + data + "/sbx/shims").Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestProgram wants the name that outlives an upgrade.
func TestProgram(t *testing.T) {
	root := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"Cellar/1.0", "bin", "other", "open"} {
		must(os.MkdirAll(root+"/"+dir, 0o755))
	}
	self := root + "/Cellar/1.0/sbx"
	must(os.WriteFile(self, nil, 0o755))
	must(os.Symlink("../Cellar/1.0/sbx", root+"/bin/sbx"))
	must(os.WriteFile(root+"/other/sbx", nil, 0o755))
	must(os.Symlink(self, root+"/open/sbx"))
	must(os.Chmod(root+"/open", 0o777))
	for path, want := range map[string]string{
		root + "/bin:/usr/bin":                             root + "/bin/sbx",
		root + "/other:" + root + "/open:" + root + "/bin": root + "/bin/sbx",
		"":                     self,
		"bin:.:" + root + "/x": self,
		root + "/other":        self,
		root + "/open":         self,
	} {
		if got := Program(self, path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
