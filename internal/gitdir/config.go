// SPDX-License-Identifier: Apache-2.0

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
	full    string
}

// Name is "section.key", for a choice by what it means.
func (s *Setting) Name() string { return s.Section + "." + s.Key }

// Full is the whole name, as git prints it.
func (s *Setting) Full() string { return s.full }

var errSyntax = errors.New("not a git config file")

// Each calls f for every setting of a config file, in order, as git 2.39 reads it
// (config.c, git_parse_source). Git refuses to work with a file that has a mistake
// in it, so nothing behind one counts.
func Each(data []byte, f func(Setting)) error {
	return Spans(data, func(s Setting, _, _ []byte) { f(s) })
}

// Spans is [Each] with what stands in the file: the header of the section, and the
// setting without a comment behind it.
func Spans(data []byte, f func(s Setting, header, setting []byte)) error {
	var header []byte
	r := reader{text: data}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		r.at = 3
	}
	for {
		start := r.at
		switch c := r.next(); {
		case c == '\n' && r.end:
			return nil
		case space(c):
		case c == '#' || c == ';':
			for c != '\n' {
				c = r.next()
			}
			if r.end {
				return nil
			}
		case c == '[':
			r.name = r.name[:0]
			if !r.section() || len(r.name) == 0 {
				return errSyntax
			}
			r.name = append(r.name, '.')
			r.stem = len(r.name)
			header = data[start:r.at]
		case letter(c):
			r.name = append(r.name[:r.stem], lower(c))
			if !r.setting() {
				return errSyntax
			}
			f(settingOf(text(r.name), text(r.value)), header, data[start:r.stop])
		default:
			return errSyntax
		}
	}
}

// text ends at a NUL, as it does for git.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// settingOf splits a name: what is between the first dot and the last is in quotes
// in the file.
func settingOf(name, value string) Setting {
	s := Setting{Key: name, Value: value, full: name}
	section, rest, found := strings.Cut(name, ".")
	if !found {
		return s
	}
	s.Section, s.Key = section, rest
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		s.Sub, s.Key = rest[:i], rest[i+1:]
	}
	return s
}

type reader struct {
	text  []byte
	at    int
	end   bool   // a line feed was made up
	name  []byte // of the setting, up to stem that of its section
	stem  int
	value []byte
	stop  int // where the last line or comment that ended a setting begins
}

// next is the next byte. CR LF reads as LF, and so does the end.
func (r *reader) next() byte {
	if r.at >= len(r.text) {
		r.end = true
		return '\n'
	}
	c := r.text[r.at]
	r.at++
	if c == '\r' && r.at < len(r.text) && r.text[r.at] == '\n' {
		r.at++
		return '\n'
	}
	return c
}

// section reads "name]", "name.sub]" or `name "sub"]`.
func (r *reader) section() bool {
	for {
		switch c := r.next(); {
		case r.end:
			return false
		case c == ']':
			return true
		case space(c):
			return r.subsection(c)
		case keyChar(c) || c == '.':
			r.name = append(r.name, lower(c))
		default:
			return false
		}
	}
}

func (r *reader) subsection(c byte) bool {
	for ; space(c); c = r.next() {
		if c == '\n' {
			return false
		}
	}
	if c != '"' {
		return false
	}
	r.name = append(r.name, '.')
	for {
		switch c = r.next(); c {
		case '\n':
			return false
		case '"':
			return r.next() == ']'
		case '\\':
			if c = r.next(); c == '\n' {
				return false
			}
		}
		r.name = append(r.name, c)
	}
}

// setting reads "key", or "key = value" up to the end of the line.
func (r *reader) setting() bool {
	c := r.next()
	for ; !r.end && keyChar(c); c = r.next() {
		r.name = append(r.name, lower(c))
	}
	for c == ' ' || c == '\t' {
		c = r.next()
	}
	r.value = r.value[:0]
	r.stop = r.before()
	return c == '\n' || c == '=' && r.readValue()
}

// before is where the byte that was read last begins.
func (r *reader) before() int {
	if r.end {
		return r.at
	}
	return r.at - 1
}

// readValue reads a value: quotes may open and close anywhere in it, a backslash
// at the end of a line goes on with the next, and a comment ends it.
func (r *reader) readValue() bool {
	quoted, comment, spaces := false, false, 0
	for {
		c := r.next()
		if !comment {
			r.stop = r.before()
		}
		switch {
		case c == '\n':
			return !quoted
		case comment:
			continue
		case space(c) && !quoted:
			if len(r.value) > 0 {
				spaces++
			}
			continue
		case !quoted && (c == ';' || c == '#'):
			comment = true
			continue
		}
		for ; spaces > 0; spaces-- {
			r.value = append(r.value, ' ')
		}
		switch c {
		case '"':
			quoted = !quoted
			continue
		case '\\':
			switch c = r.next(); c {
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
		r.value = append(r.value, c)
	}
}

// space is what git takes for white space: neither VT nor FF.
func space(c byte) bool   { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func letter(c byte) bool  { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func keyChar(c byte) bool { return letter(c) || '0' <= c && c <= '9' || c == '-' }

func lower(c byte) byte {
	if letter(c) {
		return c | 0x20
	}
	return c
}
