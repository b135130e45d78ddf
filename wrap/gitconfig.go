package wrap

import (
	"strings"

	"github.com/sbx-sandbox/sbx/gitdir"
	"github.com/sbx-sandbox/sbx/policy"
)

const (
	maxGitConfig = 1 << 20 // bytes of a config file that are read
	maxIncludes  = 8       // files that include one another
)

// configText is the content of a config file, nil when it is none that can be
// read. A link is followed, as git does.
func (g *gitGuard) configText(file string) []byte {
	to, err := g.res.resolve(file)
	if err != nil || to.Info.Kind != File {
		return nil
	}
	data, err := g.host.FS.Head(to.Path, maxGitConfig)
	if err != nil {
		return nil
	}
	if len(data) == maxGitConfig {
		g.gaps = append(g.gaps, policy.Plain(file)+" is too large to be searched for programs that git runs")
	}
	return data
}

// config protects what a config file makes git run or read in a writable tree:
// the directory of hooks, the files it includes, scripts. root is the work
// tree, from which git starts programs.
func (g *gitGuard) config(text []byte, file, root string, depth int) {
	_ = gitdir.Each(text, func(s gitdir.Setting) {
		switch s.Name() {
		case "core.hookspath":
			g.hooks(g.expand(s.Value, root), root)
		case "include.path", "includeif.path":
			if path := g.expand(s.Value, policy.Dir(file)); path != "" {
				g.named(path)
				if depth < maxIncludes && !g.seen(path) {
					g.config(g.configText(path), path, root, depth+1)
				}
			}
		default:
			if gitdir.Runs(&s) {
				for _, w := range gitdir.Words(s.Value) {
					g.program(w, root)
				}
			}
		}
	})
}

// expand makes a path of a config file absolute, "" for one that cannot be.
func (g *gitGuard) expand(path, dir string) string {
	switch rest, home := strings.CutPrefix(path, "~/"); {
	case home && len(g.host.Homes) > 0:
		return policy.Clean(join(g.host.Homes[0], rest))
	case path == "" || path[0] == '~' || path[0] == '%' || path[0] != '/' && dir == "":
		return ""
	}
	return absolute(path, dir)
}

// named protects a file that lies in a writable tree, or would if it existed.
func (g *gitGuard) named(path string) {
	if g.inTrees(path) && !policy.Within(g.host.CWD, path) && !g.seen("named "+path) {
		g.add(path, policy.Protect)
	}
}

// hooks protects the directory that core.hooksPath names. The work tree itself
// stays writable: there each hook is protected by its name.
func (g *gitGuard) hooks(dir, root string) {
	if dir == "" || root == "" {
		return
	}
	if !policy.Within(g.host.CWD, dir) {
		g.named(dir)
		return
	}
	for _, name := range gitdir.Hooks {
		g.named(join(dir, name))
	}
}

// program protects a script of a writable tree that git runs. Which words of a
// command line are paths only their existence tells.
func (g *gitGuard) program(word, root string) {
	if word == "" || word[0] == '-' || !strings.ContainsAny(word, "./") {
		return
	}
	path := g.expand(word, root)
	if path == "" || !g.inTrees(path) {
		return
	}
	if info, err := g.host.FS.Lstat(path); strings.Contains(word, "/") && err == nil && info.Kind == Absent || err == nil && info.Kind == File {
		g.named(path)
	}
}

// users reads the configuration of the person, which is out of the command's
// reach and so may open things: hooks and settings of one's own are there
// inside, read-only. What it names in a writable tree is protected.
func (g *gitGuard) users() {
	for i := range g.pol.Rules {
		r := &g.pol.Rules[i]
		if r.Access != policy.Read || r.Layer != policy.Builtin {
			continue
		}
		if b := base(r.Path); b == ".gitconfig" || b == "config" && base(policy.Dir(r.Path)) == "git" {
			g.user(r.Path, 0)
		}
	}
}

func (g *gitGuard) user(file string, depth int) {
	if depth > maxIncludes || g.seen(file) {
		return
	}
	_ = gitdir.Each(g.configText(file), func(s gitdir.Setting) {
		switch s.Name() {
		case "core.hookspath":
			if path := s.Value; path != "" && path[0] != '/' && path[0] != '~' {
				for _, dir := range g.trees { // relative to any work tree
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
				g.user(path, depth+1)
			}
		case "core.excludesfile", "core.attributesfile", "commit.template", "gpg.allowedsignersfile":
			g.show(g.expand(s.Value, ""), file)
		default:
			if gitdir.Runs(&s) {
				for _, w := range gitdir.Words(s.Value) {
					for _, dir := range g.trees {
						g.program(w, dir)
					}
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
				g.rules = append(g.rules, policy.Rule{Path: path, Access: policy.Read, Layer: policy.Builtin, Source: policy.Plain(file)})
			}
		}
	}
}
