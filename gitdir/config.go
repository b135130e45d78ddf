package gitdir

import (
	"bytes"
	"errors"
	"strings"
)

// Setting is one line of a git config file (git-config(1), "Syntax").
type Setting struct {
	Section string // lower case
	Sub     string // as written in quotes; lower case when written with a dot
	Key     string // lower case
	Value   string // "" also for a key without "="
}

// Name is "section.key", for a choice by what it means.
func (s *Setting) Name() string { return s.Section + "." + s.Key }

var errSyntax = errors.New("not a git config file")

// Each calls f for every setting of a config file, in order. Git refuses to
// work with a file that has a mistake in it, so nothing behind one counts.
func Each(data []byte, f func(Setting)) error {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		// git ends a text there; what sbx would make of the rest is another file.
		return errors.Join(Each(data[:i], f), errSyntax)
	}
	r := reader{text: data}
	if strings.HasPrefix(string(data), "\xef\xbb\xbf") {
		r.at = 3
	}
	for {
		switch c := r.skip(); {
		case c == 0 && r.end():
			return nil
		case c == '[':
			if !r.section() {
				return errSyntax
			}
		case letter(c):
			if r.set.Section == "" || !r.setting() {
				return errSyntax
			}
			f(r.set)
		default:
			return errSyntax
		}
	}
}

type reader struct {
	text []byte
	at   int
	set  Setting
}

func (r *reader) end() bool { return r.at >= len(r.text) }

// peek is the next byte, 0 at the end. CR LF reads as LF.
func (r *reader) peek() byte {
	if r.end() {
		return 0
	}
	if c := r.text[r.at]; c != '\r' || r.at+1 >= len(r.text) || r.text[r.at+1] != '\n' {
		return c
	}
	r.at++
	return '\n'
}

func (r *reader) next() byte {
	c := r.peek()
	r.at++
	return c
}

// skip goes over white space and comments and returns what stands there.
func (r *reader) skip() byte {
	for !r.end() {
		switch c := r.peek(); c {
		case ' ', '\t', '\n', '\r', '\v', '\f':
			r.at++
		case '#', ';':
			for !r.end() && r.peek() != '\n' {
				r.at++
			}
		default:
			return c
		}
	}
	return 0
}

// section reads "[name]", "[name.sub]" or `[name "sub"]`.
func (r *reader) section() bool {
	r.at++
	start := r.at
	for c := r.peek(); letter(c) || digit(c) || c == '-' || c == '.'; c = r.peek() {
		r.at++
	}
	name := strings.ToLower(string(r.text[start:min(r.at, len(r.text))]))
	r.set = Setting{}
	r.set.Section, r.set.Sub, _ = strings.Cut(name, ".")
	switch c := r.next(); c {
	case ']':
		return name != ""
	case ' ', '\t':
		return r.subsection()
	}
	return false
}

func (r *reader) subsection() bool {
	for r.peek() == ' ' || r.peek() == '\t' {
		r.at++
	}
	if r.next() != '"' {
		return false
	}
	var sub []byte
	for {
		c := r.next()
		switch {
		case r.at > len(r.text) || c == '\n':
			return false
		case c == '"':
			r.set.Sub = string(sub)
			return r.next() == ']' && r.set.Section != ""
		case c == '\\':
			if c = r.next(); r.at > len(r.text) || c == '\n' {
				return false
			}
		}
		sub = append(sub, c)
	}
}

// setting reads "key", or "key = value" up to the end of the line.
func (r *reader) setting() bool {
	start := r.at
	for c := r.peek(); letter(c) || digit(c) || c == '-'; c = r.peek() {
		r.at++
	}
	r.set.Key, r.set.Value = strings.ToLower(string(r.text[start:r.at])), ""
	for r.peek() == ' ' || r.peek() == '\t' {
		r.at++
	}
	switch {
	case r.end():
		return true
	case r.peek() == '\n':
		r.at++
		return true
	case r.peek() == '#' || r.peek() == ';':
		return true
	case r.peek() != '=':
		return false
	}
	r.at++
	return r.value()
}

// value reads a value: quotes may open and close anywhere in it, a backslash at
// the end of a line goes on with the next, and a comment ends it.
func (r *reader) value() bool {
	var out []byte
	quoted, comment, kept := false, false, 0 // kept is what trailing space does not take away
	for {
		c := r.next()
		switch {
		case r.at > len(r.text), c == '\n':
			r.set.Value = string(out[:kept])
			return !quoted
		case comment:
			continue
		case !quoted && (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'):
			if len(out) > 0 {
				out = append(out, c)
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			comment = true
			continue
		case c == '"':
			quoted = !quoted
			kept = len(out)
			continue
		case c == '\\':
			c = r.next()
			switch c {
			case '\n':
				continue
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case 'n':
				c = '\n'
			case '\\', '"':
			default:
				return false
			}
		}
		out = append(out, c)
		kept = len(out)
	}
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }
