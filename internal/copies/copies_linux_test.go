// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A run that begins while another has changed something, above or below what it keeps
// itself, puts back what was there before either.
func TestOverlap(t *testing.T) {
	for _, c := range []struct{ first, second string }{{"/d", "/d/in"}, {"/d/in", "/d"}, {"/d", "/d"}} {
		top := t.TempDir()
		must(t, os.MkdirAll(top+"/d/in", 0o755))
		write := func(text string) { must(t, os.WriteFile(top+"/d/in/f", []byte(text), 0o644)) }
		write("good")
		s := Store{Dir: top + "/state/copies", UID: os.Geteuid()}
		a, err := s.Take([]string{top + c.first}, nil)
		must(t, err)
		write("evil")
		b, err := s.Take([]string{top + c.second}, nil)
		must(t, err)
		for _, fds := range [][]int{a, b} {
			res, err := s.Finish(fds[0])
			must(t, err)
			if len(res.Failed) > 0 {
				t.Error(res.Failed)
			}
			closeAll(fds)
			if got, _ := os.ReadFile(top + "/d/in/f"); string(got) != "good" {
				t.Errorf("%s, then %s: %q", c.first, c.second, got)
			}
		}
		if res, err := s.Recover(); err != nil || res.Something() {
			t.Errorf("something is left: %+v, %v", res, err)
		}
	}
}

// A run that begins while another has put up a directory of its own does not take that
// for the one that was there, even when the other ends first.
func TestOverlapReplaced(t *testing.T) {
	for name, apart := range map[string]bool{"control": false, "while another runs": true} {
		top := t.TempDir()
		must(t, errors.Join(os.MkdirAll(top+"/git/hooks", 0o755), os.WriteFile(top+"/git/good", nil, 0o644)))
		s := Store{Dir: top + "/state/copies", UID: os.Geteuid()}
		paths, dirs := []string{top + "/git/hooks"}, []string{top + "/git"}
		runs := make([][]int, 2)
		var err error
		if !apart {
			runs[1], err = s.Take(paths, dirs)
			must(t, err)
		}
		runs[0], err = s.Take(paths, dirs)
		must(t, errors.Join(err, os.Rename(top+"/git", top+"/old"), os.MkdirAll(top+"/git/hooks", 0o755)))
		if apart {
			runs[1], err = s.Take(paths, append(dirs, top+"/old"))
			must(t, err)
		}
		for _, fds := range runs {
			res, err := s.Finish(fds[0])
			must(t, errors.Join(append(res.Failed, err)...))
			closeAll(fds)
			if _, err := os.Stat(top + "/git/good"); err != nil {
				t.Errorf("%s: %v, %+v", name, err, res)
			}
		}
	}
}

// A record whose run has ended without a word is found, one that goes on is not touched.
func TestRecover(t *testing.T) {
	top := t.TempDir()
	must(t, os.WriteFile(top+"/f", []byte("good"), 0o600))
	s := Store{Dir: top + "/state/copies", UID: os.Geteuid()}
	fds, err := s.Take([]string{top + "/f", top + "/new"}, nil)
	must(t, err)
	must(t, os.WriteFile(top+"/f", []byte("evil"), 0o600))
	must(t, unix.Mkfifo(top+"/new", 0o600))
	if res, err := s.Recover(); err != nil || res.Something() {
		t.Errorf("while it runs: %+v, %v", res, err)
	}
	closeAll(fds)
	res, err := s.Recover()
	if err != nil || len(res.Back) != 1 || len(res.Moved) != 1 || len(res.Failed) > 0 {
		t.Errorf("%+v, %v", res, err)
	}
	if got, _ := os.ReadFile(top + "/f"); string(got) != "good" {
		t.Errorf("%q", got)
	}
}

// A file that is written again may have had another owner: as root's it must not run as root.
func TestSetUID(t *testing.T) {
	top := t.TempDir()
	for mode, want := range map[os.FileMode]os.FileMode{0o755: 0o755, 0o755 | os.ModeSetuid | os.ModeSetgid: 0o755} {
		must(t, errors.Join(os.WriteFile(top+"/f", []byte("good"), 0o755), os.Chmod(top+"/f", mode)))
		s := Store{Dir: top + "/state/copies", UID: os.Geteuid()}
		fds, err := s.Take([]string{top + "/f"}, nil)
		must(t, errors.Join(err, os.WriteFile(top+"/f", []byte("evil"), 0)))
		_, err = s.Finish(fds[0])
		must(t, err)
		closeAll(fds)
		st, err := os.Stat(top + "/f")
		if must(t, err); st.Mode() != want || st.Size() != 4 {
			t.Errorf("%v: %v", mode, st.Mode())
		}
	}
}

// Whatever a command leaves, what is kept is as before.
func TestPutBack(t *testing.T) {
	long := strings.Repeat("h", 255)
	for name, do := range map[string]func(git string) error{
		"control":         func(git string) error { return os.WriteFile(git+"/config", []byte("evil"), 0o644) },
		"a long name":     func(git string) error { return os.WriteFile(git+"/hooks/"+long, nil, 0o755) },
		"a long name far": func(git string) error { return os.MkdirAll(git+"/hooks/"+long+"/x", 0o755) },
		"the next name": func(git string) error {
			return errors.Join(os.Mkdir(git+"/.sbx-"+strconv.Itoa(os.Getpid()), 0o700), os.Remove(git+"/config"))
		},
		"a link above what is new": func(git string) error {
			return errors.Join(os.Rename(git+"/info", git+"/i"), os.WriteFile(git+"/i/attributes", nil, 0o644),
				os.Symlink("i", git+"/info"))
		},
		"a link where no directory was": func(git string) error {
			return errors.Join(os.WriteFile(git+"/hooks/absent", nil, 0o644), os.Symlink("hooks", git+"/none"))
		},
		"modes": func(git string) error {
			return errors.Join(os.Chmod(git+"/config", 0), os.Chmod(git+"/hooks", 0), os.Chmod(git, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			git := top + "/.git"
			must(t, errors.Join(os.MkdirAll(git+"/hooks", 0o755), os.Mkdir(git+"/info", 0o755),
				os.WriteFile(git+"/config", []byte("good"), 0o644), os.WriteFile(git+"/hooks/h", nil, 0o755),
				os.Mkdir(top+"/in", 0o755), os.Symlink("../in", git+"/mine")))
			s := Store{Dir: top + "/state/copies", UID: os.Geteuid()}
			fds, err := s.Take([]string{git + "/config", git + "/hooks", git + "/info/attributes", git + "/none/absent",
				git + "/mine/x"}, []string{git, git + "/info", git + "/none", git + "/mine"})
			must(t, err)
			defer closeAll(fds)
			must(t, do(git))
			res, err := s.Finish(fds[0])
			must(t, errors.Join(append(res.Failed, err)...))
			if !res.Something() {
				t.Error("nothing was done")
			}
			got, err := os.ReadFile(git + "/config")
			if err != nil || string(got) != "good" {
				t.Errorf("%q, %v", got, err)
			}
			if names, err := os.ReadDir(git + "/hooks"); err != nil || len(names) != 1 {
				t.Errorf("%v, %v", names, err)
			}
			for _, path := range []string{git + "/info/attributes", git + "/none"} {
				if info, err := os.Stat(path); err == nil {
					t.Errorf("%s: %v", path, info.Mode())
				}
			}
			for _, path := range []string{git, git + "/hooks"} {
				if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeDir|0o755 {
					t.Errorf("%s: %v, %v", path, info, err)
				}
			}
			if to, _ := os.Readlink(git + "/mine"); to != "../in" {
				t.Errorf("the user's own link: %q", to)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
