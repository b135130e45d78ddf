package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

const (
	// maxDepth bounds nested tables and lists; a profile needs four levels.
	maxDepth = 16
	// maxItems bounds the elements of all lists of one file together.
	maxItems = 10_000
)

// kind is the type of a value as the person who wrote it would name it.
type kind uint8

const (
	isText kind = iota
	isBool
	isWhole
	isReal
	isList
	isTable
)

var kindNames = [...]string{"a string", "true or false", "a whole number", "a fractional number", "a list", "a table"}

func (k kind) String() string { return kindNames[k] }

// node is one value of a file. Both readers make the same nodes.
type node struct {
	kind  kind
	at    int // offset of the value, or of its key where the reader knows no better
	text  string
	yes   bool
	whole int64
	real  float64
	list  []*node

	keys  []entry // of a table, in the order of the file
	index map[string]int
	made  made
}

// entry is one key of a table.
type entry struct {
	key   string
	at    int // offset of the key
	value *node
}

// made says how a table came to be, which decides whether more may be put
// into it (TOML 1.0, "Table" and "Inline Table"; HCL blocks and objects
// follow the same rules here).
type made uint8

const (
	implied made = iota // on the way to a [header] or a block
	opened              // by its own [header] or block
	dotted              // on the way to a dotted key
	closed              // written as one value
)

// get returns the entry with the given key, or nil.
func (n *node) get(key string) *entry {
	if i, ok := n.index[key]; ok {
		return &n.keys[i]
	}
	return nil
}

func (n *node) put(w word, v *node) {
	if n.index == nil {
		n.index = make(map[string]int)
	}
	n.index[w.text] = len(n.keys)
	n.keys = append(n.keys, entry{key: w.text, at: w.at, value: v})
}

// plain returns the value without positions: string, bool, int64, float64,
// []any or map[string]any.
func (n *node) plain() any {
	switch n.kind {
	case isText:
		return n.text
	case isBool:
		return n.yes
	case isWhole:
		return n.whole
	case isReal:
		return n.real
	case isList:
		list := make([]any, len(n.list))
		for i, v := range n.list {
			list[i] = v.plain()
		}
		return list
	}
	table := make(map[string]any, len(n.keys))
	for _, e := range n.keys {
		table[e.key] = e.value.plain()
	}
	return table
}

// word is one part of a key with its offset.
type word struct {
	text string
	at   int
}

// builder puts keys where they belong and refuses what is said twice.
type builder struct {
	src   *source
	items int
}

// open returns the table that a header or a block below t names.
func (b *builder) open(t *node, path []word) (*node, error) {
	for i, w := range path {
		last := i == len(path)-1
		e := t.get(w.text)
		if e == nil {
			next := &node{kind: isTable, at: w.at}
			if last {
				next.made = opened
			}
			t.put(w, next)
			t = next
			continue
		}
		next := e.value
		switch {
		case next.kind != isTable || next.made == closed:
			return nil, b.twice(w, e)
		case last && next.made != implied:
			return nil, b.src.errorf(w.at, "table %s is defined twice, first on line %d", short(joined(path)), b.src.line(e.at))
		case last:
			next.made = opened
			e.at = w.at
		}
		t = next
	}
	return t, nil
}

// set puts a value below t under a key that may be dotted.
func (b *builder) set(t *node, path []word, v *node) error {
	for _, w := range path[:len(path)-1] {
		e := t.get(w.text)
		if e == nil {
			next := &node{kind: isTable, at: w.at, made: dotted}
			t.put(w, next)
			t = next
			continue
		}
		if e.value.kind != isTable || e.value.made != dotted {
			return b.twice(w, e)
		}
		t = e.value
	}
	w := path[len(path)-1]
	if e := t.get(w.text); e != nil {
		return b.twice(w, e)
	}
	t.put(w, v)
	return nil
}

func (b *builder) twice(w word, first *entry) error {
	return b.src.errorf(w.at, "key %s is set twice, first on line %d", short(w.text), b.src.line(first.at))
}

// count bounds the elements of lists.
func (b *builder) count(at int) error {
	if b.items++; b.items > maxItems {
		return b.src.errorf(at, "the lists of this file have more than %d elements", maxItems)
	}
	return nil
}

// tooDeep refuses a value nested below the given depth.
func (b *builder) tooDeep(at, depth int) error {
	if depth > maxDepth {
		return b.src.errorf(at, "nested more than %d levels deep", maxDepth)
	}
	return nil
}

func joined(path []word) string {
	parts := make([]string, len(path))
	for i, w := range path {
		parts[i] = w.text
	}
	return strings.Join(parts, ".")
}

// source is the text of one file, to turn offsets into places.
type source struct {
	name  string // as messages show it
	data  []byte
	lines []int // offset of the start of each line
}

func newSource(name string, data []byte) *source {
	return &source{name: policy.Plain(name), data: data}
}

// line returns the line of an offset, from 1.
func (s *source) line(at int) int {
	if s.lines == nil {
		s.lines = []int{0}
		for i, c := range s.data {
			if c == '\n' {
				s.lines = append(s.lines, i+1)
			}
		}
	}
	i, found := slices.BinarySearch(s.lines, at)
	if found {
		return i + 1
	}
	return i
}

// place returns "file:line:col"; columns count bytes from 1, as compilers do.
func (s *source) place(at int) string {
	line := s.line(at)
	return s.name + ":" + strconv.Itoa(line) + ":" + strconv.Itoa(at-s.lines[line-1]+1)
}

// errorf returns an error at an offset. Its text is one line whatever the
// arguments hold.
func (s *source) errorf(at int, format string, args ...any) *policy.Error {
	return &policy.Error{Source: s.place(at), Text: oneLine(fmt.Sprintf(format, args...))}
}

// maxText bounds the length of an error, which may quote what it is about.
const maxText = 600

// oneLine escapes what a terminal could take for a command, and cuts what is
// too long to be read.
func oneLine(text string) string {
	var b strings.Builder
	for _, r := range text {
		if b.Len() > maxText {
			b.WriteString("…")
			break
		}
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// short quotes a word for a message and cuts a long one.
func short(s string) string {
	if len(s) > 80 {
		return policy.Quote(s[:80]) + "…"
	}
	return policy.Quote(s)
}
