package wrap

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/credentials"
	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// SourceCleaned is the source of the rule for a settings file that is shown
// without the credentials in it.
const SourceCleaned = "a copy without credentials"

const (
	maxConfigs  = 1024      // config files of git that are searched for credentials
	maxNames    = 2048      // directories among those of submodules and work trees
	maxLooked   = 64 << 20  // bytes, as the file system counts, of a directory that is searched for repositories
	maxSettings = 256 << 10 // bytes of a settings file of another program
)

// cleaner looks for credentials in the settings files that the command sees.
type cleaner struct {
	v    *view
	g    *gitGuard
	left int
	dirs int // names that may still be looked at, see maxNames
	seen map[string]bool
	made []mount    // copies at paths that have no mount yet
	shut []string   // directories that are hidden as a whole
	cut  []withheld // shown without
	had  []withheld // shown with, since no copy can stand in their place
}

// withheld is a file with the names of the credentials in it.
type withheld struct {
	path  string
	names []string
}

// clean puts copies without credentials in the place of settings files: those of
// git, with all that they include, and those of package managers at the top of a
// project, and of each tree that a person opened. Where mounts cannot do that, or
// the file is to be written, it is told. What is too much to be searched is hidden:
// how much there is may be the work of an earlier run.
func (v *view) clean(root string, g *gitGuard) error {
	c := &cleaner{v: v, g: g, left: maxConfigs, dirs: maxNames, seen: make(map[string]bool, 16)}
	for _, home := range v.host.Homes {
		c.git(join(home, ".gitconfig"), 0)
		c.git(join(home, ".config/git/config"), 0)
		c.git(join(home, ".linuxbrew/etc/gitconfig"), 0)
		c.git(join(home, ".nix-profile/etc/gitconfig"), 0)
	}
	for i := range g.pol.Rules {
		if r := &g.pol.Rules[i]; base(r.Path) == "config" && base(policy.Dir(r.Path)) == "git" && isGrant(r) {
			c.git(r.Path, 0)
		}
	}
	for _, path := range []string{"/etc/gitconfig", "/usr/local/etc/gitconfig", "/home/linuxbrew/.linuxbrew/etc/gitconfig", "/opt/homebrew/etc/gitconfig"} {
		c.git(path, 0)
	}
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG"} {
		if path, _ := lookupEnv(v.host.Environ, name); path != "" {
			c.git(absolute(path, v.host.CWD), 0)
		}
	}
	for _, dir := range slices.Concat(g.gits, g.rest) {
		if base(dir) == ".git" {
			c.checkout(policy.Dir(dir))
		} else {
			c.repository(dir, 0)
		}
	}
	for _, dir := range g.large {
		c.tree(dir)
	}
	tops := append([]string{root, v.host.CWD}, g.trees...)
	for _, dir := range c.opened() {
		c.tree(dir)
		tops = append(tops, dir)
	}
	for i, top := range tops {
		if top == "" || slices.Contains(tops[:i], top) {
			continue
		}
		for _, name := range []string{".npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml"} {
			c.settings(join(top, name))
		}
	}
	for i := range v.mounts {
		m := &v.mounts[i]
		if m.eff == policy.Block && !m.idle && m.info.Kind == File && m.rule.Layer == policy.Builtin && base(m.path) == ".pypirc" && !v.bare && slices.Contains(tops, policy.Dir(m.path)) {
			c.hidden(m)
		}
	}
	if n := len(c.made); n > maxMatches {
		return &Error{StatusFailed, strconv.Itoa(n) + " settings files here hold credentials or are too many to be searched for some, too many to hide one by one", "remove them, or run in a directory with fewer repositories"}
	}
	if len(c.made)+len(c.shut) > 0 {
		// What holds a place in a directory that is hidden now would show it.
		v.mounts = slices.DeleteFunc(append(v.mounts, c.made...), func(m mount) bool {
			return (m.pin || m.copied) && slices.ContainsFunc(c.shut, func(dir string) bool { return policy.Within(m.path, dir) })
		})
		v.sort()
	}
	return c.tell()
}

// opened are the directories that a person opened for reading.
func (c *cleaner) opened() []string {
	var out []string
	for i := range c.g.pol.Rules {
		r := &c.g.pol.Rules[i]
		if r.Access != policy.Read || r.Layer == policy.Builtin || r.Pattern {
			continue
		}
		to, err := c.v.res.resolve(r.Path)
		if err == nil && to.Info.Kind == Dir && !slices.Contains(out, to.Path) && !slices.Contains(c.g.trees, to.Path) {
			out = append(out, to.Path)
		}
	}
	return out
}

// tree looks at the repository at the top of a directory, and at those one level
// down.
func (c *cleaner) tree(dir string) {
	c.checkout(dir)
	if c.g.bare(dir) {
		c.repository(dir, 0)
	}
	if to, err := c.v.res.resolve(dir); err != nil || to.Info.Size > maxLooked {
		c.v.notes = append(c.v.notes, policy.Plain(dir)+" has too many entries to be searched: the command can read the credentials in the settings of repositories in it")
		return
	}
	entries, err := c.v.res.entries(dir)
	if err != nil {
		return // only who knows a name finds something
	}
	names := slices.DeleteFunc(directories(entries), func(name string) bool {
		apart := c.v.host.apart(join(dir, name))
		if apart {
			c.v.notes = append(c.v.notes, policy.Plain(join(dir, name))+" is on a FUSE or network file system and is not looked at: the command can read the credentials in the settings of a repository there")
		}
		return apart
	})
	below := make([]string, 0, 2*len(names))
	for _, n := range names {
		below = append(below, n+"/.git", n+"/HEAD")
	}
	there := c.v.host.FS.Exist(dir, below)
	for i, name := range names {
		sub := join(dir, name)
		if there[2*i] {
			c.checkout(sub)
		}
		if there[2*i+1] && c.g.bare(sub) {
			c.repository(sub, 0)
		}
	}
}

// checkout looks at the repository of a work tree.
func (c *cleaner) checkout(dir string) {
	at, ok := c.found(join(dir, ".git"))
	if ok && at.Info.Kind == Dir {
		c.repository(at.Path, 0)
	}
	if !ok || at.Info.Kind != File {
		return
	}
	data, err := c.v.host.FS.Head(at.Path, maxPointer)
	text, ok := gitdir.Pointer(data)
	if err != nil || !ok {
		return // git takes it for no repository
	}
	own := absolute(text, dir)
	c.repository(own, 0)
	if up := policy.Dir(own); base(up) == "worktrees" {
		c.repository(policy.Dir(up), 0)
	}
}

// keys are names in a git directory below which extensions of git keep keys and
// logins.
var keys = []string{"git-crypt", "annex/creds"}

// repository looks at the config files of a git directory, and of those in it.
func (c *cleaner) repository(dir string, depth int) {
	for _, name := range keys {
		to, err := c.v.res.resolve(join(dir, name))
		if _, taken := c.v.find(to.Path); err == nil && !taken && (to.Info.Kind == Dir || to.Info.Kind == File) && shows(c.v.access(to.Path)) && !c.seen[to.Path] {
			c.seen[to.Path] = true
			r := &policy.Rule{Path: to.Path, Access: policy.Block, Layer: policy.Builtin, Source: "keys of git-crypt and git-annex"}
			c.made = append(c.made, mount{path: to.Path, info: to.Info, rule: r, rules: policy.Stand{Give: r}, eff: policy.Block})
		}
	}
	c.configs(dir)
	c.all(join(dir, "worktrees"), func(sub string) bool {
		c.git(join(sub, "config.worktree"), 0)
		c.modules(join(sub, "modules"), depth+1)
		return true
	})
	c.modules(join(dir, "modules"), depth+1)
}

// configs looks at the config files in a git directory, at copies of them that git
// and editors leave, and at the files by which git once knew remotes.
func (c *cleaner) configs(dir string) {
	to, ok := c.found(dir)
	if !ok || to.Info.Kind != Dir {
		return
	}
	entries, err := c.v.res.entries(to.Path)
	if err != nil || to.Info.Size > maxListed {
		c.git(join(dir, "config"), 0)
		c.git(join(dir, "config.worktree"), 0)
		return
	}
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name, "config") && e.Kind != Dir:
			c.git(join(to.Path, e.Name), 0)
		case e.Name == "remotes" || e.Name == "branches":
			sub := join(to.Path, e.Name)
			files, err := c.v.res.entries(sub)
			if err != nil || len(files) > maxConfigs {
				c.hide(sub)
				continue
			}
			for _, f := range files {
				c.remote(join(sub, f.Name))
			}
		}
	}
}

// remote hides a file that names a remote by a URL with a password.
func (c *cleaner) remote(name string) {
	to, ok := c.visible(name)
	if !ok {
		return
	}
	data, err := c.v.host.FS.Content(to.Path, to.Info, maxSettings)
	if err == nil && !credentials.In(data) || err != nil && c.closed(to) {
		return
	}
	c.show(to, nil, nil, false)
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
	git := c.g.exists(join(dir, "HEAD")) && (c.g.exists(join(dir, "objects")) || c.g.exists(join(dir, "commondir")))
	if git || c.g.exists(join(dir, "config")) {
		c.repository(dir, depth)
	}
	return c.below(dir, func(sub string) bool {
		name := base(sub)
		switch {
		case git && (name == "modules" || name == "worktrees"):
			return true // see repository
		case git && slices.Contains(bulk, name):
			return c.below(sub, func(sub string) bool { return usual(base(sub)) || c.module(sub, depth+1) })
		}
		return c.module(sub, depth+1)
	})
}

// bulk are the directories of a git directory that hold much and no repository.
var bulk = append([]string{"branches", "lfs", "annex", "rr-cache", "svn"}, gitdir.Bulk...)

// usual reports whether a directory belongs in one of those.
func usual(name string) bool {
	switch name {
	case "refs", "heads", "tags", "remotes", "notes", "pack", "info", "objects", "tmp", "incomplete", "cache", "journal", "transfer":
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
	if !ok || to.Info.Kind != Dir || c.hides(to.Path) {
		return true
	}
	if to.Info.Size > maxListed {
		return false
	}
	entries, err := c.v.res.entries(to.Path)
	if err != nil {
		return c.closed(to)
	}
	for _, e := range entries {
		if e.Kind != Dir && e.Kind != Absent {
			continue
		}
		if c.dirs--; c.dirs < 0 || !f(join(to.Path, e.Name)) {
			return false
		}
	}
	return true
}

// found resolves a path. A directory of one's own on the way that may not be
// searched is hidden: the command could change that.
func (c *cleaner) found(path string) (to resolved, ok bool) {
	to, err := c.v.res.resolve(path)
	var denied deniedError
	if errors.As(err, &denied) && denied.uid == c.v.host.UID {
		c.hide(denied.dir)
	}
	return to, err == nil && to.Info.Kind != Absent
}

// hides reports whether a directory is hidden for what may be in it.
func (c *cleaner) hides(path string) bool {
	return slices.ContainsFunc(c.shut, func(dir string) bool { return policy.Within(path, dir) })
}

// hide hides a directory with settings that cannot all be searched.
func (c *cleaner) hide(dir string) {
	to, err := c.v.res.resolve(dir)
	if err != nil || to.Info.Kind != Dir || !shows(c.v.access(to.Path)) || c.hides(to.Path) {
		return
	}
	w := withheld{to.Path, []string{"all of it: it cannot be searched for some"}}
	i, there := c.v.find(to.Path)
	if there && c.wanted(&c.v.mounts[i]) || c.full(to.Path) {
		c.had = append(c.had, w)
		return
	}
	c.shut = append(c.shut, to.Path)
	r := &policy.Rule{Path: to.Path, Access: policy.Block, Layer: policy.Builtin, Source: "it may hold credentials, and cannot be searched for them"}
	m := mount{path: to.Path, info: to.Info, rule: r, rules: policy.Stand{Give: r}, eff: policy.Block}
	if there {
		c.v.mounts[i] = m
		c.v.sort()
	} else {
		c.made = append(c.made, m)
	}
	c.cut = append(c.cut, w)
}

// wanted reports whether a person opened a file or directory by its name.
func (c *cleaner) wanted(m *mount) bool {
	return m.rules.Give != nil && m.rules.Give.Layer != policy.Builtin && !m.rules.Give.Pattern && m.eff == m.rules.Give.Access
}

// full reports whether a path lies in a repository that the command may write as a
// whole.
func (c *cleaner) full(path string) bool {
	return c.g.pol.Git == "full" && c.v.access(path) == policy.Write && slices.ContainsFunc(slices.Concat(c.g.gits, c.g.rest), func(dir string) bool { return policy.Within(path, dir) })
}

// visible finds a file that the command sees and has not been looked at.
func (c *cleaner) visible(name string) (to resolved, ok bool) {
	to, ok = c.found(name)
	if !ok || to.Info.Kind != File || c.seen[to.Path] || !shows(c.v.access(to.Path)) || c.hides(to.Path) {
		return to, false
	}
	c.seen[to.Path] = true
	if i, ok := c.v.find(to.Path); ok {
		m := &c.v.mounts[i]
		return to, !m.copied && !c.wanted(m)
	}
	return to, true
}

// closed reports whether the command cannot open what cannot be read here either.
// What is one's own can be given another mode.
func (c *cleaner) closed(to resolved) bool {
	return to.Info.UID != c.v.host.UID && !c.v.host.FS.Access(to.Path, 'r') && (to.Info.Kind != Dir || !c.v.host.FS.Access(to.Path, 'x'))
}

// git looks at a config file and at what it includes.
func (c *cleaner) git(name string, depth int) {
	to, ok := c.visible(name)
	if !ok {
		return
	}
	if c.left--; c.left < 0 {
		c.show(to, nil, nil, false)
		return
	}
	data, ok := c.g.content(to)
	if !ok {
		if !c.closed(to) {
			c.show(to, nil, nil, false)
		}
		return
	}
	copied, names, err := credentials.Git(data)
	if err != nil || len(names) > 0 || len(copied) != len(data) {
		c.show(to, copied, names, err == nil)
	}
	_ = gitdir.Each(data, func(s gitdir.Setting) {
		if n := s.Name(); (n == "include.path" || n == "includeif.path") && depth < maxIncludes+2 {
			if path := c.g.plainPath(s.Value, policy.Dir(name)); path != "" {
				c.git(path, depth+1)
			}
		}
	})
}

// settings looks at a settings file of a package manager.
func (c *cleaner) settings(name string) {
	to, ok := c.visible(name)
	if !ok {
		return
	}
	data, err := c.v.host.FS.Content(to.Path, to.Info, maxSettings)
	if err != nil {
		if !c.closed(to) {
			c.show(to, nil, nil, false)
		}
		return
	}
	copied, names, err := credentials.Lines(base(name), data)
	if err != nil || len(names) > 0 || len(copied) != len(data) {
		c.show(to, copied, names, err == nil)
	}
}

// hidden shows a project's settings file that is hidden for the credentials that
// it may hold, when it is sure to hold none.
func (c *cleaner) hidden(m *mount) {
	data, err := c.v.host.FS.Content(m.path, m.info, maxSettings)
	if err != nil {
		return
	}
	if copied, _, err := credentials.Lines(base(m.path), data); err == nil {
		m.turn(copied)
		c.v.hidden = slices.DeleteFunc(c.v.hidden, func(path string) bool { return path == m.path })
	}
}

// turn has a mount show a copy.
func (m *mount) turn(data []byte) {
	m.rule = &policy.Rule{Path: m.path, Access: policy.Read, Layer: policy.Builtin, Source: SourceCleaned}
	m.rules, m.eff, m.idle = policy.Stand{Give: m.rule}, policy.Read, false
	m.copied, m.copy = true, data
}

// show puts a copy in the place of a file, or something that cannot be opened,
// when it could not be read as what it is.
func (c *cleaner) show(to resolved, copied []byte, names []string, good bool) {
	w := withheld{to.Path, names}
	if !good {
		w.names = []string{"all of it: it cannot be read as settings"}
	}
	if c.v.bare || c.full(to.Path) {
		if good && len(names) == 0 {
			return // a comment
		}
		c.had = append(c.had, w)
		return
	}
	m := &mount{path: to.Path, info: to.Info}
	if i, ok := c.v.find(to.Path); ok {
		m = &c.v.mounts[i]
	} else {
		c.made = append(c.made, mount{})
		m = &c.made[len(c.made)-1]
		m.path, m.info = to.Path, to.Info
	}
	if m.turn(copied); !good {
		m.rule.Access, m.eff, m.copied = policy.Block, policy.Block, false
		m.rule.Source = "it may hold credentials, and cannot be read as settings"
	}
	if len(w.names) > 0 {
		c.cut = append(c.cut, w)
	}
}

// tell says what was left out, or could not be, once for all files.
func (c *cleaner) tell() error {
	if len(c.cut) > 0 {
		c.v.once = append(c.v.once, "shown without credentials: "+c.list(c.cut)+"; -r FILE shows one whole")
	}
	if len(c.had) == 0 {
		return nil
	}
	const remedy = "better kept by a credential helper or in a variable (in CI persist-credentials: false)"
	text := "the command can read the credentials in " + c.list(c.had)
	if !c.v.bare {
		c.v.loose = append(c.v.loose, text+", which git = full lets it write: "+remedy)
		return nil
	}
	text += ", of which this engine can show no copy without them"
	if strictWalls(c.g.pol) {
		return &Error{StatusFailed, text, remedy}
	}
	c.v.loose = append(c.v.loose, text+": "+remedy)
	return nil
}

// list names files with the settings in them.
func (c *cleaner) list(files []withheld) string {
	var out []string
	for i, w := range files {
		if i == maxNamed {
			out = append(out, strconv.Itoa(len(files)-i)+" more files")
			break
		}
		names := w.names
		more := max(len(names)-maxNamed, 0)
		names = slices.Clone(names[:len(names)-more])
		for i := range names {
			names[i] = policy.Plain(names[i])
		}
		if more > 0 {
			names = append(names, strconv.Itoa(more)+" more")
		}
		path := w.path
		if policy.Within(path, c.v.host.CWD) {
			path = path[len(c.v.host.CWD)+1:]
		} else if homes := c.v.host.Homes; len(homes) > 0 && policy.Within(path, homes[0]) {
			path = "~" + path[len(homes[0]):]
		}
		out = append(out, policy.Plain(path)+" ("+strings.Join(names, ", ")+")")
	}
	return strings.Join(out, ", ")
}
