//go:build linux || darwin

package tripwire

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/gitdir"
	"github.com/sbx-sandbox/sbx/policy"
)

// fact is something in a repository that makes git run or read something, or that
// could not be looked at.
type fact struct {
	path string // of the .git, or of what could not be looked at
	text string // a line for a person; "" says only that a repository is there
	key  string // what tells it from others, when the text does not
	// unread is what is told of even where a repository was there from the
	// beginning: nobody knows what it held.
	unread bool
}

func (f *fact) hash() string { return sum([]byte(f.path + "\x00" + f.text + "\x00" + f.key))[:24] }

// survey looks at a repository and at those that git in it goes on to: those that
// its index names, its submodules, its linked work trees. It finds what a plain
// init, clone, worktree add or submodule add does not leave.
type survey struct {
	indexes *indexes
	apart   map[string]bool // git directories that are looked at on their own
	seen    map[string]bool
	left    int // repositories that may still be looked at
	names   int // of repositories, the same
	index   bool
	facts   []fact
}

// Bounds of a survey: a command must not be able to make the next start slow.
// What lies behind them is told of.
const (
	maxRepositories = 256
	maxNames        = 8192
	maxConfig       = 1 << 20 // bytes
)

func newSurvey(ix *indexes, apart map[string]bool) *survey {
	return &survey{indexes: ix, apart: apart, seen: map[string]bool{}, left: maxRepositories, names: maxNames}
}

// surveyGit looks at what git would find under a path: a .git, or a bare
// repository.
func surveyGit(ix *indexes, path string) []fact {
	s := newSurvey(ix, nil)
	s.found(path)
	return s.facts
}

// harmless reports whether there is nothing to tell.
func harmless(facts []fact) bool {
	return !slices.ContainsFunc(facts, func(f fact) bool { return f.text != "" })
}

func (s *survey) add(path, text, key string) {
	s.facts = append(s.facts, fact{path: path, text: text, key: key})
}

func (s *survey) unread(path, text, key string) {
	s.facts = append(s.facts, fact{path: path, text: text, key: key, unread: true})
}

// found looks at a .git, or at a bare repository.
func (s *survey) found(path string) {
	if s.names--; s.names < 0 {
		if s.names == -1 {
			s.unread(path, "there are too many repositories to look at each", "")
		}
		return
	}
	var st unix.Stat_t
	switch err := retry(func() error { return unix.Lstat(path, &st) }); {
	case unreachable(err):
		return // git cannot get there either
	case err != nil:
		s.unread(path, "it could not be looked at: "+err.Error(), "")
		return
	}
	s.add(path, "", "")
	tree := policy.Dir(path)
	switch kind := uint32(st.Mode) & unix.S_IFMT; {
	case kind == unix.S_IFDIR && base(path) != ".git":
		s.directory(path, path, "")
	case kind == unix.S_IFDIR:
		s.directory(path, path, tree)
	case kind == unix.S_IFREG:
		s.pointer(path, tree)
	case kind == unix.S_IFLNK:
		text, _ := os.Readlink(path)
		s.add(path, "a link to "+policy.Quote(text), "")
		if to, err := filepath.EvalSymlinks(path); err == nil {
			s.directory(path, to, tree)
		}
	default:
		s.add(path, "a "+kindName(kind), "")
	}
}

// unreachable reports whether an error says that nothing can be reached there: no
// such name, a loop of links, a mount whose server is gone.
func unreachable(err error) bool {
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENAMETOOLONG, unix.ENOTCONN, unix.ESTALE, unix.EIO, unix.ENODEV, unix.EHOSTDOWN, unix.ETIMEDOUT:
		return true
	}
	return false
}

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
		s.add(path, "it points to "+policy.Quote(dir), real)
		if err != nil {
			return
		}
	}
	s.directory(path, real, tree)
}

// directory looks at a git directory, which people know by the path at. tree is its
// work tree, "" when there is none.
func (s *survey) directory(at, dir, tree string) {
	if s.apart[dir] {
		return
	}
	s.whole(at, dir, tree)
}

// whole is all that is in a git directory.
func (s *survey) whole(at, dir, tree string) {
	if s.seen[dir] {
		return
	}
	s.seen[dir] = true
	if s.left--; s.left < 0 {
		if s.left == -1 {
			s.unread(at, "there are too many repositories to look at each", "")
		}
		return
	}
	common := dir
	if text, ok := s.line(at, dir, "commondir"); ok {
		common = from(dir, text)
		if base(policy.Dir(dir)) != "worktrees" || common != policy.Dir(policy.Dir(dir)) {
			s.add(at, "commondir leads to "+policy.Quote(text), "")
		}
		if text, ok := s.line(at, dir, "gitdir"); !ok || tree != "" && from(dir, text) != join(tree, ".git") {
			s.add(at, "gitdir leads to "+policy.Quote(text), "")
		}
		s.directory(common, common, treeOf(common))
	} else {
		if text, ok := s.line(at, dir, "gitdir"); ok {
			s.add(at, "gitdir leads to "+policy.Quote(text), "")
		}
		s.settings(at, join(dir, "config"), tree, true)
		s.hooks(at, join(dir, "hooks"))
	}
	if !taken(dir, common) {
		s.add(at, "git takes it for no repository, and may take what is around it for one", "")
	}
	s.settings(at, join(dir, "config.worktree"), tree, false)
	for _, name := range []string{"info/attributes", "info/grafts", "objects/info/alternates"} {
		s.file(at, dir, name)
	}
	for _, name := range []string{"info", "objects", "objects/info", "refs"} {
		var st unix.Stat_t
		if unix.Lstat(join(dir, name), &st) == nil && uint32(st.Mode)&unix.S_IFMT != unix.S_IFDIR {
			s.add(at, name+" is no directory", "")
		}
	}
	s.changing(at, dir, tree)
}

// changing is what a command can make in a git directory whose settings and hooks
// it cannot change.
func (s *survey) changing(at, dir, tree string) {
	s.later(dir)
	for _, name := range []string{"remotes", "branches"} {
		names, err := namesAt(join(dir, name))
		if err != nil {
			s.unread(at, name+" could not be read: "+err.Error(), "")
		}
		for _, n := range sorted(names) {
			s.file(at, dir, name+"/"+n)
		}
	}
	if tree != "" {
		s.links(dir, tree)
	}
	s.modules(join(dir, "modules"), 0)
	s.worktrees(join(dir, "worktrees"))
}

// file tells of a file that is there.
func (s *survey) file(at, dir, name string) {
	state, err := lookName(join(dir, name))
	switch {
	case err != nil:
		s.unread(at, name+" could not be read: "+err.Error(), "")
	case state != "":
		s.add(at, name, state)
	}
}

// line reads a file that holds a path.
func (s *survey) line(at, dir, name string) (text string, ok bool) {
	path := join(dir, name)
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return "", !unreachable(err)
	}
	data, err := regular(path)
	text, ok = gitdir.Line(data)
	if err != nil || !ok {
		s.add(at, name+" cannot be followed", sum(data))
	}
	return text, true
}

// settings tells of what in a config file is not usual. tree is the work tree that
// it may name.
func (s *survey) settings(at, path, tree string, needed bool) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); unreachable(err) && !needed {
		return
	}
	data, err := regular(path)
	if err != nil {
		s.unread(at, base(path)+" could not be read: "+cause(err), strconv.FormatInt(ctime(&st), 10))
		return
	}
	for _, line := range gitdir.Notable(data) {
		if to, ok := strings.CutPrefix(line, "core.worktree="); ok && tree != "" && to != "" && from(policy.Dir(path), to) == tree {
			continue
		}
		s.add(at, base(path)+": "+line, "")
	}
}

// hooks tells of all but the samples that git brings along.
func (s *survey) hooks(at, dir string) {
	var st unix.Stat_t
	err := unix.Lstat(dir, &st)
	if unreachable(err) {
		return
	}
	names, listed := namesAt(dir)
	if err != nil || listed != nil || uint32(st.Mode)&unix.S_IFMT != unix.S_IFDIR || len(names) > maxEntries {
		text, _ := os.Readlink(dir)
		s.add(at, "hooks is no directory that can be looked at", text+strconv.FormatInt(ctime(&st), 10))
		return
	}
	for _, name := range sorted(names) {
		var st unix.Stat_t
		if strings.HasSuffix(name, ".sample") && unix.Lstat(join(dir, name), &st) == nil && uint32(st.Mode)&unix.S_IFMT == unix.S_IFREG {
			continue
		}
		s.file(at, dir, name)
		if n := len(s.facts); n > 0 && s.facts[n-1].text == name {
			s.facts[n-1].text = "hooks/" + name
		}
	}
}

// strategies are those that git brings along; any other is a program.
var strategies = []string{"ort", "recursive", "resolve", "octopus", "ours", "subtree"}

// later tells of what git runs when somebody goes on with a rebase, a cherry-pick
// or a revert (git-rebase(1)).
func (s *survey) later(dir string) {
	var st unix.Stat_t
	if err := unix.Lstat(join(dir, "rebase-merge"), &st); !unreachable(err) {
		s.text(dir, "rebase-merge/"+gitdir.Todo, func(text string) (odd []string) {
			for line := range strings.Lines(text) {
				if line = strings.TrimSpace(line); !plainStep(line) {
					odd = append(odd, line)
				}
			}
			return odd
		})
		s.text(dir, "rebase-merge/strategy", func(text string) (odd []string) {
			if text = strings.TrimSpace(text); !slices.Contains(strategies, text) {
				odd = []string{text}
			}
			return odd
		})
	}
	if err := unix.Lstat(join(dir, "sequencer"), &st); !unreachable(err) {
		s.text(dir, "sequencer/opts", func(text string) (odd []string) {
			err := gitdir.Each([]byte(text), func(set gitdir.Setting) {
				if set.Section != "options" || set.Key == "strategy" && !slices.Contains(strategies, set.Value) {
					odd = append(odd, set.Full()+"="+set.Value)
				}
			})
			if err != nil {
				odd = append(odd, err.Error())
			}
			return odd
		})
	}
}

// text tells of the odd lines of a file.
func (s *survey) text(dir, name string, odd func(text string) []string) {
	var st unix.Stat_t
	if err := unix.Lstat(join(dir, name), &st); unreachable(err) {
		return
	}
	path := join(dir, name)
	s.add(path, "", "")
	data, err := regular(path)
	if err != nil {
		s.unread(path, "it could not be read: "+cause(err), strconv.FormatInt(ctime(&st), 10))
		return
	}
	for _, line := range odd(string(data)) {
		s.add(path, line, "")
	}
}

// plainStep reports whether a step of a rebase runs nothing: "exec" does.
func plainStep(line string) bool {
	word, _, _ := strings.Cut(line, " ")
	switch word {
	case "", "pick", "p", "reword", "r", "edit", "e", "squash", "s", "fixup", "f", "drop", "d", "break", "b", "noop", "label", "l", "reset", "t", "merge", "m", "update-ref", "u":
		return true
	}
	return word[0] == '#'
}

// links looks at the repositories that an index names: `git status` in the work
// tree runs git in each.
func (s *survey) links(dir, tree string) {
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
		if err := unix.Lstat(join(tree, strings.TrimSuffix(name, "/")), &st); !unreachable(err) {
			s.unread(path, "the index could not be read: it has "+policy.Quote(name)+" as a whole", stamp)
		}
	}
	for _, name := range index.Links {
		if at := policy.Clean(join(tree, name)); at != tree {
			s.found(join(at, ".git"))
		}
	}
}

// hashSize is the size of object names in a repository.
func hashSize(dir string) int {
	if data, err := regular(join(dir, "commondir")); err == nil {
		if text, ok := gitdir.Line(data); ok {
			dir = from(dir, text)
		}
	}
	size := 20
	data, _ := regular(join(dir, "config"))
	_ = gitdir.Each(data, func(s gitdir.Setting) {
		if s.Name() == "extensions.objectformat" {
			size = 20
			if s.Value == "sha256" {
				size = 32
			}
		}
	})
	return size
}

// maxDepth bounds how deep submodules lie in one another.
const maxModules = 12

// modules looks at the git directories of submodules: one called a/b has its own
// in modules/a/b.
func (s *survey) modules(dir string, depth int) {
	names, err := namesAt(dir)
	if err == nil && depth > maxModules && len(names) > 0 {
		err = unix.ELOOP
	}
	if err != nil {
		s.unread(dir, "it could not be looked at: "+err.Error(), "")
		return
	}
	for _, name := range sorted(names) {
		sub := join(dir, name)
		if s.apart[sub] || s.seen[sub] {
			continue
		}
		var st unix.Stat_t
		if bare(sub) {
			if tree := treeOf(sub); tree != "" && unix.Lstat(join(tree, ".git"), &st) == nil {
				s.directory(join(tree, ".git"), sub, tree)
			} else {
				s.directory(sub, sub, tree)
			}
			continue
		}
		if s.names--; s.names < 0 {
			s.unread(dir, "there are too many repositories to look at each", "")
			return
		}
		if unix.Lstat(sub, &st) == nil && uint32(st.Mode)&unix.S_IFMT == unix.S_IFDIR {
			s.modules(sub, depth+1)
		}
	}
}

// worktrees looks at the private directories of linked work trees.
func (s *survey) worktrees(dir string) {
	names, err := namesAt(dir)
	if err != nil {
		s.unread(dir, "it could not be looked at: "+err.Error(), "")
		return
	}
	for _, name := range sorted(names) {
		sub := join(dir, name)
		if s.apart[sub] || s.seen[sub] {
			continue
		}
		at, tree := sub, treeOf(sub)
		if tree != "" {
			at = join(tree, ".git")
		}
		s.directory(at, sub, tree)
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
	tree := ""
	data, _ := regular(join(dir, "config"))
	_ = gitdir.Each(data, func(s gitdir.Setting) {
		if s.Name() == "core.worktree" && s.Value != "" {
			tree = from(dir, s.Value)
		}
	})
	return tree
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
	for _, name := range []string{"objects", "refs"} {
		var st unix.Stat_t
		if err := unix.Lstat(join(common, name), &st); err != nil || uint32(st.Mode)&unix.S_IFMT != unix.S_IFDIR {
			return false
		}
	}
	return true
}

// from makes the path in a file of git's absolute.
func from(dir, path string) string {
	if path == "" || path[0] != '/' {
		path = join(dir, path)
	}
	return policy.Clean(path)
}

// namesAt lists a directory, none when it cannot be reached.
func namesAt(path string) ([]string, error) {
	fd, err := openAt(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if unreachable(err) {
		var st unix.Stat_t
		if err == unix.ENOENT || unix.Lstat(path, &st) != nil {
			return nil, nil
		}
		return nil, errNoDirectory // or a link to one
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var names []string
	var buf [4096]byte
	for {
		n, err := unix.ReadDirent(fd, buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

var errNoDirectory = errors.New("it is no directory")

// regular reads a small regular file without following a link or waiting on a
// fifo.
func regular(path string) ([]byte, error) {
	data, err := readUpTo(unix.AT_FDCWD, path, maxConfig)
	if err == nil && len(data) > maxConfig {
		return nil, errLong
	}
	return data, err
}

// cause is what an error says without the path.
func cause(err error) string {
	if e, ok := err.(*fs.PathError); ok {
		err = e.Err
	}
	if e, ok := err.(*pathError); ok {
		err = e.err
	}
	if err == unix.ELOOP {
		return "it is a symbolic link"
	}
	return err.Error()
}
