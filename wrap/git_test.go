// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// What a command may do in a repository, by the git setting, where it stands
// and what .git is.
func TestGit(t *testing.T) {
	const app = "/home/u/src/app"
	base := debian + home("/home/u", "1000")
	guarded := map[string]policy.Access{"HEAD": policy.Write, "objects/info": policy.Write, "config": policy.Read, "hooks": policy.Read, "hooks/pre-commit": policy.Read, "modules/lib/config": policy.Read, "modules/lib/hooks": policy.Read, "modules/lib": policy.Write}
	all := func(a policy.Access) map[string]policy.Access {
		out := map[string]policy.Access{}
		for name := range guarded {
			out[name] = a
		}
		return out
	}
	for _, c := range []struct {
		name, git, cwd, files string
		at                    string // the directory that is looked at
		want                  map[string]policy.Access
	}{
		{"none", "none", app, repo(app), app + "/.git", all(policy.Read)},
		{"commit", "commit", app, repo(app), app + "/.git", guarded},
		{"full", "full", app, repo(app), app + "/.git", all(policy.Write)},
		{"commit from below", "commit", app + "/sub/deep", repo(app), app + "/.git", guarded},
		{"none from below", "none", app + "/sub/deep", repo(app), app + "/.git", all(policy.Read)},
		{"full from below", "full", app + "/sub/deep", repo(app), app + "/.git", all(policy.Write)},
		{"of another user", "full", app, repo(app) + app + "/.git/ uid=0\n", app + "/.git", all(policy.Read)},
		{"a link", "full", app, "/home/u/src/app/.git -> ../other/.git\n" + repo("/home/u/src/other"), "/home/u/src/other/.git", all(policy.Unseen)},
		{"a file", "full", app, "/home/u/src/app/.git = gitdir: ../other/.git\n" + repo("/home/u/src/other"), "/home/u/src/other/.git", all(policy.Unseen)},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := user(base + c.files)
			m.cwd, m.over.Git = c.cwd, c.git
			p, fs, err := m.plan(t)
			if err != nil {
				t.Fatal(err)
			}
			s, err := simulate(fs, p)
			if err != nil || len(s.bad) > 0 {
				t.Fatal(err, s.bad)
			}
			got := map[string]policy.Access{}
			for name := range c.want {
				at, _, _ := s.walk(c.at+"/"+name, true)
				switch {
				case at.hostPath() == "":
					got[name] = policy.Unseen
				case at.m.ro:
					got[name] = policy.Read
				default:
					got[name] = policy.Write
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			for _, b := range judge(newOracle(fs, p.Report.Policy), p) {
				t.Error(b)
			}
		})
	}
}

// All of a work tree can be written from a directory of it, or read with scope = "cwd",
// its secrets not.
func TestWorkTreeFromBelow(t *testing.T) {
	for scope, rest := range map[string]string{"": "write", "cwd": "read"} {
		testFromBelow(t, scope, map[string]string{"/main.go": rest, "/.env.example": rest, "/sub/deep/x.go": "write"})
	}
}

func testFromBelow(t *testing.T, scope string, want map[string]string) {
	const app = "/home/u/src/app"
	m := user(debian + home("/home/u", "1000") + repo(app))
	m.cwd, m.over.Scope = app+"/sub", scope
	p, fs, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := simulate(fs, p)
	got := map[string]string{}
	for _, path := range []string{"/main.go", "/.env", "/.env.example", "/tls.key", "/sub/deep/x.go", "/../other"} {
		at, kind, _ := s.walk(app+path, true)
		switch {
		case at.hostPath() != "" && kind != host.Absent && at.m.ro:
			got[path] = "read"
		case at.hostPath() != "" && kind != host.Absent:
			got[path] = "write"
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Submodules with a slash in their name, submodules of submodules, one whose
// HEAD was moved away, and linked work trees.
func TestGitDirsInside(t *testing.T) {
	const git = "/home/u/src/app/.git"
	m := user(debian + home("/home/u", "1000"))
	m.cwd = "/home/u/src/app"
	m.more = strings.ReplaceAll(`.git/
.git/HEAD
.git/modules/
.git/modules/a/
.git/modules/a/b/
.git/modules/a/b/HEAD
.git/modules/a/b/hooks/
.git/modules/a/b/modules/
.git/modules/a/b/modules/c/
.git/modules/a/b/modules/c/HEAD
.git/modules/a/b/modules/c/config
.git/modules/a/HEAD
.git/modules/lost/
.git/modules/lost/config
.git/modules/logs/
.git/modules/logs/x/
.git/modules/logs/x/config
.git/modules/logs/x/hooks/
.git/modules/d/
.git/modules/d/objects/
.git/modules/d/objects/hooks/
.git/modules/d/objects/hooks/config
.git/modules/info/
.git/modules/info/HEAD
.git/modules/info/objects/
.git/modules/info/refs/
.git/modules/info/config
.git/worktrees/
.git/worktrees/w/
.git/worktrees/w/commondir
.git/worktrees/w/gitdir`, ".git", git)
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]policy.Access{}
	for _, m := range p.Report.Mounts() {
		got[m.Path] = m.Access
	}
	for _, path := range []string{"modules/a/b/hooks", "modules/a/b/modules/c/config", "modules/lost/config", "modules/logs/x/config", "modules/logs/x/hooks", "modules/d/objects/hooks/config", "modules/info/config", "worktrees/w/commondir", "worktrees/w/gitdir"} {
		if a := got[git+"/"+path]; a != policy.Protect {
			t.Errorf("%s: %s", path, a)
		}
	}
	for path := range got {
		if strings.Contains(path, "modules/info/objects/") && !strings.HasSuffix(path, "/objects/info/alternates") {
			t.Errorf("%s: what git fills with objects is searched", path)
		}
	}
}

// A person's settings of git that a variable names by a relative path are guarded like
// any others, with what they name.
func TestGitConfigOfVariable(t *testing.T) {
	const app = "/home/u/src/app"
	m := user(debian + home("/home/u", "1000") + repo(app) + app + "/gc = [core]\\nhooksPath = own\\n\n" + app +
		"/own/pre-commit x\n" + app + "/other x\n")
	m.env = []string{"HOME=/home/u", "PATH=/usr/bin:/bin", "GIT_CONFIG_GLOBAL=gc"}
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]policy.Access{"gc": policy.Protect, "own/pre-commit": policy.Protect,
		"other": policy.Write} {
		if got := p.Report.View.Access(app + "/" + name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// What two settings files of a person name is shown once, by the one that git reads
// last, which wins.
func TestShownOnce(t *testing.T) {
	const names = " = [core]\\nexcludesFile = ~/ignore\\n\n"
	m := user(debian + home("/home/u", "1000") + repo("/home/u/src/app") + "/home/u/ignore x\n/home/u/.gitconfig" +
		names + "/home/u/.config/git/config" + names)
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	const want = "/home/u/.gitconfig"
	if e := p.Report.View.At("/home/u/ignore"); e == nil || e.Access != policy.Read || e.Rule.Source != want {
		t.Errorf("%+v, want it read by %s", e, want)
	}
}

// A .git file may end in any number of line ends, as git has it.
func TestPaddedPointer(t *testing.T) {
	const app = "/home/u/src/app"
	m := user(debian + home("/home/u", "1000") + app + "/.git = gitdir: git/real" + strings.Repeat("\\n", 5000) + "\n" +
		app + "/git/real/HEAD = ref: refs/heads/main\\n\n" + app + "/git/real/config = [core]\\n\n" + app +
		"/git/real/objects/\n" + app + "/git/real/refs/\n" + app + "/git/real/hooks/pre-commit x\n")
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Report.View.Access(app + "/git/real/hooks/pre-commit"); got != policy.Protect {
		t.Errorf("hooks of the repository: %v, want protect", got)
	}
}
