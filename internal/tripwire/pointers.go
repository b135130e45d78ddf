// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/openat"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"golang.org/x/sys/unix"
)

// pointer follows a .git file. The repository around it has to point back.
func (s *survey) pointer(path, tree string) {
	data, err := regular(path)
	dir, ok := gitdir.Pointer(data)
	if err != nil || !ok {
		s.add(path, "a file that points nowhere", sum(data))
		return
	}
	dir = from(tree, dir)
	real, err := filepath.EvalSymlinks(dir)
	top, _, module := strings.Cut(dir, "/.git/modules/")
	common := policy.Dir(policy.Dir(dir))
	linked := base(policy.Dir(dir)) == "worktrees" && base(common) == ".git" && policy.Within(path, policy.Dir(common))
	if err != nil || real != dir || !linked && !(module && policy.Within(path, top)) {
		s.add(path, "it points to "+strconv.Quote(dir), real)
		if err != nil {
			return
		}
	} else if !s.apart[pair(real, tree)] && treeOf(real) != tree {
		s.add(path, "it points to "+strconv.Quote(dir)+", which does not point back", "")
	}
	s.directory(path, real, tree)
}

// back looks at the .git of a linked work tree or a submodule where that does not
// lead to the git directory that names it: git there takes what it is or leads to.
func (s *survey) back(path, dir, tree string) {
	if apart(path) {
		return
	}
	data, err := regular(path)
	to, ok := gitdir.Pointer(data)
	absent, leads := unreachable(err) && err != unix.ELOOP, err == nil && ok && from(tree, to) == dir
	if !absent && !leads {
		s.found(path)
	}
}

// treeOf is the work tree that a git directory says it has, "" for none.
func treeOf(dir string) string {
	if base(dir) == ".git" {
		return policy.Dir(dir)
	}
	if base(policy.Dir(dir)) == "worktrees" {
		data, _ := regular(join(dir, "gitdir"))
		if text, ok := gitdir.Line(data); ok && base(text) == ".git" {
			return policy.Dir(from(dir, text))
		}
		return ""
	}
	return namedTree(dir)
}

// namedTree is the work tree that the settings of a git directory name, "" for none.
func namedTree(dir string) (tree string) {
	for _, name := range []string{"config", "config.worktree"} {
		if value := lastSetting(join(dir, name), "core.worktree"); value != "" {
			tree = from(dir, value)
		}
	}
	return tree
}

// lastSetting is the value that counts of a setting in a config file, "" for none.
func lastSetting(path, name string) (value string) {
	data, _ := regular(path)
	_ = gitdir.Each(data, func(s gitdir.Setting) {
		if s.Name() == name && s.Value != "" {
			value = s.Value
		}
	})
	return value
}

// taken reports whether git takes a directory for a git directory. When it does
// not, it goes on and may take the directory around it for one.
func taken(dir, common string) bool {
	head, err := regular(join(dir, "HEAD"))
	text := strings.TrimSpace(string(head))
	hash := len(text) >= 40 && strings.Trim(text, "0123456789abcdef") == ""
	if err != nil || !strings.HasPrefix(text, "ref: refs/") && !hash {
		return false
	}
	return !slices.ContainsFunc([]string{"objects", "refs"}, func(name string) bool {
		st, err := lstat(join(common, name))
		return err != nil || !openat.Is(&st, unix.S_IFDIR)
	})
}

// line reads a file that holds a path.
func (s *survey) line(at, dir, name string) (text string, ok bool) {
	path := join(dir, name)
	if _, err := lstat(path); err != nil {
		return "", !unreachable(err)
	}
	data, err := regular(path)
	text, ok = gitdir.Line(data)
	if err != nil || !ok {
		s.add(at, name+" cannot be followed", sum(data))
	}
	return text, true
}

// hashSize is the size of object names in a repository.
func hashSize(dir string) int {
	if data, err := regular(join(dir, "commondir")); err == nil {
		if text, ok := gitdir.Line(data); ok {
			dir = from(dir, text)
		}
	}
	if lastSetting(join(dir, "config"), "extensions.objectformat") == "sha256" {
		return 32
	}
	return 20
}
