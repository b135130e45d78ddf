// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tripwire

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sbx-sandbox/sbx/internal/openat"
	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
)

func isHarmless(path string) bool { return harmless(surveyGit(noIndexes(), path)) }

// Every way to make git run something is an alarm, and nothing that git itself
// leaves is.
func TestPlainRepositories(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("HOME", t.TempDir())
	git := func(dir string, args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=b"},
			args...)...).CombinedOutput(); err != nil {
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
		if findings := surveyGit(noIndexes(), filepath.Join(dir, ".git")); !harmless(findings) {
			t.Errorf("%s is an alarm: %v", dir, findings)
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
		"worktreecfg": func(g string) error {
			return os.WriteFile(g+"/config.worktree", []byte("[core]\npager=x\n"),
				0o644)
		},
		"hooks link": func(g string) error { os.RemoveAll(g + "/hooks"); return os.Symlink("/tmp", g+"/hooks") },
		"no config":  func(g string) error { return os.Remove(g + "/config") },
	}
	for name, do := range evil {
		dir := filepath.Join(fresh(), ".git")
		if err := do(dir); err != nil {
			t.Fatal(err)
		}
		if isHarmless(dir) {
			t.Errorf("%s: no alarm", name)
		}
	}
	for _, text := range []string{"gitdir: " + filepath.Join(fresh(), ".git") + "\n", "gitdir: x\n", "",
		fmt.Sprintf("gitdir: %s/.git/worktrees/tree\n", origin)} {
		file := filepath.Join(fresh(), "sub")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if isHarmless(file) {
			t.Errorf("%q: no alarm", text)
		}
	}
}

// What lies deep in a tree is found when it is not plain.
func TestSearch(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{".git/hooks", "a/b/.git/hooks", "a/c/.git/objects", "a/c/.git/refs", "bare/objects",
		"bare/refs"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"a/b/.git/config": "[core]\nfsmonitor=./x\n",
		"a/c/.git/config": "[core]\nbare=false\n", "a/c/.git/HEAD": "ref: refs/heads/main\n", "bare/HEAD": "x",
		"bare/config": "[core]\nhooksPath=x\n", ".git/config": "[core]\nhooksPath=x\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, _, all := Search(root, 1000)
	if diff := cmp.Diff([]string{filepath.Join(root, "a/b/.git"), filepath.Join(root, "bare")}, got); diff != "" ||
		!all {
		t.Error(diff, all)
	}
	if _, _, all := Search(root, 3); all {
		t.Error("a search that was cut short says it was not")
	}
}

func TestTodo(t *testing.T) {
	for name, texts := range map[string]map[string]bool{
		"rebase-merge/git-rebase-todo": {"pick 123 x\n# exec x\n\nfixup 2\n": true, "pick 1\nexec ./evil\n": false,
			" x ./evil": false, "x\t./evil": false, "": true, "EXEC y": false},
		"rebase-merge/strategy": {"ort\n": true, "evil": false},
		"rebase-merge/msgnum":   {"12\n": true, "": true, "$(x)": false, "1\n$(x)\n": false, "1 2": false},
		"rebase-merge/end":      {"12": true, "`x`": false},
		"rebase-apply/next":     {"2\n": true, "-1": false},
		"rebase-apply/last":     {"2": true, "2x": false},
		"rebase-apply/apply-opt": {
			"": true, "\n": true, " '--whitespace=fix' '-C3' '-p12'": true, "'--directory=it'\\''s/a'\\!'b'": true,
			"'--reject' '--exclude=x y'\n":           true,
			"'--build-fake-ancestor=.git/commondir'": false, "'--reject' '--index'": false, "'-C'": false,
			"'-Cx'": false, "--reject": false, "'--reject": false, "'--reject'x": false,
			"'--reject'\\": false, "'--reject'\n'--index'": false, "'--whitespace=fix'\t'--index'": false,
		},
		"rebase-apply/strategy": {"evil": false},
		"HEAD": {"ref: refs/heads/a/b-c@1;$(x)\n": true, "ref: refs/heads/-x\n": false,
			"ref:refs/heads/--x=y": false, "ref: refs/heads/a b": false, "ref: refs/remotes/o/x\n": true,
			"78981922613b2afb6025042ff6bd878ac1994e85\n": true},
		"BISECT_START": {"main\n": true, "--x\n": false},
		"BISECT_NAMES": {"": true, "\n": true, " 'a' 'b c'\n": true, " 'a'; x": false, "'a'\n'b'": false,
			"$(x)": false},
		"rebase-merge/head-name": {"refs/heads/t\n": true, "detached HEAD\n": true, "refs/heads/-t\n": false},
		"sequencer/opts": {"[options]\nstrategy = ort\nedit\n": true, "[options]\nstrategy = evil\n": false,
			"[": false},
	} {
		for text, want := range texts {
			dir := tree(t, map[string]string{name: text})
			s := newSurvey(noIndexes(), nil)
			fd, err := openat.Open(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
			if err != nil {
				t.Fatal(err)
			}
			s.later(fd, dir)
			unix.Close(fd)
			if harmless(s.findings) != want {
				t.Errorf("%s: %q: %v", name, text, s.findings)
			}
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

// What was read of an index is not believed again while someone may still write
// it without a trace: when it is young, or open for writing and mapped.
func TestRememberedIndex(t *testing.T) {
	root := tree(t, nil)
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	git("init", "-q")
	for _, name := range []string{"one", "two"} {
		git("update-index", "--add", "--cacheinfo", "160000,1111111111111111111111111111111111111111,"+name)
	}
	path := root + "/.git/index"
	read := func(x *indexes) []string {
		t.Helper()
		index, _, err := x.read(path, func() int { return 20 })
		if err != nil {
			t.Fatal(err)
		}
		return index.Links
	}
	x := noIndexes()
	read(x)
	if len(x.used) > 0 {
		t.Error("a young index is remembered")
	}
	for {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			t.Fatal(err)
		}
		if time.Since(time.Unix(0, ctime(&st))) > young {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	read(x)
	if len(x.used) > 0 {
		t.Error("an index that is open for writing is remembered")
	}
	size, err := f.Seek(0, 2)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	read(x)
	if len(x.used) > 0 {
		t.Error("an index that is mapped for writing is remembered")
	}
	if err := unix.Munmap(memory); err != nil {
		t.Fatal(err)
	}
	read(x)
	k := x.used[path]
	if k == nil {
		t.Fatal("an index that is at rest is not remembered")
	}
	// It is believed now, and no longer when it changes.
	k.Links = []string{"believed"}
	x = &indexes{known: x.used, used: map[string]*indexed{}}
	if got := read(x); got[0] != "believed" {
		t.Errorf("%q was read again", got)
	}
	if err := os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if got := read(x); got[0] != "one" {
		t.Errorf("%q is believed although it was changed", got)
	}
}

// Nothing can be reached through a loop of links, and what is remembered and
// damaged is not believed.
func TestNothingNew(t *testing.T) {
	dir := tree(t, map[string]string{"n/a": "-> b", "n/b": "-> a", "n/c/x": ""})
	if got, err := Look(Nested, dir+"/n"); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Look(Name, dir+"/n/a/.git"); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	s := newStore(t)
	check(t, s, dir, []Watch{{Path: dir + "/x"}})
	f, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	x := noIndexes()
	x.used["/a/index"], x.fresh = &indexed{stamp: "s",
		Index: gitdir.Index{Links: []string{"l"}, Trees: []string{"t"}, Shared: "sharedindex.1"}}, true
	f.keepIndexes(dir, x)
	if diff := cmp.Diff(x.used["/a/index"].Index, f.indexes(dir).known["/a/index"].Index); diff != "" {
		t.Error(diff)
	}
	put(t, s.Dir+"/"+indexName(dir), "")
	f.keepIndexes(dir, x)
	data, err := os.ReadFile(s.Dir + "/" + indexName(dir))
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-2] ^= 1
	put(t, s.Dir+"/"+indexName(dir), string(data))
	if k := f.indexes(dir).known; len(k) > 0 {
		t.Errorf("%v is believed", k)
	}
}

// A link anywhere in a git directory where git writes is reported, at any depth, and
// so is what is no file at all.
func TestListed(t *testing.T) {
	dirs := []string{
		"", "logs", "logs/refs", "logs/refs/heads/a/b", "refs/heads", "refs/remotes/origin", "info", "objects/info",
		"objects/info/commit-graphs", "objects/pack",
		"rr-cache", "rr-cache/78", "rebase-merge", "rebase-apply", "sequencer", "remotes", "branches", "modules",
		"modules/a", "worktrees", "lost-found/other",
		"NOTES_MERGE_WORKTREE", "reftable",
	}
	for _, own := range []bool{true, false} {
		dir := filepath.Join(t.TempDir(), ".git")
		survey := func() []finding {
			l := newComparison([]*record{{}}, noIndexes())
			return l.survey(dir, &repository{own: own, tree: filepath.Dir(dir)}).findings
		}
		told := func(findings []finding, path string) bool {
			for _, f := range findings {
				if f.path == path && f.text != "" {
					return true
				}
			}
			return false
		}
		for _, d := range append(dirs, "objects/12", "hooks") {
			if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		files := map[string]string{"HEAD": "ref: refs/heads/x\n", "config": "", "logs/HEAD": "x", "refs/heads/x": "x",
			"COMMIT_EDITMSG": "x"}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if findings := survey(); !harmless(findings) {
			t.Errorf("own %v: %v", own, findings)
		}
		for _, d := range dirs {
			path := filepath.Join(dir, d, "x")
			if d == "refs/heads" {
				path += "y"
			}
			for kind, put := range map[string]func() error{
				"link": func() error { return os.Symlink("/nowhere", path) },
				"fifo": func() error { return unix.Mkfifo(path, 0o600) },
			} {
				if err := put(); err != nil {
					t.Fatal(err)
				}
				if !told(survey(), path) {
					t.Errorf("own %v: a %s %s is not reported", own, kind, path)
				}
				os.Remove(path)
			}
		}
		for _, d := range dirs[1:] {
			path := filepath.Join(dir, d)
			moved := path + ".moved"
			if err := os.Rename(path, moved); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/proc/self/cwd/nowhere", path); err != nil {
				t.Fatal(err)
			}
			if !told(survey(), path) {
				t.Errorf("own %v: a link in place of %s is not reported", own, path)
			}
			os.Remove(path)
			os.Rename(moved, path)
		}
		v := newSurvey(noIndexes(), nil)
		v.listing = 100
		if v.changing(dir, dir, ""); !strings.Contains(fmt.Sprint(v.findings), errMany.Error()) {
			t.Errorf("a bound is not reported: %v", v.findings)
		}
	}
}

// A link in a directory that can be listed and not be searched is reported, too.
func TestListedShut(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root searches everything")
	}
	dir := filepath.Join(tree(t, map[string]string{".git/HEAD": "ref: refs/heads/x\n", ".git/refs/heads/q/y": ""}), ".git")
	shut := dir + "/refs/heads/q"
	if err := os.Symlink("/nowhere", shut+"/x"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shut, 0o444); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(shut, 0o755)
	v := newSurvey(noIndexes(), nil)
	v.changing(dir, dir, "")
	if !slices.ContainsFunc(v.findings, func(f finding) bool { return f.path == shut+"/x" && f.text != "" }) {
		t.Errorf("it is not reported: %v", v.findings)
	}
}

// What lies in a linked work tree in place of its .git is looked at.
func TestBack(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git := func(dir string, args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=b"},
			args...)...).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	git(top, "init", "-q")
	git(top, "commit", "-q", "--allow-empty", "-m", "x")
	tree := filepath.Join(top, "deep/wt")
	git(top, "worktree", "add", "-q", tree)
	private := filepath.Join(top, ".git/worktrees/wt")
	look := func(dir, tree string) bool {
		l := newComparison([]*record{{}}, noIndexes())
		return harmless(l.survey(dir, &repository{own: true, tree: tree}).findings)
	}
	for i, want := range []bool{true, false} {
		if i > 0 {
			os.Remove(filepath.Join(tree, ".git"))
			git(tree, "init", "-q")
			git(tree, "config", "core.fsmonitor", "./x")
		}
		if got := look(private, tree); got != want {
			t.Errorf("of the work tree: %v, want %v", got, want)
		}
		if got := look(filepath.Join(top, ".git"), top); got != want {
			t.Errorf("of the repository: %v, want %v", got, want)
		}
	}
}

// A linked work tree of a repository that is looked at on its own is reported for
// what is its own: not for the settings of the repository, but for what these name in
// it by a relative path.
func TestLinkedTree(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("HOME", t.TempDir())
	for name, c := range map[string]struct {
		after string
		want  bool
	}{
		"plain":          {"true", false},
		"another hook":   {"echo x >wt/.hooks/pre-commit", true},
		"one more hook":  {"echo x >wt/.hooks/pre-push", true},
		"a link in it":   {"ln -sf ../x .hooks/a; ln -sf ../x wt/.hooks/a", true},
		"a link to it":   {"rm -r wt/.hooks; ln -s x wt/.hooks", true},
		"no hooks":       {"rm -r wt/.hooks", false},
		"another script": {"echo x >wt/tools/clean", true},
		"other file":     {"echo x >wt/a", false},
		"config.worktree": {"git -C wt config extensions.worktreeConfig true; git -C wt config --worktree core.pager x",
			true},
		"another gitdir": {"echo /x/.git >.git/worktrees/wt/gitdir", true},
	} {
		s, root := newStore(t), tree(t, map[string]string{".hooks/pre-commit": "x true", "tools/clean": "x true",
			"a": ""})
		sh := func(line string) {
			t.Helper()
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir = root
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			}
		}
		sh("git init -q; git config user.name a; git config user.email b; git add .; git commit -q -m x; git config core.hooksPath .hooks; git config filter.c.clean './tools/clean %f'; git config core.editor vim")
		w := []Watch{{Kind: Nested, Path: root}, {Kind: Repository, Path: root + "/.git"}}
		check(t, s, root, watchAll(t, w...))
		sh("git worktree add -q wt; git worktree add -q deep/er; " + c.after)
		for _, more := range []Watch{{}, {Kind: Repository, Path: root + "/.git/worktrees/wt"}} {
			now := w
			if more.Path != "" {
				now = append(now[:2:2], more)
			}
			changes, err := s.Check(root, watchAll(t, now...))
			if err != nil {
				t.Fatal(err)
			}
			if got := len(changes) > 0; got != c.want {
				t.Errorf("%s: %+v", name, changes)
			}
		}
	}
}

// The index counts in the work tree that core.worktree names, too.
func TestNamedTree(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	for _, file := range []string{"config", "config.worktree"} {
		s, root := newStore(t), tree(t, map[string]string{"work/a": ""})
		sh := func(line string) {
			t.Helper()
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir = root
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			}
		}
		sh("git init -q; git config extensions.worktreeConfig true; git config -f .git/" + file +
			" core.worktree ../work; git -C work add a")
		w := []Watch{{Kind: Repository, Path: root + "/.git", State: root}}
		check(t, s, root, w)
		sh("git init -q work/d/s; git -C work/d/s config core.fsmonitor ./x; git -C work update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,d/s")
		changes, err := s.Check(root, []Watch{{Kind: Repository, Path: root + "/.git", State: root}})
		if err != nil || len(changes) != 1 || changes[0].Path != root+"/work/d/s/.git" {
			t.Errorf("%s: %+v, %v", file, changes, err)
		}
	}
}

// The bound on names cuts where most of them are, and nowhere else.
func TestListedLast(t *testing.T) {
	dir := tree(t, map[string]string{"rr-cache/x": "-> /nowhere", "sequencer/x": "-> /nowhere"})
	for i := range 100 {
		put(t, fmt.Sprintf("%s/refs/heads/%d", dir, i), "")
		put(t, fmt.Sprintf("%s/logs/refs/%d", dir, i), "")
	}
	s := newSurvey(noIndexes(), nil)
	s.listing = 90
	s.changing(dir, dir, "")
	if text := fmt.Sprint(s.findings); !strings.Contains(text, "rr-cache/x") ||
		!strings.Contains(text, "sequencer/x") || !strings.Contains(text, errMany.Error()) {
		t.Error(text)
	}
}

// All indexes of one look have one bound: what is beyond is an error, never empty.
func TestIndexesTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index")
	data := append([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00"), make([]byte, 20)...)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	x, hash := noIndexes(), func() int { return 20 }
	x.spent = maxIndex - 2*len(data)
	for i, want := range []error{nil, nil, errLong} {
		if _, _, err := x.read(path, hash); !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", i, err, want)
		}
	}
}
