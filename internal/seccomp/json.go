// SPDX-License-Identifier: Apache-2.0

package seccomp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
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

// value is a JSON value with its place.
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
	// maxFile is the largest file that is read, in bytes.
	maxFile    = 1 << 20
	maxNesting = 16
)

// reader reads one JSON text with encoding/json, and is stricter: other programs
// could read duplicate keys, or half a surrogate pair, differently.
type reader struct {
	name string
	data []byte
	dec  *json.Decoder
}

// readJSON returns the value that the file is.
func (r *reader) readJSON() (v value, err error) {
	switch {
	case len(r.data) > maxFile:
		return v, r.errorf(0, "larger than %d bytes", maxFile)
	case bytes.HasPrefix(r.data, []byte("\uFEFF")):
		return v, r.errorf(0, "starts with a byte order mark: save it as plain UTF-8")
	case !utf8.Valid(r.data):
		at := bytes.IndexRune(r.data, utf8.RuneError)
		return v, r.errorf(at, "byte 0x%02x: not a text file (UTF-8)", r.data[at])
	}
	var bad *json.SyntaxError
	if err := json.Unmarshal(r.data, new(json.RawMessage)); errors.As(err, &bad) {
		return v, r.syntax(bad)
	}
	r.dec = json.NewDecoder(bytes.NewReader(r.data))
	r.dec.UseNumber()
	return r.value(0)
}

// syntaxWants are the ends of encoding/json's errors, and what it wants there.
var syntaxWants = [...]struct{ end, want string }{
	{" looking for beginning of value", "a value"},
	{" looking for beginning of object key string", "a key in quotes"},
	{" after object key", `":"`},
	{" after object key:value pair", `"," or "}"`},
	{" after array element", `"," or "]"`},
}

// syntax gives an error of encoding/json its place. Its offset counts the
// character that was too much.
func (r *reader) syntax(err *json.SyntaxError) error {
	at := max(0, int(err.Offset)-1)
	text := err.Error()
	if !strings.HasPrefix(text, "invalid character") {
		return r.errorf(len(r.data), "%s", text)
	}
	if strings.HasSuffix(text, " after top-level value") {
		return r.errorf(at, "there is something after the end of the filter")
	}
	for _, w := range syntaxWants {
		if strings.HasSuffix(text, w.end) {
			c, _ := utf8.DecodeRune(r.data[at:])
			return r.errorf(at, "want %s, got %s", w.want, strconv.QuoteRune(c))
		}
	}
	return r.errorf(at, "%s", text)
}

// token returns the next token and where it starts.
func (r *reader) token() (token json.Token, at int, err error) {
	at = int(r.dec.InputOffset())
	at += len(r.data[at:]) - len(bytes.TrimLeft(r.data[at:], " \t\r\n,:"))
	if token, err = r.dec.Token(); err != nil {
		return nil, at, r.errorf(at, "%s", err) // cannot happen: the syntax was checked
	}
	text, _ := token.(string)
	raw := r.data[at:r.dec.InputOffset()]
	if strings.ContainsRune(text, utf8.RuneError) && !bytes.ContainsRune(raw, utf8.RuneError) {
		return nil, at, r.errorf(at, "half a character: of these two have to stand together")
	}
	return token, at, nil
}

func (r *reader) value(depth int) (v value, err error) {
	token, at, err := r.token()
	v.at = at
	if err == nil && depth == maxNesting {
		err = r.errorf(at, "nested more than %d levels deep", maxNesting)
	}
	if err != nil {
		return v, err
	}
	switch token := token.(type) {
	case bool:
		v.kind = isBool
	case json.Number:
		v.kind, v.text = isNumber, token.String()
	case string:
		v.kind, v.text = isText, token
	case json.Delim:
		if token == '{' {
			v.kind = isObject
			v.keys, err = r.object(depth)
			break
		}
		v.kind = isList
		for err == nil && r.dec.More() {
			var element value
			element, err = r.value(depth + 1)
			v.list = append(v.list, element)
		}
		if err == nil {
			_, _, err = r.token()
		}
	}
	return v, err
}

// object reads what follows the opening brace.
func (r *reader) object(depth int) (keys []member, err error) {
	seen := map[string]bool{}
	for r.dec.More() {
		token, at, err := r.token()
		if err != nil {
			return nil, err
		}
		m := member{key: token.(string), at: at}
		if seen[m.key] {
			return nil, r.errorf(at, "the key %s stands there twice", short(m.key))
		}
		seen[m.key] = true
		if m.value, err = r.value(depth + 1); err != nil {
			return nil, err
		}
		keys = append(keys, m)
	}
	_, _, err = r.token()
	return keys, err
}

// errorf returns an error at an offset. Columns count bytes from 1.
func (r *reader) errorf(at int, format string, args ...any) *FileError {
	before := string(r.data[:at])
	line := strings.LastIndexByte(before, '\n') + 1
	place := r.name + ":" + strconv.Itoa(1+strings.Count(before, "\n")) + ":" + strconv.Itoa(1+at-line)
	return &FileError{Place: place, Text: fmt.Sprintf(format, args...)}
}

// short quotes a text of the user's on one line.
func short(s string) string {
	if len(s) > 80 {
		return strconv.Quote(s[:80]) + "…"
	}
	return strconv.Quote(s)
}
