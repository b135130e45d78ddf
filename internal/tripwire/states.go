// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/openat"
	"golang.org/x/sys/unix"
)

// strategies are those that git brings along; any other is a program.
var strategies = []string{"ort", "recursive", "resolve", "octopus", "ours", "subtree"}

// later tells of what git obeys when it goes on with a rebase, a cherry-pick, a
// revert or the patches of git am (git-rebase(1)), and of numbers that are none: a
// prompt of git's own shows them to a shell that runs what is in $(…). Its
// directory is open, so that no link on the way leads elsewhere.
func (s *survey) later(fd int, dir string) {
	for _, f := range laterFiles {
		for path := range strings.FieldsSeq(f.paths) {
			s.text(fd, dir, path, f.odd)
		}
	}
}

var laterFiles = []struct {
	paths string
	odd   func(text string) []string
}{
	{"BISECT_NAMES", oddNames},
	{"HEAD BISECT_START rebase-merge/head-name rebase-apply/head-name", oddBranch},
	{"rebase-merge/git-rebase-todo", oddSteps},
	{"rebase-merge/strategy rebase-apply/strategy", oddStrategy},
	{"rebase-merge/msgnum rebase-merge/end rebase-apply/next rebase-apply/last", oddNumber},
	{"rebase-apply/apply-opt", oddOptions},
	{"sequencer/opts", oddSequencer},
}

// text tells of the odd lines of a file.
func (s *survey) text(fd int, dir, path string, odd func(text string) []string) {
	at, err := openat.Open(fd, filepath.Dir(path), openat.Path|unix.O_DIRECTORY, 0)
	if err != nil {
		return // reported with the names in the directory
	}
	defer unix.Close(at)
	path = join(dir, path)
	data, err := regularAt(at, base(path))
	if unreachable(err) {
		return // a link is reported as one
	}
	s.add(path, "", "")
	if err != nil {
		var st unix.Stat_t
		_ = openat.Stat(at, base(path), &st)
		s.unread(path, "it could not be read: "+cause(err), number(ctime(&st)))
		return
	}
	for _, line := range odd(string(data)) {
		s.add(path, line, "")
	}
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
		return []string{"no name of a branch: " + strconv.Quote(name)}
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
	return []string{"no number: " + strconv.Quote(text)}
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

// oddNames tells of what is not quoted: git before 2.34 has a shell read it.
func oddNames(text string) []string {
	return oddWords(text, "not quoted: ", func(string) bool { return true })
}

// oddOptions tells of options for git apply that git am has none of: others name
// files to write.
func oddOptions(text string) []string { return oddWords(text, "no options: ", plainOption) }

// oddWords tells of the words of a line that are not plain, and of what is no word.
func oddWords(text, none string, plain func(word string) bool) (odd []string) {
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeft(rest, " ") {
		word, tail, ok := quoted(rest)
		if !ok {
			return append(odd, none+strconv.Quote(rest))
		}
		if rest = tail; !plain(word) {
			odd = append(odd, strconv.Quote(word))
		}
	}
	return odd
}

// quoted takes one word off a line, as git quotes it: in '…', and outside of that a
// backslash before ' and !.
func quoted(line string) (word, rest string, ok bool) {
	for strings.HasPrefix(line, "'") {
		text, tail, closed := strings.Cut(line[1:], "'")
		word += text
		switch {
		case !closed:
			return "", "", false
		case tail == "" || tail[0] == ' ':
			return word, tail, true
		case len(tail) < 3 || tail[0] != '\\' || tail[1] != '\'' && tail[1] != '!':
			return "", "", false
		}
		word += tail[1:2]
		line = tail[2:]
	}
	return "", "", false
}

func plainOption(word string) bool {
	switch word {
	case "--reject", "--ignore-space-change", "--ignore-whitespace":
		return true
	}
	named := []string{"--whitespace=", "--directory=", "--exclude=", "--include="}
	if slices.ContainsFunc(named, func(name string) bool { return strings.HasPrefix(word, name) }) {
		return true
	}
	return len(word) > 2 && (word[:2] == "-C" || word[:2] == "-p") && strings.Trim(word[2:], "0123456789") == ""
}

// plainStep reports whether a step of a rebase runs nothing: "exec" does.
func plainStep(line string) bool {
	word, _, _ := strings.Cut(line, " ")
	switch word {
	case "", "pick", "p", "reword", "r", "edit", "e", "squash", "s", "fixup", "f", "drop", "d", "break", "b", "noop",
		"label", "l", "reset", "t", "merge", "m", "update-ref", "u":
		return true
	}
	return word[0] == '#'
}
