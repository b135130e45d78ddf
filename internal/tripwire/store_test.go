// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tripwire

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// newStore is a store as sbx has it, below a directory of its own.
func newStore(t testing.TB) Store {
	return Store{Dir: tree(t, nil) + "/sbx/tripwire", UID: os.Geteuid()}
}

// watchAll gives the watches as a planner does, with the states of now.
func watchAll(t testing.TB, watches ...Watch) []Watch {
	t.Helper()
	for i, w := range watches {
		state, err := Look(w.Kind, w.Path)
		if err != nil {
			t.Fatal(err)
		}
		watches[i].State = state
	}
	return watches
}

// short is a change without its time and with the path below root.
func short(root string, changes []Change) []string {
	out := []string{}
	for _, c := range changes {
		line := strings.TrimPrefix(c.Path, root+"/") + ": " + word(c.Was) + " -> " + word(c.Now)
		if c.Before != nil {
			line += fmt.Sprintf(" (%q)", c.Before)
		}
		out = append(out, line)
	}
	return out
}

func word(state string) string {
	kind, rest, _ := strings.Cut(state, " ")
	if kind == "link" || kind == "other" {
		return state
	}
	_ = rest
	return kind
}

func check(t testing.TB, s Store, root string, watches []Watch, want ...string) {
	t.Helper()
	got, err := s.Check(root, watches)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append([]string{}, want...), short(root, got)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	for _, c := range got {
		if age := time.Since(c.Since); age < -time.Second || age > time.Hour {
			t.Errorf("%s: since %v", c.Path, c.Since)
		}
	}
}

// What appears between two runs is reported until it is accepted or gone.
func TestAppear(t *testing.T) {
	for _, tt := range []struct {
		name  string
		watch Watch
		make  map[string]string
		want  []string
	}{
		{"a file", Watch{Path: "/.envrc"}, map[string]string{".envrc": "x"}, []string{".envrc:  -> file"}},
		{"an empty file", Watch{Path: "/.envrc"}, map[string]string{".envrc": ""}, []string{".envrc:  -> file"}},
		{"a link to nowhere", Watch{Path: "/.envrc"}, map[string]string{".envrc": "-> nowhere"},
			[]string{".envrc:  -> link nowhere"}},
		{"a fifo", Watch{Path: "/.envrc"}, map[string]string{".envrc": "|"}, []string{".envrc:  -> other fifo"}},
		{"a directory", Watch{Path: "/.vscode"}, map[string]string{".vscode/tasks.json": "{}"},
			[]string{".vscode:  -> dir"}},
		{"below what was not there", Watch{Path: "/.git/config.worktree"},
			map[string]string{".git/config.worktree": "x"}, []string{".git/config.worktree:  -> file"}},
		{"of a pattern", Watch{Kind: Pattern, Path: "/*.ws"}, map[string]string{"a.ws": "", "b.ws": "-> x", "c": ""},
			[]string{"a.ws:  -> file", "b.ws:  -> link x"}},
		{"a repository", Watch{Kind: Nested, Path: "/"}, map[string]string{"sub/.git/HEAD": ""},
			[]string{"sub/.git:  -> dir"}},
		{"a pointer", Watch{Kind: Nested, Path: "/"}, map[string]string{"sub/.git": "gitdir: x"},
			[]string{"sub/.git:  -> file"}},
		{"a bare one", Watch{Kind: Nested, Path: "/"},
			map[string]string{"sub/HEAD": "", "sub/objects/": "", "sub/refs/": ""}, []string{"sub:  -> dir"}},
		{"an odd name", Watch{Path: "/a\nb\xff\x1b[2J \"'"}, map[string]string{"a\nb\xff\x1b[2J \"'": ""},
			[]string{"a\nb\xff\x1b[2J \"':  -> file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, root := newStore(t), tree(t, nil)
			tt.watch.Path = filepath.Clean(root + tt.watch.Path)
			look := func() []Watch { return watchAll(t, tt.watch) }
			check(t, s, root, look())
			check(t, s, root, look())
			for name, text := range tt.make {
				put(t, root+"/"+name, text)
			}
			// Whether it is still watched makes no difference, nor how often one looks.
			check(t, s, root, look(), tt.want...)
			check(t, s, root, nil, tt.want...)
			check(t, s, root, look(), tt.want...)
			pending, err := s.Pending(root)
			if diff := cmp.Diff(tt.want, short(root, pending)); err != nil || diff != "" {
				t.Errorf("pending: %v\n%s", err, diff)
			}
			for _, c := range pending {
				if err := c.Remove(); err != nil {
					t.Error(err)
				}
			}
			check(t, s, root, look())
			for name, text := range tt.make {
				put(t, root+"/"+name, text)
			}
			check(t, s, root, look(), tt.want...)
			var paths []string
			for _, c := range pending {
				paths = append(paths, c.Path)
			}
			if err := s.Accept(root, paths...); err != nil {
				t.Fatal(err)
			}
			check(t, s, root, nil)
			check(t, s, root, look())
			check(t, s, root, look())
		})
	}
}

// What was there at the first run is the user's, and stays so.
func TestThere(t *testing.T) {
	root := tree(t, map[string]string{".envrc": "mine", ".vscode/x": "", "a.ws": "", "sub/.git/HEAD": ""})
	s := newStore(t)
	look := func() []Watch {
		return watchAll(t, Watch{Path: root + "/.envrc"}, Watch{Path: root + "/.vscode"},
			Watch{Kind: Pattern, Path: root + "/*.ws"}, Watch{Kind: Nested, Path: root})
	}
	check(t, s, root, look())
	check(t, s, root, look())
	check(t, s, root, nil)

	// changed: with the content that was there
	put(t, root+"/.envrc", "theirs")
	put(t, root+"/.vscode/x", "theirs")
	check(t, s, root, look(), `.envrc: file -> file ("mine")`, ".vscode: dir -> dir")
	put(t, root+"/.envrc", "mine")
	put(t, root+"/.vscode/x", "")
	check(t, s, root, look())

	// gone is no change, and what comes in its place is one
	for _, name := range []string{".envrc", ".vscode", "a.ws", "sub/.git"} {
		if err := os.RemoveAll(root + "/" + name); err != nil {
			t.Fatal(err)
		}
	}
	check(t, s, root, look())
	put(t, root+"/.envrc", "-> x")
	put(t, root+"/a.ws", "")
	put(t, root+"/sub/.git", "gitdir: x")
	check(t, s, root, look(), `.envrc: file -> link x ("mine")`, "a.ws:  -> file", "sub/.git:  -> file")

	// accepting one name of a pattern settles that one only
	put(t, root+"/b.ws", "")
	if err := s.Accept(root, root+"/a.ws", root+"/sub/.git"); err != nil {
		t.Fatal(err)
	}
	check(t, s, root, look(), `.envrc: file -> link x ("mine")`, "b.ws:  -> file")
}

// Records of the directories above count for what is in root, and for no more.
func TestAbove(t *testing.T) {
	s, top := newStore(t), tree(t, nil)
	root := top + "/sub"
	check(t, s, top, watchAll(t, Watch{Path: top + "/.envrc"}, Watch{Path: root + "/.git"},
		Watch{Path: top + "/subway"}))
	put(t, root+"/.git/config", "x")
	put(t, top+"/.envrc", "x")
	put(t, top+"/subway", "x")
	check(t, s, root, nil, ".git:  -> dir")
	check(t, s, root, watchAll(t, Watch{Path: root + "/x"}), ".git:  -> dir")
	if err := s.Accept(root, root+"/.git", top+"/.envrc"); err != nil {
		t.Fatal(err)
	}
	check(t, s, root, nil)
	check(t, s, top, nil, ".envrc:  -> file", "subway:  -> file")
	if err := s.Accept(top, top+"/.envrc", top+"/subway"); err != nil {
		t.Fatal(err)
	}
	check(t, s, top, nil)
	put(t, top+"/.envrc", "what a command that still runs writes")
	check(t, s, top, nil, ".envrc: file -> file")
}

// A directory above a watched name that became a link, or that no one may
// search, does not make the name look absent.
func TestHiddenBehind(t *testing.T) {
	s, root := newStore(t), tree(t, map[string]string{"sub/": "", "evil/.envrc": "x"})
	w := []Watch{{Path: root + "/sub/.envrc"}, {Kind: Pattern, Path: root + "/sub/*.ws"}}
	check(t, s, root, w)
	check(t, s, root, nil)
	if err := os.Remove(root + "/sub"); err != nil {
		t.Fatal(err)
	}
	put(t, root+"/sub", "-> evil")
	cause := "other (" + root + "/sub: a directory on the way has become a link)"
	check(t, s, root, nil, "sub/*.ws:  -> "+cause, "sub/.envrc:  -> "+cause)
	changes, err := s.Pending(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if err := c.Remove(); err == nil {
			t.Errorf("%s was removed through a link", c.Path)
		}
	}
	if _, err := os.Lstat(root + "/evil/.envrc"); err != nil {
		t.Error(err)
	}
	if err := s.Accept(root, root+"/sub/.envrc", root+"/sub/*.ws"); err != nil {
		t.Fatal(err)
	}
	check(t, s, root, nil)
}

// A repository that appeared is reported while there is something in it.
func TestHarmless(t *testing.T) {
	s, root := newStore(t), tree(t, nil)
	w := []Watch{{Path: root + "/.git"}, {Path: root + "/.envrc"}, {Kind: Nested, Path: root}}
	check(t, s, root, w)
	put(t, root+"/.envrc", "")
	dirs := []string{root + "/.git", root + "/bare", root + "/sub/.git"}
	for _, dir := range dirs {
		put(t, dir+"/HEAD", "ref: refs/heads/main\n")
		put(t, dir+"/objects/", "")
		put(t, dir+"/refs/", "")
		put(t, dir+"/config", "[core]\nbare=false\n")
	}
	check(t, s, root, watchAll(t, w...), ".envrc:  -> file")
	for _, dir := range dirs {
		put(t, dir+"/hooks/post-checkout", "x x")
	}
	check(t, s, root, watchAll(t, w...), ".envrc:  -> file", ".git:  -> dir", "bare:  -> dir", "sub/.git:  -> dir")
}

// In the steady state nothing is written.
func TestSettled(t *testing.T) {
	s, root := newStore(t), tree(t, map[string]string{"a.ws": ""})
	w := watchAll(t, Watch{Path: root + "/b"}, Watch{Kind: Pattern, Path: root + "/*.ws"}, Watch{Path: root + "/a"})
	stamp := func() string {
		t.Helper()
		var out string
		for _, path := range []string{s.Dir, s.Dir + "/" + FileName(root), s.Dir + "/lock"} {
			info, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			out += fmt.Sprintf("%s %v %v\n", path, info.Mode(), info.ModTime().UnixNano())
		}
		return out
	}
	check(t, s, root, w)
	first := stamp()
	time.Sleep(20 * time.Millisecond)
	check(t, s, root, w)
	check(t, s, root, nil)
	check(t, s, root, []Watch{w[2], w[1], w[1]}) // in any order, and twice
	if again := stamp(); again != first {
		t.Errorf("written without need: before\n%safter\n%s", first, again)
	}
	for path, mode := range map[string]os.FileMode{filepath.Dir(s.Dir): os.ModeDir | 0o700, s.Dir: os.ModeDir | 0o700,
		s.Dir + "/" + FileName(root): 0o600, s.Dir + "/lock": 0o600} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, mode)
		}
	}
	check(t, s, root, append(w, Watch{Path: root + "/c"}))
	if stamp() == first {
		t.Error("a new watch was not written")
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left over: %v %v", entries, err)
	}
}

// No watch is lost when many record at once.
func TestTogether(t *testing.T) {
	s, root := newStore(t), tree(t, nil)
	const n = 40
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			// Each opens the lock anew, as processes do.
			if _, err := s.Check(root, []Watch{{Path: fmt.Sprintf("%s/%d", root, i)},
				{Path: root + "/all"}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range n {
		put(t, fmt.Sprintf("%s/%d", root, i), "")
	}
	got, err := s.Pending(root)
	if err != nil || len(got) != n {
		t.Errorf("%d of %d, %v", len(got), n, err)
	}
}

// What cannot be believed is an error, never an empty record.
func TestDamaged(t *testing.T) {
	root := tree(t, nil)
	good := string((&record{root: root, entries: []entry{{path: root + "/a"},
		{path: root + "/b", kind: Nested}}}).encode())
	file := func(text string) func(t *testing.T, s Store) error {
		return func(t *testing.T, s Store) error {
			return os.WriteFile(s.Dir+"/"+FileName(root), []byte(text), 0o600)
		}
	}
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, s Store) error
		want string // part of the error; "" for none
	}{
		{"as it should be", file(good), ""},
		{"empty", file(""), "it is damaged"},
		{"of another root", file(strings.Replace(good, root, "/other", 1)), "it is no record"},
		{"no version", file("sbx tripwire 0" + good[14:]), "it is damaged"},
		{"cut short", file(good[:len(good)-1]), "it is damaged"},
		{"a line too much", file(good + "\n"), "it is damaged"},
		{"unsorted", file(header(root) + "n/b\x00\x000\x00\x00n/a\x00\x000\x00\x00"), "it is damaged"},
		{"twice", file(header(root) + "n/b\x00\x000\x00\x00n/b\x00\x000\x00\x00"), "it is damaged"},
		{"an unknown kind", file(header(root) + "x/b\x00\x000\x00\x00"), "it is damaged"},
		{"no time", file(header(root) + "n/b\x00\x00\x00\x00"), "it is damaged"},
		{"a relative path", file(header(root) + "nb\x00\x000\x00\x00"), "it is damaged"},
		{"no path", file(header(root) + "n\x00\x000\x00\x00"), "it is damaged"},
		{"a content of nothing", file(header(root) + "n/b\x00\x000\x00x\x00"), "it is damaged"},
		{"too large", file(header(root) + strings.Repeat("x", maxRecord)), "it is larger than 1048576 bytes"},
		{"too many", file(header(root) + many(maxWatched+1)), "it is damaged"},
		{"a link", func(t *testing.T, s Store) error {
			put(t, s.Dir+"/../elsewhere", good)
			return os.Symlink("../elsewhere", s.Dir+"/"+FileName(root))
		}, "it is a symbolic link"},
		{"a dangling link", func(t *testing.T, s Store) error { return os.Symlink("x", s.Dir+"/"+FileName(root)) },
			"it is a symbolic link"},
		{"a directory", func(t *testing.T, s Store) error { return os.Mkdir(s.Dir+"/"+FileName(root), 0o700) },
			"it is not a regular file"},
		{"a fifo", func(t *testing.T, s Store) error { put(t, s.Dir+"/"+FileName(root), "|"); return nil },
			"it is not a regular file"},
		{"writable by the group", func(t *testing.T, s Store) error {
			return errors.Join(file(good)(t, s), os.Chmod(s.Dir+"/"+FileName(root), 0o620))
		}, "it is writable by others"},
		{"the directory writable by all", func(t *testing.T, s Store) error { return os.Chmod(s.Dir, 0o777) },
			"it is writable by others"},
		{"the directory above, too", func(t *testing.T, s Store) error { return os.Chmod(filepath.Dir(s.Dir), 0o777) },
			"it is writable by others"},
		{"the directory a link", func(t *testing.T, s Store) error {
			return errors.Join(os.Rename(s.Dir, s.Dir+"2"), os.Symlink(s.Dir+"2", s.Dir))
		}, "it is a symbolic link"},
		{"the directory above a link", func(t *testing.T, s Store) error {
			d := filepath.Dir(s.Dir)
			return errors.Join(os.Rename(d, d+"2"), os.Symlink(d+"2", d))
		}, "it is a symbolic link"},
		{"the directory a file", func(t *testing.T, s Store) error {
			return errors.Join(os.RemoveAll(s.Dir), os.WriteFile(s.Dir, nil, 0o600))
		}, "it is not a directory"},
		{"the lock a link", func(t *testing.T, s Store) error {
			return errors.Join(os.Remove(s.Dir+"/lock"), os.Symlink("x", s.Dir+"/lock"))
		}, "it is a symbolic link"},
		{"the record of another", func(t *testing.T, s Store) error {
			return errors.Join(file(good)(t, s), chown(t, s.Dir+"/"+FileName(root)))
		}, "belongs to uid 12345"},
		{"the directory of another", func(t *testing.T, s Store) error { return chown(t, s.Dir) },
			"belongs to uid 12345"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			check(t, s, "/elsewhere", []Watch{{Path: "/elsewhere/x"}}) // makes the store
			if err := tt.do(t, s); err != nil {
				t.Fatal(err)
			}
			_, err := s.Check(root, []Watch{{Path: root + "/new"}})
			var damaged *DamagedError
			switch {
			case tt.want == "" && err != nil:
				t.Fatal(err)
			case tt.want != "" && (err == nil || !errors.As(err, &damaged) || !strings.Contains(err.Error(), tt.want)):
				t.Fatalf("error %v, want a DamagedError with %q", err, tt.want)
			}
			if err := s.Accept(root, root+"/a"); (err == nil) != (tt.want == "") {
				t.Errorf("Accept: %v", err)
			}
			if _, err := s.Pending(root); (err == nil) != (tt.want == "") && tt.name != "the lock a link" {
				t.Errorf("Pending: %v", err)
			}
		})
	}
}

// A record of a newer sbx is left as it is, and nothing stops for it; one of an
// older is read, but for what it said of indexes.
func TestVersions(t *testing.T) {
	root := tree(t, nil)
	good := string((&record{root: root, entries: []entry{{path: root + "/a", time: time.Now().Unix()}}}).encode())
	s := newStore(t)
	check(t, s, "/elsewhere", []Watch{{Path: "/elsewhere/x"}}) // makes the store
	file := s.Dir + "/" + FileName(root)
	newer := "sbx tripwire 3" + good[14:] + "what nobody knows yet"
	for _, name := range []string{file, file + ".index"} {
		text := newer
		if name != file {
			text = "sbx index 2 x"
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(t, root+"/a", "")
	var cannot *UnwritableError
	for name, do := range map[string]func() error{
		"check":   func() error { _, err := s.Check(root, []Watch{{Path: root + "/new"}}); return err },
		"pending": func() error { _, err := s.Pending(root); return err },
		"accept":  func() error { return s.Accept(root, root+"/a") },
	} {
		if err := do(); !errors.As(err, &cannot) || !strings.Contains(err.Error(), "a newer sbx wrote it") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if data, err := os.ReadFile(file); string(data) != newer {
		t.Errorf("%q, %v", data, err)
	}
	older := "sbx tripwire 1" + good[14:] + "l" + root + "\x00stamp/a/b\x000\x00\x00"
	if err := os.WriteFile(file, []byte(older), 0o600); err != nil {
		t.Fatal(err)
	}
	check(t, s, root, []Watch{{Path: root + "/a", State: "file " + sha("")}}, "a:  -> file")
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "n/%05d\x00\x000\x00\x00", i)
	}
	return b.String()
}

func chown(t *testing.T, path string) error {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	return os.Lchown(path, 12345, -1)
}

// More than a record holds is an error, and what was recorded stays.
func TestTooMany(t *testing.T) {
	s, root := newStore(t), tree(t, nil)
	w := make([]Watch, maxWatched)
	for i := range w {
		w[i].Path = fmt.Sprintf("%s/%05d", root, i)
	}
	check(t, s, root, w)
	check(t, s, root, w)
	_, err := s.Check(root, []Watch{{Path: root + "/one more"}})
	if damaged := (*DamagedError)(nil); !errors.As(err, &damaged) ||
		!strings.Contains(err.Error(), "more names are to be watched") {
		t.Errorf("one more: %v", err)
	}
	check(t, s, root, w)
	_, err = s.Check("/x", []Watch{{Kind: Pattern, Path: "/x/*", State: strings.Repeat("a", maxRecord)}})
	if err == nil {
		t.Error("a record of more than 1 MiB was written")
	}
}

// Contents are kept as far as there is room, and never instead of an entry.
func TestKeep(t *testing.T) {
	text := strings.Repeat("x", maxKept-8)
	s, root := newStore(t), tree(t, map[string]string{"small": "a\nb\n", "binary": "a\x00b", "big": text +
		strings.Repeat("x", 9), "empty": ""})
	var w []Watch
	for i := range 40 {
		put(t, fmt.Sprintf("%s/n%02d", root, i), fmt.Sprintf("%02d", i)+text)
		w = append(w, Watch{Path: fmt.Sprintf("%s/n%02d", root, i)})
	}
	w = watchAll(t, append(w, Watch{Path: root + "/small"}, Watch{Path: root + "/binary"}, Watch{Path: root + "/big"},
		Watch{Path: root + "/empty"})...)
	check(t, s, root, w)
	kept := 0
	for _, x := range w {
		put(t, x.Path, "changed")
	}
	changes, err := s.Pending(root)
	if err != nil || len(changes) != len(w) {
		t.Fatalf("%d changes of %d, %v", len(changes), len(w), err)
	}
	for _, c := range changes {
		switch name := base(c.Path); {
		case name[0] != 'n':
			if (c.Before != nil) != (name == "small" || name == "empty") {
				t.Errorf("%s: kept %v", name, c.Before != nil)
			}
		case c.Before != nil:
			kept++
		}
	}
	if want := maxAllKept / maxKept; kept != want {
		t.Errorf("%d contents of 16 KiB were kept, want %d", kept, want)
	}
}

// Where nothing can be written a run can go on, and is told so.
func TestUnwritable(t *testing.T) {
	var cannot *UnwritableError
	if c, err := (Store{UID: os.Geteuid()}).Check("/x", []Watch{{Path: "/x/a"}}); !errors.As(err, &cannot) || c != nil {
		t.Errorf("no home: %v, %v", c, err)
	}
	if _, err := (Store{UID: os.Geteuid()}).Check("/x", nil); err != nil {
		t.Errorf("no home, and nothing to record: %v", err)
	}
	s, root := newStore(t), tree(t, map[string]string{"file": ""})
	if _, err := (Store{Dir: root + "/file/sbx/tripwire", UID: s.UID}).Check(root,
		[]Watch{{Path: root + "/a"}}); !errors.As(err, &cannot) {
		t.Errorf("below a file: %v", err)
	}
	if os.Geteuid() == 0 {
		// Root, and a user who may write there.
		for uid, mode := range map[int]os.FileMode{0: 0o755, 12346: 0o777} {
			other := tree(t, nil)
			if err := errors.Join(os.Chown(other, 12345, -1), os.Chmod(other, mode)); err != nil {
				t.Fatal(err)
			}
			s := Store{Dir: other + "/sbx/tripwire", UID: uid}
			if _, err := s.Check(root, []Watch{{Path: root + "/a"}}); !errors.As(err, &cannot) {
				t.Errorf("in the directory of another: %v", err)
			}
			if _, err := os.Lstat(other + "/sbx"); err == nil {
				t.Error("a directory is made in that of another")
			}
		}
		return
	}
	// What was recorded before is reported all the same.
	check(t, s, root, []Watch{{Path: root + "/a"}})
	put(t, root+"/a", "")
	if err := os.Chmod(s.Dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(s.Dir, 0o700)
	changes, err := s.Check(root, []Watch{{Path: root + "/b"}})
	if !errors.As(err, &cannot) || len(changes) != 1 {
		t.Errorf("%v, %v", changes, err)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add("/p", "/p/a", "file x", "content")
	f.Add("/p\n\"", "/\xff\n", "link a\nb", "")
	f.Fuzz(func(t *testing.T, root, path, state, content string) {
		if strings.Contains(root+path+state+content, "\x00") || !strings.HasPrefix(path, "/") || root == "" {
			return
		}
		r := &record{root: root, entries: []entry{
			{Name, path, state, 1, content != "", content}, {Pattern, path, state, 0, false, ""},
			{Nested, path, state, 1 << 40, false, ""},
		}}
		got, err := decode(string(r.encode()), root)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, got, cmp.AllowUnexported(record{}, entry{})); diff != "" {
			t.Error(diff)
		}
		// Any text, and any part of a record, is an error or a record that is
		// written as it was read.
		for _, text := range []string{header(root) + state + "\x00" + content, header(root) + path,
			string(r.encode())[len(state)/2:], content} {
			if r, err := decode(text, root); err == nil && string(r.encode()) != text {
				t.Errorf("%q is read as %q", text, r.encode())
			}
		}
	})
}

// BenchmarkCheck is what each run pays: budget 50 µs.
func BenchmarkCheck(b *testing.B) {
	s, root := newStore(b), tree(b, nil)
	root += "/home/user/src/project"
	var w []Watch
	for i := range 80 {
		w = append(w, Watch{Path: fmt.Sprintf("%s/some/directory/name-%02d", root, i)})
	}
	if _, err := s.Check(root, w); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if c, err := s.Check(root, w); err != nil || c != nil {
			b.Fatal(c, err)
		}
	}
}

// A config file counts by the settings that are new in it, whatever git writes
// beside.
func TestSettings(t *testing.T) {
	s, root := newStore(t), tree(t, nil)
	file := root + "/config"
	put(t, file, "[core]\n\tpager = less\n")
	w := Watch{Kind: Settings, Path: file}
	check(t, s, root, watchAll(t, w))
	put(t, file, "[core]\n\tpager = less\n\tbare = false\n[branch \"a/b\"]\n\tremote = o\n")
	check(t, s, root, watchAll(t, w))
	put(t, file, "[core]\n\tpager = less\n[filter \"a/b%\"]\n\tclean = ./x \\n y\n")
	changes, err := s.Check(root, watchAll(t, w))
	if err != nil || len(changes) != 1 {
		t.Fatal(changes, err)
	}
	if d := cmp.Diff([]string{"filter.a/b%.clean=./x \n y"}, changes[0].Added); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{`+ filter.a/b%.clean=./x \n y`}, changes[0].Preview()); d != "" {
		t.Error(d)
	}
	if err := changes[0].Remove(); err == nil {
		t.Error("the whole file may be removed")
	}
	if err := s.Accept(root, file); err != nil {
		t.Fatal(err)
	}
	check(t, s, root, watchAll(t, w))
	// What was taken out and comes back is new.
	put(t, file, "")
	check(t, s, root, watchAll(t, w))
	put(t, file, "[core]\n\tpager = less\n")
	if changes, err = s.Check(root, watchAll(t, w)); err != nil || len(changes) != 1 {
		t.Error(changes, err)
	}
}
