// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/credentials"
	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// SourceCleaned is the source of the rule for a settings file that is shown
// without the credentials in it.
const SourceCleaned = "a copy without credentials"

const (
	maxConfigs = 1024     // settings files that are searched for credentials
	maxNames   = 2048     // directories among those of submodules and work trees
	maxLooked  = 64 << 20 // bytes, as the file system counts, of a directory that is searched for repositories
)

// cleaner looks for credentials in the settings files that the command sees.
type cleaner struct {
	v    *View
	g    *gitGuard
	left int
	dirs int // names that may still be looked at, see maxNames
	seen map[string]bool
	made []Entry    // copies at paths that have no mount yet
	shut []string   // directories that are hidden as a whole
	cut  []withheld // shown without
	had  []withheld // shown with, since no copy can stand in their place
}

// RemoveCredentials puts copies without credentials in place of settings files: those of
// git, with all that they include, and those of package managers at the top of a
// project, and of each tree that a person opened. Where mounts cannot do that, or
// the file is to be written, it is told. What is too much to be searched is hidden:
// how much there is may be the work of an earlier run.
func (v *View) RemoveCredentials(root string, g *gitGuard) error {
	c := &cleaner{v: v, g: g, left: maxConfigs, dirs: maxNames, seen: make(map[string]bool, 16)}
	g.settingsFiles(func(file string, _ bool) { c.git(file, 0) })
	c.mise()
	for _, dir := range slices.Concat(g.gits, g.rest) {
		if host.Base(dir) == ".git" {
			c.checkout(policy.Dir(dir))
		} else {
			c.repository(dir, 0)
		}
	}
	for _, dir := range g.large {
		c.tree(dir)
	}
	tops := appendNew(appendNew(nil, root), v.Host.CWD)
	for _, dir := range slices.Concat(g.trees, g.pol.Dirs) {
		tops = appendNew(tops, dir)
	}
	for _, dir := range g.opened(policy.Read) {
		if !slices.Contains(g.trees, dir) {
			c.tree(dir)
			tops = appendNew(tops, dir)
		}
	}
	for _, name := range []string{".npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml"} {
		for _, top := range tops {
			if top != "" {
				c.file(host.Join(top, name), credentials.Lines)
			}
		}
		for i := range g.pol.Members {
			if m := &g.pol.Members[i]; m.Has(name) && !slices.Contains(tops, m.Dir) {
				c.file(host.Join(m.Dir, name), credentials.Lines)
			}
		}
	}
	for i := range v.Entries {
		m := &v.Entries[i]
		if m.Access == policy.Block && !m.Redundant && m.Info.Kind == host.File && m.Rule.Layer == policy.Builtin &&
			host.Base(m.Path) == ".pypirc" && !v.NoMounts && slices.Contains(tops, policy.Dir(m.Path)) {
			c.hidden(m)
		}
	}
	if err := c.merge(); err != nil {
		return err
	}
	return c.report()
}

// merge adds what was made to the view.
func (c *cleaner) merge() error {
	v := c.v
	if n := len(c.made); n > maxMatches {
		return failed(strconv.Itoa(n)+" settings files here hold credentials or are too many to be searched for "+
			"some, too many to hide one by one", "remove them, or run in a directory with fewer repositories")
	}
	if len(c.made)+len(c.shut) > 0 {
		// What holds a place in a directory that is hidden now would show it.
		v.Entries = slices.DeleteFunc(append(v.Entries, c.made...), func(m Entry) bool {
			return (m.Pinned || m.Copied) && c.hides(m.Path)
		})
		v.Sort()
	}
	return nil
}

// tree looks at the repository at the top of a directory, and at those one level
// down.
func (c *cleaner) tree(dir string) {
	c.checkout(dir)
	if c.g.bare(dir) {
		c.repository(dir, 0)
	}
	if to, err := c.v.Res.Resolve(dir); err != nil || to.Info.Size > maxLooked {
		c.v.Notes = append(c.v.Notes, text.Plain(dir)+" has too many entries to be searched: the command can "+
			"read the credentials in the settings of repositories in it")
		return
	}
	entries, err := c.v.Res.Entries(dir)
	if err != nil {
		return // only who knows a name finds something
	}
	remote := func(path string) {
		c.v.Notes = append(c.v.Notes, text.Plain(path)+" is on a FUSE or network file system and is not looked at: "+
			"the command can read the credentials in the settings of a repository there")
	}
	c.g.below(dir, entries, remote, func(name string, git, head bool) {
		sub := host.Join(dir, name)
		if git {
			c.checkout(sub)
		}
		if head && c.g.bare(sub) {
			c.repository(sub, 0)
		}
	})
}

// checkout looks at the repository of a work tree.
func (c *cleaner) checkout(dir string) {
	at, ok := c.found(host.Join(dir, ".git"))
	if ok && at.Info.Kind == host.Dir {
		c.repository(at.Path, 0)
	}
	if !ok || at.Info.Kind != host.File {
		return
	}
	if own, ok := c.g.readPath(at.Path, dir, gitdir.Pointer); ok { // else git takes it for no repository
		c.repository(own, 0)
		if up := policy.Dir(own); host.Base(up) == "worktrees" {
			c.repository(policy.Dir(up), 0)
		}
	}
}

// repository looks at a git directory: at its config files, copies of them that
// git and editors leave, the files by which git once knew remotes, what extensions
// of git keep keys and logins in, and at the git directories in it.
func (c *cleaner) repository(dir string, depth int) {
	to, ok := c.found(dir)
	if !ok || to.Info.Kind != host.Dir {
		return
	}
	c.keys(host.Join(to.Path, "git-crypt"))
	c.keys(host.Join(to.Path, "annex/creds"))
	entries, err := c.v.Res.Entries(to.Path)
	if err != nil || to.Info.Size > maxListed {
		entries = []host.Entry{{Name: "config"}, {Name: "config.worktree"}}
	}
	for _, e := range entries {
		switch sub := host.Join(to.Path, e.Name); {
		case strings.HasPrefix(e.Name, "config") && e.Kind != host.Dir:
			c.git(sub, 0)
			if e.Name == "config" && depth > 0 {
				c.settled(sub, to.Path)
			}
		case e.Name == "remotes" || e.Name == "branches":
			c.remotes(sub)
		}
	}
	c.all(host.Join(to.Path, "worktrees"), func(sub string) bool {
		c.git(host.Join(sub, "config.worktree"), 0)
		c.modules(host.Join(sub, "modules"), depth+1)
		return true
	})
	c.modules(host.Join(to.Path, "modules"), depth+1)
}

// settled shows the protected settings of a submodule without core.worktree where that
// says no more than the place of its file .git: when it is set, `git submodule update`
// writes it anew, even if nothing changes, and stops when it cannot.
func (c *cleaner) settled(file, dir string) {
	m := c.v.At(file)
	if m == nil || m.Access != policy.Protect || m.Copied || c.v.NoMounts {
		return
	}
	data, whole := c.g.content(host.Resolved{Path: file, Info: m.Info})
	var line []byte
	tree, found := "", 0
	err := gitdir.Spans(data, func(s gitdir.Setting, _, setting []byte) {
		if s.Name() == "core.worktree" {
			tree, line, found = s.Value, setting, found+1
		}
	})
	if err != nil || !whole || found != 1 || bytes.Count(data, line) != 1 {
		return
	}
	if tree != "" && tree[0] != '/' {
		tree = filepath.Join(dir, tree)
	}
	if own, ok := c.g.readPath(host.Join(tree, ".git"), tree, gitdir.Pointer); ok && own == dir {
		m.Copied, m.Copy = true, bytes.Replace(data, line, nil, 1)
	}
}

// remotes looks at a directory of files with URLs.
func (c *cleaner) remotes(dir string) {
	files, err := c.v.Res.Entries(dir)
	if err != nil || len(files) > maxConfigs {
		c.hide(dir)
		return
	}
	for _, f := range files {
		c.file(host.Join(dir, f.Name), withoutURL)
	}
}

// keys hides what git-crypt and git-annex keep.
func (c *cleaner) keys(path string) {
	to, err := c.v.Res.Resolve(path)
	if err == nil && c.v.At(to.Path) == nil && (to.Info.Kind == host.Dir || to.Info.Kind == host.File) &&
		Shows(c.v.Access(to.Path)) && !c.seen[to.Path] {
		c.seen[to.Path] = true
		c.made = append(c.made, blocked(to.Path, to.Info, "keys of git-crypt and git-annex"))
	}
}

// modules looks at the git directories of submodules. One of a submodule called
// a/b is modules/a/b, whatever a is. Nothing that a command could have made, a HEAD
// in modules/a for instance, ends the search.
func (c *cleaner) modules(dir string, depth int) {
	c.all(dir, func(sub string) bool { return c.module(sub, depth) })
}

// module looks at what may be a git directory, and at those in it.
func (c *cleaner) module(dir string, depth int) bool {
	if depth > maxDepth {
		return false
	}
	git := c.g.hasObjects(dir)
	if git || c.g.exists(host.Join(dir, "config")) {
		c.repository(dir, depth)
	}
	return c.below(dir, func(sub string) bool {
		name := host.Base(sub)
		switch {
		case git && (name == "modules" || name == "worktrees"):
			return true // see repository
		case git && (slices.Contains(bulk, name) || slices.Contains(gitdir.Bulk, name)):
			return c.below(sub, func(sub string) bool { return usual(host.Base(sub)) || c.module(sub, depth+1) })
		}
		return c.module(sub, depth+1)
	})
}

// bulk are more directories of a git directory that hold much and no repository.
var bulk = []string{"branches", "lfs", "annex", "rr-cache", "svn"}

// usual reports whether a directory belongs in one of those.
func usual(name string) bool {
	switch name {
	case "refs", "heads", "tags", "remotes", "notes", "pack", "info", "objects", "tmp", "incomplete", "cache",
		"journal", "transfer":
		return true
	}
	return (len(name) == 2 || len(name) == 40 || len(name) == 64) && strings.Trim(name, "0123456789abcdef") == ""
}

// all calls f for each directory in one, and hides that as a whole when f or a
// bound says so.
func (c *cleaner) all(dir string, f func(sub string) bool) {
	if !c.below(dir, f) {
		c.hide(dir)
	}
}

// below calls f for each directory in one. It is false for what cannot be searched
// to the end.
func (c *cleaner) below(dir string, f func(sub string) bool) bool {
	to, ok := c.found(dir)
	if !ok || to.Info.Kind != host.Dir || c.hides(to.Path) {
		return true
	}
	if to.Info.Size > maxListed {
		return false
	}
	entries, err := c.v.Res.Entries(to.Path)
	if err != nil {
		return c.closed(to)
	}
	for _, e := range entries {
		if e.Kind != host.Dir && e.Kind != host.Absent {
			continue
		}
		if c.dirs--; c.dirs < 0 || !f(host.Join(to.Path, e.Name)) {
			return false
		}
	}
	return true
}

// found resolves a path. A directory of one's own on the way that may not be
// searched is hidden: the command could change that.
func (c *cleaner) found(path string) (to host.Resolved, ok bool) {
	to, err := c.v.Res.Resolve(path)
	var denied host.DeniedError
	if errors.As(err, &denied) && denied.UID == c.v.Host.UID {
		c.hide(denied.Dir)
	}
	return to, err == nil && to.Info.Kind != host.Absent
}

// hides reports whether a directory is hidden for what may be in it.
func (c *cleaner) hides(path string) bool { return policy.WithinAny(path, c.shut...) }

// hide hides a directory with settings that cannot all be searched.
func (c *cleaner) hide(dir string) {
	to, err := c.v.Res.Resolve(dir)
	if err != nil || to.Info.Kind != host.Dir || !Shows(c.v.Access(to.Path)) || c.hides(to.Path) {
		return
	}
	w := withheld{to.Path, []string{"all of it: it cannot be searched for some"}}
	there := c.v.At(to.Path)
	if there != nil && c.wanted(there) || c.full(to.Path) {
		c.had = append(c.had, w)
		return
	}
	c.shut = append(c.shut, to.Path)
	m := blocked(to.Path, to.Info, "it may hold credentials, and cannot be searched for them")
	if there != nil {
		*there = m
		c.v.Sort()
	} else {
		c.made = append(c.made, m)
	}
	c.cut = append(c.cut, w)
}

// wanted reports whether a person opened a file or directory by its name.
func (c *cleaner) wanted(m *Entry) bool {
	return m.rules.Give != nil && m.rules.Give.Layer != policy.Builtin && !m.rules.Give.Pattern &&
		m.Access == m.rules.Give.Access
}

// full reports whether a path lies in a repository that the command may write as a
// whole.
func (c *cleaner) full(path string) bool {
	return c.g.pol.Git == "full" && c.v.Access(path) == policy.Write &&
		policy.WithinAny(path, slices.Concat(c.g.gits, c.g.rest)...)
}

// visible finds a file that the command sees and has not been looked at.
func (c *cleaner) visible(name string) (to host.Resolved, ok bool) {
	to, ok = c.found(name)
	if !ok || to.Info.Kind != host.File || c.seen[to.Path] || !Shows(c.v.Access(to.Path)) || c.hides(to.Path) {
		return to, false
	}
	c.seen[to.Path] = true
	m := c.v.At(to.Path)
	return to, m == nil || !m.Copied && !c.wanted(m)
}

// closed reports whether the command cannot open what cannot be read here either.
// What is one's own can be given another mode.
func (c *cleaner) closed(to host.Resolved) bool {
	return to.Info.UID != c.v.Host.UID && !c.v.Host.FS.Access(to.Path, 'r') &&
		(to.Info.Kind != host.Dir || !c.v.Host.FS.Access(to.Path, 'x'))
}

// file has a settings file shown without what clean takes out of it, and returns
// what is in it.
func (c *cleaner) file(path string, clean func(name string, data []byte) ([]byte, []string, error)) []byte {
	to, ok := c.visible(path)
	if !ok {
		return nil
	}
	data, whole := c.g.content(to)
	if c.left--; c.left < 0 || !whole {
		if c.left < 0 || !c.closed(to) {
			c.show(to, nil, nil, false)
		}
		return nil
	}
	copied, names, err := clean(host.Base(path), data)
	if err != nil || len(names) > 0 || len(copied) != len(data) {
		c.show(to, copied, names, err == nil)
	}
	return data
}

// git looks at a config file and at what it includes.
func (c *cleaner) git(name string, depth int) {
	data := c.file(name, func(_ string, data []byte) ([]byte, []string, error) { return credentials.Git(data) })
	_ = gitdir.Each(data, func(s gitdir.Setting) {
		if n := s.Name(); (n == "include.path" || n == "includeif.path") && depth < maxIncludes+2 {
			if path := c.g.plainPath(s.Value, policy.Dir(name)); path != "" {
				c.git(path, depth+1)
			}
		}
	})
}

// withoutURL is for a file that names a remote: it cannot be shown when that is a
// URL with a password.
func withoutURL(_ string, data []byte) ([]byte, []string, error) {
	if credentials.In(data) {
		return nil, nil, errors.New("a URL with a password")
	}
	return data, nil, nil
}

// hidden shows a project's settings file that is hidden for the credentials that
// it may hold, when it is sure to hold none.
func (c *cleaner) hidden(m *Entry) {
	data, whole := c.g.content(host.Resolved{Path: m.Path, Info: m.Info})
	if copied, _, err := credentials.Lines(host.Base(m.Path), data); whole && err == nil {
		m.turn(copied)
		c.v.Hidden = slices.DeleteFunc(c.v.Hidden, func(path string) bool { return path == m.Path })
	}
}

// turn has a mount show a copy.
func (m *Entry) turn(data []byte) {
	m.Rule = &policy.Rule{Path: m.Path, Access: policy.Read, Layer: policy.Builtin, Source: SourceCleaned}
	m.rules, m.Access, m.Redundant = policy.RuleSet{Give: m.Rule}, policy.Read, false
	m.Copied, m.Copy = true, data
}

// show puts a copy in place of a file, or something that cannot be opened,
// when it could not be read as what it is.
func (c *cleaner) show(to host.Resolved, copied []byte, names []string, good bool) {
	w := withheld{to.Path, names}
	if !good {
		w.names = []string{"all of it: it cannot be read as settings"}
	}
	if c.v.NoMounts || c.full(to.Path) {
		if good && len(names) == 0 {
			return // a comment
		}
		c.had = append(c.had, w)
		return
	}
	m := c.v.At(to.Path)
	if m == nil {
		c.made = append(c.made, Entry{Path: to.Path, Info: to.Info})
		m = &c.made[len(c.made)-1]
	}
	if m.turn(copied); !good {
		m.Rule.Access, m.Access, m.Copied = policy.Block, policy.Block, false
		m.Rule.Source = "it may hold credentials, and cannot be read as settings"
	}
	if len(w.names) > 0 {
		c.cut = append(c.cut, w)
	}
}
