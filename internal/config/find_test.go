// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// newPlace returns a directory that passes the checks, with links in its path
// resolved, since messages name it.
func newPlace(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestFindOrder(t *testing.T) {
	dir := newPlace(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("user/config.hcl"), "u")
	write(t, at("repo/.sbx.toml"), "outer")
	write(t, at("repo/a/.sbx.hcl"), "inner")
	write(t, at("other.toml"), "explicit")
	must(t, os.MkdirAll(at("repo/a/b"), 0o755))
	must(t, os.MkdirAll(at("repo/c"), 0o755))
	user := []string{at("user/config.toml"), at("user/config.hcl")}
	u := File{Path: at("user/config.hcl"), Layer: policy.User, Data: []byte("u")}
	outer := File{Path: at("repo/.sbx.toml"), Layer: policy.Project, Data: []byte("outer")}
	inner := File{Path: at("repo/a/.sbx.hcl"), Layer: policy.Project, Data: []byte("inner")}
	tests := []struct {
		name  string
		where Files
		want  []File
	}{
		{"nothing", Files{System: []string{at("none/config.toml"), at("other.toml/config.hcl")}, CWD: at("repo/c")},
			nil},
		{"user", Files{User: user}, []File{u}},
		{"all up to the root, the outer first", Files{User: user, CWD: at("repo/a/b"), Root: at("repo")},
			[]File{u, outer, inner}},
		{"up to the root", Files{CWD: at("repo/c"), Root: at("repo")}, []File{outer}},
		{"not above the root", Files{CWD: at("repo/c"), Root: at("repo/c")}, nil},
		{"no repository", Files{CWD: at("repo/c")}, nil},
		{"root elsewhere", Files{CWD: at("repo/c"), Root: at("user")}, nil},
		{"explicit", Files{User: user, Explicit: at("other.toml")},
			[]File{{Path: at("other.toml"), Layer: policy.User, Data: []byte("explicit")}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Find(tt.where)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFindRefuses makes one unsafe file for each row. DIR in a message stands
// for the test's directory.
func TestFindRefuses(t *testing.T) {
	const theirs = 12345
	tests := []struct {
		name, want string
		layer      policy.Layer
		root       bool // needs to give files away
		make       func(t *testing.T, path string)
	}{
		{"good", "", policy.User, false, func(t *testing.T, path string) { write(t, path, "x") }},
		{"link in its directory", "", policy.Project, false, func(t *testing.T, path string) {
			write(t, filepath.Dir(path)+"/real.toml", "x")
			must(t, os.Symlink("real.toml", path))
		}},
		{"link to elsewhere", "DIR/d/c.toml: a symbolic link to elsewhere, DIR/x.toml", policy.Project, false,
			func(t *testing.T, path string) {
				write(t, filepath.Dir(path)+"/../x.toml", "x")
				must(t, os.Symlink("../x.toml", path))
			}},
		{"link to root's file", "", policy.User, true, func(t *testing.T, path string) {
			write(t, filepath.Dir(path)+"/../store/x.toml", "x")
			must(t, os.Symlink("../store/x.toml", path))
		}},
		{"link to another's file", "DIR/d/c.toml: a symbolic link to elsewhere, DIR/x.toml", policy.User, true,
			func(t *testing.T, path string) {
				write(t, filepath.Dir(path)+"/../x.toml", "x")
				must(t, os.Chown(filepath.Dir(path)+"/../x.toml", theirs, 0))
				must(t, os.Symlink("../x.toml", path))
			}},
		{"dangling", "DIR/d/c.toml: a symbolic link that leads nowhere: lstat DIR/d/gone: no such file or directory",
			policy.User, false, func(t *testing.T, path string) {
				must(t, os.Symlink("gone", path))
			}},
		{"link to itself", "DIR/d/c.toml: a symbolic link that leads nowhere: EvalSymlinks: too many links",
			policy.User, false, func(t *testing.T, path string) {
				must(t, os.Symlink("c.toml", path))
			}},
		{"link to a device", "DIR/d/c.toml: not a regular file", policy.User, false, func(t *testing.T, path string) {
			must(t, os.Symlink("/dev/zero", path))
		}},
		{"fifo", "DIR/d/c.toml: not a regular file", policy.User, false, func(t *testing.T, path string) {
			must(t, syscall.Mkfifo(path, 0o600))
		}},
		{"directory", "DIR/d/c.toml: is a directory, not a file", policy.User, false, func(t *testing.T, path string) {
			must(t, os.Mkdir(path, 0o755))
		}},
		{"group may write", "DIR/d/c.toml: writable by others", policy.User, false, func(t *testing.T, path string) {
			write(t, path, "x")
			must(t, os.Chmod(path, 0o664))
		}},
		{"all may write", "DIR/d/c.toml: writable by others", policy.Project, false, func(t *testing.T, path string) {
			write(t, path, "x")
			must(t, os.Chmod(path, 0o646))
		}},
		{"directory all may write", "DIR/d/c.toml: its directory DIR/d is writable by others", policy.User, false,
			func(t *testing.T, path string) {
				write(t, path, "x")
				must(t, os.Chmod(filepath.Dir(path), 0o777))
			}},
		{"sticky directory", "", policy.User, false, func(t *testing.T, path string) {
			write(t, path, "x")
			must(t, os.Chmod(filepath.Dir(path), 0o777|os.ModeSticky))
		}},
		{"project in an open directory", "", policy.Project, false, func(t *testing.T, path string) {
			write(t, path, "x")
			must(t, os.Chmod(filepath.Dir(path), 0o777))
		}},
		{"another's", "DIR/d/c.toml: owned by uid 12345, not by you or root", policy.Project, true,
			func(t *testing.T, path string) {
				write(t, path, "x")
				must(t, os.Chown(path, theirs, 0))
			}},
		{"system of another", "DIR/d/c.toml: owned by uid 12345, not by root", policy.System, true,
			func(t *testing.T, path string) {
				write(t, path, "x")
				must(t, os.Chown(path, theirs, 0))
			}},
		{"directory of another", "DIR/d/c.toml: its directory DIR/d is owned by uid 12345, not by you or root",
			policy.User, true, func(t *testing.T, path string) {
				write(t, path, "x")
				must(t, os.Chown(filepath.Dir(path), theirs, 0))
			}},
		{"large", "DIR/d/c.toml: larger than 1048576 bytes", policy.User, false, func(t *testing.T, path string) {
			write(t, path, "x")
			must(t, os.Truncate(path, 100<<20))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root && os.Geteuid() != 0 {
				t.Skip("gives a file away: needs root")
			}
			dir := newPlace(t)
			path := filepath.Join(dir, "d", "c.toml")
			must(t, os.Mkdir(filepath.Dir(path), 0o755))
			tt.make(t, path)
			start := time.Now()
			var s search
			err := s.layer(tt.layer, []string{path})
			if got := strings.ReplaceAll(message(err), dir, "DIR"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if time.Since(start) > time.Second {
				t.Error("slow")
			}
		})
	}
}

func TestFindTwoFormats(t *testing.T) {
	dir := newPlace(t)
	write(t, dir+"/.sbx.toml", "")
	write(t, dir+"/.sbx.hcl", "")
	_, err := Find(Files{CWD: dir})
	if want := dir + "/.sbx.hcl: there is " + dir +
		"/.sbx.toml as well, and sbx does not guess which of the two counts"; message(err) != want {
		t.Error(err)
	}
}

func TestFindExplicitMustExist(t *testing.T) {
	dir := newPlace(t)
	_, err := Find(Files{Explicit: dir + "/gone.toml"})
	if want := dir + "/gone.toml: cannot be read: no such file or directory"; message(err) != want ||
		!errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
}

// TestFindOtherErrors: what cannot be looked at might be there.
func TestFindOtherErrors(t *testing.T) {
	dir := newPlace(t)
	must(t, os.Symlink("loop", dir+"/loop"))
	_, err := Find(Files{System: []string{dir + "/loop/config.toml"}})
	if want := dir + "/loop/config.toml: cannot look for a config file: too many levels of symbolic links"; message(err) != want {
		t.Error(err)
	}
	if os.Geteuid() == 0 {
		return // root may look anywhere
	}
	must(t, os.Mkdir(dir+"/shut", 0))
	_, err = Find(Files{User: []string{dir + "/shut/config.toml"}})
	if !errors.Is(err, syscall.EACCES) {
		t.Error(err)
	}
}

func TestFileErrorIsOnePlainLine(t *testing.T) {
	_, err := Find(Files{Explicit: "/x\x1b[2J\n.toml"})
	if want := `"/x\x1b[2J\n.toml": cannot be read: no such file or directory`; message(err) != want {
		t.Error(err)
	}
}

// BenchmarkFindNothing is the hot path: two places each of system and user,
// and a project two directories deep.
func BenchmarkFindNothing(b *testing.B) {
	dir := newPlace(b)
	if err := os.MkdirAll(dir+"/repo/a", 0o755); err != nil {
		b.Fatal(err)
	}
	where := Files{
		System: []string{dir + "/etc/sbx/config.toml", dir + "/etc/sbx/config.hcl"},
		User:   []string{dir + "/home/.config/sbx/config.toml", dir + "/home/.config/sbx/config.hcl"},
		CWD:    dir + "/repo/a", Root: dir + "/repo",
	}
	b.ReportAllocs()
	for b.Loop() {
		if files, err := Find(where); err != nil || files != nil {
			b.Fatal(files, err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	files := map[string][]File{
		"toml": {file(policy.User, "default_profile='work'\n[profiles.work]\nextends='moderate'\nwritable_paths=['~/.cache']\n")},
		"project": {file(policy.Project,
			"[profiles.moderate]\nblocked_paths=['$CWD/secret']\nprotected_paths=['$CWD/x']\n")},
		"hcl": {{Path: "user.hcl", Layer: policy.User,
			Data: []byte("default_profile=\"work\"\nprofiles \"work\" {\nextends=\"moderate\"\nwritable_paths=[\"~/.cache\"]\n}\n")}},
	}
	for _, name := range []string{"toml", "hcl", "project"} {
		b.Run(name, func(b *testing.B) {
			builtin := testBuiltin()
			for b.Loop() {
				if _, err := Load(builtin, files[name], testVars); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestFindAsks: each project file is asked about, with the bytes that count,
// and no other file is.
func TestFindAsks(t *testing.T) {
	dir := newPlace(t)
	write(t, dir+"/user.toml", "u")
	write(t, dir+"/repo/.sbx.toml", "outer")
	write(t, dir+"/repo/a/.sbx.hcl", "inner")
	must(t, os.Chmod(dir+"/repo/a/.sbx.hcl", 0o664)) // by the user's own group: the bytes are what is trusted
	var asked []string
	got, err := Find(Files{Explicit: dir + "/user.toml", CWD: dir + "/repo/a", Root: dir + "/repo",
		Trusts: func(path string, data []byte) bool {
			asked = append(asked, strings.TrimPrefix(path, dir)+" "+string(data))
			return string(data) == "inner"
		}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/repo/a/.sbx.hcl inner", "/repo/.sbx.toml outer"}, asked); diff != "" {
		t.Error(diff)
	}
	want := []File{
		{Path: dir + "/user.toml", Layer: policy.User, Data: []byte("u")},
		{Path: dir + "/repo/.sbx.toml", Layer: policy.Project, Data: []byte("outer")},
		{Path: dir + "/repo/a/.sbx.hcl", Layer: policy.Project, Data: []byte("inner"), Trusted: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReadFilterSecondName: a hard link elsewhere is a way to write the file.
func TestReadFilterSecondName(t *testing.T) {
	dir := newPlace(t)
	path := filepath.Join(dir, "f.json")
	write(t, path, "{}")
	if data, err := ReadFilter(path); err != nil || string(data) != "{}" {
		t.Fatalf("with one name: %q, %v", data, err)
	}
	write(t, filepath.Join(dir, "proj", "x"), "")
	must(t, os.Link(path, filepath.Join(dir, "proj", "other")))
	_, err := ReadFilter(path)
	var fe *FileError
	if !errors.As(err, &fe) || !strings.Contains(fe.Text, "hard link") || fe.Hint == "" {
		t.Errorf("with two names: %v", err)
	}
	// The rest of the configuration is told apart by its content.
	if _, err := readSafe(policy.User, path, false); err != nil {
		t.Error(err)
	}
}

// TestSecondNameOfRoots: Nix keeps one file for all that are the same.
func TestSecondNameOfRoots(t *testing.T) {
	c := candidate{layer: policy.User, path: "/nix/store/f.json", real: "/nix/store/f.json", alone: true}
	err := c.check(&syscall.Stat_t{Mode: syscall.S_IFREG | 0o444, Nlink: 2})
	if own := os.Geteuid() == 0; own != (err != nil) {
		t.Errorf("root's file, as uid %d: %v", os.Geteuid(), err)
	}
}
