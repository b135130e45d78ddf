// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// entry is one key of a table. Nothing is converted when its value is read: the
// string "true" is no bool, and 1.0 is no whole number.
type entry struct {
	key   string
	path  string // with the tables it is in
	at    int    // offset of the key
	value any
}

// valueAt is the offset of the value at a path.
func (s *source) valueAt(path string) int { return s.at[path+delim] }

// kindOf names the type of a value as the person who wrote it would.
func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case bool:
		return "true or false"
	case int64:
		return "a whole number"
	case float64:
		return "a fractional number"
	case []any:
		return "a list"
	}
	return "a table"
}

// read returns the value of a key as type T, which files call want.
func read[T any](s *source, e entry, want string) (T, error) {
	v, ok := e.value.(T)
	if !ok {
		return v, s.errorf(e.at, "%s: want %s, got %s", keyText(e.key), want, kindOf(e.value))
	}
	return v, nil
}

// keyText shows a key: known ones are plain words.
func keyText(key string) string {
	if len(key) > 80 {
		return short(key)
	}
	return text.Plain(key)
}

// unknown is an error about a word that is none of those known.
func (s *source) unknown(at int, word string, known []string, format string, args ...any) error {
	err := s.errorf(at, format, args...)
	err.Near, err.Known = cmp.Or(Synonym(word, known), text.Nearest(word, known)), known
	return err
}

func (s *source) unknownKey(e entry, known []string) error {
	if Synonym(e.key, known) == "" {
		for where, names := range [...][]string{topNames(), profileNames()} {
			place := [...]string{"at the top of the file", "in a profile, below [profiles.moderate] for one"}[where]
			switch name := Synonym(e.key, names); name {
			case "":
			case e.key:
				return s.errorf(e.at, "%s belongs %s", name, place)
			default:
				return s.errorf(e.at, "unknown key %s: write %s %s", short(e.key), name, place)
			}
		}
	}
	return s.unknown(e.at, e.key, known, "unknown key %s", short(e.key))
}

func (s *source) bool(e entry) (bool, error) { return read[bool](s, e, "true or false") }

func (s *source) text(e entry) (string, error) { return read[string](s, e, "a string") }

// oneOf reads a string that has to be one of the words.
func (s *source) oneOf(e entry, words []string) (string, error) {
	v, err := s.text(e)
	if err != nil || slices.Contains(words, v) {
		return v, err
	}
	if e.key == "engine" && policy.Bare(v) {
		return "", s.errorf(e.at, "engine: %s is no engine; to run without a sandbox, write enabled = false, "+
			"or use --no-sandbox for one command", short(v))
	}
	return "", s.unknown(e.at, v, words, "%s: want %s, got %s", keyText(e.key), orList(words), short(v))
}

// orList is "a, b or c".
func orList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// file reads the absolute path of a program: a name would be looked up in a
// PATH that the project may have changed.
func (s *source) file(e entry, key string) (string, error) {
	v, err := s.text(e)
	if err == nil && (!strings.HasPrefix(v, "/") || strings.IndexByte(v, 0) >= 0 || len(v) > maxPath) {
		err = s.errorf(e.at, "%s: want an absolute path, got %s", key, short(v))
	}
	return filepath.Clean(v), err
}

// whole reads a whole number from low to high.
func (s *source) whole(e entry, low, high int64) (int64, error) {
	n, err := read[int64](s, e, "a whole number")
	if err == nil && (n < low || n > high) {
		err = s.errorf(e.at, "%s: want a whole number from %d to %d, got %d", keyText(e.key), low, high, n)
	}
	return n, err
}

// real reads a number, with or without a fraction, from low to high.
func (s *source) real(e entry, low, high float64) (float64, error) {
	if n, ok := e.value.(int64); ok {
		e.value = float64(n)
	}
	n, err := read[float64](s, e, "a number")
	if err == nil && !(low <= n && n <= high) {
		err = s.errorf(e.at, "%s: want a number from %s to %s, got %s", keyText(e.key), digits(low), digits(high),
			digits(n))
	}
	return n, err
}

// digits shows a number without an exponent where that is readable.
func digits(f float64) string {
	if f > -1e15 && f < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// table returns the keys of a table in the order of the file.
func (s *source) table(e entry) ([]entry, error) {
	keys, err := read[map[string]any](s, e, "a table")
	out := make([]entry, 0, len(keys))
	for key, v := range keys {
		path := sub(e.path, key)
		out = append(out, entry{key, path, s.at[path], v})
	}
	slices.SortFunc(out, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	return out, err
}

// texts reads a list of strings; each keeps its own place.
func (s *source) texts(e entry) ([]word, error) {
	list, err := read[[]any](s, e, "a list of strings")
	out := make([]word, len(list))
	for i, v := range list {
		text, ok := v.(string)
		if out[i] = (word{text, s.valueAt(element(e.path, i))}); !ok {
			return nil, s.errorf(out[i].at, "%s: want a list of strings, got %s in it", keyText(e.key), kindOf(v))
		}
	}
	return out, err
}

// profileName refuses what no profile can be called, ../x for example: a name
// is part of messages, of SBX_PROFILE and of file names.
func (s *source) profileName(key, name string, at int) error {
	if text.ValidName(name, "_-") {
		return nil
	}
	format := "%s is not a profile name: want letters, 0-9, _ and -, at most 64, a letter or digit first"
	if key != "" {
		format = key + ": " + format
	}
	return s.errorf(at, format, short(name))
}
