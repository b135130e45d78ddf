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
		name, dir := changesTree(words, c.Host.StartDir())
		top, part := c.gitTop(dir), c.Policy.Project
		if err != nil || name == "" || top == "" || !policy.Within(part, top) || c.Policy.Access(part) != policy.Write {
			return
		}
		if c.Policy.Access(top) == policy.Write {
			frozen := func(dir string) bool { return policy.Within(dir, top) && !policy.Within(dir, top+"/.git") }
			if i := slices.IndexFunc(p.Report.Frozen, frozen); i >= 0 {
				err = Failed("git "+name+" changes all of the work tree "+text.Plain(top)+", and nothing can be replaced directly in "+
					text.Plain(p.Report.Frozen[i])+": something there is hidden or protected", "run it outside, or with bwrap: sbx doctor says what that needs here")
			}
			return
		}
		line := ""
		for _, w := range words {
			line += " " + text.ShellWord(w)
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
func changesTree(words []string, dir string) (name, in string) {
	if len(words) == 0 || words[0] != "git" && !strings.HasSuffix(words[0], "/git") ||
		os.Getenv("GIT_DIR")+os.Getenv("GIT_WORK_TREE") != "" {
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
	switch name {
	case "merge", "rebase", "pull", "am", "cherry-pick", "revert", "bisect", "sparse-checkout":
	case "checkout", "switch": // of named files, or a new branch from here
		operands := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
		if has("--") || len(operands) == 1 && has("-b", "-B", "-c", "-C", "--create") {
			return "", ""
		}
	case "stash":
		if has("list", "show", "drop", "clear", "create", "store", "--") {
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
