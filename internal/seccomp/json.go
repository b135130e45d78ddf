package seccomp

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// FileError says what is wrong with a filter file, and where.
type FileError struct {
	Place string   // file:line:col
	Text  string   // one line
	Word  string   // that is not one of Known
	Known []string // what could have been written, or nil
}

func (e *FileError) Error() string { return e.Place + ": " + e.Text }

// value is a JSON value that keeps its place, which encoding/json forgets.
type value struct {
	kind kind
	at   int    // offset in the file
	text string // of a string; of a number as it was written
	list []value
	keys []member
}

type member struct {
	key string
	at  int
	value
}

type kind uint8

const (
	isNull kind = iota
	isBool
	isNumber
	isText
	isList
	isObject
)

func (k kind) String() string {
	return [...]string{"null", "true or false", "a number", "a string", "a list", "an object"}[k]
}

// Bounds of a file. The format is five levels deep.
const (
	// MaxFile is the largest file that is read, in bytes.
	MaxFile    = 1 << 20
	maxNesting = 16
)

// reader reads one JSON text (RFC 8259). It is stricter than encoding/json: a
// key that stands there twice, or bytes that are not UTF-8, could be read by
// another program as something else than here.
type reader struct {
	name string
	data []byte
	at   int
}

// readJSON returns the value that the file is.
func (r *reader) readJSON() (v value, err error) {
	switch {
	case len(r.data) > MaxFile:
		return v, r.errorf(0, "larger than %d bytes", MaxFile)
	case strings.HasPrefix(string(r.data[:min(3, len(r.data))]), "\uFEFF"):
		return v, r.errorf(0, "starts with a byte order mark: save it as plain UTF-8")
	case !utf8.Valid(r.data):
		return v, r.errorf(r.invalid(), "byte 0x%02x: not a text file (UTF-8)", r.data[r.invalid()])
	}
	if v, err = r.value(0); err != nil {
		return v, err
	}
	if r.skip(); r.at < len(r.data) {
		return v, r.errorf(r.at, "there is something after the end of the filter")
	}
	return v, nil
}

func (r *reader) invalid() int {
	at := 0
	for at < len(r.data) {
		c, n := utf8.DecodeRune(r.data[at:])
		if c == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

func (r *reader) skip() {
	for r.at < len(r.data) && strings.IndexByte(" \t\r\n", r.data[r.at]) >= 0 {
		r.at++
	}
}

// next is the next byte that is no blank, 0 at the end.
func (r *reader) next() byte {
	r.skip()
	if r.at == len(r.data) {
		return 0
	}
	return r.data[r.at]
}

func (r *reader) value(depth int) (v value, err error) {
	c := r.next()
	v.at = r.at
	switch {
	case depth == maxNesting:
		return v, r.errorf(r.at, "nested more than %d levels deep", maxNesting)
	case c == '{':
		v.kind = isObject
		v.keys, err = r.object(depth)
	case c == '[':
		v.kind = isList
		v.list, err = r.list(depth)
	case c == '"':
		v.kind = isText
		v.text, err = r.text()
	case c == '-' || '0' <= c && c <= '9':
		v.kind = isNumber
		v.text, err = r.number()
	default:
		v.kind, err = r.word()
	}
	return v, err
}

func (r *reader) object(depth int) (keys []member, err error) {
	seen := map[string]bool{}
	r.at++
	if r.next() == '}' {
		r.at++
		return nil, nil
	}
	for {
		if r.next() != '"' {
			return nil, r.unexpected("a key in quotes")
		}
		m := member{at: r.at}
		if m.key, err = r.text(); err != nil {
			return nil, err
		}
		if seen[m.key] {
			return nil, r.errorf(m.at, "the key %s stands there twice", short(m.key))
		}
		seen[m.key] = true
		if r.next() != ':' {
			return nil, r.unexpected(`":"`)
		}
		r.at++
		if m.value, err = r.value(depth + 1); err != nil {
			return nil, err
		}
		keys = append(keys, m)
		if more, err := r.more('}'); err != nil || !more {
			return keys, err
		}
	}
}

func (r *reader) list(depth int) (list []value, err error) {
	r.at++
	if r.next() == ']' {
		r.at++
		return nil, nil
	}
	for {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if more, err := r.more(']'); err != nil || !more {
			return list, err
		}
	}
}

// more reads the comma before the next element, or the closing bracket.
func (r *reader) more(end byte) (bool, error) {
	switch r.next() {
	case ',':
		r.at++
		return true, nil
	case end:
		r.at++
		return false, nil
	}
	return false, r.unexpected(`"," or "` + string(end) + `"`)
}

func (r *reader) unexpected(want string) *FileError {
	if r.at == len(r.data) {
		return r.errorf(r.at, "want %s, and the file ends", want)
	}
	c, _ := utf8.DecodeRune(r.data[r.at:])
	return r.errorf(r.at, "want %s, got %s", want, strconv.QuoteRune(c))
}

// text reads a string, and of its escapes all there are.
func (r *reader) text() (string, error) {
	var b strings.Builder
	start := r.at
	for r.at++; r.at < len(r.data); {
		switch c := r.data[r.at]; {
		case c == '"':
			r.at++
			return b.String(), nil
		case c < ' ':
			return "", r.errorf(r.at, "control character 0x%02x in a string", c)
		case c == '\\':
			if err := r.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
			r.at++
		}
	}
	return "", r.errorf(start, "this string does not end")
}

func (r *reader) escape(b *strings.Builder) error {
	rest := r.data[r.at:]
	if len(rest) < 2 {
		return r.errorf(r.at, `\ at the end of the file`)
	}
	if i := strings.IndexByte(`"\/bfnrt`, rest[1]); i >= 0 {
		b.WriteByte("\"\\/\b\f\n\r\t"[i])
		r.at += 2
		return nil
	}
	c, ok := hex4(rest)
	if !ok {
		return r.errorf(r.at, `in a string \ stands before ", \, /, b, f, n, r, t or uXXXX`)
	}
	n := 6
	if utf16.IsSurrogate(c) {
		low, _ := hex4(rest[6:])
		if c = utf16.DecodeRune(c, low); c == unicode.ReplacementChar {
			return r.errorf(r.at, "half a character: of these two have to stand together")
		}
		n = 12
	}
	b.WriteRune(c)
	r.at += n
	return nil
}

// hex4 reads \uXXXX.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

// number reads a number without understanding it.
func (r *reader) number() (string, error) {
	start := r.at
	digits := func() bool {
		from := r.at
		for r.at < len(r.data) && '0' <= r.data[r.at] && r.data[r.at] <= '9' {
			r.at++
		}
		return r.at > from
	}
	one := func(set string) bool {
		if r.at < len(r.data) && strings.IndexByte(set, r.data[r.at]) >= 0 {
			r.at++
			return true
		}
		return false
	}
	one("-")
	ok := one("0") || digits()
	if ok && one(".") {
		ok = digits()
	}
	if ok && one("eE") {
		one("+-")
		ok = digits()
	}
	if !ok {
		return "", r.errorf(start, "a number that does not end")
	}
	return string(r.data[start:r.at]), nil
}

// word reads true, false and null.
func (r *reader) word() (kind, error) {
	for _, w := range []struct {
		text string
		kind kind
	}{{"true", isBool}, {"false", isBool}, {"null", isNull}} {
		if strings.HasPrefix(string(r.data[r.at:min(r.at+5, len(r.data))]), w.text) {
			r.at += len(w.text)
			return w.kind, nil
		}
	}
	return 0, r.unexpected("a value")
}

// errorf returns an error at an offset. Columns count bytes from 1.
func (r *reader) errorf(at int, format string, args ...any) *FileError {
	before := string(r.data[:at])
	line := strings.LastIndexByte(before, '\n') + 1
	place := r.name + ":" + strconv.Itoa(1+strings.Count(before, "\n")) + ":" + strconv.Itoa(1+at-line)
	return &FileError{Place: place, Text: fmt.Sprintf(format, args...)}
}

// short quotes what somebody wrote, on one line.
func short(s string) string {
	if len(s) > 80 {
		return strconv.Quote(s[:80]) + "…"
	}
	return strconv.Quote(s)
}
