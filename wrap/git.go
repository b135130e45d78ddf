package wrap

import (
	"slices"

	"github.com/sbx-sandbox/sbx/policy"
)

// gitRules are the rules for the repository of a work tree, by the policy's
// git setting:
//
//	none    .git is read-only
//	commit  .git is writable but for what git or the host executes from it
//	full    .git is writable
//
// Only a .git that is a directory of the caller's own is opened. One that is
// a file or a link points somewhere a repository's author chose, and is left
// as the rules of the work tree have it, read-only where it lies.
func gitRules(pol *policy.Policy, h *Host, root string, names func(dir string) ([]string, error)) []policy.Rule {
	if d, ok := pol.Decide(h.CWD); !ok || d.Access != policy.Write || !policy.Within(h.CWD, root) {
		return nil
	}
	git := join(root, ".git")
	info, err := h.FS.Lstat(git)
	if err != nil || info.Kind == Absent {
		return nil
	}
	rule := func(path string, a policy.Access) policy.Rule {
		return policy.Rule{Path: path, Access: a, Layer: policy.Builtin, Source: "git = " + pol.Git}
	}
	if info.Kind != Dir || info.UID != h.UID || pol.Git == "none" {
		return []policy.Rule{rule(git, policy.Protect)}
	}
	rules := []policy.Rule{rule(git, policy.Write)}
	if pol.Git == "full" {
		return rules
	}
	for _, name := range executed {
		rules = append(rules, rule(join(git, name), policy.Protect))
	}
	g := gitGuard{fs: h.FS, names: names, rule: rule, left: maxGitDirs}
	g.worktrees(join(git, "worktrees"))
	g.modules(join(git, "modules"))
	return append(rules, g.rules...)
}

// maxGitDirs bounds how many names in the directories of submodules and work
// trees are looked at; what lies behind is protected as a whole.
const maxGitDirs = 2048

// gitGuard collects rules for the git directories inside a git directory.
type gitGuard struct {
	fs    FS
	names func(dir string) ([]string, error)
	rule  func(path string, a policy.Access) policy.Rule
	rules []policy.Rule
	left  int
}

func (g *gitGuard) protect(dir string, names ...string) {
	for _, n := range names {
		g.rules = append(g.rules, g.rule(join(dir, n), policy.Protect))
	}
}

// list returns the directories in dir. One that cannot be listed now could be
// opened by the command, so all of it is protected; so is what is too much.
func (g *gitGuard) list(dir string) []string {
	names, err := g.names(dir)
	if g.left -= len(names); err != nil || g.left < 0 {
		g.rules = append(g.rules, g.rule(dir, policy.Protect))
		return nil
	}
	return names
}

func (g *gitGuard) worktrees(dir string) {
	for _, n := range g.list(dir) {
		g.protect(join(dir, n), "commondir", "gitdir", "config.worktree")
	}
}

// modules protects each submodule's git directory below dir, at any depth: a
// submodule called a/b has its own in modules/a/b. Nothing that a command could
// have made, a HEAD in modules/a for instance, ends the search.
func (g *gitGuard) modules(dir string) {
	for _, n := range g.list(dir) {
		sub := join(dir, n)
		repository := g.exists(join(sub, "HEAD")) || g.exists(join(sub, "config"))
		if repository {
			g.protect(sub, executed...)
		}
		if repository || !slices.Contains(bulk, n) {
			g.modules(sub)
		}
	}
}

func (g *gitGuard) exists(path string) bool {
	info, err := g.fs.Lstat(path)
	return err != nil || info.Kind != Absent
}

// bulk are the directories of a git directory that hold many names and no
// repository.
var bulk = []string{"objects", "refs", "logs", "hooks", "info"}

// executed is what lies in a git directory and makes git run programs or look
// elsewhere (gitrepository-layout(5), git-config(1)).
var executed = []string{"hooks", "config", "config.worktree", "commondir", "info/attributes", "info/grafts", "objects/info/alternates", "gitdir"}
