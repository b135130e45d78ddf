// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/risk"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// refuseHalf refuses a command of git that changes the work tree where only a part of
// that can be written: git leaves the rest as it is, may end with 0 all the same, and
// the next commit takes back what others did.
func (c *Context) refuseHalf(cmd command, p *engine.Plan) (err error) {
	if c.Vars.CWD == "" || c.Policy.Project == c.Vars.Root && c.Vars.Root == c.Boundary && len(p.Report.Frozen) == 0 ||
		!slices.ContainsFunc(cmd.words, func(w string) bool { return strings.Contains(w, "git") }) {
		return nil
	}
	risk.Each(cmd.words, func(words []string) {
		name, dir := c.changesTree(words, c.Host.StartDir())
		top, part := c.gitTop(dir), c.Policy.Project
		if tree := os.Getenv("GIT_WORK_TREE"); tree != "" && tree[0] == '/' {
			top = path.Clean(tree)
		} else if tree != "" {
			top = host.Join(dir, tree)
		}
		if err != nil || name == "" || top == "" || !policy.Within(part, top) || c.Policy.Access(part) != policy.Write {
			return
		}
		line := ""
		for _, w := range words {
			line += " " + text.ShellWord(w)
		}
		if c.Policy.Access(top) == policy.Write {
			frozen := func(dir string) bool { return policy.Within(dir, top) && !policy.Within(dir, top+"/.git") }
			if i := slices.IndexFunc(p.Report.Frozen, frozen); i >= 0 {
				err = Failed("git "+name+" changes all of the work tree "+text.Plain(top)+", and nothing can be replaced directly in "+
					text.Plain(p.Report.Frozen[i])+": something there is hidden or protected",
					"outside of the sandbox it can (inside with bwrap: sbx doctor):"+line)
			}
			return
		}
		how := "sbx -w " + text.ShellWord(top) + " --" + line
		switch {
		case c.Inv.Client:
			how = "run it outside, or start from " + text.Plain(top)
		case c.Host.ByName:
			how = "SBX_FLAGS=" + text.ShellWord("-w "+text.ShellWord(top)) + line
		}
		err = Failed("git "+name+" changes all of the work tree "+text.Plain(top)+", of which only "+
			text.Plain(Below(part, top))+" can be written", "to let it: "+how)
	})
	return err
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

// changesTree is the command of git by which a line changes files wherever they lie in
// the work tree, and the directory it starts in; "" for any other.
func (c *Context) changesTree(words []string, dir string) (name, in string) {
	if len(words) == 0 || words[0] != "git" && !strings.HasSuffix(words[0], "/git") ||
		os.Getenv("GIT_DIR") != "" && os.Getenv("GIT_WORK_TREE") == "" { // the work tree is where it starts
		return "", ""
	}
	words = words[1:]
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		switch {
		case strings.HasPrefix(words[0], "--git-dir"), strings.HasPrefix(words[0], "--work-tree"):
			return "", ""
		case len(words) > 1 && words[0] == "-C":
			if dir = host.Join(dir, words[1]); words[1] != "" && words[1][0] == '/' {
				dir = words[1]
			}
			words = words[1:]
		case words[0] == "-c":
			words = words[1:]
		}
		words = words[min(1, len(words)):]
	}
	if len(words) == 0 {
		return "", ""
	}
	name, args := words[0], words[1:]
	has := func(options ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(options, a) })
	}
	var operands []string
	for _, a := range args {
		if a == "-" || !strings.HasPrefix(a, "-") {
			operands = append(operands, a)
		}
	}
	switch name {
	case "merge", "rebase", "pull", "am", "cherry-pick", "revert", "bisect", "sparse-checkout":
		if has("--quit") {
			return "", ""
		}
	case "checkout", "switch": // of named files, or a new branch from here
		if has("--") || len(operands) == 0 ||
			len(operands) == 1 && has("-b", "-B", "-c", "-C", "--create") ||
			name == "checkout" && c.namesFiles(args, operands, dir) {
			return "", ""
		}
	case "stash":
		if has("list", "show", "drop", "clear", "create", "store", "--") ||
			len(operands) > 1 && len(operands) == len(args) && args[0] == "push" {
			return "", ""
		}
	case "reset":
		if !has("--hard", "--merge", "--keep") {
			return "", ""
		}
	default:
		return "", ""
	}
	return name, path.Clean(dir)
}

// namesFiles reports whether git checkout takes its operands for files: behind the first
// always, and that where it is a file, which git takes for no branch.
func (c *Context) namesFiles(args, operands []string, dir string) bool {
	plain := []string{"-f", "-q", "-p", "-m", "--force", "--quiet", "--patch", "--merge", "--ours", "--theirs"}
	for _, a := range args {
		if !slices.Contains(operands, a) && !slices.Contains(plain, a) {
			return false // it may make a branch
		}
	}
	first := operands[0]
	if len(operands) > 1 || strings.ContainsAny(first, "*?[") && !strings.ContainsAny(first, ":{") {
		return true
	}
	file := host.Join(dir, first)
	if first != "" && first[0] == '/' {
		file = first
	}
	info, err := c.Host.FS.Lstat(path.Clean(file))
	return err == nil && info.Kind != host.Absent
}
