// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"path"
	"strconv"
	"strings"
)

// expander makes rules of paths as written. It remembers the variable that it
// expanded last, since in sorted paths the next one has the same one.
type expander struct {
	*Vars
	name, value string
	buf         strings.Builder // holds the paths made, many to one allocation
}

// rule makes a rule of one list item, in its place. ok is false when a variable in it has
// no value on this host, so that there is nothing the rule could be about.
func (e *expander) rule(it *element, r *Rule) (ok bool, err error) {
	text := it.Text
	*r = Rule{Access: it.access, Layer: it.Layer, Source: it.Source, Must: it.Must, Offline: it.Offline}
	if it.Layer == Flag {
		// Absolute already, and taken as it is: $ and * are letters here.
		r.Path = path.Clean(text)
		return true, nil
	}
	if it.plain {
		if r.Path, ok = e.join(text); r.Path != "" || !ok {
			return ok, nil
		}
	}
	if rest, found := strings.CutPrefix(text, "!"); found {
		if it.access != Block && it.access != Protect {
			return false, errors.New(strconv.Quote(text) +
				`: "!" takes names out of patterns, in blocked_paths and protected_paths only`)
		}
		r.Except, text = true, rest
	}
	r.Pattern = strings.ContainsAny(text, "*?")
	if r.Pattern {
		if err := patternError(it.Text, text, it.access); err != nil {
			return false, err
		}
	}
	r.OfCWD = ofCWD(text)
	if text == "$ROOT" && e.Root == e.project() {
		return false, nil // it means the rest of the tree, and there is none
	}
	r.Path, ok, err = e.Expand(text)
	return ok && err == nil, err
}

func ofCWD(text string) bool { return text == "$CWD" || text == "$PROJECT" }

// join expands a plain text. ok is false when its variable has no value; the
// path is "" where the value is not what a directory is called.
func (e *expander) join(text string) (joined string, ok bool) {
	if text[0] == '/' {
		return text, true
	}
	if name := varName(text[1:]); name != e.name {
		value, known := e.lookup(name)
		if !known || value != "" && (value[0] != '/' || path.Clean(value) != value) {
			value = "/"
		}
		e.name, e.value = name, value
	}
	if e.value == "" || e.value == "/" {
		return "", e.value != ""
	}
	rest := text[1+len(e.name):]
	if need := len(e.value) + len(rest); need > e.buf.Cap()-e.buf.Len() {
		e.buf = strings.Builder{}
		e.buf.Grow(max(need, 8<<10))
	}
	start := e.buf.Len()
	e.buf.WriteString(e.value)
	e.buf.WriteString(rest)
	return e.buf.String()[start:], true
}

// elsewhere reports whether the rule counts in other environments of the user,
// too: whatever hides or protects something in one does so in the others.
// Nothing is granted there.
func (it *element) elsewhere() bool {
	text := it.Text
	if it.plain {
		text = text[:min(len(text), len("$HOME"))]
	}
	return it.Layer != Flag && it.access != Write && it.access != Read &&
		(strings.Contains(text, "$HOME") || strings.Contains(text, "$XDG_") || strings.HasPrefix(text, "~"))
}

// below reports whether a file names a path below a variable.
func (it *element) below(prefix string) bool {
	return it.Layer != Flag && strings.HasPrefix(strings.TrimPrefix(it.Text, "!"), prefix)
}
