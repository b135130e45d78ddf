// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// forged is a work tree at /w/p with a .git file, and git directories that
// another user may have made, with pointers of all kinds between them.
func forged(t testing.TB, r *rand.Rand) *fakeFS {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	places := []string{"/s/r/.git", "/s/r/.git/worktrees/a", "/s/r/.git/modules/m", "/s/r", "/s", "/h/.ssh", "/w/p/in", "/w/p", "/w", "/s/e/worktrees/a", "/s/e", "/s/l/worktrees/a", "/s/r/.git/modules/m/worktrees/a", "/s/m/modules/x"}
	near := func(from string) string {
		switch r.IntN(4) {
		case 0:
			return pick(places...)
		case 1:
			return strings.Repeat("../", 1+r.IntN(6)) + strings.TrimPrefix(pick(places...), "/")
		case 2:
			return pick("../..", "..", ".", "../../..", "../../../../../w/p", "./")
		}
		return pick("/w/p", "/w/q", "../../../../../w/p", "../../../../w/p", "/s/w/p")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "/h/ uid=1000\n/h/.ssh/id = KEY\n/w/ uid=%s\n/w/p/ uid=1000\n/w/q -> p\n/s/ uid=1000\n/s/w -> /w\n/s/l -> r/.git\n", pick("0", "1000"))
	fmt.Fprintf(&b, "/w/p/.git uid=1000 = gitdir: %s\n", near("/w/p"))
	for _, dir := range []string{"/s/r/.git", "/s/e", "/s/r/.git/modules/m", "/s/r/.git/modules/m/worktrees/a", "/s/m/modules/x", "/w/p/in"} {
		if r.IntN(5) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s/ uid=%s\n%s/HEAD\n%s/objects/\n%s/refs/\n%s/hooks/\n%s/config = [core]\\nworktree = %s\n", dir, pick("1000", "1000", "1000", "0"), dir, dir, dir, dir, dir, near(dir))
	}
	for _, dir := range []string{"/s/r/.git/worktrees/a", "/s/e/worktrees/a", "/s/r/.git/modules/m/worktrees/a"} {
		fmt.Fprintf(&b, "%s/HEAD\n%s/commondir = %s\n%s/gitdir = %s/.git\n", dir, dir, pick("../..", "../..", near(dir)), dir, near(dir))
	}
	return newFS(t, 1000, "/proc/", "/dev/shm/", "/run/", "/tmp/", "/x/sh x", b.String())
}

// belongs says the same as the guard of git has to, a second time: which git
// directories, if any, /w/p/.git opens.
func belongs(fs *fakeFS) (open []string) {
	text := strings.TrimPrefix(fs.nodes["/w/p/.git"].Text, "gitdir: ")
	full := func(text, dir string) string {
		if !strings.HasPrefix(text, "/") {
			text = dir + "/" + text
		}
		at, _, _, err := fs.namei(filepath.Clean(text), true)
		if err != nil {
			return ""
		}
		return at
	}
	dir := full(text, "/w/p")
	n := fs.nodes[dir]
	if text == "" || n == nil || n.Kind != host.Dir || n.UID != 1000 {
		return nil
	}
	content := func(name string) string {
		if n := fs.nodes[name]; n != nil && n.Kind == host.File {
			return n.Text
		}
		return ""
	}
	git := func(dir string) bool {
		for name, kind := range map[string]host.Kind{"": host.Dir, "/HEAD": host.File, "/config": host.File, "/objects": host.Dir, "/refs": host.Dir} {
			if n := fs.nodes[dir+name]; n == nil || n.Kind != kind || n.UID != 1000 {
				return false
			}
		}
		return !policy.Within("/w/p", dir) && !policy.Within("/h", dir) && !policy.Within(dir, "/h/.ssh") && fs.nodes[dir+"/commondir"] == nil
	}
	if up := policy.Dir(dir); host.Base(up) == "worktrees" && content(dir+"/commondir") != "" && full(content(dir+"/commondir"), dir) == policy.Dir(up) && fs.nodes[policy.Dir(up)].UID == 1000 {
		back, ok := strings.CutSuffix(content(dir+"/gitdir"), "/.git")
		if ok && full(back, dir) == "/w/p" && git(policy.Dir(up)) {
			return []string{policy.Dir(up)}
		}
		return nil
	}
	_, tree, _ := strings.Cut(content(dir+"/config"), "worktree = ")
	tree, _, _ = strings.Cut(tree, `\n`)
	if strings.Contains(dir, "/modules/") && tree != "" && full(strings.TrimSpace(tree), dir) == "/w/p" && git(dir) {
		return []string{dir}
	}
	return nil
}

// A .git file opens the git directory that points back to it, and nothing else
// outside of the work tree.
func TestPointersOpenOnlyWhatPointsBack(t *testing.T) {
	opened := 0
	for seed := range uint64(5000) {
		fs := forged(t, rand.New(rand.NewPCG(seed, 3)))
		h := &host.Host{
			Facts:  host.Facts{FS: fs, OS: "linux", Arch: "amd64"},
			Caller: host.Caller{UID: 1000, Homes: []string{"/h"}, CWD: "/w/p", Environ: []string{"PATH=/x", "HOME=/h"}},
			Places: host.Places{Self: "/x/sh"},
		}
		bwrap := engine.Chosen{Name: host.EngineBwrap, Bwrap: host.Bwrap{Path: "/usr/bin/bwrap", Version: bwrapargs.Version{Minor: 8}}}
		pol := &policy.Policy{Profiles: []string{"test"}, Git: "commit", Cache: "none", Seccomp: "default", NewSession: "auto", Environment: "inherit", Limits: "enforce", MinTier: "reduced", TmpfsLimitMB: 1}
		pol.Add(policy.Rule{Path: "/w/p", Access: policy.Write, OfCWD: true, Source: "test"}, policy.Rule{Path: "/x", Access: policy.Read, Source: "test"},
			policy.Rule{Path: "/h", Access: policy.Private, Source: "test"}, policy.Rule{Path: "/h/.ssh", Access: policy.Block, Source: "test"})
		p, err := New(engine.Request{Engine: bwrap, Policy: pol, Root: "/w/p", Command: []string{"/x/sh"}}, h)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, fs)
		}
		want := belongs(fs)
		opened += len(want)
		all := want
		seen := false
		for _, m := range p.Report.Mounts() {
			shown := m.Access == policy.Write || m.Access == policy.Read
			if !shown || m.Pinned || policy.Within(m.Path, "/w/p") || m.Path == "/x" {
				continue
			}
			if len(want) == 1 && m.Path != want[0] && policy.Within(m.Path, want[0]) {
				continue // the private directory of a linked work tree
			}
			if len(want) != 1 || m.Path != want[0] {
				t.Fatalf("seed %d: %s %s is open, want %q\n%s\n%s", seed, m.Access, m.Path, want, texts(fs), fs)
			}
			seen = true
		}
		if seen {
			want = nil
		}
		if len(want) > 0 && !policy.Within(want[0], "/w/p") {
			t.Fatalf("seed %d: %q is not open\n%s\n%s\n%q", seed, want, texts(fs), fs, p.Gaps)
		}
		s, err := simulate(fs, p)
		if err != nil || len(s.bad) > 0 {
			t.Fatalf("seed %d: %v %q\n%s", seed, err, s.bad, fs)
		}
		for _, m := range p.Report.Mounts() {
			if len(all) == 0 || m.Path != all[0] || policy.Within(m.Path, "/w/p") {
				continue
			}
			for _, name := range []string{"hooks", "config"} {
				if at, _, _ := s.walk(m.Path+"/"+name, true); fs.nodes[m.Path+"/"+name] != nil && at.hostPath() != "" && !at.m.ro {
					t.Fatalf("seed %d: %s/%s can be written\n%s", seed, m.Path, name, fs)
				}
			}
		}
	}
	if opened < 100 {
		t.Errorf("only %d were opened: the test tests too little", opened)
	}
}

func texts(fs *fakeFS) string {
	var b strings.Builder
	for _, path := range fs.paths() {
		if n := fs.nodes[path]; n.Kind == host.File && n.Text != "" {
			fmt.Fprintf(&b, "%s: %q\n", path, n.Text)
		}
	}
	return b.String()
}
