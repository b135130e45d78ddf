// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"unicode/utf8"
)

const (
	// maxSize is the largest file that is read, in bytes.
	maxSize = 1 << 20
	// maxTokens bounds the words and signs of a file: the HCL scanner takes a
	// hundred bytes of memory for each.
	maxTokens = 200_000
)

// bounded refuses what the recursive parser must not see: brackets nested so deep
// that its stack would overflow, which Go cannot recover from.
func (r *tomlReader) bounded() error {
	depth := 0
	for i := 0; i < len(r.data); {
		if n := skip(r.data[i:]); n > 0 {
			i += n
			continue
		}
		switch r.data[i] {
		case '[', '{', '(':
			if depth++; depth > maxDepth {
				return r.errorf(i, "nested more than %d levels deep", maxDepth)
			}
		case ']', '}', ')':
			depth = max(depth-1, 0)
		}
		i++
	}
	return nil
}

// scanText refuses bytes that are not UTF-8 text.
func (s *source) scanText() error {
	if len(s.data) > maxSize {
		return s.errorf(0, "larger than %d bytes", maxSize)
	}
	if bytes.HasPrefix(s.data, []byte("\uFEFF")) {
		return s.errorf(0, "starts with a byte order mark: save it as plain UTF-8")
	}
	for i := 0; i < len(s.data); {
		r, n := utf8.DecodeRune(s.data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return s.errorf(i, "byte 0x%02x: not a text file (UTF-8)", s.data[i])
		case r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f:
			return s.errorf(i, "control character 0x%02x: not a text file", r)
		}
		i += n
	}
	return nil
}

// skip returns the length of the string or comment of TOML at the start of rest,
// or 0.
func skip(rest []byte) int {
	switch rest[0] {
	case '#':
		if n := bytes.IndexByte(rest, '\n'); n > 0 {
			return n
		}
		return len(rest)
	case '"', '\'':
		mark := rest[:1]
		if three := bytes.Repeat(mark, 3); bytes.HasPrefix(rest, three) {
			mark = three
		}
		return len(mark) + quoted(rest[len(mark):], mark)
	}
	return 0
}

// quoted returns the length of a string up to and with its closing mark. A
// string that does not end is the parser's to complain about.
func quoted(b, mark []byte) int {
	for i := 0; i < len(b); i++ {
		switch {
		case mark[0] == '"' && b[i] == '\\':
			i++
		case b[i] == '\n' && len(mark) == 1:
			return i
		case bytes.HasPrefix(b[i:], mark):
			return i + len(mark)
		}
	}
	return len(b)
}
