package gitdir

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxConfig bounds, in bytes, the config file that is read.
const maxConfig = 1 << 20

// Harmless reports whether a .git is what a plain init, clone, worktree add or
// submodule add leaves: no hook, no setting that could run anything, no pointer
// to another place; or whether the steps of a rebase are commits alone. It looks
// at the files as they are now. In doubt it says no.
func Harmless(path string) bool {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return false
	case filepath.Base(path) == Todo:
		return plainTodo(path)
	case filepath.Base(path) == "strategy" && info.Mode().IsRegular():
		data, ok := regular(path)
		return ok && slices.Contains(strategies, strings.TrimSpace(string(data)))
	case filepath.Base(path) == "opts" && info.Mode().IsRegular():
		data, ok := regular(path)
		return ok && plainOpts(data)
	case info.IsDir():
		return harmlessDir(path, "")
	case info.Mode().IsRegular():
		return harmlessFile(path)
	}
	return false
}

// harmlessDir looks at a git directory. tree is the work tree that its config
// has to name, "" when it must name none.
func harmlessDir(dir, tree string) bool {
	for _, name := range []string{"config.worktree", "commondir", "gitdir", "info/attributes", "info/grafts", "objects/info/alternates", "modules", "worktrees"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			return false
		}
	}
	for _, name := range []string{"info", "objects", "objects/info", "refs"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && !info.IsDir() || err != nil && !os.IsNotExist(err) {
			return false
		}
	}
	return isGit(dir) && plainHooks(filepath.Join(dir, "hooks")) && plainConfig(filepath.Join(dir, "config"), tree)
}

// isGit reports whether git takes a directory for a git directory. When it does
// not, it goes on and may take the directory around it for one.
func isGit(dir string) bool {
	head, ok := regular(filepath.Join(dir, "HEAD"))
	text := strings.TrimSpace(string(head))
	hash := len(text) >= 40 && strings.Trim(text, "0123456789abcdef") == ""
	if !ok || !strings.HasPrefix(text, "ref: refs/") && !hash {
		return false
	}
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// strategies are those that git brings along.
var strategies = []string{"ort", "recursive", "resolve", "octopus", "ours", "subtree"}

// plainOpts reports whether the options of a cherry-pick that waits name no
// strategy of somebody's.
func plainOpts(data []byte) bool {
	good := true
	err := Each(data, func(s Setting) {
		good = good && s.Section == "options" && (s.Key != "strategy" || slices.Contains(strategies, s.Value))
	})
	return good && err == nil
}

func plainHooks(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil {
		return os.IsNotExist(err)
	}
	if !info.IsDir() {
		return false
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".sample") || !e.Type().IsRegular() {
			return false
		}
	}
	return err == nil
}

func plainConfig(path, tree string) bool {
	data, ok := regular(path)
	if !ok {
		return false
	}
	all := true
	err := Each(data, func(s Setting) {
		if s.Name() == "core.worktree" && tree != "" {
			all = all && from(filepath.Dir(path), s.Value) == tree
			return
		}
		all = all && plain(&s)
	})
	return err == nil && all
}

// from makes the path in a file of git's absolute.
func from(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// plainTodo reads the steps of a rebase (git-rebase(1)): "exec" runs a command
// when somebody goes on with it.
func plainTodo(path string) bool {
	data, ok := regular(path)
	if !ok {
		return false
	}
	for line := range strings.Lines(string(data)) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "", "pick", "p", "reword", "r", "edit", "e", "squash", "s", "fixup", "f", "drop", "d", "break", "b", "noop", "label", "l", "reset", "t", "merge", "m", "update-ref", "u":
		default:
			if word[0] != '#' {
				return false
			}
		}
	}
	return true
}

// harmlessFile follows the pointer of a linked work tree or of a submodule to
// the repository around it, which has to point back.
func harmlessFile(path string) bool {
	data, ok := regular(path)
	if !ok {
		return false
	}
	dir, ok := Pointer(data)
	if !ok {
		return false
	}
	dir = from(filepath.Dir(path), dir)
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
		return false
	}
	if top, _, ok := strings.Cut(dir, "/.git/modules/"); ok && strings.HasPrefix(path, top+"/") {
		return harmlessDir(dir, filepath.Dir(path))
	}
	common := filepath.Dir(filepath.Dir(dir))
	// Only the repository of a directory above is known to be guarded.
	if filepath.Base(filepath.Dir(dir)) != "worktrees" || filepath.Base(common) != ".git" || !strings.HasPrefix(path, filepath.Dir(common)+"/") {
		return false
	}
	for name, want := range map[string]string{"commondir": common, "gitdir": path} {
		data, ok := regular(filepath.Join(dir, name))
		text, ok2 := Line(data)
		if !ok || !ok2 {
			return false
		}
		if from(dir, text) != want {
			return false
		}
	}
	_, err := os.Lstat(filepath.Join(dir, "config.worktree"))
	return os.IsNotExist(err)
}

// bare reports whether a directory has what git looks for in a git directory.
func bare(dir string) bool {
	there := func(name string) bool { _, err := os.Lstat(filepath.Join(dir, name)); return !os.IsNotExist(err) }
	return there("HEAD") && (there("commondir") || there("objects") && there("refs"))
}

// Search walks the tree below root, its own git directory left out, and returns
// the git directories and pointers in it that are not harmless, at most limit
// entries of directories far. all is false when it did not get to the end.
func Search(root string, limit int) (found []string, all bool) {
	dirs, all := []string{root}, true
	for len(dirs) > 0 {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		entries, err := os.ReadDir(dir)
		all = all && err == nil
		if limit -= len(entries); limit < 0 {
			return found, false
		}
		names := 0
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch {
			case e.Name() == ".git" && dir != root:
				if !Harmless(path) {
					found = append(found, path)
				}
			case e.Name() == ".git":
			case e.Name() == "HEAD" || e.Name() == "commondir" || (e.Name() == "objects" || e.Name() == "refs") && e.IsDir():
				// Two of them: HEAD with objects and refs, or with commondir.
				if names++; names == 2 && dir != root && bare(dir) && !harmlessDir(dir, "") {
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
	return found, all
}

// regular reads a small regular file without following a link or waiting on a
// fifo.
func regular(path string) ([]byte, bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxConfig {
		return nil, false
	}
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	return data, err == nil && len(data) <= maxConfig
}
