// SPDX-License-Identifier: Apache-2.0

package view

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

const (
	maxGitConfig = 1 << 20 // bytes of a config file that are read
	maxIncludes  = 8       // files that include one another
)

// configFile is what was read of a config file.
type configFile struct {
	data  []byte
	whole bool
}

// configText is the content of a config file, nil when it is none that can be
// read. A link is followed, as git does.
func (g *gitGuard) configText(file string) []byte {
	to, err := g.res.Resolve(file)
	if err != nil || to.Info.Kind != host.File {
		return nil
	}
	data, whole := g.content(to)
	if !whole && len(data) == maxGitConfig {
		g.Gaps = appendNew(g.Gaps, text.Plain(file)+" is too large to be searched for programs that git runs")
	}
	return data
}

// content is what is in a config file, which is read once: its beginning when that
// is not possible as a whole.
func (g *gitGuard) content(to host.Resolved) (data []byte, whole bool) {
	c, ok := g.texts[to.Path]
	if !ok {
		data, err := g.host.FS.Content(to.Path, to.Info, maxGitConfig-1)
		if c = (configFile{data, err == nil}); err != nil {
			c.data, _ = g.host.FS.Head(to.Path, maxGitConfig)
		}
		g.texts[to.Path] = c
	}
	return c.data, c.whole
}

// config protects what a config file makes git run or read in a writable tree:
// the directory of hooks, the files it includes, scripts. root is the work
// tree, from which git starts programs. What is named by one that opens is shown.
func (g *gitGuard) config(file, root string, depth int, opens bool) {
	above := root // a person's own templates lie in no work tree
	if opens {
		above = ""
	}
	show := func(path, dir string) {
		if opens {
			g.show(g.expand(path, dir), file)
		}
	}
	_ = gitdir.Each(g.configText(file), func(s gitdir.Setting) {
		switch s.Name() {
		case "core.hookspath":
			g.hooks(g.expand(s.Value, root), root)
			show(s.Value, "")
		case "init.templatedir":
			g.template(g.expand(s.Value, above))
		case "remote.url", "remote.pushurl", "branch.remote", "branch.pushremote", "remote.pushdefault":
			if !opens {
				g.remote(s.Value, root)
			}
		case "include.path", "includeif.path":
			show(s.Value, policy.Dir(file))
			path := g.expand(s.Value, policy.Dir(file))
			if g.named(path); depth < maxIncludes && path != "" && !g.seen("included "+path+"\x00"+root) {
				g.config(path, root, depth+1, opens && g.personal(path))
			}
		case "core.excludesfile", "core.attributesfile", "commit.template", "gpg.allowedsignersfile":
			show(s.Value, "")
		default:
			if gitdir.Runs(&s) {
				g.programs(s.Value, root)
			}
		}
	})
}

// expand makes a path of a config file absolute, "" for one that cannot be, and
// holds in place what the way there goes through.
func (g *gitGuard) expand(path, dir string) string {
	out := g.plainPath(path, dir)
	if out != "" && path[0] != '~' {
		g.upward(path, dir)
	}
	return out
}

// plainPath is the same, and holds nothing.
func (g *gitGuard) plainPath(path, dir string) string {
	switch rest, home := strings.CutPrefix(path, "~/"); {
	case home && len(g.host.Homes) > 0:
		return filepath.Clean(host.Join(g.host.Homes[0], rest))
	case path == "" || path[0] == '~' || path[0] == '%' || path[0] != '/' && dir == "":
		return ""
	}
	return absolute(path, dir)
}

// upward holds the directories in place from which a ".." in a path goes up: a
// link in place of one would lead git elsewhere.
func (g *gitGuard) upward(path, dir string) {
	if path[0] == '/' {
		dir = "/"
	}
	for elem, rest := host.Cut(path); elem != "" || rest != ""; elem, rest = host.Cut(rest) {
		switch elem {
		case "", ".":
		case "..":
			if g.inTrees(dir) && !g.seen("up "+dir) {
				if to, err := g.res.Resolve(dir); err == nil && to.Info.Kind == host.Dir {
					g.add(dir, policy.Write)
				} else {
					g.appears(dir)
				}
			}
			dir = policy.Dir(dir)
		default:
			dir = host.Join(dir, elem)
		}
	}
}

// named protects a file that lies in a writable tree, or would if it existed.
func (g *gitGuard) named(path string) {
	switch {
	case !g.inTrees(path) || policy.Within(g.host.CWD, path) || g.seen("named "+path):
	case g.tells:
		g.seenAs(path)
	default:
		g.add(path, policy.Protect)
	}
}

// namedAll protects a file, and what it leads to if it is a link.
func (g *gitGuard) namedAll(path string) {
	g.named(path)
	if to, err := g.res.Resolve(path); err == nil && to.Info.Kind != host.Absent {
		g.named(to.Path)
	}
}

// hooks protects the directory that core.hooksPath names.
func (g *gitGuard) hooks(dir, root string) {
	if dir != "" && root != "" && g.directory(dir, root, gitdir.Hooks) {
		g.hookLinks(dir)
		if to, err := g.res.Resolve(dir); err == nil && to.Info.Kind == host.Absent && g.inTrees(to.Path) {
			g.NoHooks = appendNew(g.NoHooks, to.Path)
		}
	}
}

// template protects the directory that init.templateDir names: `git init` and `git
// clone` copy what is in it.
func (g *gitGuard) template(dir string) {
	if dir != "" {
		g.directory(dir, g.host.CWD, gitdir.Executed)
		g.hookLinks(host.Join(dir, "hooks"))
	}
}

// directory protects a directory that settings name, and reports whether that is
// possible as a whole. The work tree itself stays writable: there each of the names
// is protected.
func (g *gitGuard) directory(dir, root string, names []string) bool {
	if !policy.Within(g.host.CWD, dir) && !policy.Within(root, dir) {
		g.named(dir)
		return true
	}
	for _, name := range names {
		g.named(host.Join(dir, name))
	}
	return false
}

// remote guards a repository in a writable tree that git starts a program in when
// it fetches or pushes.
func (g *gitGuard) remote(url, root string) {
	path := strings.TrimPrefix(url, "file://")
	if colon := strings.IndexByte(path, ':'); colon >= 0 && !strings.Contains(path[:colon], "/") {
		return
	}
	if path = g.plainPath(path, root); path == "" || !g.inTrees(path) {
		return
	}
	for _, end := range []string{"", ".git"} {
		to, err := g.res.Resolve(path + end)
		if err != nil || to.Info.Kind != host.Dir || !g.inTrees(to.Path) || slices.Contains(g.roots(), to.Path) ||
			g.host.OnRemote(to.Path) {
			continue
		}
		if git := g.exists(host.Join(to.Path, ".git")); git || g.bare(to.Path) {
			g.inside(to.Path, git)
		}
	}
}

// hookLinks protects what the links in a directory of hooks lead to.
func (g *gitGuard) hookLinks(dir string) {
	to, err := g.res.Resolve(dir)
	if err != nil || to.Info.Kind != host.Dir || to.Info.Size > maxListed {
		return
	}
	dir = to.Path
	entries, err := g.res.Entries(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Kind == host.Link || e.Kind == host.Absent {
			g.namedAll(host.Join(dir, e.Name))
		}
	}
}

// programs looks at the words of a command line. One without a dot or a slash is
// a file only where something that runs files stands before it.
func (g *gitGuard) programs(line, root string) {
	if len(g.host.Homes) > 0 && strings.Contains(line, "HOME") {
		home := g.host.Homes[0]
		line = strings.NewReplacer(`"$HOME"`, home, `"${HOME}"`, home, "${HOME}", home, "$HOME", home).Replace(line)
	}
	last := ""
	for _, w := range gitdir.Words(line) {
		switch {
		case !strings.Contains(w, "/"):
			g.found(w)
		case w[0] == '/' && strings.ContainsAny(line, "$`"):
			g.program(w[1:], root) // perhaps behind "$(git rev-parse --show-toplevel)"
		}
		if strings.ContainsAny(w, "./") || slices.Contains(runners, host.Base(last)) {
			g.program(w, root)
		}
		last = w
	}
}

// found looks for a word of a command line in the directories of PATH that the
// command can write.
func (g *gitGuard) found(word string) {
	for _, dir := range g.pathDirs() {
		path := host.Join(dir, word)
		switch {
		case strings.Trim(word, wordChars) != "" || word[0] == '-' || g.seen("found "+path):
		case g.exists(path):
			g.program(word, dir)
		default:
			g.appears(path)
		}
	}
}

// wordChars are those of a program's name.
const wordChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+"

// runners are programs whose first argument is a script.
var runners = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "node", "deno", "bun", "perl",
	"ruby", "php", "lua", "source", "exec", "env"}

// program protects a script of a writable tree that git runs. Which words of a
// command line are paths only their existence tells.
func (g *gitGuard) program(word, root string) {
	if word == "" || word[0] == '-' {
		return
	}
	if path := g.plainPath(word, root); path == "" || !g.inTrees(path) || g.seen("program "+word+"\x00"+path) {
		return
	}
	left := &g.words
	if !slices.Contains(g.trees, root) {
		left = &g.more
	}
	if *left--; *left < 0 {
		g.Notes = appendNew(g.Notes, "the settings of git name too many programs to look for each in the work "+
			"trees: some can be changed")
		return
	}
	path := g.expand(word, root)
	if info, err := g.res.Lstat(path); strings.Contains(word, "/") && err == nil && info.Kind == host.Absent ||
		err == nil && (info.Kind == host.File || info.Kind == host.Link) {
		g.namedAll(path)
	}
}

// users reads the configuration of the person and of the system. What it names in
// a writable tree is protected.
func (g *gitGuard) users() {
	g.settingsFiles(func(file string, opens bool) {
		if g.seen(file) {
			return
		}
		opens = g.personal(file) && opens
		for _, dir := range g.roots() {
			g.config(file, dir, 0, opens)
		}
	})
	if path, _ := host.LookupEnv(g.host.Environ, "GIT_TEMPLATE_DIR"); strings.HasPrefix(path, "/") {
		g.template(filepath.Clean(path))
	}
}

// settingsFiles calls f for the config files of git that are no repository's.
// Those that a built-in profile shows may open things: hooks and settings of one's
// own are there inside, read-only.
func (g *gitGuard) settingsFiles(f func(file string, opens bool)) {
	add := func(file string) { f(file, g.pol.Names(file, policy.Read, policy.Builtin)) }
	for _, home := range g.host.Homes {
		for _, name := range []string{".gitconfig", ".config/git/config", ".linuxbrew/etc/gitconfig",
			".nix-profile/etc/gitconfig"} {
			add(host.Join(home, name))
		}
	}
	for i := range g.pol.Rules {
		if r := &g.pol.Rules[i]; IsGrant(r) && (host.Base(r.Path) == ".gitconfig" ||
			host.Base(r.Path) == "config" && host.Base(policy.Dir(r.Path)) == "git") {
			add(r.Path)
		}
	}
	for _, path := range []string{"/etc/gitconfig", "/usr/local/etc/gitconfig",
		"/home/linuxbrew/.linuxbrew/etc/gitconfig", "/opt/homebrew/etc/gitconfig"} {
		f(path, false)
	}
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG"} {
		if path, _ := host.LookupEnv(g.host.Environ, name); path != "" {
			f(absolute(path, g.host.CWD), false)
		}
	}
}

// personal reports whether a config file is out of the command's reach. One that
// the command may have written is protected, with the links on the way to it, which
// are watched, since a link cannot be held in place.
func (g *gitGuard) personal(file string) bool {
	to, err := g.res.Resolve(file)
	at := []string{to.Path}
	for _, l := range to.Links {
		at = append(at, l.Path)
	}
	if err != nil || !slices.ContainsFunc(at, g.inTrees) {
		return err == nil
	}
	for _, path := range at {
		g.named(path)
	}
	return false
}

// show makes a file or directory readable that the person's own configuration
// names, when it lies in the home directory and holds nothing of the run.
func (g *gitGuard) show(path, file string) {
	if path == "" || policy.Within(g.host.CWD, path) || g.inTrees(path) || g.seen("shown "+path) {
		return
	}
	for _, home := range g.host.Homes {
		if path != home && policy.Within(path, home) {
			if hidden, _ := hides(g.pol, path, nil); !hidden {
				g.rules = append(g.rules, policy.Rule{Path: path, Access: policy.Read, Layer: policy.Builtin,
					Source: text.Plain(file)})
			}
		}
	}
}
