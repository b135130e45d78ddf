package gitdir

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func read(t testing.TB, text string) (out []string, err error) {
	t.Helper()
	err = Each([]byte(text), func(s Setting) {
		key := s.Section
		if s.Sub != "" {
			key += "." + s.Sub
		}
		out = append(out, key+"."+s.Key+"="+s.Value)
	})
	return out, err
}

func TestEach(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
		bad        bool
	}{
		{"empty", "", nil, false},
		{"plain", "[core]\n\thooksPath = x/y\n", []string{"core.hookspath=x/y"}, false},
		{"case", "[CoRe]\nHOOKSPATH=x", []string{"core.hookspath=x"}, false},
		{"one line", "[core] hookspath = a", []string{"core.hookspath=a"}, false},
		{"no value", "[core]\nbare\nfilemode ; c\n", []string{"core.bare=", "core.filemode="}, false},
		{"sub", "[remote \"a \\\"b\\\\ ]\"]\nurl=u", []string{`remote.a "b\ ].url=u`}, false},
		{"dotted", "[Branch.Main]\nremote=o", []string{"branch.main.remote=o"}, false},
		{"comment", "# [core]\n; x\n[a]b = c # d\n e = \"f # g\" ; h\n", []string{"a.b=c", "a.e=f # g"}, false},
		{"quotes", "[a]\nb = x \" y \" z  \n", []string{"a.b=x  y  z"}, false},
		{"escapes", "[a]\nb = \\\\\\\"\\t\\n\n", []string{"a.b=\\\"\t\n"}, false},
		{"continued", "[a]\nb = one \\\n  two\n", []string{"a.b=one   two"}, false},
		{"crlf", "[a]\r\nb = c\r\n", []string{"a.b=c"}, false},
		{"bom", "\xef\xbb\xbf[a]\nb=c", []string{"a.b=c"}, false},
		{"before a section", "b = c\n", nil, true},
		{"open section", "[a\nb=c", nil, true},
		{"open quote", "[a]\nb = \"c\n", nil, true},
		{"odd escape", "[a]\nb = \\x\n", nil, true},
		{"odd byte", "[a]\n=\n", nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(t, tt.text)
			if (err != nil) != tt.bad {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What git itself reads, for texts made of the pieces that config files are
// made of.
func TestEachReadsWhatGitReads(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	pieces := []string{"[a]\n", "[B \"c d\"]", "[e.F]", "\n", " ", "\t", "k = v\n", "K2=\"q # w\" e\n", "x\n", "y = 1 \\\n 2\n", "# c\n", "z = a;b\n", "w = \\\"\\\\\n", "\r\n", "\"", "\\", "]", "u = \" s \" \n", "[g \"\\\"\"]\n"}
	file := filepath.Join(t.TempDir(), "config")
	read1 := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 9))
		var b strings.Builder
		b.WriteString("[s]\n")
		for range r.IntN(8) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		out, gitErr := exec.Command("git", "config", "-z", "--list", "-f", file).Output()
		got, err := read(t, b.String())
		if gitErr != nil {
			continue // nothing in a file that git refuses does any harm
		}
		var want []string
		for _, rec := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if rec != "" {
				key, value, _ := strings.Cut(rec, "\n")
				want = append(want, key+"="+value)
			}
		}
		read1 += len(want)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%q: %v\n%s", b.String(), err, diff)
		}
	}
	if read1 < 200 {
		t.Errorf("only %d settings were read", read1)
	}
}

func FuzzEach(f *testing.F) {
	f.Add("[a \"b\"]\nc = \"d\\\n e\" ; f")
	f.Fuzz(func(t *testing.T, text string) { _, _ = read(t, text) })
}

func TestPointers(t *testing.T) {
	for text, want := range map[string]string{"gitdir: /a/b\n": "/a/b", "gitdir: ../x": "../x", "gitdir: a b\r\n": "a b", "gitdir:/a": "", "gitdir: ": "", "x": "", "gitdir: a\nb": "", "gitdir: a\x00": ""} {
		got, ok := Pointer([]byte(text))
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestRuns(t *testing.T) {
	runs := func(section, key, value string) bool { return Runs(&Setting{Section: section, Key: key, Value: value}) }
	for _, s := range [][3]string{{"core", "fsmonitor", "./x"}, {"filter", "clean", "x"}, {"alias", "a", "!x"}, {"diff", "textconv", "x"}, {"pager", "log", "x"}} {
		if !runs(s[0], s[1], s[2]) {
			t.Error(s)
		}
	}
	for _, s := range [][3]string{{"core", "fsmonitor", "true"}, {"filter", "required", "true"}, {"alias", "a", "log"}, {"user", "name", "x"}} {
		if runs(s[0], s[1], s[2]) {
			t.Error(s)
		}
	}
}

// Every way to make git run something is an alarm, and nothing that git itself
// leaves is.
func TestHarmless(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("HOME", t.TempDir())
	git := func(dir string, args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=b"}, args...)...).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	// git writes paths without links, and what asks here has none either; on macOS
	// directories for temporary files have one above them.
	temp := func() string {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	fresh := func() string {
		dir := temp()
		git(dir, "init", "-q")
		return dir
	}
	origin := fresh()
	git(origin, "commit", "-q", "--allow-empty", "-m", "x")
	clone := filepath.Join(temp(), "clone")
	git(origin, "clone", "-q", origin, clone)
	tree := filepath.Join(origin, "tree")
	git(origin, "worktree", "add", "-q", tree)
	git(origin, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", clone, "deep/sub")
	for _, dir := range []string{fresh(), clone, tree, filepath.Join(origin, "deep/sub")} {
		if !Harmless(filepath.Join(dir, ".git")) {
			t.Errorf("%s is an alarm", dir)
		}
	}
	evil := map[string]func(git string) error{
		"hook":        func(g string) error { return os.WriteFile(g+"/hooks/pre-commit", nil, 0o755) },
		"fsmonitor":   func(g string) error { return add(g+"/config", "[core]\nfsmonitor=./x\n") },
		"hooksPath":   func(g string) error { return add(g+"/config", "[core]\nhooksPath=x\n") },
		"include":     func(g string) error { return add(g+"/config", "[include]\npath=x\n") },
		"filter":      func(g string) error { return add(g+"/config", "[filter \"x\"]\nclean=x\n") },
		"ext":         func(g string) error { return add(g+"/config", "[remote \"x\"]\nurl=ext::sh\n") },
		"worktree":    func(g string) error { return add(g+"/config", "[core]\nworktree=/\n") },
		"broken":      func(g string) error { return add(g+"/config", "]") },
		"config link": func(g string) error { os.Remove(g + "/config"); return os.Symlink("/dev/null", g+"/config") },
		"commondir":   func(g string) error { return os.WriteFile(g+"/commondir", []byte("x"), 0o644) },
		"worktreecfg": func(g string) error { return os.WriteFile(g+"/config.worktree", nil, 0o644) },
		"hooks link":  func(g string) error { os.RemoveAll(g + "/hooks"); return os.Symlink("/tmp", g+"/hooks") },
		"no config":   func(g string) error { return os.Remove(g + "/config") },
	}
	for name, do := range evil {
		dir := filepath.Join(fresh(), ".git")
		if err := do(dir); err != nil {
			t.Fatal(err)
		}
		if Harmless(dir) {
			t.Errorf("%s: no alarm", name)
		}
	}
	for _, text := range []string{"gitdir: " + filepath.Join(fresh(), ".git") + "\n", "gitdir: x\n", "", fmt.Sprintf("gitdir: %s/.git/worktrees/tree\n", origin)} {
		file := filepath.Join(fresh(), "sub")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if Harmless(file) {
			t.Errorf("%q: no alarm", text)
		}
	}
}

// What lies deep in a tree is found when it is not plain.
func TestSearch(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{".git/hooks", "a/b/.git/hooks", "a/c/.git/objects", "a/c/.git/refs", "bare/objects", "bare/refs"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"a/b/.git/config": "[core]\nfsmonitor=./x\n", "a/c/.git/config": "[core]\nbare=false\n", "a/c/.git/HEAD": "ref: refs/heads/main\n", "bare/HEAD": "x", "bare/config": "[core]\nhooksPath=x\n", ".git/config": "[core]\nhooksPath=x\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, all := Search(root, 1000)
	if diff := cmp.Diff([]string{filepath.Join(root, "a/b/.git"), filepath.Join(root, "bare")}, got); diff != "" || !all {
		t.Error(diff, all)
	}
	if _, all := Search(root, 3); all {
		t.Error("a search that was cut short says it was not")
	}
}

func TestTodo(t *testing.T) {
	file := filepath.Join(t.TempDir(), Todo)
	for text, want := range map[string]bool{"pick 123 x\n# exec x\n\nfixup 2\n": true, "pick 1\nexec ./evil\n": false, " x ./evil": false, "": true, "EXEC y": false} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if Harmless(file) != want {
			t.Errorf("%q", text)
		}
	}
}

func add(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

// The repositories in an index, as git lists them, in each version of the format.
func TestGitlinks(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("HOME", t.TempDir())
	for _, format := range []string{"sha1", "sha256"} {
		for _, version := range []string{"2", "3", "4"} {
			dir := t.TempDir()
			git := func(args ...string) string {
				t.Helper()
				out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
				if err != nil {
					t.Fatal(err, string(out))
				}
				return string(out)
			}
			git("init", "-q", "--object-format="+format)
			want := []string{"a", "dir/sub/deep", "z \n z"}
			for i := range 300 {
				name := fmt.Sprintf("dir/%s/file%d", strings.Repeat("x", i%50), i)
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			git("add", ".")
			zero := strings.Repeat("1", map[string]int{"sha1": 40, "sha256": 64}[format])
			for _, p := range want {
				git("update-index", "--add", "--cacheinfo", "160000,"+zero+","+p)
			}
			if version == "3" {
				if err := os.WriteFile(filepath.Join(dir, "intent"), nil, 0o644); err != nil {
					t.Fatal(err)
				}
				git("add", "-N", "intent") // needs extended flags
			} else {
				git("update-index", "--index-version", version)
			}
			data, err := os.ReadFile(filepath.Join(dir, ".git/index"))
			if err != nil {
				t.Fatal(err)
			}
			got, ok := Gitlinks(data)
			if d := cmp.Diff(want, got); d != "" || !ok {
				t.Errorf("%s, version %s: %v %s", format, version, ok, d)
			}
			for _, n := range []int{0, 11, 40, len(data) / 2, len(data) - 25} {
				if _, ok := Gitlinks(data[:n]); ok {
					t.Errorf("%s, version %s: %d of %d bytes are an index", format, version, n, len(data))
				}
			}
		}
	}
}

func FuzzGitlinks(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) { Gitlinks(data) })
}

// An index in which each name is made of a long one before must not take for
// ever: a command can put it where every run looks.
func TestLongNames(t *testing.T) {
	entry := func(strip byte, name string) []byte {
		e := make([]byte, 62)
		return append(append(append(e, strip), name...), 0)
	}
	index := []byte("DIRC\x00\x00\x00\x04\x00\x03\x00\x01")
	index = append(index, entry(0, strings.Repeat("a", 1<<20))...)
	for range 3 << 16 {
		index = append(index, entry(0, "b")...)
	}
	index = append(index, make([]byte, 20)...)
	start := time.Now()
	if _, ok := Tracked(index, map[string]bool{"x": true}); ok {
		t.Error("names longer than PATH_MAX were read")
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("it took %v", took)
	}
}
