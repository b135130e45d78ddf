// SPDX-License-Identifier: Apache-2.0

package host

import "github.com/sbx-sandbox/sbx/internal/policy"

// WorkTree returns the root of the git work tree that holds cwd: the nearest
// directory upwards, cwd included, that has a .git and belongs to the caller.
// It returns cwd itself when there is none. A home directory, its ancestors
// and shared directories are no work trees here: a .git planted in /tmp would
// otherwise open all of /tmp.
func WorkTree(fs FS, cwd string, uid int, homes []string) string {
	if dir, ok := workTree(fs, cwd, uid, homes); ok {
		return dir
	}
	return cwd
}

// Outermost returns the root of the outermost work tree around root: a command
// can make a repository of a subdirectory, and what a project file above says
// has to hold all the same.
func Outermost(fs FS, root string, uid int, homes []string) string {
	for dir, ok := root, true; ok && dir != "/"; {
		root = dir
		dir, ok = workTree(fs, policy.Dir(dir), uid, homes)
	}
	return root
}

func workTree(fs FS, cwd string, uid int, homes []string) (string, bool) {
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
			return dir, true
		}
	}
	return "", false
}
