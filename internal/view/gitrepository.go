// SPDX-License-Identifier: Apache-2.0

package view

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/tripwire"
)

// guard makes read-only what is executed from a git directory, and from those
// inside of it. root is the work tree, "" when there is none.
func (g *gitGuard) guard(dir, root string) {
	if g.seen(dir) {
		return
	}
	g.gits = append(g.gits, dir)
	if host.Base(dir) == ".git" {
		g.repository(dir, policy.Dir(dir))
	} else {
		g.repository(dir, root)
	}
	if g.pol.Git == "full" {
		for _, name := range gitdir.Executed {
			g.seenAs(host.Join(dir, name)) // by the tripwire: it may be changed
		}
		before := g.tells
		g.tells = true
		g.config(host.Join(dir, "config"), root, 0, false)
		g.config(host.Join(dir, "config.worktree"), root, 0, false)
		g.tells = before
		entries, _ := g.res.Entries(host.Join(dir, "worktrees"))
		for _, e := range entries {
			g.linkedFile(host.Join(dir, "worktrees/"+e.Name))
		}
		return
	}
	g.executed(dir, root)
	g.settings(host.Join(dir, "config.worktree"), root)
	g.worktrees(host.Join(dir, "worktrees"))
	g.modules(host.Join(dir, "modules"), 0, false)
	if tree := g.checkout(dir); tree != "" {
		g.work(tree)
		g.shared(host.Join(dir, "config"), tree)
	}
}

// executed protects what is executed from a git directory.
func (g *gitGuard) executed(dir, tree string) {
	g.protect(dir, gitdir.Executed...)
	g.hookLinks(host.Join(dir, "hooks"))
	g.settings(host.Join(dir, "config"), tree)
}

// linked guards the private directory of a linked work tree. common is the git
// directory that it belongs to.
func (g *gitGuard) linked(dir, common, tree string) {
	g.protect(dir, gitdir.Linked...)
	g.repository(dir, tree)
	g.shared(host.Join(common, "config"), tree)
	g.settings(host.Join(dir, "config.worktree"), tree)
	g.shared(host.Join(dir, "config.worktree"), tree)
	g.modules(host.Join(dir, "modules"), 0, false)
}

// repository watches for what a command makes in a git directory although what
// git runs from it is protected. tree is its work tree, "" for none.
func (g *gitGuard) repository(dir, tree string) {
	g.Watch = append(g.Watch, tripwire.Watch{Kind: tripwire.Repository, Path: dir, State: tree})
	g.work(tree)
}

// work notes a work tree in a writable one.
func (g *gitGuard) work(tree string) {
	switch {
	case tree == "" || !g.inTrees(tree) || slices.Contains(g.trees, tree) || slices.Contains(g.works, tree):
	case len(g.works) == maxWorks:
		g.tooMany()
	default:
		g.works = append(g.works, tree)
	}
}

// roots are the directories from which git starts programs that settings name.
func (g *gitGuard) roots() []string { return append(slices.Clone(g.trees), g.works...) }

func (g *gitGuard) tooMany() {
	g.Notes = appendNew(g.Notes, "there are too many work trees here to look in each for what git runs there: in "+
		"some it can be changed (git worktree prune, or cd into one)")
}

// shared protects what a config file of a git directory names in one more of its
// work trees: what is relative begins there.
func (g *gitGuard) shared(file, tree string) {
	if tree == "" || !slices.Contains(g.roots(), tree) || g.pol.Git == "full" || g.seen(file+"\x00"+tree) {
		return
	}
	if g.pairs++; g.pairs > maxWorks {
		g.tooMany()
		return
	}
	g.config(file, tree, 0, false)
}

// settings protects what a config file of a git directory names, and watches
// the file for what makes git run something. It is protected itself, but git on
// the host puts another file in its place at each `git push -u`, and a command
// that is running then can write that one.
func (g *gitGuard) settings(file, root string) {
	if info, err := g.res.Lstat(file); err != nil || info.Kind != host.File || g.seen(file) {
		return
	}
	g.seen(file + "\x00" + root)
	g.config(file, root, 0, false)
	state := tripwire.SettingsOf(g.configText(file))
	g.Watch = append(g.Watch, tripwire.Watch{Kind: tripwire.Settings, Path: file, State: state})
}

// seenAs watches a name, whatever is there.
func (g *gitGuard) seenAs(path string) {
	if state, err := tripwire.Look(tripwire.Name, path); err == nil {
		g.Watch = append(g.Watch, tripwire.Watch{Kind: tripwire.Name, Path: path, State: state})
	}
}

func (g *gitGuard) protect(dir string, names ...string) {
	for _, n := range names {
		g.add(host.Join(dir, n), policy.Protect)
	}
}

// list returns the names in a directory. One that cannot be listed now could
// be opened by the command, so all of it is protected; so is what is too much.
func (g *gitGuard) list(dir string) []host.Entry {
	if info, err := g.res.Lstat(dir); err == nil && info.Kind != host.Dir {
		return nil
	}
	entries, err := g.res.Entries(dir)
	if g.left -= len(entries); err != nil || g.left < 0 {
		if g.add(dir, policy.Protect); err == nil {
			g.Notes = append(g.Notes, text.Plain(dir)+" holds too much to be looked at: it is read-only, and "+
				".git files that lead there are neither protected nor watched")
		}
		return nil
	}
	return entries
}

// worktrees protects the pointers of linked work trees, at both ends.
func (g *gitGuard) worktrees(dir string) {
	entries := g.list(dir)
	many := len(entries) > maxTrees
	if many {
		g.add(dir, policy.Protect)
		g.Notes = append(g.Notes, text.Plain(dir)+" holds more than "+strconv.Itoa(maxTrees)+" work trees: it is "+
			"read-only, and their .git files are watched only (git worktree prune)")
	}
	for _, e := range entries {
		sub := host.Join(dir, e.Name)
		file, at := g.linkedFile(sub)
		if many {
			if at && g.inTrees(file) && !g.seen(file) {
				g.seenAs(file)
			}
			continue
		}
		if at {
			g.pointerFile(file)
			g.linked(sub, policy.Dir(dir), policy.Dir(file))
		} else {
			g.linked(sub, policy.Dir(dir), "")
		}
	}
}

// linkedFile is the .git file of a linked work tree, by its private directory.
func (g *gitGuard) linkedFile(dir string) (file string, ok bool) {
	if file, ok = g.line(host.Join(dir, "gitdir"), dir); !ok || host.Base(file) != ".git" {
		return "", false
	}
	g.Linked = append(g.Linked, file)
	return file, true
}

// modules protects each submodule's git directory below dir, at any depth: a
// submodule called a/b has its own in modules/a/b. Nothing that a command could
// have made, a HEAD in modules/a for instance, ends the search. inside says that dir
// is a git directory itself.
func (g *gitGuard) modules(dir string, depth int, inside bool) {
	entries := g.list(dir)
	if depth > maxDepth || len(entries) > maxTrees {
		g.add(dir, policy.Protect)
		g.Notes = append(g.Notes, text.Plain(dir)+" is too deep or holds too much to be guarded: it is "+
			"read-only, and .git files that lead there can be changed")
		return
	}
	entries = slices.DeleteFunc(slices.Clone(entries),
		func(e host.Entry) bool { return e.Kind != host.Dir && e.Kind != host.Absent })
	for _, e := range entries {
		sub := host.Join(dir, e.Name)
		if !g.exists(host.Join(sub, "HEAD")) && !g.exists(host.Join(sub, "config")) {
			continue
		}
		tree := g.checkout(sub)
		if tree != "" {
			g.pointerFile(host.Join(tree, ".git"))
		}
		if g.hasObjects(sub) {
			g.repository(sub, tree) // logs have a HEAD, too
		}
		g.executed(sub, tree)
	}
	for _, e := range entries { // once all that is here has been met, since there are bounds
		sub := host.Join(dir, e.Name)
		g.worktrees(host.Join(sub, "worktrees"))
		// In a git directory only modules holds more of them; elsewhere any name is
		// a part of a submodule's, and a command can make a HEAD.
		if !inside || !slices.Contains(gitdir.Bulk, e.Name) {
			g.modules(sub, depth+1, g.bare(sub))
		}
	}
}

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
	info, err := g.res.Lstat(file)
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
	if hidden, _ := hides(g.pol, common, nil); hidden {
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
		info, err := g.res.Lstat(host.Join(dir, name))
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
