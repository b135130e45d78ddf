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

// scan refuses what no file of ours holds, before a recursive parser gets to
// see it: bytes that are not text, and brackets nested so deep that the
// parser's stack would overflow, which Go cannot recover from.
func scan(src *source) error {
	if err := scanText(src); err != nil {
		return err
	}
	depth := 0
	for i := 0; i < len(src.data); {
		if n := skip(src.data[i:]); n > 0 {
			i += n
			continue
		}
		switch src.data[i] {
		case '[', '{', '(':
			if depth++; depth > maxDepth {
				return src.errorf(i, "nested more than %d levels deep", maxDepth)
			}
		case ']', '}', ')':
			depth = max(depth-1, 0)
		}
		i++
	}
	return nil
}

// isWordByte reports whether c can be inside a name or a number.
func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// scanText refuses bytes that are not UTF-8 text.
func scanText(src *source) error {
	if len(src.data) > maxSize {
		return src.errorf(0, "larger than %d bytes", maxSize)
	}
	if bytes.HasPrefix(src.data, []byte("\uFEFF")) {
		return src.errorf(0, "starts with a byte order mark: save it as plain UTF-8")
	}
	for i := 0; i < len(src.data); {
		r, n := utf8.DecodeRune(src.data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return src.errorf(i, "byte 0x%02x: not a text file (UTF-8)", src.data[i])
		case r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f:
			return src.errorf(i, "control character 0x%02x: not a text file", r)
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
