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
// empty, for a command that stages all that has changed: `git commit -a` would
// commit them empty and say nothing. It returns their names in the work tree.
func (v *view) guardTracked(root string, command []string) []string {
	if !slices.ContainsFunc(command, func(w string) bool { return strings.Contains(w, "git") }) || !takesAll(command) {
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
	path := join(root, ".git/index")
	info, err := v.host.FS.Lstat(path)
	if err != nil || info.Kind != File || info.Size > maxIndex {
		return nil
	}
	data, err := v.host.FS.Head(path, int(info.Size))
	if err != nil {
		return nil
	}
	tracked, _ := gitdir.Tracked(data, names...)
	for _, name := range tracked {
		v.mounts[hidden[name]].shut = true
	}
	return tracked
}

// takesAll reports whether a command stages whatever git finds changed: by its
// words, a string for a shell included. A script that does so is not seen.
func takesAll(command []string) bool {
	git, does := false, ""
	for _, w := range strings.Fields(strings.Join(command, " ")) {
		short := len(w) > 1 && w[0] == '-' && w[1] != '-'
		switch {
		case w == "git" || strings.HasSuffix(w, "/git"):
			git, does = true, ""
		case strings.ContainsAny(w, ";&|"):
			git = false
		case !git:
		case does == "" && (w == "commit" || w == "add" || w == "stash"):
			if does = w; does == "stash" {
				return true
			}
		case does == "commit" && (w == "--all" || short && strings.Contains(w, "a")):
			return true
		case does == "add" && (slices.Contains([]string{"--all", "--update", ".", ":/", "*", "./"}, w) || short && strings.ContainsAny(w, "Au")):
			return true
		}
	}
	return false
}
