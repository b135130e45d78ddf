// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/risk"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// refuseGit refuses commands of git which leave things half done where only a part of what
// they change can be written: git may end with 0 all the same. What changes the work tree
// leaves the rest as it is, and the next commit takes back what others did; a linked work
// tree outside ends with the sandbox, and stays registered.
func (c *Context) refuseGit(cmd command, p *engine.Plan) (err error) {
	whole := c.Policy.Project == c.Vars.Root && c.Vars.Root == c.Boundary && len(p.Report.Frozen) == 0
	names := func(part string) bool {
		return slices.ContainsFunc(cmd.words, func(w string) bool { return strings.Contains(w, part) })
	}
	if c.Vars.CWD == "" || !names("git") || whole && !names("worktree") && !names("separate-git-dir") {
		return nil
	}
	moved := names("cd ")
	risk.Each(cmd.words, func(words []string) {
		g, ok := gitWords(words, c.Host.StartDir())
		switch {
		case err != nil || !ok:
		case g.name == "worktree":
			err = c.refuseLinked(&g, moved)
		case g.name == "init" || g.name == "clone":
			dir, _ := g.args.Option("--separate-git-dir")
			err = c.refuseMade(&g, c.named(&g, dir, moved), ", and what leads there would stay")
		case !whole && c.changesTree(&g):
			err = c.refuseHalf(&g, p)
		}
	})
	return err
}

// refuseHalf is for a command that changes files wherever they lie in the work tree.
func (c *Context) refuseHalf(g *gitCommand, p *engine.Plan) error {
	top, part := c.gitTop(g.dir), c.Policy.Project
	if tree := os.Getenv("GIT_WORK_TREE"); tree != "" {
		top = from(g.dir, tree)
	}
	if top == "" || !policy.Within(part, top) || c.Policy.Access(part) != policy.Write {
		return nil
	}
	what := "git " + g.name + " changes all of the work tree " + text.Plain(top)
	if c.Policy.Access(top) != policy.Write {
		return Failed(what+", of which only "+text.Plain(Below(part, top))+" can be written",
			"to let it: "+cmp.Or(c.writing(top, g.line), "run it outside, or start from "+text.Plain(top)))
	}
	frozen := func(dir string) bool { return policy.Within(dir, top) && !policy.Within(dir, top+"/.git") }
	if i := slices.IndexFunc(p.Report.Frozen, frozen); i >= 0 {
		how := "outside of the sandbox it can (inside with bwrap: sbx doctor): " + g.line
		if p.Report.Reveal != "" && !c.Inv.Client && !c.Host.ByName {
			how = "it can where nothing is hidden: sbx " + p.Report.Reveal + " -- " + g.line
		}
		return Failed(what+", and nothing can be replaced directly in "+text.Plain(p.Report.Frozen[i])+
			": something there is hidden or protected", how)
	}
	return nil
}

// writing is a line with a directory opened for writing, "" where the caller has none.
func (c *Context) writing(dir, line string) string {
	switch {
	case c.Inv.Client:
		return ""
	case c.Host.ByName:
		return "SBX_FLAGS=" + text.ShellWord("-w "+text.ShellWord(dir)) + " " + line
	}
	return "sbx -w " + text.ShellWord(dir) + " -- " + line
}

// refuseLinked is for linked work trees: one can be made where its directory lasts, and
// those there are cannot be moved or removed, since both of their ends are protected.
// Moved says that a shell may run it elsewhere.
func (c *Context) refuseLinked(g *gitCommand, moved bool) error {
	operands := g.args.Operands("-b -B --reason --expire")
	verb := strings.Join(operands[:min(1, len(operands))], "")
	if verb == "prune" {
		if linked, _ := c.Host.FS.ReadDir(c.gitTop(g.dir) + "/.git/worktrees"); len(linked) == 0 {
			return nil
		}
		return Failed("git worktree prune takes linked work trees that are not visible in the sandbox for removed ones",
			"outside of the sandbox: "+g.line)
	}
	file := c.named(g, strings.Join(operands[min(1, len(operands)):min(2, len(operands))], ""), moved)
	if verb == "add" {
		g.name += " add"
		return c.refuseMade(g, file, " and stay registered")
	}
	if info, err := c.Host.FS.Lstat(file + "/.git"); file != "" && (verb == "remove" || verb == "move") && err == nil && info.Kind == host.File {
		return Failed("git worktree "+verb+" changes .git in "+text.Plain(file)+" and what it leads to, which are protected",
			"outside of the sandbox: "+g.line)
	}
	return nil
}

// named is the file that a word of a command names, "" where only the shell knows, which
// may have moved.
func (c *Context) named(g *gitCommand, word string, moved bool) string {
	rest, inHome := strings.CutPrefix(word, "~/")
	switch {
	case word == "" || strings.Contains(word, "$…") || !inHome && word[0] != '/' && moved:
		return ""
	case inHome && len(c.Host.Homes) > 0:
		file := path.Join(c.Host.Homes[0], rest)
		g.line = strings.Replace(g.line, text.ShellWord(word), text.ShellWord(file), 1)
		return file
	}
	return from(g.dir, word)
}

// refuseMade is for a directory that a command makes where nothing lasts.
func (c *Context) refuseMade(g *gitCommand, dir, then string) error {
	if dir == "" || c.Policy.Access(dir) == policy.Write {
		return nil
	}
	how := c.writing(dir, g.line)
	if how != "" && c.Host.Grantable(dir) == nil {
		how = "to let it: mkdir -p " + text.ShellWord(dir) + " && " + how
	} else {
		how = "outside of the sandbox: " + g.line
	}
	return Failed("git "+g.name+" makes "+text.Plain(dir)+", which would end with the sandbox"+then, how)
}

// from is the file that a word names in a directory.
func from(dir, word string) string {
	if path.IsAbs(word) {
		return path.Clean(word)
	}
	return path.Join(dir, word)
}

// gitTop is the root of the work tree that git finds from a directory: one that an
// empty .git makes smaller for sbx is none for git.
func (c *Context) gitTop(dir string) string {
	for ; dir != "/" && dir != "."; dir = policy.Dir(dir) {
		git := dir + "/.git"
		info, err := c.Host.FS.Lstat(git)
		if err == nil && info.Kind == host.Dir {
			info, err = c.Host.FS.Lstat(git + "/HEAD")
		}
		if err == nil && info.Kind == host.File {
			return dir
		}
	}
	return ""
}

// gitCommand is a command of git's.
type gitCommand struct {
	dir, name string // where it runs, and the subcommand
	args      gitdir.Args
	line      string // as a shell takes it
}

// gitWords reads a command line that starts in a directory.
func gitWords(words []string, dir string) (g gitCommand, ok bool) {
	if len(words) == 0 || path.Base(words[0]) != "git" ||
		os.Getenv("GIT_DIR") != "" && os.Getenv("GIT_WORK_TREE") == "" { // the work tree is where it starts
		return g, false
	}
	g.line, words = text.ShellLine(words), words[1:]
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		switch {
		case strings.HasPrefix(words[0], "--git-dir"), strings.HasPrefix(words[0], "--work-tree"):
			return g, false
		case len(words) > 1 && words[0] == "-C":
			dir, words = from(dir, words[1]), words[1:]
		case words[0] == "-c":
			words = words[1:]
		}
		words = words[min(1, len(words)):]
	}
	if len(words) == 0 {
		return g, false
	}
	g.dir, g.name, g.args = path.Clean(dir), words[0], words[1:]
	return g, true
}

// changesTree reports whether a command changes files wherever they lie in the work tree.
func (c *Context) changesTree(g *gitCommand) bool {
	operands := g.args.Operands("")
	switch g.name {
	case "merge", "rebase", "pull", "am", "cherry-pick", "revert", "bisect", "sparse-checkout":
		return !g.args.Given("--quit")
	case "checkout", "switch": // of named files, or a new branch from here
		return !g.args.Given("--") && len(operands) > 0 &&
			!(len(operands) == 1 && g.args.Given("-b -B -c -C --create")) &&
			!(g.name == "checkout" && c.namesFiles(g, operands))
	case "stash":
		return !g.args.Given("list show drop clear create store --") &&
			!(len(operands) > 1 && len(operands) == len(g.args) && g.args[0] == "push")
	case "reset":
		return g.args.Given("--hard --merge --keep")
	}
	return false
}

// namesFiles reports whether git checkout takes its operands for files: behind the first
// always, and that where it is a file, which git takes for no branch.
func (c *Context) namesFiles(g *gitCommand, operands []string) bool {
	plain := []string{"-f", "-q", "-p", "-m", "--force", "--quiet", "--patch", "--merge", "--ours", "--theirs"}
	for _, a := range g.args {
		if !slices.Contains(operands, a) && !slices.Contains(plain, a) {
			return false // it may make a branch
		}
	}
	first := operands[0]
	if len(operands) > 1 || strings.ContainsAny(first, "*?[") && !strings.ContainsAny(first, ":{") {
		return true
	}
	info, err := c.Host.FS.Lstat(from(g.dir, first))
	return err == nil && info.Kind != host.Absent
}
