package config

import (
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// decoder reads typed values from the tree of one file. Nothing is converted:
// the string "true" is no bool, and 1.0 is no whole number.
type decoder struct {
	src   *source
	layer policy.Layer
	dir   string // of the file, absolute
}

// wrongType is the error for a value of the wrong kind.
func (d *decoder) wrongType(e entry, want string) error {
	return d.src.errorf(e.at, "%s: want %s, got %s", keyText(e.key), want, e.value.kind)
}

// keyText shows a key: known ones are plain words.
func keyText(key string) string {
	if len(key) > 80 {
		return short(key)
	}
	return policy.Plain(key)
}

// unknown refuses a key that is not in the list.
func (d *decoder) unknown(e entry, known []string) error {
	err := d.src.errorf(e.at, "unknown key %s", short(e.key))
	err.Near, err.Known = policy.Nearest(e.key, known), known
	return err
}

func (d *decoder) bool(e entry) (bool, error) {
	if e.value.kind != isBool {
		return false, d.wrongType(e, "true or false")
	}
	return e.value.yes, nil
}

func (d *decoder) text(e entry) (string, error) {
	if e.value.kind != isText {
		return "", d.wrongType(e, "a string")
	}
	return e.value.text, nil
}

// oneOf reads a string that has to be one of the words.
func (d *decoder) oneOf(e entry, words []string) (string, error) {
	s, err := d.text(e)
	if err != nil || slices.Contains(words, s) {
		return s, err
	}
	bad := d.src.errorf(e.at, "%s: want %s, got %s", keyText(e.key), orList(words), short(s))
	bad.Near, bad.Known = policy.Nearest(s, words), words
	return "", bad
}

// orList is "a, b or c".
func orList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = policy.Quote(w)
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// whole reads a whole number from low to high.
func (d *decoder) whole(e entry, low, high int64) (int64, error) {
	if e.value.kind != isWhole {
		return 0, d.wrongType(e, "a whole number")
	}
	if n := e.value.whole; n < low || n > high {
		return 0, d.src.errorf(e.at, "%s: want a whole number from %d to %d, got %d", keyText(e.key), low, high, n)
	}
	return e.value.whole, nil
}

// real reads a number, with or without a fraction, from low to high.
func (d *decoder) real(e entry, low, high float64) (float64, error) {
	n := e.value.real
	switch e.value.kind {
	case isWhole:
		n = float64(e.value.whole)
	case isReal:
	default:
		return 0, d.wrongType(e, "a number")
	}
	if !(low <= n && n <= high) {
		return 0, d.src.errorf(e.at, "%s: want a number from %s to %s, got %s", keyText(e.key), digits(low), digits(high), digits(n))
	}
	return n, nil
}

// table returns the keys of a table.
func (d *decoder) table(e entry) ([]entry, error) {
	if e.value.kind != isTable {
		return nil, d.wrongType(e, "a table")
	}
	return e.value.keys, nil
}

// texts reads a list of strings; each keeps its own place.
func (d *decoder) texts(e entry) ([]word, error) {
	if e.value.kind != isList {
		return nil, d.wrongType(e, "a list of strings")
	}
	out := make([]word, len(e.value.list))
	for i, v := range e.value.list {
		if v.kind != isText {
			return nil, d.src.errorf(v.at, "%s: want a list of strings, got %s in it", keyText(e.key), v.kind)
		}
		out[i] = word{v.text, v.at}
	}
	return out, nil
}

// validProfileName reports whether a profile can have the name: it is part of
// messages, of SBX_PROFILE and of file names.
func validProfileName(s string) bool {
	return len(s) <= 64 && wordOf(s, "_-", "")
}

// validToolName reports whether a shim can have the name.
func validToolName(s string) bool {
	return len(s) <= 64 && wordOf(s, "_-.+", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}

// wordOf reports whether s is lower-case letters and digits, with others
// after the first byte and also anywhere.
func wordOf(s, others, also string) bool {
	for i := range len(s) {
		c := s[i]
		ok := 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.IndexByte(also, c) >= 0 || i > 0 && strings.IndexByte(others, c) >= 0
		if !ok {
			return false
		}
	}
	return s != ""
}

// profileName refuses what no profile can be called, ../x for example.
func (d *decoder) profileName(key, name string, at int) error {
	if validProfileName(name) {
		return nil
	}
	text := "%s is no name of a profile: want a-z, 0-9, _ and -, at most 64, a letter or digit first"
	if key != "" {
		text = key + ": " + text
	}
	return d.src.errorf(at, text, short(name))
}
