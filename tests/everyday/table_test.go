// SPDX-License-Identifier: Apache-2.0

//go:build linux

package everyday

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A table is lines of text:
//
//	! NAME broken|refused TEXT [=> REMEDY]   a reason
//	== GROUP: TITLE                          a group of commands
//	@ PROJECT [DIR] [need: PROGRAM...]       where the next commands run
//	$ COMMAND                                one that changes nothing in the project
//	+ COMMAND                                one that does: strict refuses it
//	    KEY: VALUE                           about the command above
//
// A project is a file in testdata/projects. REMEDY is what the hint tells the user to
// add, words before "--", and is tried; of several with " => " between them each is named
// when those before it are there; "line" is a whole line. "untold REMEDY" is tried as well,
// though no hint names it. "none, because TEXT" is none; moderate, with bwrap and with
// Landlock, has to say one of these wherever a command does not work. Keys:
//
//	strict, moderate, permissive, landlock: ok | REASON [=> REMEDY]
//	need: PROGRAM...      without these the row is skipped
//	status: N             of the command without sbx
//	output: any           standard output differs from run to run
//	state: names | any    compare names of files only; nothing
//	ignore: NAME...       files that differ from run to run
//	keep: PATH            below the home directory; what is there counts, too
//	env: NAME=VALUE       one more variable
//	fresh                 the project's private cache is empty
//	quick                 part of make test
//	not: WAY...           not tried, since it would take too long; see sparse
type row struct {
	group   *group
	block   *block
	at      string // file:line
	dir     string // in the project
	command string
	writes  bool
	want    map[string]verdict
	need    []string
	status  int
	output  string
	state   string
	ignore  []string
	keep    []string
	env     []string
	fresh   bool
	quick   bool
	not     []string
}

type verdict struct {
	reason *reason // nil: as without sbx
	remedy
}

type remedy struct {
	flags   string
	untold  bool   // no hint names it
	because string // why there is none
}

func readRemedy(s string) (r remedy) {
	because, none := strings.CutPrefix(s, "none, because ")
	if none {
		return remedy{because: because}
	}
	r.flags, r.untold = strings.CutPrefix(s, "untold ")
	return r
}

func (r remedy) String() string {
	switch {
	case r.because != "":
		return "none, because " + r.because
	case r.flags == "":
		return ""
	case r.untold:
		return "no hint; `" + r.flags + "` works"
	}
	return "`" + strings.ReplaceAll(r.flags, " => ", "`, then `") + "`"
}

type reason struct {
	name, kind, text string
	remedy
}

type group struct {
	name, title string
	rows        []*row
}

// block is a project, prepared once for the commands in it, or a directory of the one
// before, which shares its caches.
type block struct {
	name, project string
	need          []string
	rows          []*row
}

type table struct {
	reasons []*reason
	groups  []*group
	blocks  []*block
	rows    []*row
	dir     string // of the next ones
}

// ways are the profiles and engines, in the order of the page.
var ways = []struct {
	name  string
	flags []string
}{
	{"strict", []string{"--engine", "bwrap", "-p", "strict"}},
	{"moderate", []string{"--engine", "bwrap"}},
	{"permissive", []string{"--engine", "bwrap", "-p", "permissive"}},
	{"landlock", []string{"--engine", "landlock"}},
}

func readTable(pattern string) (*table, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	t := &table{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for i, line := range strings.Split(string(data), "\n") {
			at := filepath.Base(file) + ":" + strconv.Itoa(i+1)
			if line == "" || line[0] == '#' {
				continue
			}
			if err := t.line(at, line); err != nil {
				return nil, fmt.Errorf("%s: %w", at, err)
			}
		}
	}
	for i, r := range t.rows {
		r.sparse(i)
	}
	return t, nil
}

// sparse leaves out strict and permissive where a row has nothing of its own to say of
// them, but for every third one: so all of them take a few minutes.
func (r *row) sparse(i int) {
	if i%3 == 0 || r.quick {
		return
	}
	if v, not := r.want["strict"]; !not || v.reason.name == "ro" {
		r.not = append(slices.Clone(r.not), "strict")
	}
	if _, not := r.want["permissive"]; !not {
		r.not = append(slices.Clone(r.not), "permissive")
	}
}

func (t *table) line(at, line string) error {
	mark, rest, _ := strings.Cut(line, " ")
	switch mark {
	case "!":
		f := strings.SplitN(rest, " ", 3)
		if len(f) < 3 || f[1] != "broken" && f[1] != "refused" {
			return fmt.Errorf("a reason has a name, broken or refused, and a text")
		}
		text, cure, _ := strings.Cut(f[2], " => ")
		t.reasons = append(t.reasons, &reason{f[0], f[1], text, readRemedy(cure)})
	case "==":
		name, title, ok := strings.Cut(rest, ": ")
		if !ok {
			return fmt.Errorf("a group has a name and a title")
		}
		t.groups = append(t.groups, &group{name: name, title: title})
	case "@":
		where, need, _ := strings.Cut(rest, " need: ")
		f := append(strings.Fields(where), "")
		if t.dir = f[1]; t.dir != "" && len(t.blocks) > 0 && t.blocks[len(t.blocks)-1].project == f[0] {
			break
		}
		t.blocks = append(t.blocks, &block{name: fmt.Sprintf("%s%d", f[0], len(t.blocks)+1), project: f[0], need: strings.Fields(need)})
	case "$", "+":
		return t.add(at, mark == "+", rest)
	case "":
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		return t.key(key, value)
	default:
		return fmt.Errorf("no line begins with %q", mark)
	}
	return nil
}

func (t *table) add(at string, writes bool, command string) error {
	if len(t.groups) == 0 || len(t.blocks) == 0 {
		return fmt.Errorf("a command has a group and a project")
	}
	r := &row{at: at, dir: t.dir, command: command, writes: writes, group: t.groups[len(t.groups)-1], block: t.blocks[len(t.blocks)-1], want: map[string]verdict{}}
	if writes {
		if err := t.expect(r, "strict", "ro"); err != nil {
			return err
		}
	}
	r.need = r.block.need
	r.group.rows, r.block.rows, t.rows = append(r.group.rows, r), append(r.block.rows, r), append(t.rows, r)
	return nil
}

func (t *table) expect(r *row, way, value string) error {
	name, text, own := strings.Cut(value, " => ")
	if name == "ok" {
		delete(r.want, way)
		return nil
	}
	i := slices.IndexFunc(t.reasons, func(x *reason) bool { return x.name == name })
	if i < 0 {
		return fmt.Errorf("no such reason: %s", name)
	}
	v := verdict{t.reasons[i], t.reasons[i].remedy}
	if own {
		v.remedy = readRemedy(text)
	}
	if (way == "moderate" || way == "landlock") && v.remedy == (remedy{}) {
		return fmt.Errorf("%s: no remedy: write one, or %q", way, "none, because …")
	}
	r.want[way] = v
	return nil
}

func (t *table) key(key, value string) (err error) {
	if len(t.rows) == 0 {
		return fmt.Errorf("no command above")
	}
	r := t.rows[len(t.rows)-1]
	switch key {
	case "strict", "moderate", "permissive", "landlock":
		return t.expect(r, key, value)
	case "need":
		r.need = append(slices.Clone(r.need), strings.Fields(value)...)
	case "status":
		r.status, err = strconv.Atoi(value)
	case "output":
		r.output = value
	case "state":
		r.state = value
	case "ignore":
		r.ignore = strings.Fields(value)
	case "keep":
		r.keep = append(r.keep, value)
	case "env":
		r.env = append(r.env, value)
	case "fresh":
		r.fresh = true
	case "quick":
		r.quick = true
	case "not":
		r.not = strings.Fields(value)
	default:
		err = fmt.Errorf("no such key: %s", key)
	}
	return err
}
