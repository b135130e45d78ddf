// SPDX-License-Identifier: Apache-2.0

package view

import (
	"path/filepath"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// pointer follows a .git file to the git directory that it names, guards that,
// and opens it at the level given (Unseen opens nothing) when it belongs to
// the work tree: when it names this very .git file, as a linked work tree's
// does, or this work tree, as a submodule's does. A pointer alone opens
// nothing, since who writes the work tree writes the pointer.
func (g *gitGuard) pointer(root, file string, info host.Info, level policy.Access) {
	dir, ok := g.target(file, root, info)
	if !ok {
		return
	}
	common := g.common(dir)
	g.guard(common, root)
	if common != dir {
		g.gits = append(g.gits, dir)
		g.linked(dir, common, root)
	}
	if level == policy.Unseen || g.inTrees(dir) && g.inTrees(common) {
		return
	}
	if why := g.foreign(root, file, dir, common); why != "" {
		g.Gaps = append(g.Gaps, text.Plain(file)+" points to "+text.Plain(dir)+", which is not opened: "+why)
		return
	}
	g.add(common, level)
	if dir != common {
		g.add(dir, level) // also where all of worktrees is read-only
	}
}

// target is the canonical directory of the caller's own that a .git file
// points to.
func (g *gitGuard) target(file, root string, info host.Info) (string, bool) {
	if info.UID != g.host.UID {
		return "", false
	}
	path, ok := g.readPath(file, root, gitdir.Pointer)
	if !ok {
		return "", false
	}
	return g.ownDir(path)
}

// readPath returns the path in a file that holds one, relative to dir.
func (g *gitGuard) readPath(file, dir string, parse func([]byte) (string, bool)) (string, bool) {
	data, err := g.host.FS.Head(file, maxPointer)
	text, ok := parse(data)
	if err != nil || !ok {
		return "", false
	}
	return absolute(text, dir), true
}

// maxPointer bounds, in bytes, a file that holds one path: a longer one leads nowhere.
const maxPointer = 4200

// absolute makes the path in a file of git's absolute: it is relative to dir.
func absolute(text, dir string) string {
	if text[0] != '/' {
		text = host.Join(dir, text)
	}
	return filepath.Clean(text)
}

func (g *gitGuard) ownDir(path string) (string, bool) {
	to, err := g.res.Resolve(path)
	return to.Path, err == nil && to.Info.Kind == host.Dir && to.Info.UID == g.host.UID
}

// line reads a file that holds one path, relative to dir, and returns the path
// with the links in its directory followed.
func (g *gitGuard) line(file, dir string) (string, bool) {
	info, err := g.host.FS.Lstat(file)
	if err != nil || info.Kind != host.File {
		return "", false
	}
	path, ok := g.readPath(file, dir, gitdir.Line)
	if !ok || path == "/" {
		return "", false
	}
	up, err := g.res.Resolve(policy.Dir(path))
	if err != nil {
		return "", false
	}
	return host.Join(up.Path, host.Base(path)), true
}

// common is the git directory that a linked work tree's private one belongs
// to, or dir itself.
func (g *gitGuard) common(dir string) string {
	if up := policy.Dir(dir); host.Base(up) == "worktrees" && up != "/worktrees" {
		if path, ok := g.line(host.Join(dir, "commondir"), dir); ok {
			if to, own := g.ownDir(path); own && to == policy.Dir(up) {
				return to
			}
		}
	}
	return dir
}

// foreign says why a git directory does not belong to the work tree that
// points to it, "" when it does.
func (g *gitGuard) foreign(root, file, dir, common string) string {
	const away = "to open it all the same, name it with -w"
	if !g.gitLike(common) {
		return "it is no git directory of your own"
	}
	if hidden, _ := hides(g.pol, common); hidden {
		return "it is hidden"
	}
	if err := g.host.Writable(common); err != nil {
		return err.Error()
	}
	if policy.Within(root, common) {
		return "it holds the work tree; " + away
	}
	if common != dir {
		if back, ok := g.line(host.Join(dir, "gitdir"), dir); ok && back == file {
			return ""
		}
		return "it does not point back; " + away
	}
	if strings.Contains(dir, "/modules/") {
		if g.checkout(dir) == root {
			return ""
		}
	}
	return "it does not name this work tree; " + away
}

// gitLike reports whether a directory looks to git like a git directory, with
// nothing in it that leads elsewhere.
func (g *gitGuard) gitLike(dir string) bool {
	for name, kind := range map[string]host.Kind{"HEAD": host.File, "objects": host.Dir, "refs": host.Dir,
		"config": host.File} {
		info, err := g.host.FS.Lstat(host.Join(dir, name))
		if err != nil || info.Kind != kind || info.UID != g.host.UID {
			return false
		}
	}
	return !g.exists(host.Join(dir, "commondir"))
}

// checkout is the canonical work tree that a submodule's git directory names
// (core.worktree, git-config(1)), "" when it names none.
func (g *gitGuard) checkout(dir string) (tree string) {
	_ = gitdir.Each(g.configText(host.Join(dir, "config")), func(s gitdir.Setting) {
		if s.Name() == "core.worktree" && s.Value != "" {
			tree = absolute(s.Value, dir)
		}
	})
	if to, err := g.res.Resolve(tree); tree != "" && err == nil && to.Info.Kind == host.Dir {
		return to.Path
	}
	return ""
}
