// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Search walks the tree below root, its own git directory left out, and returns
// the git directories and pointers in it that are not harmless, at most limit
// entries of directories far. passed are the directories that are [Apart]. all is
// false when it did not get to the end.
func Search(root string, limit int) (found, passed []string, all bool) {
	all = true
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		limit--
		switch {
		case limit < -1: // the root is no entry of a directory
			all = false
			return fs.SkipAll
		case err != nil:
			all = false
			return nil
		case path == root:
			return nil
		case d.IsDir() && apart(path):
			passed, all = append(passed, path), false
			return fs.SkipDir
		}
		git := d.Name() == ".git"
		is := git && policy.Dir(path) != root || !git && d.IsDir() && exists(join(path, "HEAD")) && bare(path)
		if is && !harmless(surveyGit(noIndexes(), path)) {
			found = append(found, path)
		}
		if git && d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	slices.Sort(found)
	return found, passed, all
}
