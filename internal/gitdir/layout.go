// SPDX-License-Identifier: Apache-2.0

package gitdir

import (
	"slices"
	"strings"
)

// Executed is what lies in a git directory and makes git run programs or look
// elsewhere (gitrepository-layout(5), git-config(1)).
var Executed = []string{
	"hooks", "config", "config.worktree", "commondir", "info/attributes", "info/grafts", "objects/info/alternates",
	"gitdir",
}

// Obeyed reports whether git runs what is at such a path in a git directory, or looks
// elsewhere for what it runs.
func Obeyed(path string) bool {
	names := []string{"hooks", "config", "config.worktree", "commondir", "info/attributes"}
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(path, "/"+name) })
}

// Linked is the same as Executed for the private directory of a linked work tree,
// .git/worktrees/NAME (git-worktree(1)).
var Linked = []string{"commondir", "gitdir", "config.worktree"}

// Bulk are the directories of a git directory that hold many names and no
// repository.
var Bulk = []string{"objects", "refs", "logs", "hooks", "info"}

// Hooks are the names that git runs in a directory of hooks (githooks(5)).
var Hooks = []string{
	"applypatch-msg", "commit-msg", "fsmonitor-watchman", "p4-changelist", "p4-post-changelist", "p4-pre-submit",
	"p4-prepare-changelist",
	"post-applypatch", "post-checkout", "post-commit", "post-index-change", "post-merge", "post-receive",
	"post-rewrite", "post-update",
	"pre-applypatch", "pre-auto-gc", "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive",
	"prepare-commit-msg",
	"proc-receive", "push-to-checkout", "reference-transaction", "sendemail-validate", "update",
}

// Pointer reads a .git file, "gitdir: PATH" (gitrepository-layout(5)). The path
// may be relative, to the directory of the file.
func Pointer(data []byte) (path string, ok bool) {
	rest, ok := strings.CutPrefix(string(data), "gitdir: ")
	path = strings.TrimRight(rest, "\r\n")
	return path, ok && straight(path)
}

// straight reports whether a path can be taken as a text: a ".." behind a name
// goes up from where a link of that name leads.
func straight(path string) bool {
	if path == "" || strings.ContainsAny(path, "\x00\n") {
		return false
	}
	down := false
	for elem := range strings.SplitSeq(path, "/") {
		switch elem {
		case "", ".":
		case "..":
			if down {
				return false
			}
		default:
			down = true
		}
	}
	return true
}

// Line reads a file that holds one path: commondir, or gitdir in the private
// directory of a linked work tree.
func Line(data []byte) (path string, ok bool) {
	path = strings.TrimRight(string(data), "\r\n")
	return path, straight(path)
}
