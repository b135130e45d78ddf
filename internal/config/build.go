// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strconv"
	"strings"
)

const (
	// maxDepth bounds nested tables and lists; a profile needs four levels.
	maxDepth = 16
	// maxItems bounds the elements of all lists of one file together.
	maxItems = 10_000
	// delim separates the parts of a path of keys: paths of files hold dots.
	delim = "\x00"
	// maxKey bounds the bytes of a path of keys, since places are kept by it.
	maxKey = 1024
)

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

// word is one part of a key with its offset.
type word struct {
	text string
	at   int
}

// table is one table of a file with its path, "" for the file itself.
type table struct {
	path string
	keys map[string]any
}

// sub is the path of a key below a path.
func sub(path, key string) string {
	if path == "" {
		return key
	}
	return path + delim + key
}

// path is the path of a key below a table, whose value is at the given depth.
func (s *source) path(t table, words []word, depth int) (string, error) {
	at, path := words[0].at, t.path
	if err := s.tooDeep(at, depth); err != nil {
		return "", err
	}
	for _, w := range words {
		path = sub(path, w.text)
	}
	if len(path) > maxKey {
		return "", s.errorf(at, "a key of more than %d bytes", maxKey)
	}
	return path, nil
}

// element is the path of the i-th element of a list.
func element(path string, i int) string { return sub(path, strconv.Itoa(i)) }

// open returns the table that a header or a block below t names.
func (s *source) open(t table, path []word) (table, error) {
	for i, w := range path {
		last := i == len(path)-1
		next, found := s.child(t, w, implied)
		switch {
		case next.keys == nil || s.made[next.path] == closed:
			return next, s.twice(w, next.path)
		case last && found && s.made[next.path] != implied:
			return next, s.errorf(w.at, "table %s is defined twice, first on line %d", short(joined(path)),
				s.line(s.at[next.path]))
		case last:
			s.made[next.path], s.at[next.path] = opened, w.at
		}
		t = next
	}
	return t, nil
}

// child returns the table below t, made in the given way if there is none. Its
// keys are nil when another value is there.
func (s *source) child(t table, w word, how made) (next table, found bool) {
	next.path = sub(t.path, w.text)
	v, found := t.keys[w.text]
	if !found {
		v = make(map[string]any)
		t.keys[w.text], s.made[next.path], s.at[next.path] = v, how, w.at
	}
	next.keys, _ = v.(map[string]any)
	return next, found
}

// set puts a value below t under a key that may be dotted.
func (s *source) set(t table, path []word, v any) error {
	for _, w := range path[:len(path)-1] {
		next, _ := s.child(t, w, dotted)
		if next.keys == nil || s.made[next.path] != dotted {
			return s.twice(w, next.path)
		}
		t = next
	}
	w := path[len(path)-1]
	at := sub(t.path, w.text)
	if _, found := t.keys[w.text]; found {
		return s.twice(w, at)
	}
	t.keys[w.text], s.at[at] = v, w.at
	return nil
}

// close marks a table written as one value and those its dotted keys made:
// nothing outside the braces may add to them.
func (s *source) close(t table) {
	s.made[t.path] = closed
	for key, v := range t.keys {
		if m, ok := v.(map[string]any); ok {
			s.close(table{sub(t.path, key), m})
		}
	}
}

func (s *source) twice(w word, path string) error {
	return s.errorf(w.at, "key %s is set twice, first on line %d", short(w.text), s.line(s.at[path]))
}

// list reads the n elements of a list.
func (s *source) list(at, depth int, path string, n int, read func(i int, path string) (any, error)) (any, error) {
	if err := s.tooDeep(at, depth); err != nil {
		return nil, err
	}
	out := make([]any, 0, n)
	for i := range n {
		if s.items++; s.items > maxItems {
			return nil, s.errorf(at, "the lists of this file have more than %d elements", maxItems)
		}
		v, err := read(i, element(path, i))
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// tooDeep refuses a value nested below the given depth.
func (s *source) tooDeep(at, depth int) error {
	if depth > maxDepth {
		return s.errorf(at, "nested more than %d levels deep", maxDepth)
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
