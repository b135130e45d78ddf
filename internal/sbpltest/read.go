// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is a profile that cannot be loaded. Line and Col count from 1, Col in bytes.
type Error struct {
	Line, Col int
	Msg       string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Msg) }

// errorAt says where in the text something is wrong.
func errorAt(text string, pos int, format string, args ...any) error {
	pos = min(pos, len(text))
	before := text[:pos]
	return &Error{
		Line: 1 + strings.Count(before, "\n"),
		Col:  pos - strings.LastIndexByte(before, '\n'),
		Msg:  fmt.Sprintf(format, args...),
	}
}

type nodeKind int

const (
	listNode nodeKind = iota
	symbolNode
	stringNode
	numberNode
)

// node is a form with its place in the text: text[pos:end] is its source.
type node struct {
	kind     nodeKind
	text     string // of a symbol or a string
	num      int64
	list     []*node
	pos, end int
}

// head is the symbol a list begins with, "" if it does not.
func (n *node) head() string {
	if n.kind == listNode && len(n.list) > 0 && n.list[0].kind == symbolNode {
		return n.list[0].text
	}
	return ""
}

// maxDepth is far more than any profile needs and far less than the stack holds.
const maxDepth = 100

type reader struct {
	text string
	pos  int
}

// read takes a text apart into its forms.
func read(text string) ([]*node, error) {
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		return nil, errorAt(text, 0, "not UTF-8 without NUL")
	}
	r := &reader{text: text}
	var forms []*node
	for {
		r.skip()
		if r.pos == len(text) {
			return forms, nil
		}
		n, err := r.node(0)
		if err != nil {
			return nil, err
		}
		forms = append(forms, n)
	}
}

func (r *reader) errorf(pos int, format string, args ...any) error {
	return errorAt(r.text, pos, format, args...)
}

// skip goes past white space and comments.
func (r *reader) skip() {
	for r.pos < len(r.text) {
		switch r.text[r.pos] {
		case ' ', '\t', '\n', '\r', '\f':
			r.pos++
		case ';':
			end := strings.IndexByte(r.text[r.pos:], '\n')
			if end < 0 {
				r.pos = len(r.text)
				return
			}
			r.pos += end + 1
		default:
			return
		}
	}
}

// node reads one form; the caller has skipped white space and there is text left.
func (r *reader) node(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, r.errorf(r.pos, "more than %d levels deep", maxDepth)
	}
	start := r.pos
	switch r.text[start] {
	case '(':
		return r.list(depth)
	case ')':
		return nil, r.errorf(start, "a ) without its (")
	case '"':
		return r.str()
	case '\'':
		return r.quoted(depth)
	case '#':
		if strings.HasPrefix(r.text[start:], `#"`) {
			return r.raw()
		}
	}
	return r.atom()
}

func (r *reader) list(depth int) (*node, error) {
	n := &node{kind: listNode, pos: r.pos}
	r.pos++
	for {
		r.skip()
		if r.pos == len(r.text) {
			return nil, r.errorf(n.pos, "a ( without its )")
		}
		if r.text[r.pos] == ')' {
			r.pos++
			n.end = r.pos
			return n, nil
		}
		in, err := r.node(depth + 1)
		if err != nil {
			return nil, err
		}
		n.list = append(n.list, in)
	}
}

func (r *reader) quoted(depth int) (*node, error) {
	start := r.pos
	r.pos++
	r.skip()
	if r.pos == len(r.text) {
		return nil, r.errorf(start, "a quote of nothing")
	}
	in, err := r.node(depth + 1)
	if err != nil {
		return nil, err
	}
	quote := &node{kind: symbolNode, text: "quote", pos: start, end: start + 1}
	return &node{kind: listNode, list: []*node{quote, in}, pos: start, end: in.end}, nil
}

// str reads a string. Only \\ and \" are taken: what TinyScheme makes of other
// escapes differs from what the writer of them meant.
func (r *reader) str() (*node, error) {
	start := r.pos
	var b strings.Builder
	for r.pos++; r.pos < len(r.text); r.pos++ {
		switch c := r.text[r.pos]; c {
		case '"':
			r.pos++
			return &node{kind: stringNode, text: b.String(), pos: start, end: r.pos}, nil
		case '\\':
			r.pos++
			if r.pos == len(r.text) || r.text[r.pos] != '"' && r.text[r.pos] != '\\' {
				return nil, r.errorf(r.pos-1, `an escape that is neither \\ nor \"`)
			}
			b.WriteByte(r.text[r.pos])
		default:
			b.WriteByte(c)
		}
	}
	return nil, r.errorf(start, "a string without its end")
}

// raw reads #"…", which has no escapes.
func (r *reader) raw() (*node, error) {
	start := r.pos
	end := strings.IndexByte(r.text[start+2:], '"')
	if end < 0 {
		return nil, r.errorf(start, "a string without its end")
	}
	r.pos = start + 2 + end + 1
	return &node{kind: stringNode, text: r.text[start+2 : r.pos-1], pos: start, end: r.pos}, nil
}

func (r *reader) atom() (*node, error) {
	start := r.pos
	for r.pos < len(r.text) && !strings.ContainsRune(" \t\n\r\f();\"'", rune(r.text[r.pos])) {
		r.pos++
	}
	word := r.text[start:r.pos]
	n := &node{pos: start, end: r.pos}
	if len(word) > 1 && word[0] == '#' && strings.IndexByte("xdob", word[1]) >= 0 {
		base := map[byte]int{'x': 16, 'd': 10, 'o': 8, 'b': 2}[word[1]]
		num, err := strconv.ParseInt(word[2:], base, 64)
		if err != nil {
			return nil, r.errorf(start, "%q is no number", word)
		}
		n.kind, n.num = numberNode, num
		return n, nil
	}
	if num, err := strconv.ParseInt(word, 10, 64); err == nil {
		n.kind, n.num = numberNode, num
		return n, nil
	}
	if word == "." || strings.Trim(word, symbolChars) != "" || word[0] >= '0' && word[0] <= '9' {
		return nil, r.errorf(start, "%q is no form that is read here", word)
	}
	n.kind, n.text = symbolNode, word
	return n, nil
}

const symbolChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!$%&*/:<=>?^_~+-.@"
