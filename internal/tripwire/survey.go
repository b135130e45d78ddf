package tripwire

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/policy"
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
	apart   map[string]bool // git directories that are looked at on their own, and each with its work tree (pair)
	seen    map[string]bool // those that were looked at in this survey, likewise
	left    int             // repositories that may still be looked at
	names   int             // of repositories, the same
	listing int             // names in git directories that may still be listed
	full    bool            // there were more
	buf     []byte
	index   bool
	facts   []fact
}

// pair is a git directory with a work tree. One directory can have several, and
// git looks in each for what the one index names.
func pair(dir, tree string) string { return dir + "\x00" + tree }

// Bounds of a survey: a command must not be able to make the next start slow.
// What lies behind them is told of.
const (
	maxRepositories = 256
	maxNames        = 8192
	maxConfig       = 1 << 20 // bytes
)

func newSurvey(ix *indexes, apart map[string]bool) *survey {
	return &survey{indexes: ix, apart: apart, seen: map[string]bool{}, left: maxRepositories, names: maxNames, listing: maxListed}
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
	switch err := reach(path, &st); {
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
	} else if !s.apart[pair(real, tree)] && treeOf(real) != tree {
		s.add(path, "it points to "+policy.Quote(dir)+", which does not point back", "")
	}
	s.directory(path, real, tree)
}

// back looks at the .git of a linked work tree or a submodule where that does not
// lead to the git directory that names it: git there takes what it is or leads to.
func (s *survey) back(path, dir, tree string) {
	if apart(path) {
		return
	}
	data, err := regular(path)
	if to, ok := gitdir.Pointer(data); unreachable(err) && err != unix.ELOOP || err == nil && ok && from(tree, to) == dir {
		return
	}
	s.found(path)
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
	if s.left--; s.left < 0 {
		s.seen[pair(dir, tree)] = true
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
		if s.apart[common] && tree != "" {
			s.relative(at, common, tree)
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

// relative tells of what the settings of a repository name by a relative path, and
// what is another thing in a linked work tree than in the main one, where it is
// protected.
func (s *survey) relative(at, common, tree string) {
	main := treeOf(common)
	data, _ := regular(join(common, "config"))
	_ = gitdir.Each(data, func(set gitdir.Setting) {
		hooks := set.Name() == "core.hookspath"
		var names []string
		switch {
		case hooks:
			names = []string{set.Value}
		case gitdir.Runs(&set):
			names = gitdir.Words(set.Value)
		}
		for _, n := range names {
			if n == "" || strings.Contains("/~%-$", n[:1]) {
				continue
			}
			here, there := policy.Clean(join(tree, n)), policy.Clean(join(main, n))
			state, err := lookName(here)
			if err == nil && (state == "" || !hooks && strings.HasPrefix(state, "dir ") || alike(here, there, state)) {
				continue
			}
			s.add(at, "config: "+set.Full()+"="+set.Value+", which is not the same here as in "+policy.Quote(main), state)
		}
	})
}

// alike reports whether two files, or directories of files, have the same content.
// A link in them can lead to something else from the one than from the other.
func alike(a, b, state string) bool {
	other, err := lookName(b)
	if err != nil || other != state || strings.HasSuffix(state, "truncated") {
		return false
	}
	names := []string{""}
	if strings.HasPrefix(state, "dir ") {
		if names, err = namesAt(a); err != nil {
			return false
		}
	}
	return !slices.ContainsFunc(names, func(n string) bool {
		var st unix.Stat_t
		return unix.Lstat(policy.Clean(join(a, n)), &st) != nil || uint32(st.Mode)&unix.S_IFMT == unix.S_IFLNK
	})
}

// changing is what a command can make in a git directory whose settings and hooks
// it cannot change.
func (s *survey) changing(at, dir, tree string) {
	fd, err := openAt(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY)
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
		s.unread(at, "it could not be looked at: "+err.Error(), "")
		return
	}
	defer unix.Close(fd)
	s.listed(fd, dir)
	s.later(fd, dir)
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
	if named := namedTree(dir); base(dir) == ".git" && named != "" && !s.seen[pair(dir, named)] {
		s.links(dir, named)
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

// later tells of what git obeys when it goes on with a rebase, a cherry-pick, a
// revert or the patches of git am (git-rebase(1)), and of numbers that are none: a
// prompt of git's own shows them to a shell that runs what is in $(…). Its
// directory is open, so that no link on the way leads elsewhere.
func (s *survey) later(fd int, dir string) {
	s.text(fd, join(dir, "BISECT_NAMES"), oddWords)
	for _, name := range []string{"HEAD", "BISECT_START"} {
		s.text(fd, join(dir, name), oddBranch)
	}
	for _, f := range laterFiles {
		state, err := openAt(fd, f.dir, openPath|unix.O_DIRECTORY)
		if err != nil {
			continue // told of with the names in the directory
		}
		for _, name := range f.names {
			s.text(state, join(join(dir, f.dir), name), f.odd)
		}
		unix.Close(state)
	}
}

var laterFiles = []struct {
	dir   string
	names []string
	odd   func(text string) []string
}{
	{"rebase-merge", []string{gitdir.Todo}, oddSteps},
	{"rebase-merge", []string{"strategy"}, oddStrategy},
	{"rebase-merge", []string{"msgnum", "end"}, oddNumber},
	{"rebase-apply", []string{"next", "last"}, oddNumber},
	{"rebase-apply", []string{"apply-opt"}, oddOptions},
	{"rebase-apply", []string{"strategy"}, oddStrategy},
	{"rebase-merge", []string{"head-name"}, oddBranch},
	{"rebase-apply", []string{"head-name"}, oddBranch},
	{"sequencer", []string{"opts"}, oddSequencer},
}

// oddBranch tells of a branch that git makes none of: aliases hand the name of the
// current one to git, and one that begins with "-" is an option there.
func oddBranch(text string) []string {
	name := strings.TrimRight(text, "\n")
	for _, start := range []string{"ref:", " ", "refs/heads/"} {
		name = strings.TrimPrefix(name, start)
	}
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("~^:?*[\\", r) }
	if name != "detached HEAD" && (strings.HasPrefix(name, "-") || strings.ContainsFunc(name, bad)) {
		return []string{"no name of a branch: " + policy.Quote(name)}
	}
	return nil
}

// oddWords tells of what is not quoted: git before 2.34 has a shell read it.
func oddWords(text string) []string {
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeft(rest, " ") {
		_, tail, ok := quoted(rest)
		if !ok {
			return []string{"not quoted: " + policy.Quote(rest)}
		}
		rest = tail
	}
	return nil
}

func oddSteps(text string) (odd []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !plainStep(line) {
			odd = append(odd, line)
		}
	}
	return odd
}

func oddStrategy(text string) []string {
	if text = strings.TrimSpace(text); slices.Contains(strategies, text) {
		return nil
	}
	return []string{text}
}

func oddNumber(text string) []string {
	if text = strings.TrimSpace(text); strings.Trim(text, "0123456789") == "" {
		return nil
	}
	return []string{"no number: " + policy.Quote(text)}
}

func oddSequencer(text string) (odd []string) {
	err := gitdir.Each([]byte(text), func(set gitdir.Setting) {
		if set.Section != "options" || set.Key == "strategy" && !slices.Contains(strategies, set.Value) {
			odd = append(odd, set.Full()+"="+set.Value)
		}
	})
	if err != nil {
		odd = append(odd, err.Error())
	}
	return odd
}

// oddOptions tells of options for git apply that git am has none of: others name
// files to write.
func oddOptions(text string) (odd []string) {
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeft(rest, " ") {
		word, tail, ok := quoted(rest)
		if !ok {
			return append(odd, "no options: "+policy.Quote(rest))
		}
		if rest = tail; !plainOption(word) {
			odd = append(odd, policy.Quote(word))
		}
	}
	return odd
}

// quoted takes one word off a line, as git quotes it: in '…', with '\” and '\!'
// in the place of ' and !.
func quoted(line string) (word, rest string, ok bool) {
	var b strings.Builder
	for {
		if line == "" || line[0] != '\'' {
			return "", "", false
		}
		text, tail, closed := strings.Cut(line[1:], "'")
		b.WriteString(text)
		if !closed || tail != "" && tail[0] != ' ' && tail[0] != '\\' {
			return "", "", false
		}
		if tail == "" || tail[0] == ' ' {
			return b.String(), tail, true
		}
		if len(tail) < 3 || tail[1] != '\'' && tail[1] != '!' {
			return "", "", false
		}
		b.WriteByte(tail[1])
		line = tail[2:]
	}
}

func plainOption(word string) bool {
	switch word {
	case "--reject", "--ignore-space-change", "--ignore-whitespace":
		return true
	}
	for _, name := range []string{"--whitespace=", "--directory=", "--exclude=", "--include="} {
		if strings.HasPrefix(word, name) {
			return true
		}
	}
	return len(word) > 2 && (word[:2] == "-C" || word[:2] == "-p") && strings.Trim(word[2:], "0123456789") == ""
}

// text tells of the odd lines of a file in an open directory.
func (s *survey) text(dir int, path string, odd func(text string) []string) {
	data, err := readUpTo(dir, base(path), maxConfig)
	if unreachable(err) {
		return // a link is told of as one
	}
	if err == nil && len(data) > maxConfig {
		err = errLong
	}
	s.add(path, "", "")
	if err != nil {
		var st unix.Stat_t
		_ = statAt(dir, base(path), &st)
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

// maxModules bounds how deep the names of submodules go.
const maxModules = 12

// modules looks at the git directories of submodules: one called a/b has its own
// in modules/a/b.
func (s *survey) modules(dir string, depth int) {
	for _, name := range s.directories(dir) {
		sub := join(dir, name)
		if s.apart[sub] {
			continue
		}
		if bare(sub) {
			at, tree := sub, treeOf(sub)
			var st unix.Stat_t
			if tree != "" && unix.Lstat(join(tree, ".git"), &st) == nil {
				at = join(tree, ".git")
				s.back(at, sub, tree)
			}
			s.directory(at, sub, tree)
			continue
		}
		if s.names--; s.names < 0 {
			s.unread(dir, "there are too many repositories to look at each", "")
			return
		}
		if depth == maxModules {
			s.unread(sub, "it could not be looked at: "+errDeep.Error(), "")
			return
		}
		s.modules(sub, depth+1)
	}
}

// worktrees looks at the private directories of linked work trees.
func (s *survey) worktrees(dir string) {
	for _, name := range s.directories(dir) {
		sub := join(dir, name)
		if s.apart[sub] {
			continue
		}
		at, tree := sub, treeOf(sub)
		if tree != "" {
			at = join(tree, ".git")
			s.back(at, sub, tree)
		}
		s.directory(at, sub, tree)
	}
}

// directories lists those in a directory, none where it cannot be reached, and
// tells of links there. A link in its place was told of before.
func (s *survey) directories(dir string) (names []string) {
	fd, err := openAt(unix.AT_FDCWD, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if unreachable(err) {
		return nil
	}
	if err == nil {
		defer unix.Close(fd)
		err = s.list(fd, dir, &names)
	}
	if err != nil {
		s.unread(dir, "it could not be looked at: "+err.Error(), "")
	}
	return sorted(names)
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
	return namedTree(dir)
}

// namedTree is the work tree that the settings of a git directory name, "" for none.
func namedTree(dir string) (tree string) {
	for _, name := range []string{"config", "config.worktree"} {
		data, _ := regular(join(dir, name))
		_ = gitdir.Each(data, func(s gitdir.Setting) {
			if s.Name() == "core.worktree" && s.Value != "" {
				tree = from(dir, s.Value)
			}
		})
	}
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
