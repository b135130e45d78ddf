package verify

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"
)

// The acts are tried where they succeed, and must leave everything as it was.
func TestActsDoNoDamage(t *testing.T) {
	dir := t.TempDir()
	file, sub := filepath.Join(dir, "file"), filepath.Join(dir, "sub")
	fifo := filepath.Join(dir, "fifo")
	for _, err := range []error{os.WriteFile(file, []byte("content\n"), 0o644), os.Mkdir(sub, 0o755), os.WriteFile(sub+"/f", []byte("x"), 0o600), os.Symlink("file", dir+"/link"), unix.Mkfifo(fifo, 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := contents(t, dir)
	p := &prober{}
	for i, q := range []Question{
		{Act: actOpen, Path: []byte(file)}, {Act: actCreate, Path: []byte(sub + "/new")}, {Act: actRename, Path: []byte(file), To: []byte(dir + "/was")}, {Act: actRename, Path: []byte(sub), To: []byte(dir + "/was")},
		{Act: actLink, Path: []byte(file), To: []byte(dir + "/second")}, {Act: actAble, Path: []byte(dir + "/able")}, {Act: actLook, Path: []byte(fifo)}, {Act: actLook, Path: []byte(file)},
	} {
		q.ID = i
		if a := p.answer(q); a.Errno != 0 || a.ID != i {
			t.Errorf("%s %s: %s", q.Act, q.Path, a.why())
		}
	}
	if _, err := os.Lstat(sub + "/new"); err != nil {
		t.Error("what was made is to stay until it was looked for: ", err)
	}
	p.clean()
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("changed (-before +after):\n%s", diff)
	}
	// Nothing that exists is taken for a free name.
	for _, q := range []Question{{Act: actCreate, Path: []byte(file)}, {Act: actRename, Path: []byte(sub), To: []byte(file)}, {Act: actLink, Path: []byte(sub + "/f"), To: []byte(file)}, {Act: actAble, Path: []byte(sub)}, {Act: "nonsense"}, {Act: actSocket, Args: []int{1}}, {Act: actSearch}} {
		if a := p.answer(q); a.Errno == 0 {
			t.Errorf("%s over what exists succeeded", q.Act)
		}
	}
	p.clean()
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("changed (-before +after):\n%s", diff)
	}
}

// A probe that dies in between leaves names that were given to it.
func TestRestore(t *testing.T) {
	dir := t.TempDir()
	s := &Site{Nonce: "abc", CWD: dir, Remap: "/ws"}
	if err := os.WriteFile(dir+"/kept", []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/hooks", 0o755); err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	asked := []Question{s.move("/ws/hooks"), {Act: actCreate, Path: []byte("/ws/made")}, {Act: actCreate, Path: []byte("/ws/kept")}, {Act: actLink, Path: []byte("/ws/kept"), To: []byte("/ws/second")}, {Act: actAble, Path: []byte("/ws/able")}}
	for _, err := range []error{os.Rename(dir+"/hooks", s.outsidePath(string(asked[0].To))), os.WriteFile(dir+"/made", nil, 0o600), os.Link(dir+"/kept", dir+"/second"), os.Mkdir(dir+"/able", 0o700), os.WriteFile(dir+"/able/f", nil, 0o600), os.Symlink("f", dir+"/able/s")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	holes := 0
	for _, r := range restore(s, asked) {
		if r.Verdict == Hole {
			holes++
		}
	}
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" || holes != 5 {
		t.Errorf("%d holes; restored (-before +after):\n%s", holes, diff)
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(data)
		}
		out[path] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every trial has an attempt, and only what is tried outside is said to be
// harmless: none of those changes this process.
func TestTrials(t *testing.T) {
	for _, tr := range slices.Concat(trials, strictTrials) {
		if attempt(tr.name) == nil {
			t.Errorf("%s has no attempt", tr.name)
		}
	}
	spaces := Spaces()
	controls()
	if diff := cmp.Diff(spaces, Spaces()); diff != "" {
		t.Errorf("namespaces (-before +after):\n%s", diff)
	}
	persona, err := os.ReadFile("/proc/self/personality")
	if err == nil && string(persona) != "00000000\n" {
		t.Errorf("personality %s", persona)
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{`/a\040b`: "/a b", `/a\134b`: `/a\b`, `/a\`: `/a\`, `/a\04`: `/a\04`, `/a\999`: `/a\999`} {
		if got := unescape(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
