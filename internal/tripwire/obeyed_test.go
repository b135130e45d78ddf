// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tripwire

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		rel  string
		fold bool
		want string
	}{
		{"CLAUDE.md", false, "instructions"},
		{"claude.md", false, ""},
		{"claude.MD", true, "instructions"},
		{".npmrc", false, "note"},
		{".NPMRC", false, ""},
		{".NPMRC", true, "note"},
		{".hg/hgrc", false, "alarm"},
		{".HG/hgrc", true, "alarm"},
		{".clauſe", true, ""},
		{".cursorruleſ", true, "instructions"}, // U+017F folds to s
		{"mise.local.toml", false, "alarm"},
		{"mise.prod.toml", false, "alarm"},
		{".config/mise.prod.toml", false, "alarm"},
		{"sub/mise.prod.toml", false, ""},
		{".config/x/mise.prod.toml", false, ""},
		{"a.sublime-project", false, "alarm"},
		{"a.SUBLIME-PROJECT", false, ""},
		{"a.SUBLIME-PROJECT", true, "alarm"},
		{".envrc", false, ""}, // protected
		{"Makefile", false, ""},
		{".github", false, ""},
		{"", false, ""},
		{"CLAUDE.mdx", false, ""},
		{"CLAUDE.m", false, ""},
	} {
		got := ""
		if l := listedAs(tt.rel, tt.fold); l != nil {
			got = l.grade.String()
		}
		if got != tt.want {
			t.Errorf("%q, fold %v: %q, want %q", tt.rel, tt.fold, got, tt.want)
		}
	}
	for _, table := range [][]listedName{told[:], toldParents[:], toldPatterns[:]} {
		if !slices.IsSortedFunc(table, func(a, b listedName) int { return strings.Compare(a.key, b.key) }) {
			t.Error("a table is not sorted: names in it cannot be found")
		}
	}
	for _, l := range told {
		if listedAs(l.name, false) == nil {
			t.Errorf("%s is not found", l.name)
		}
	}
}

// Many names that match a pattern are no burden: some are enough for an alarm.
func TestPickBounded(t *testing.T) {
	var names []string
	for i := range 5000 {
		names = append(names, number(int64(i))+".desktop")
	}
	if got := Pick(append(names, "CLAUDE.md"), nil); len(got) != maxPerPattern+1 {
		t.Errorf("%d names", len(got))
	}
}

// As many links as the system follows are followed, and what they lead to counts.
func TestManyLinks(t *testing.T) {
	dir := tree(t, map[string]string{"notes": "1"})
	to := "notes"
	for i := range 20 {
		name := "l" + strconv.Itoa(i)
		if err := os.Symlink(to, dir+"/"+name); err != nil {
			t.Fatal(err)
		}
		to = name
	}
	before, err := lookListed(dir, to)
	if err != nil || !strings.Contains(before, "\nfile ") {
		t.Fatalf("got %q, %v", before, err)
	}
	if err := os.WriteFile(dir+"/notes", []byte("2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if now, err := lookListed(dir, to); err != nil || now == before {
		t.Errorf("got %q, %v as before", now, err)
	}
}

func TestSightText(t *testing.T) {
	for _, s := range []observed{{}, {ToLog, "a.b", "file x", ""}, {ToTerminal, "", "link a/b\n%2F\nfile 1", "link \n"},
		{untold, "s", "", "other (no/such)"}} {
		if got := observedIn(s.String()); got != s {
			t.Errorf("%q becomes %q", s, got)
		}
	}
	for _, odd := range []string{"", "x", "1/2", "//", "12/a/b/c"} {
		_ = observedIn(odd)
	}
}

// told runs Check as a run does and says what it tells of.
func (s Store) told(t *testing.T, root string, to Telling) []string {
	t.Helper()
	s.Tells = to
	changes, err := s.Check(root, []Watch{{Kind: Listed, Path: root, Open: pickFrom(root)}})
	if err != nil {
		t.Fatal(err)
	}
	return short(root, changes)
}

func TestTellOnce(t *testing.T) {
	s := newStore(t)
	root := tree(t, map[string]string{"CLAUDE.md": "a", ".hg/hgrc": "a"})
	want := func(what string, got []string, lines ...string) {
		t.Helper()
		if lines == nil {
			lines = []string{}
		}
		if d := cmp.Diff(lines, got); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(root+"/"+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want("at first", s.told(t, root, ToTerminal))
	write("CLAUDE.md", "b")
	write(".hg/hgrc", "b")
	note, alarm := `CLAUDE.md: file -> file ("a")`, `.hg/hgrc: file -> file ("a")`
	want("with -q", s.told(t, root, untold), alarm)
	want("in a log", s.told(t, root, ToLog), alarm, note)
	want("in a log again", s.told(t, root, ToLog), alarm)
	want("to a person", s.told(t, root, ToTerminal), alarm, note)
	want("to a person again", s.told(t, root, ToTerminal), alarm)
	pending, err := s.Pending(root)
	if err != nil || len(pending) != 2 || pending[0].Open() != true || pending[1].Open() != false {
		t.Errorf("pending: %v, %v", pending, err)
	}
	// Another text of the same size, as fast as a machine can.
	for i := range 20 {
		write("CLAUDE.md", string(rune('c'+i)))
		want("again", s.told(t, root, ToTerminal), alarm, note)
	}
	write("CLAUDE.md", "a")
	want("as it was", s.told(t, root, ToTerminal), alarm)
	if err := s.Accept(root, root+"/.hg/hgrc"); err != nil {
		t.Fatal(err)
	}
	want("accepted", s.told(t, root, ToTerminal))
	// New ones, without a run that saw them, accepted at once.
	write("AGENTS.md", "x")
	if err := s.Accept(root, root+"/AGENTS.md"); err != nil {
		t.Fatal(err)
	}
	want("a new one accepted", s.told(t, root, ToTerminal))
	// Once nothing is young any more a look writes nothing.
	time.Sleep(young + 100*time.Millisecond)
	s.told(t, root, ToTerminal)
	before, err := os.Stat(s.Dir + "/" + FileName(root))
	if err != nil {
		t.Fatal(err)
	}
	s.told(t, root, ToTerminal)
	if after, err := os.Stat(s.Dir + "/" + FileName(root)); err != nil || !os.SameFile(before, after) {
		t.Error("the record was written without a reason", err)
	}
}

// In memory no stamp is believed: a write by mmap leaves the times as they were
// before recent kernels.
func TestInMemory(t *testing.T) {
	root, err := os.MkdirTemp("/dev/shm", "sbx-test")
	if err != nil || !inMemory(root) {
		t.Skip("/dev/shm is no tmpfs")
	}
	defer os.RemoveAll(root)
	if err := os.WriteFile(root+"/CLAUDE.md", []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	time.Sleep(young + 100*time.Millisecond)
	s := newStore(t)
	s.told(t, root, ToLog)
	l, err := s.load(root)
	if err != nil {
		t.Fatal(err)
	}
	if e := l.recs[0].at(obeyed, root+"/CLAUDE.md"); e == nil || observedIn(e.state).stamp != "" {
		t.Errorf("a stamp was kept: %+v", e)
	}
	// The control: elsewhere it is, and nothing is read again.
	root = tree(t, map[string]string{"CLAUDE.md": "a"})
	time.Sleep(young + 100*time.Millisecond)
	s.told(t, root, ToLog)
	if l, err = s.load(root); err != nil {
		t.Fatal(err)
	}
	if e := l.recs[0].at(obeyed, root+"/CLAUDE.md"); !inMemory(root) && (e == nil || observedIn(e.state).stamp == "") {
		t.Errorf("no stamp was kept: %+v", e)
	}
}

// A stamp is believed of what no process can write and keep it: not of a file that
// is open for writing or mapped, by itself, in a directory, or behind a link.
func TestRememberedName(t *testing.T) {
	root := tree(t, map[string]string{"CLAUDE.md": "a", ".github/workflows/x.yml": "a", "notes": "a",
		"AGENTS.md": "-> notes"})
	if inMemory(root) {
		t.Skip("the directory for tests is a tmpfs")
	}
	time.Sleep(young + 100*time.Millisecond)
	for _, c := range []struct{ rel, file string }{{"CLAUDE.md", "CLAUDE.md"},
		{".github/workflows", ".github/workflows/x.yml"}, {"AGENTS.md", "notes"}} {
		kept := func() bool {
			t.Helper()
			s := newStore(t)
			s.told(t, root, ToLog)
			l, err := s.load(root)
			if err != nil {
				t.Fatal(err)
			}
			e := l.recs[0].at(obeyed, root+"/"+c.rel)
			if e == nil {
				t.Fatalf("%s is not watched", c.rel)
			}
			return observedIn(e.state).stamp != ""
		}
		f, err := os.OpenFile(root+"/"+c.file, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if kept() {
			t.Errorf("%s: it is open for writing, and its stamp is believed", c.rel)
		}
		memory, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if kept() {
			t.Errorf("%s: it is mapped for writing, and its stamp is believed", c.rel)
		}
		if err := unix.Munmap(memory); err != nil {
			t.Fatal(err)
		}
		if !kept() {
			t.Errorf("%s: it is at rest, and read again", c.rel)
		}
	}
	// What is believed no longer holds when it is written, behind a link either.
	s := newStore(t)
	s.told(t, root, ToLog)
	for _, file := range []string{"CLAUDE.md", ".github/workflows/x.yml", "notes"} {
		if err := os.WriteFile(root+"/"+file, []byte("b"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.told(t, root, ToLog); len(got) != 3 {
		t.Errorf("told of %v", got)
	}
}
