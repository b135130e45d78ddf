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

// configText is the content of a config file, nil when it is none that can be
// read. A link is followed, as git does.
func (g *gitGuard) configText(file string) []byte {
	to, err := g.res.Resolve(file)
	if err != nil || to.Info.Kind != host.File {
		return nil
	}
	if data, ok := g.content(to); ok {
		return data
	}
	data, err := g.host.FS.Head(to.Path, maxGitConfig)
	if err != nil {
		return nil
	}
	if len(data) == maxGitConfig {
		g.Gaps = append(g.Gaps, text.Plain(file)+" is too large to be searched for programs that git runs")
	}
	return data
}

// content is what is in a config file, which is read once; ok is false when that
// is not possible as a whole.
func (g *gitGuard) content(to host.Resolved) (data []byte, ok bool) {
	if data, ok := g.texts[to.Path]; ok {
		return data, data != nil
	}
	data, err := g.host.FS.Content(to.Path, to.Info, maxGitConfig-1)
	switch {
	case err != nil:
		data = nil
	case data == nil:
		data = []byte{}
	}
	if g.texts == nil {
		g.texts = make(map[string][]byte, 4)
	}
	g.texts[to.Path] = data
	return data, data != nil
}

// config protects what a config file makes git run or read in a writable tree:
// the directory of hooks, the files it includes, scripts. root is the work
// tree, from which git starts programs.
func (g *gitGuard) config(text []byte, file, root string, depth int) {
	_ = gitdir.Each(text, func(s gitdir.Setting) {
		switch s.Name() {
		case "core.hookspath":
			g.hooks(g.expand(s.Value, root), root)
		case "init.templatedir":
			g.template(g.expand(s.Value, root))
		case "remote.url", "remote.pushurl", "branch.remote", "branch.pushremote", "remote.pushdefault":
			g.remote(s.Value, root)
		case "include.path", "includeif.path":
			if path := g.expand(s.Value, policy.Dir(file)); path != "" {
				g.named(path)
				if depth < maxIncludes && !g.seen("included "+path+"\x00"+root) {
					g.config(g.configText(path), path, root, depth+1)
				}
			}
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

// hooks protects the directory that core.hooksPath names. The work tree itself
// stays writable: there each hook is protected by its name.
func (g *gitGuard) hooks(dir, root string) {
	if dir == "" || root == "" {
		return
	}
	if !policy.Within(g.host.CWD, dir) && !policy.Within(root, dir) {
		g.named(dir)
		g.hookLinks(dir)
		return
	}
	for _, name := range gitdir.Hooks {
		g.named(host.Join(dir, name))
	}
}

// template protects the directory that init.templateDir names: `git init` and `git
// clone` copy what is in it.
func (g *gitGuard) template(dir string) {
	if dir == "" {
		return
	}
	if !policy.Within(g.host.CWD, dir) {
		g.named(dir)
	} else {
		for _, name := range gitdir.Executed {
			g.named(host.Join(dir, name))
		}
	}
	g.hookLinks(host.Join(dir, "hooks"))
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
		g.note("the settings of git name too many programs to look for each in the work trees: some can be changed")
		return
	}
	path := g.expand(word, root)
	if info, err := g.host.FS.Lstat(path); strings.Contains(word, "/") && err == nil && info.Kind == host.Absent ||
		err == nil && (info.Kind == host.File || info.Kind == host.Link) {
		g.namedAll(path)
	}
}

// users reads the configuration of the person, which is out of the command's
// reach and so may open things: hooks and settings of one's own are there
// inside, read-only. What it names in a writable tree is protected. The last files
// open nothing: a profile does not show them, or a variable names them.
func (g *gitGuard) users() {
	for i := range g.pol.Rules {
		r := &g.pol.Rules[i]
		if r.Access != policy.Read || r.Layer != policy.Builtin {
			continue
		}
		if b := host.Base(r.Path); b == ".gitconfig" || b == "config" && host.Base(policy.Dir(r.Path)) == "git" {
			g.user(r.Path, 0, true)
		}
	}
	for _, home := range g.host.Homes {
		g.user(host.Join(home, ".gitconfig"), 0, false)
		g.user(host.Join(home, ".config/git/config"), 0, false)
	}
	g.user("/etc/gitconfig", 0, false)
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} {
		if path, _ := host.LookupEnv(g.host.Environ, name); strings.HasPrefix(path, "/") {
			g.user(filepath.Clean(path), 0, false)
		}
	}
	if path, _ := host.LookupEnv(g.host.Environ, "GIT_TEMPLATE_DIR"); strings.HasPrefix(path, "/") {
		g.template(filepath.Clean(path))
	}
}

func (g *gitGuard) user(file string, depth int, opens bool) {
	if depth > maxIncludes || g.seen(file) {
		return
	}
	text := g.configText(file)
	to, err := g.res.Resolve(file)
	if err != nil {
		return
	}
	if !opens || g.inTrees(to.Path) || slices.ContainsFunc(to.Links,
		func(l host.Hop) bool { return g.inTrees(l.Path) }) {
		// The command may have written it: it opens nothing.
		g.named(to.Path)
		for _, l := range to.Links {
			g.named(l.Path) // watched, since a link cannot be held in place
		}
		for _, dir := range g.roots() {
			g.config(text, file, dir, depth)
		}
		return
	}
	_ = gitdir.Each(text, func(s gitdir.Setting) {
		switch s.Name() {
		case "core.hookspath":
			if path := s.Value; path != "" && path[0] != '/' && path[0] != '~' {
				for _, dir := range g.roots() { // relative to any work tree
					g.hooks(g.expand(path, dir), dir)
				}
				return
			}
			path := g.expand(s.Value, "")
			g.hooks(path, g.host.CWD)
			g.show(path, file)
		case "include.path", "includeif.path":
			path := g.expand(s.Value, policy.Dir(file))
			g.show(path, file)
			if path != "" {
				g.named(path)
				g.user(path, depth+1, true)
			}
		case "init.templatedir":
			g.template(g.expand(s.Value, ""))
		case "core.excludesfile", "core.attributesfile", "commit.template", "gpg.allowedsignersfile":
			g.show(g.expand(s.Value, ""), file)
		default:
			if gitdir.Runs(&s) {
				for _, dir := range g.roots() {
					g.programs(s.Value, dir)
				}
			}
		}
	})
}

// show makes a file or directory readable that the person's own configuration
// names, when it lies in the home directory and holds nothing of the run.
func (g *gitGuard) show(path, file string) {
	if path == "" || policy.Within(g.host.CWD, path) || g.inTrees(path) || g.seen("shown "+path) {
		return
	}
	for _, home := range g.host.Homes {
		if path != home && policy.Within(path, home) {
			if hidden, _ := hides(g.pol, path); !hidden {
				g.rules = append(g.rules, policy.Rule{Path: path, Access: policy.Read, Layer: policy.Builtin,
					Source: text.Plain(file)})
			}
		}
	}
}
