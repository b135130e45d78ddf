// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"os"
	"slices"
)

// Search walks the tree below root, its own git directory left out, and returns
// the git directories and pointers in it that are not harmless, at most limit
// entries of directories far. passed are the directories that are [Apart]. all is
// false when it did not get to the end.
func Search(root string, limit int) (found, passed []string, all bool) {
	dirs, all := []string{root}, true
	for len(dirs) > 0 {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		entries, err := os.ReadDir(dir)
		all = all && err == nil
		if limit -= len(entries); limit < 0 {
			return found, passed, false
		}
		names := 0
		for _, e := range entries {
			path := join(dir, e.Name())
			switch {
			case e.IsDir() && apart(path):
				passed, all = append(passed, path), false
			case e.Name() == ".git" && dir != root:
				if !harmless(surveyGit(noIndexes(), path)) {
					found = append(found, path)
				}
			case e.Name() == ".git":
			case e.Name() == "HEAD" || e.Name() == "commondir" || e.Name() == "objects" || e.Name() == "refs":
				// Two of them at least: HEAD with objects and refs, or with commondir.
				if names++; names == 2 && dir != root && bare(dir) && !harmless(surveyGit(noIndexes(), dir)) {
					found = append(found, dir)
				}
				if e.IsDir() {
					dirs = append(dirs, path)
				}
			case e.IsDir():
				dirs = append(dirs, path)
			}
		}
	}
	slices.Sort(found)
	return found, passed, all
}
