// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/openat"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// finding is something in a repository that makes git run or read something, or that
// could not be looked at.
type finding struct {
	path string // of the .git, or of what could not be looked at
	text string // a line for a person; "" says only that a repository is there
	key  string // what tells it from others, when the text does not
	// unread is what is reported even where a repository was there from the
	// beginning: no one knows what it held.
	unread bool
}

func (f *finding) hash() string { return sum([]byte(f.path + "\x00" + f.text + "\x00" + f.key))[:24] }

// survey looks at a repository and at those that git in it goes on to: those that
// its index names, its submodules, its linked work trees. It finds what a plain
// init, clone, worktree add or submodule add does not leave.
type survey struct {
	indexes  *indexes
	apart    map[string]bool // git directories that are looked at on their own, and each with its work tree (pair)
	seen     map[string]bool // those that were looked at in this survey, likewise
	left     int             // repositories that may still be looked at
	names    int             // of repositories, the same
	listing  int             // names in git directories that may still be listed
	full     bool            // there were more
	index    bool
	findings []finding
}

// pair is a git directory with a work tree. One directory can have several, and
// git looks in each for what the one index names.
func pair(dir, tree string) string { return dir + "\x00" + tree }

// Bounds of a survey: a command must not be able to make the next start slow.
// What lies behind them is reported.
const (
	maxRepositories = 256
	maxNames        = 8192
	maxConfig       = 1 << 20 // bytes
)

func newSurvey(ix *indexes, apart map[string]bool) *survey {
	return &survey{
		indexes: ix, apart: apart, seen: map[string]bool{}, left: maxRepositories, names: maxNames, listing: maxListed,
	}
}

// surveyGit looks at what git would find under a path: a .git, or a bare
// repository.
func surveyGit(ix *indexes, path string) []finding {
	s := newSurvey(ix, nil)
	s.found(path)
	return s.findings
}

// harmless reports whether there is nothing to tell.
func harmless(findings []finding) bool {
	return !slices.ContainsFunc(findings, func(f finding) bool { return f.text != "" })
}

func (s *survey) add(path, text, key string) {
	s.findings = append(s.findings, finding{path: path, text: text, key: key})
}

func (s *survey) unread(path, text, key string) {
	s.findings = append(s.findings, finding{path: path, text: text, key: key, unread: true})
}

// unseen tells of what could not be looked at.
func (s *survey) unseen(path string, err error) {
	s.unread(path, "it could not be looked at: "+err.Error(), "")
}

const tooMany = "there are too many repositories to look at each"

// spent counts one repository more, and tells once of repositories that are not looked at any more.
func (s *survey) spent(left *int, path string) bool {
	if *left--; *left == -1 {
		s.unread(path, tooMany, "")
	}
	return *left < 0
}

// found looks at a .git, or at a bare repository.
func (s *survey) found(path string) {
	if s.spent(&s.names, path) {
		return
	}
	var st unix.Stat_t
	switch err := reach(path, &st); {
	case unreachable(err):
		return // git cannot get there either
	case err != nil:
		s.unseen(path, err)
		return
	}
	s.add(path, "", "")
	tree := policy.Dir(path)
	switch kind := uint32(st.Mode) & unix.S_IFMT; {
	case kind == unix.S_IFDIR:
		if base(path) != ".git" {
			tree = ""
		}
		s.directory(path, path, tree)
	case kind == unix.S_IFREG:
		s.pointer(path, tree)
	case kind == unix.S_IFLNK:
		text, _ := os.Readlink(path)
		s.add(path, "a link to "+strconv.Quote(text), "")
		if to, err := filepath.EvalSymlinks(path); err == nil {
			s.directory(path, to, tree)
		}
	default:
		s.add(path, "a "+kindName(kind), "")
	}
}

// directory looks at a git directory, which people know by the path at. tree is its
// work tree, "" when there is none.
func (s *survey) directory(at, dir, tree string) {
	if !s.apart[dir] && !s.seen[dir] {
		s.whole(at, dir, tree)
	}
	if both := pair(dir, tree); tree != "" && !s.apart[both] && !s.seen[both] {
		s.links(dir, tree)
	}
}

// whole is all that is in a git directory.
func (s *survey) whole(at, dir, tree string) {
	s.seen[dir] = true
	if s.spent(&s.left, at) {
		s.seen[pair(dir, tree)] = true
		return
	}
	common := dir
	text, linked := s.line(at, dir, "commondir")
	back, leads := s.line(at, dir, "gitdir")
	if linked {
		common = from(dir, text)
		if base(policy.Dir(dir)) != "worktrees" || common != policy.Dir(policy.Dir(dir)) {
			s.add(at, "commondir leads to "+strconv.Quote(text), "")
		}
		leads = !leads || tree != "" && from(dir, back) != join(tree, ".git")
	}
	if leads {
		s.add(at, "gitdir leads to "+strconv.Quote(back), "")
	}
	if linked {
		if s.apart[common] && tree != "" {
			s.relative(at, common, tree)
		}
		s.directory(common, common, treeOf(common))
	} else {
		s.settings(at, join(dir, "config"), tree, true)
		s.hooks(at, join(dir, "hooks"))
	}
	if !taken(dir, common) {
		s.add(at, "git takes it for no repository, and may take what is around it for one", "")
	}
	s.settings(at, join(dir, "config.worktree"), tree, false)
	for _, name := range []string{"info/attributes", "info/grafts", "objects/info/alternates"} {
		s.file(at, dir, name, name)
	}
	for _, name := range []string{"info", "objects", "objects/info", "refs"} {
		if st, err := lstat(join(dir, name)); err == nil && !openat.Is(&st, unix.S_IFDIR) {
			s.add(at, name+" is not a directory", "")
		}
	}
	s.changing(at, dir, tree)
}

// changing is what a command can make in a git directory whose settings and hooks
// it cannot change.
func (s *survey) changing(at, dir, tree string) {
	f, err := openat.List(unix.AT_FDCWD, dir, dir)
	switch {
	case err == unix.ENOTDIR || err == unix.ELOOP:
		if !s.seen[pair(dir, "")] {
			s.seen[pair(dir, "")] = true
			s.found(dir)
		}
		return
	case unreachable(err):
		return
	case err != nil:
		s.unseen(at, err)
		return
	}
	defer f.Close()
	s.listed(f, dir)
	s.later(int(f.Fd()), dir)
	for _, name := range []string{"remotes", "branches"} {
		names, err := namesAt(join(dir, name))
		if err != nil {
			s.unread(at, name+" could not be read: "+err.Error(), "")
		}
		for _, n := range names {
			s.file(at, join(dir, name), n, name+"/"+n)
		}
	}
	if tree != "" {
		s.links(dir, tree)
	}
	if named := namedTree(dir); base(dir) == ".git" && named != "" && !s.seen[pair(dir, named)] {
		s.links(dir, named)
	}
	s.modules(join(dir, "modules"), 0)
	for _, name := range s.directories(join(dir, "worktrees")) {
		if sub := join(join(dir, "worktrees"), name); !s.apart[sub] {
			s.below(sub)
		}
	}
}

// file tells of a file that is there, by the name that people know it by.
func (s *survey) file(at, dir, name, shown string) {
	state, err := lookName(join(dir, name))
	switch {
	case err != nil:
		s.unread(at, shown+" could not be read: "+err.Error(), "")
	case state != "":
		s.add(at, shown, state)
	}
}

// settings tells of what in a config file is not usual. tree is the work tree that
// it may name.
func (s *survey) settings(at, path, tree string, needed bool) {
	st, err := lstat(path)
	if unreachable(err) && !needed {
		return
	}
	data, err := regular(path)
	if err != nil {
		s.unread(at, base(path)+" could not be read: "+cause(err), number(ctime(&st)))
		return
	}
	for _, line := range gitdir.Notable(data) {
		to, names := strings.CutPrefix(line, "core.worktree=")
		if !names || tree == "" || to == "" || from(policy.Dir(path), to) != tree {
			s.add(at, base(path)+": "+line, "")
		}
	}
}

// hooks tells of all but the samples that git brings along.
func (s *survey) hooks(at, dir string) {
	st, err := lstat(dir)
	if unreachable(err) {
		return
	}
	names, listed := namesAt(dir)
	if err != nil || listed != nil || !openat.Is(&st, unix.S_IFDIR) || len(names) > maxEntries {
		text, _ := os.Readlink(dir)
		s.add(at, "hooks is not a directory that can be looked at", text+number(ctime(&st)))
		return
	}
	for _, name := range names {
		st, err := lstat(join(dir, name))
		if !strings.HasSuffix(name, ".sample") || err != nil || !openat.Is(&st, unix.S_IFREG) {
			s.file(at, dir, name, "hooks/"+name)
		}
	}
}

// links looks at the repositories that an index names: `git status` in the work
// tree runs git in each.
func (s *survey) links(dir, tree string) {
	s.seen[pair(dir, tree)] = true
	path := join(dir, "index")
	index, stamp, err := s.indexes.read(path, func() int { return hashSize(dir) })
	switch {
	case unreachable(err):
		return
	case err != nil:
		s.unread(path, "the index could not be read: "+cause(err), stamp)
		return
	}
	s.index = true
	for _, name := range index.Trees {
		var st unix.Stat_t
		if err := reach(join(tree, strings.TrimSuffix(name, "/")), &st); !unreachable(err) {
			s.unread(path, "the index could not be read: it has "+strconv.Quote(name)+" as a whole", stamp)
		}
	}
	for _, name := range index.Links {
		if at := filepath.Clean(join(tree, name)); at != tree {
			s.found(join(at, ".git"))
		}
	}
}

// maxModules bounds how deep the names of submodules go.
const maxModules = 12

// modules looks at the git directories of submodules: one called a/b has its own
// in modules/a/b.
func (s *survey) modules(dir string, depth int) {
	for _, name := range s.directories(dir) {
		sub := join(dir, name)
		switch {
		case s.apart[sub]:
		case bare(sub):
			s.below(sub)
		case s.names < 1:
			s.unread(dir, tooMany, "")
			return
		case depth == maxModules:
			s.unseen(sub, errDeep)
			return
		default:
			s.names--
			s.modules(sub, depth+1)
		}
	}
}

// below looks at the git directory of a submodule or a linked work tree. People know
// it by the .git of its work tree.
func (s *survey) below(dir string) {
	at, tree := dir, treeOf(dir)
	if tree != "" && exists(join(tree, ".git")) {
		at = join(tree, ".git")
		s.back(at, dir, tree)
	}
	s.directory(at, dir, tree)
}

// directories lists those in a directory, none where it cannot be reached, and
// tells of links there. A link in its place was reported before.
func (s *survey) directories(dir string) (names []string) {
	f, err := openat.List(unix.AT_FDCWD, dir, dir)
	if unreachable(err) {
		return nil
	}
	if err == nil {
		defer f.Close()
		names, err = s.list(f, dir)
	}
	if err != nil {
		s.unseen(dir, err)
	}
	return sorted(names)
}
