package wrap

import (
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/gitdir"
	"github.com/sbx-sandbox/sbx/policy"
)

// maxIndex bounds, in bytes, an index that is read for a command of git's.
const maxIndex = 32 << 20

// guardTracked makes files that are hidden and that git tracks unreadable, not
// empty, for a command that stages something: `git commit -a` would commit them
// empty and say nothing. It returns their names in the work tree.
func (v *view) guardTracked(root string, command []string) []string {
	if !stages(command) {
		return nil
	}
	hidden := map[string]int{}
	var names []string
	for i := range v.mounts {
		m := &v.mounts[i]
		if m.eff != policy.Block || m.idle || m.info.Kind != File || !policy.Within(m.path, root) || m.path == root || root == "/" {
			continue
		}
		name := m.path[len(root)+1:]
		hidden[name], names = i, append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	// Where the index is elsewhere (a linked work tree), split, or cannot be read,
	// any of them may be tracked.
	shut := names
	git, err := v.host.FS.Lstat(join(root, ".git"))
	path := join(root, ".git/index")
	info, ierr := v.host.FS.Lstat(path)
	if err == nil && (git.Kind == Absent || git.Kind == Dir && ierr == nil && info.Kind == Absent) {
		return nil // no repository, or a new one that tracks nothing yet
	}
	var tracked []string
	if ierr == nil && info.Kind == File && info.Size <= maxIndex {
		if data, err := v.host.FS.Head(path, int(info.Size)); err == nil {
			if found, ok := gitdir.Tracked(data, names...); ok {
				tracked, shut = found, found
			}
		}
	}
	for _, name := range shut {
		v.mounts[hidden[name]].shut = true
	}
	return tracked
}

// stages reports whether a command may be git's and stage something: by its words,
// a string for a shell included. A script that does so is not seen.
func stages(command []string) bool {
	text := strings.Join(command, " ")
	return strings.Contains(text, "git") && slices.ContainsFunc([]string{"add", "commit", "stash"}, func(w string) bool { return strings.Contains(text, w) })
}

// takesAll reports whether a command stages whatever git finds changed, so that
// it fails where a tracked file cannot be read.
func takesAll(command []string) bool {
	text := strings.Join(command, " ")
	return slices.ContainsFunc([]string{"commit -a", "commit -qa", "--all", "add -A", "add -u", "add .", "add :", "stash"}, func(s string) bool {
		return strings.Contains(text, s)
	})
}
