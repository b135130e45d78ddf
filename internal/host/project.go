// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"slices"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Project is what a working directory is a part of.
type Project struct {
	Root    string          // of the git work tree that holds it, else of its workspace, else itself
	Whole   string          // Root where a command may write all of it, else the working directory
	Dirs    []string        // Root and the directories between it and the working directory
	Members []policy.Member // what a workspace file in Root lists, and repositories there, sorted
}

// maxBetween bounds the directories between a project and the working directory:
// in each of them names are looked for.
const maxBetween = 32

// Project finds what a directory is a part of. Nothing in a file leads there: it is
// the nearest directory upwards with a .git, or with the file of a workspace.
// Whoever may write a directory on the way decides what is run in it: where that
// is another user, a command started there cannot write what is above.
func (h *Host) Project(cwd string) Project {
	p := Project{Root: cwd, Whole: cwd}
	if cwd == "" {
		return p
	}
	if root := workTree(h.FS, cwd, h.UID, h.Homes); root != "" {
		p.Root = root
	} else {
		p.Root = h.workspace(cwd)
	}
	p.Dirs = Between(p.Root, cwd)
	if p.Root != cwd && h.Grantable(p.Root) == nil && len(p.Dirs) <= maxBetween && h.ownDir(cwd) &&
		!slices.ContainsFunc(p.Dirs, func(dir string) bool { return !h.ownDir(dir) }) {
		p.Whole = p.Root
	}
	p.Members = h.members(p.Root)
	return p
}

// Between are root and the directories between it and a directory in it, of more than
// there can be the nearest. There is none when the directory lies elsewhere.
func Between(root, dir string) (dirs []string) {
	if !policy.Within(dir, root) {
		return nil
	}
	for ; dir != root; dir = policy.Dir(dir) {
		if up := policy.Dir(dir); len(dirs) < maxBetween || up == root {
			dirs = append(dirs, up)
		}
	}
	return dirs
}

// ownDir reports whether no other user decides what is in a directory. One that is
// writable for the group that the user's own files get is the user's: umask 002.
func (h *Host) ownDir(dir string) bool {
	info, err := h.FS.Lstat(dir)
	return err == nil && info.Kind == Dir && (info.UID == h.UID || info.UID == 0) && info.Mode&0o002 == 0 &&
		(info.Mode&0o020 == 0 || info.GID == h.GID)
}

// workspace is the nearest directory upwards, cwd included, that has a file which
// makes a workspace of it and lists the member that cwd is in; cwd where there is none.
func (h *Host) workspace(cwd string) string {
	dir := cwd
	for range maxBetween + 1 {
		own, err := h.FS.Lstat(dir)
		if dir == "/" || err != nil || h.Writable(dir) != nil {
			break
		}
		if own.UID == h.UID && h.workspaceFile(dir, cwd) != "" {
			return dir
		}
		dir = policy.Dir(dir)
	}
	return cwd
}

// MadeBy is the name of what makes root the project of a directory in it.
func (h *Host) MadeBy(root, cwd string) string {
	if info, err := h.FS.Lstat(Join(root, ".git")); err == nil && info.Kind != Absent {
		return ".git"
	}
	return cmp.Or(h.workspaceFile(root, cwd), "a workspace file")
}

// Outermost returns the root of the outermost work tree around root: a command
// can make a repository of a subdirectory, and what a project file above says
// has to hold all the same.
func Outermost(fs FS, root string, uid int, homes []string) string {
	for dir := root; dir != "" && dir != "/"; dir = workTree(fs, policy.Dir(dir), uid, homes) {
		root = dir
	}
	return root
}

// WorkTree returns the root of the git work tree that holds cwd: the nearest
// directory upwards, cwd included, that has a .git and belongs to the caller.
// It returns cwd itself when there is none. A home directory, its ancestors
// and shared directories are no work trees here: a .git planted in /tmp would
// otherwise open all of /tmp.
func WorkTree(fs FS, cwd string, uid int, homes []string) string {
	return cmp.Or(workTree(fs, cwd, uid, homes), cwd)
}

// workTree is "" where there is none.
func workTree(fs FS, cwd string, uid int, homes []string) string {
	h := Host{Caller: Caller{UID: uid, Homes: homes}}
	for dir := cwd; dir != "/"; dir = policy.Dir(dir) {
		if h.Writable(dir) != nil {
			break
		}
		git, err := fs.Lstat(Join(dir, ".git"))
		if err != nil {
			break
		}
		if git.Kind != Dir && git.Kind != File {
			continue
		}
		own, err := fs.Lstat(dir)
		if err == nil && own.UID == uid && git.UID == uid {
			return dir
		}
	}
	return ""
}
