package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// readTOML returns the tree of a TOML file. Every error begins with
// file:line:col.
func readTOML(name string, data []byte) (*node, *source, error) {
	src := newSource(name, data)
	if err := scan(src, skipTOML); err != nil {
		return nil, src, err
	}
	r := &tomlReader{builder: builder{src: src}}
	root, err := guard(src, r.read)
	return root, src, err
}

// guard turns a panic of a parser into an error. None is known; the file may
// be an attacker's.
func guard(src *source, read func() (*node, error)) (root *node, err error) {
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, src.errorf(0, "cannot be read: %v", p)
		}
	}()
	return read()
}

type tomlReader struct {
	builder
	p unstable.Parser
}

func (r *tomlReader) read() (*node, error) {
	root := &node{kind: isTable, made: opened}
	table, depth := root, 0
	r.p.Reset(r.src.data)
	for r.p.NextExpression() {
		e := r.p.Expression()
		path := r.path(e.Key())
		if err := r.tooDeep(path[0].at, depth+len(path)); err != nil {
			return nil, err
		}
		var err error
		switch e.Kind {
		case unstable.Table:
			if err = r.tooDeep(path[0].at, len(path)); err == nil {
				table, err = r.open(root, path)
			}
			depth = len(path)
		case unstable.ArrayTable:
			err = r.src.errorf(path[0].at, "no key takes a list of tables: write [%s]", oneLine(joined(path)))
		default:
			err = r.keyValue(table, path, e.Value(), depth)
		}
		if err != nil {
			return nil, err
		}
	}
	return root, r.syntax(r.p.Error())
}

func (r *tomlReader) keyValue(t *node, path []word, value *unstable.Node, depth int) error {
	depth += len(path)
	if err := r.tooDeep(path[0].at, depth); err != nil {
		return err
	}
	v, err := r.value(value, path[0].at, depth)
	if err != nil {
		return err
	}
	return r.set(t, path, v)
}

func (r *tomlReader) path(it unstable.Iterator) []word {
	var path []word
	for it.Next() {
		k := it.Node()
		path = append(path, word{string(k.Data), int(k.Raw.Offset)})
	}
	return path
}

// value converts one value; at is the place of its key, for kinds whose own
// place the parser does not keep.
func (r *tomlReader) value(n *unstable.Node, at, depth int) (*node, error) {
	if n.Raw.Length > 0 {
		at = int(n.Raw.Offset)
	}
	switch n.Kind {
	case unstable.String:
		return &node{kind: isText, at: at, text: string(n.Data)}, nil
	case unstable.Bool:
		return &node{kind: isBool, at: at, yes: n.Data[0] == 't'}, nil
	case unstable.Integer:
		whole, err := strconv.ParseInt(plainDigits(string(n.Data)), 0, 64)
		if err != nil {
			return nil, r.src.errorf(at, "%s: not a number that fits 64 bits", short(string(n.Data)))
		}
		return &node{kind: isWhole, at: at, whole: whole}, nil
	case unstable.Float:
		return r.real(strings.ReplaceAll(string(n.Data), "_", ""), at)
	case unstable.Array:
		return r.array(n, at, depth)
	case unstable.InlineTable:
		return r.inline(n, at, depth)
	}
	return nil, r.src.errorf(at, "no key takes a date or a time: write a string in quotes")
}

// plainDigits takes the underscores and the sign + out of a TOML integer.
func plainDigits(s string) string {
	return strings.TrimPrefix(strings.ReplaceAll(s, "_", ""), "+")
}

// real converts the text of a fractional number.
func (b *builder) real(text string, at int) (*node, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, b.src.errorf(at, "%s: not a number that can be used here", short(text))
	}
	return &node{kind: isReal, at: at, real: f}, nil
}

func (r *tomlReader) array(n *unstable.Node, at, depth int) (*node, error) {
	if err := r.tooDeep(at, depth); err != nil {
		return nil, err
	}
	out := &node{kind: isList, at: at}
	for it := n.Children(); it.Next(); {
		if err := r.count(at); err != nil {
			return nil, err
		}
		v, err := r.value(it.Node(), at, depth+1)
		if err != nil {
			return nil, err
		}
		out.list = append(out.list, v)
	}
	return out, nil
}

func (r *tomlReader) inline(n *unstable.Node, at, depth int) (*node, error) {
	out := &node{kind: isTable, at: at}
	for it := n.Children(); it.Next(); {
		kv := it.Node()
		if err := r.keyValue(out, r.path(kv.Key()), kv.Value(), depth); err != nil {
			return nil, err
		}
	}
	closeTables(out)
	return out, nil
}

// closeTables marks an inline table and those its dotted keys made: nothing
// outside the braces may add to them.
func closeTables(n *node) {
	if n.kind != isTable {
		return
	}
	n.made = closed
	for _, e := range n.keys {
		closeTables(e.value)
	}
}

// syntax gives the parser's complaint a place.
func (r *tomlReader) syntax(err error) error {
	if err == nil {
		return nil
	}
	var pe *unstable.ParserError
	if !errors.As(err, &pe) {
		return r.src.errorf(0, "%v", err)
	}
	at := 0
	if pe.Highlight != nil {
		at = int(r.p.Range(pe.Highlight).Offset)
	}
	return r.src.errorf(at, "%s", fmt.Sprint(pe))
}
