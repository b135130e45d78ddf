// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"os"
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
