// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/tripwire"
)

// gitGuard collects the rules for the repositories of a run, by the policy's
// git setting:
//
//	none    git directories are read-only
//	commit  they are writable but for what git or the host executes from them
//	full    they are writable
//
// What a repository's files say is its author's word. It can make something
// read-only; it opens a place outside of the work tree only when that place
// says the same of the work tree, see [gitGuard.pointer].
type gitGuard struct {
	pol   *policy.Policy
	host  *host.Host
	res   *host.Resolver
	trees []string // the writable directories, canonical
	works []string // the work trees met in them
	path  []string // see pathDirs
	tells bool     // what settings name is watched in place of protected
	rules []policy.Rule
	Watch []tripwire.Watch
	// NoHooks are directories of hooks that settings name and that do not exist.
	NoHooks []string
	Linked  []string // the .git files of linked work trees, wherever they are
	Gaps    []string
	Notes   []string        // gaps that a person should hear of
	done    map[string]bool // git directories and files looked at
	left    int
	inner   int                   // nested repositories that may still be guarded one by one
	pairs   int                   // config files and work trees that share them
	words   int                   // of commands in settings that may still be looked for
	more    int                   // the same, in work trees that a command can make
	gits    []string              // git directories, see clean
	rest    []string              // those that are not guarded
	large   []string              // directories that are not searched, see nested
	texts   map[string]configFile // see content
}

const (
	// maxGitDirs bounds how many names in the directories of submodules and work
	// trees are looked at; what lies behind is protected as a whole.
	maxGitDirs = 2048
	// maxNested bounds the repositories beside or below the work tree's own that
	// get mounts of their own; up to maxPlain the .git of each further one is
	// read-only. Mounts cost quadratically.
	maxNested = 24
	maxPlain  = 96
	// maxTrees bounds the work trees and the submodules in one directory that get
	// mounts of their own, maxDepth how deep submodules lie in one another, their
	// names with slashes included.
	maxTrees = 64
	maxDepth = 12
	// maxPrograms bounds the words of git's settings that are looked for as files,
	// in each work tree again.
	maxPrograms = 1024
	// maxWorks bounds the work trees, and the config files and work trees that are
	// looked at together.
	maxWorks = 128
	// maxListed bounds, in bytes as the file system counts, a directory that is
	// searched for repositories. More costs more than the rest of the plan.
	maxListed = 2 << 20
)

// GuardGit returns the policy with the rules for git.
func GuardGit(pol *policy.Policy, h *host.Host, root string, res *host.Resolver) (*policy.Policy, *gitGuard) {
	g := &gitGuard{pol: pol, host: h, res: res, left: maxGitDirs, inner: maxNested, words: maxPrograms,
		more: maxPrograms, done: make(map[string]bool, 8), texts: make(map[string]configFile, 4)}
	g.trees = g.opened(policy.Write)
	for _, dir := range g.trees { // of which much is asked
		res.List(dir)
	}
	switch a := g.pol.Access(h.CWD); {
	case a == policy.Write && policy.Within(h.CWD, root):
		level := policy.Write
		if g.pol.Git == "none" {
			level = policy.Read
		}
		g.worktree(root, level)
		if root != h.CWD {
			g.worktree(h.CWD, policy.Unseen)
		}
	case Shows(a):
		g.worktree(root, policy.Read)
	}
	searched := slices.Clone(g.trees)
	for _, dir := range pol.Dirs {
		if g.inTrees(dir) {
			searched = appendNew(searched, dir)
		}
	}
	for _, dir := range searched {
		if dir != root && dir != h.CWD {
			g.worktree(dir, policy.Unseen)
		}
	}
	for _, dir := range searched {
		g.nested(dir)
	}
	if n := min(-g.inner, maxPlain-maxNested); n > 0 {
		g.Gaps = append(g.Gaps, "there are more than "+strconv.Itoa(maxNested)+" repositories here: git is "+
			"read-only in "+strconv.Itoa(n)+" of them (cd into one, or name it with -w)")
	}
	if n := maxNested - maxPlain - g.inner; n > 0 {
		g.Notes = append(g.Notes, strconv.Itoa(n)+" of the repositories here are too many to be guarded: what git "+
			"runs from them can be changed")
	}
	if len(g.trees) > 0 {
		g.users()
		g.foremost()
	}
	return withRules(pol, g.rules), g
}

// opened are the directories that a person opened for reading or writing, of the
// latter the working directory, too. The caches that built-in profiles open are no
// work trees.
func (g *gitGuard) opened(a policy.Access) []string {
	var out []string
	for i := range g.pol.Rules {
		r := &g.pol.Rules[i]
		if r.Access != a || r.Pattern || r.Layer == policy.Builtin && !(a == policy.Write && r.OfCWD) {
			continue
		}
		to, err := g.res.Resolve(r.Path)
		if err == nil && to.Info.Kind == host.Dir && (a != policy.Write || g.pol.Access(to.Path) == a) &&
			!slices.Contains(out, to.Path) {
			out = append(out, to.Path)
		}
	}
	return out
}

// FromGit reports whether a rule is about what git runs or obeys.
func FromGit(r *policy.Rule) bool { return strings.HasPrefix(r.Source, "git = ") }

func (g *gitGuard) add(path string, a policy.Access) {
	g.rules = append(g.rules, policy.Rule{Path: path, Access: a, Layer: policy.Builtin, Source: "git = " + g.pol.Git})
}

// worktree guards the repository at the top of a directory. level is what its git
// directory is opened for, wherever it is; Unseen opens nothing.
func (g *gitGuard) worktree(dir string, level policy.Access) {
	git := host.Join(dir, ".git")
	info, err := g.res.Lstat(git)
	g.unbare(dir)
	g.hookLinks(host.Join(dir, ".husky"))
	switch {
	case err != nil || info.Kind == host.Absent: // which the tripwire watches
		g.add(git, policy.Protect)
	case info.Kind == host.File:
		g.add(git, policy.Protect)
		g.pointer(dir, git, info, level)
	case info.Kind == host.Dir && level == policy.Write && info.UID == g.host.UID:
		g.add(git, policy.Write)
		g.guard(git, dir)
	case info.Kind == host.Dir && level == policy.Unseen && g.pol.Git != "none":
		g.guard(git, dir)
	default:
		g.gits = append(g.gits, git)
		g.add(git, policy.Protect)
	}
}

// bare reports whether a directory is a git directory itself: git, started in
// it, obeys its config.
func (g *gitGuard) bare(dir string) bool {
	return g.exists(host.Join(dir, "HEAD")) && (g.exists(host.Join(dir, "commondir")) ||
		g.exists(host.Join(dir, "objects")) && g.exists(host.Join(dir, "refs")))
}

// hasObjects reports whether a directory in .git/modules is a git directory.
func (g *gitGuard) hasObjects(dir string) bool {
	return g.exists(host.Join(dir, "HEAD")) && (g.exists(host.Join(dir, "objects")) ||
		g.exists(host.Join(dir, "commondir")))
}

// unbare watches for a work tree that becomes a git directory itself: git takes
// it for one once its .git is none any more, and that the command can bring about.
func (g *gitGuard) unbare(dir string) {
	if g.bare(dir) {
		g.guard(dir, "")
		return
	}
	if !g.exists(host.Join(dir, "HEAD")) {
		g.appears(host.Join(dir, "HEAD"))
		return
	}
	g.appears(host.Join(dir, "commondir"))
	for _, name := range []string{"objects", "refs"} {
		if !g.exists(host.Join(dir, name)) {
			g.appears(host.Join(dir, name))
			return
		}
	}
}

// appears watches for a name that does not exist.
func (g *gitGuard) appears(path string) {
	g.Watch = append(g.Watch, tripwire.Watch{Kind: tripwire.Name, Path: path})
}

// nested guards the repositories one level down, without a walk through the
// tree: a prompt, an editor or `git status` above looks into them.
func (g *gitGuard) nested(dir string) {
	to, err := g.res.Resolve(dir)
	if err != nil || to.Info.Kind != host.Dir {
		return
	}
	if to.Info.Size > maxListed {
		g.Notes = append(g.Notes, text.Plain(dir)+" has too many entries to be searched: repositories in it are "+
			"not guarded, and names that tools obey by themselves are not watched")
		g.large = append(g.large, to.Path)
		return
	}
	entries, err := g.res.Entries(to.Path)
	if err != nil {
		return // the command cannot read it either, or the plan fails elsewhere
	}
	g.obeyed(to.Path, entries)
	var found []string
	remote := func(path string) {
		g.Notes = append(g.Notes, text.Plain(path)+" is on a FUSE or network file system"+g.host.MountType(path)+
			" and is not looked at: a repository there is neither protected nor watched")
	}
	g.below(to.Path, entries, remote, func(name string, git, head bool) {
		if !git && !head {
			return
		}
		path := host.Join(to.Path, name)
		sub, err := g.res.Resolve(path)
		if err != nil || sub.Info.Kind != host.Dir || !git && !(head && g.bare(sub.Path)) {
			return
		}
		// A link is a way to a repository, too, wherever that is.
		found = append(found, name)
		if sub.Path != path {
			g.seenAs(path) // a repository in its place has the same name
		}
		if sub.Path == path || g.inTrees(sub.Path) {
			g.inside(sub.Path, git)
		}
	})
	g.Watch = append(g.Watch, tripwire.Watch{Kind: tripwire.Nested, Path: to.Path, State: strings.Join(found, "/")})
}

// below calls f for each entry of a directory that may be a directory or a link to
// one, sorted (of other files there may be very many), with whether a .git and a
// HEAD exist in it. remote is called for one that some other machine or program
// would have to be asked about.
func (g *gitGuard) below(dir string, entries []host.Entry, remote func(path string),
	f func(name string, git, head bool)) {
	var names []string
	for _, e := range entries {
		if (e.Kind == host.Dir || e.Kind == host.Link || e.Kind == host.Absent) && e.Name != ".git" {
			names = append(names, e.Name)
		}
	}
	if g.host.AnyRemote() {
		names = slices.DeleteFunc(names, func(name string) bool {
			apart := g.host.OnRemote(host.Join(dir, name))
			if apart {
				remote(host.Join(dir, name))
			}
			return apart
		})
	}
	paths := make([]string, 0, 2*len(names))
	for _, n := range names {
		paths = append(paths, n+"/.git", n+"/HEAD")
	}
	there := g.host.Exist(dir, paths)
	for i, name := range names {
		f(name, there[2*i], there[2*i+1])
	}
}

// inside guards a repository in a writable directory, with mounts of its own as
// long as there are few. git tells whether it has a .git, or is bare.
func (g *gitGuard) inside(dir string, git bool) {
	at := dir
	if git {
		at = host.Join(dir, ".git")
	}
	switch {
	case g.done[at]:
	case g.inner > 0:
		g.worktree(dir, policy.Unseen)
	case g.inner > maxNested-maxPlain:
		g.gits = append(g.gits, at)
		g.add(at, policy.Protect)
	default:
		g.rest = append(g.rest, at)
	}
	g.inner--
}

// foremost watches for programs in a writable tree that the caller's PATH finds
// before the system's: in an activated environment, or a directory of scripts.
func (g *gitGuard) foremost() {
	for _, dir := range g.pathDirs() {
		for _, name := range habitual {
			if path := host.Join(dir, name); !g.exists(path) {
				g.appears(path)
			}
		}
	}
}

// pathDirs are the directories of PATH in a writable tree, those that do not exist
// yet included.
func (g *gitGuard) pathDirs() []string {
	if g.path == nil {
		g.path = []string{}
		for _, dir := range strings.Split(g.host.Path(), ":") {
			if dir == "" {
				dir = "."
			}
			to, err := g.res.Resolve(absolute(dir, g.host.CWD))
			if err == nil && (to.Info.Kind == host.Dir || to.Info.Kind == host.Absent) &&
				(g.inTrees(to.Path) || slices.Contains(g.trees, to.Path)) && !slices.Contains(g.path, to.Path) {
				g.path = append(g.path, to.Path)
			}
		}
	}
	return g.path
}

// habitual are programs that prompts and editors start by themselves, or that
// everybody types.
var habitual = []string{
	"atuin", "awk", "basename", "bash", "bat", "cat", "chmod", "clear", "code", "cp", "curl", "cut", "date", "delta",
	"df", "diff", "direnv", "dirname", "docker", "du", "echo", "emacs", "emacsclient", "env", "expr", "eza", "file",
	"find", "fish", "fzf", "gh", "git", "git-lfs", "gpg", "grep", "head", "hg", "hostname", "id", "jq", "kill",
	"kubectl", "less", "ln", "ls", "make", "man", "mkdir", "mktemp", "mv", "nano", "nvim", "oh-my-posh", "pgrep",
	"printf", "ps", "pwd", "readlink", "realpath", "rg", "rm", "sbx", "sbx-sh", "sed", "sh", "sleep", "sort", "ssh",
	"ssh-add", "starship", "stat", "stty", "su", "sudo", "tail", "tar", "tee", "test", "tig", "tmux", "touch", "tput",
	"tr", "tty", "uname", "uniq", "vi", "vim", "wc", "wget", "which", "whoami", "xargs", "zoxide", "zsh",
}

// obeyed watches the names in a directory that tools obey by themselves and
// that stay writable.
func (g *gitGuard) obeyed(dir string, entries []host.Entry) {
	picked := tripwire.Pick(namesOf(entries), func(rel string) ([]string, bool) {
		path, kind := host.Join(dir, rel), host.Absent
		if i := slices.IndexFunc(entries, func(e host.Entry) bool { return e.Name == rel }); i >= 0 {
			kind = entries[i].Kind
		}
		if kind == host.Absent && !g.host.OnRemote(path) { // deeper, or the file system does not tell
			if info, err := g.res.Lstat(path); err == nil {
				kind = info.Kind
			}
		}
		if kind != host.Dir || g.host.OnRemote(path) {
			return nil, kind == host.Link
		}
		below, _ := g.res.Entries(path)
		return namesOf(below), false
	})
	g.Watch = append(g.Watch, tripwire.Watch{Kind: tripwire.Listed, Path: dir, Open: picked})
}

// appendNew appends what is not in a list yet.
func appendNew[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

func namesOf(entries []host.Entry) []string {
	names := make([]string, len(entries))
	for i := range entries {
		names[i] = entries[i].Name
	}
	return names
}

// seen notes a git directory or file and reports whether it was looked at
// already.
func (g *gitGuard) seen(path string) bool {
	if g.done[path] {
		return true
	}
	g.done[path] = true
	return false
}

func (g *gitGuard) exists(path string) bool { return exists(g.res, path) }

// exists reports whether there is something at a path; errors count as that.
func exists(res *host.Resolver, path string) bool {
	info, err := res.Lstat(path)
	return err != nil || info.Kind != host.Absent
}

// pointerFile protects a .git file that git reads on its way through a
// repository, where it lies in a writable tree.
func (g *gitGuard) pointerFile(path string) {
	if host.Base(path) == ".git" && g.inTrees(path) && !g.seen(path) {
		g.add(path, policy.Protect)
	}
}

func (g *gitGuard) inTrees(path string) bool {
	return slices.ContainsFunc(g.trees, func(dir string) bool { return path != dir && policy.Within(path, dir) })
}
