// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlReader reads a TOML file.
type tomlReader struct {
	*source
	p unstable.Parser
}

func (r *tomlReader) read(root table) error {
	if err := r.bounded(); err != nil {
		return err
	}
	t, depth := root, 0
	r.p.Reset(r.data)
	for r.p.NextExpression() {
		e := r.p.Expression()
		words := r.words(e.Key())
		var err error
		switch e.Kind {
		case unstable.Table:
			depth = len(words)
			if _, err = r.path(root, words, depth); err == nil {
				t, err = r.open(root, words)
			}
		case unstable.ArrayTable:
			err = r.errorf(words[0].at, "no key takes a list of tables: write [%s]", oneLine(joined(words)))
		default:
			err = r.keyValue(t, words, e.Value(), depth)
		}
		if err != nil {
			return err
		}
	}
	return r.syntax(r.p.Error())
}

func (r *tomlReader) keyValue(t table, words []word, value *unstable.Node, depth int) error {
	depth += len(words)
	path, err := r.path(t, words, depth)
	if err != nil {
		return err
	}
	v, err := r.value(value, words[0].at, depth, path)
	if err != nil {
		return err
	}
	return r.set(t, words, v)
}

func (r *tomlReader) words(it unstable.Iterator) []word {
	var path []word
	for it.Next() {
		k := it.Node()
		path = append(path, word{string(k.Data), int(k.Raw.Offset)})
	}
	return path
}

// value converts one value; at is the place of its key, for kinds whose own
// place the parser does not keep.
func (r *tomlReader) value(n *unstable.Node, at, depth int, path string) (any, error) {
	if n.Raw.Length > 0 {
		at = int(n.Raw.Offset)
	}
	text := string(n.Data)
	r.at[path+delim] = at
	switch n.Kind {
	case unstable.String:
		return text, nil
	case unstable.Bool:
		return text == "true", nil
	case unstable.Integer:
		return r.integer(strings.TrimPrefix(strings.ReplaceAll(text, "_", ""), "+"), text, at)
	case unstable.Float:
		return r.fraction(strings.ReplaceAll(text, "_", ""), at)
	case unstable.Array:
		var values []*unstable.Node
		for it := n.Children(); it.Next(); {
			values = append(values, it.Node())
		}
		return r.list(at, depth, path, len(values), func(i int, path string) (any, error) {
			return r.value(values[i], at, depth+1, path)
		})
	case unstable.InlineTable:
		out := table{path, make(map[string]any)}
		for it := n.Children(); it.Next(); {
			if err := r.keyValue(out, r.words(it.Node().Key()), it.Node().Value(), depth); err != nil {
				return nil, err
			}
		}
		r.close(out)
		return out.keys, nil
	}
	return nil, r.errorf(at, "no key takes a date or a time: write a string in quotes")
}

// integer converts the digits of a whole number, which was written as text.
func (s *source) integer(digits, text string, at int) (any, error) {
	n, err := strconv.ParseInt(digits, 0, 64)
	if err != nil {
		return nil, s.errorf(at, "%s: not a number that fits 64 bits", short(text))
	}
	return n, nil
}

// fraction converts the text of a fractional number.
func (s *source) fraction(text string, at int) (any, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, s.errorf(at, "%s: not a number that can be used here", short(text))
	}
	return f, nil
}

// syntax gives the parser's complaint a place.
func (r *tomlReader) syntax(err error) error {
	if err == nil {
		return nil
	}
	var pe *unstable.ParserError
	if !errors.As(err, &pe) {
		return r.errorf(0, "%v", err)
	}
	at := 0
	if pe.Highlight != nil {
		at = int(r.p.Range(pe.Highlight).Offset)
	}
	return r.errorf(at, "%s", fmt.Sprint(pe))
}
