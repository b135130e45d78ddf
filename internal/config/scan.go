package config

import (
	"bytes"
	"unicode/utf8"
)

const (
	// MaxSize is the largest file that is read, in bytes.
	MaxSize = 1 << 20
	// maxTokens bounds the words and signs of a file: the HCL scanner takes a
	// hundred bytes of memory for each.
	maxTokens = 200_000
)

// skipper returns the length of the string or comment that starts at
// data[i], or 0. An error ends the scan.
type skipper func(src *source, i int) (int, error)

// scan refuses what no file of ours holds, before a recursive parser gets to
// see it: bytes that are not text, and brackets nested so deep that the
// parser's stack would overflow, which Go cannot recover from.
func scan(src *source, skip skipper) error {
	if err := scanText(src); err != nil {
		return err
	}
	depth, tokens, inWord := 0, 0, false
	for i := 0; i < len(src.data); {
		n, err := skip(src, i)
		if err != nil {
			return err
		}
		c := src.data[i]
		word := n == 0 && isWordByte(c)
		if !isBlank(c) && !(word && inWord) {
			tokens++
		}
		inWord = word
		switch {
		case tokens > maxTokens:
			return src.errorf(i, "more than %d words and signs", maxTokens)
		case n > 0:
			i += n
			continue
		case c == '[' || c == '{' || c == '(':
			if depth++; depth > maxDepth {
				return src.errorf(i, "nested more than %d levels deep", maxDepth)
			}
		case c == ']' || c == '}' || c == ')':
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

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// scanText refuses bytes that are not UTF-8 text.
func scanText(src *source) error {
	if len(src.data) > MaxSize {
		return src.errorf(0, "larger than %d bytes", MaxSize)
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

// skipTOML knows the comments and strings of TOML.
func skipTOML(src *source, i int) (int, error) {
	rest := src.data[i:]
	switch {
	case rest[0] == '#':
		return toLineEnd(rest), nil
	case bytes.HasPrefix(rest, []byte(`"""`)):
		return 3 + quoted(rest[3:], `"""`, true, true), nil
	case bytes.HasPrefix(rest, []byte(`'''`)):
		return 3 + quoted(rest[3:], `'''`, false, true), nil
	case rest[0] == '"':
		return 1 + quoted(rest[1:], `"`, true, false), nil
	case rest[0] == '\'':
		return 1 + quoted(rest[1:], `'`, false, false), nil
	}
	return 0, nil
}

// skipHCL knows the comments and strings of HCL, less templates and heredocs,
// which are refused.
func skipHCL(src *source, i int) (int, error) {
	rest := src.data[i:]
	switch {
	case rest[0] == '#' || bytes.HasPrefix(rest, []byte("//")):
		return toLineEnd(rest), nil
	case bytes.HasPrefix(rest, []byte("/*")):
		if end := bytes.Index(rest[2:], []byte("*/")); end >= 0 {
			return end + 4, nil
		}
		return len(rest), nil
	case bytes.HasPrefix(rest, []byte("<<")):
		return 0, src.errorf(i, `heredocs are not read: write a string in quotes, with \n`)
	case rest[0] == '"':
		n := 1 + quoted(rest[1:], `"`, true, false)
		return n, noTemplate(src, i, n)
	}
	return 0, nil
}

// noTemplate refuses ${ and %{ in the HCL string at data[i:i+n]; $${ and %%{
// stand for the plain text.
func noTemplate(src *source, i, n int) error {
	text := src.data[i : i+n]
	for j := 0; j+1 < len(text); j++ {
		c := text[j]
		switch {
		case c != '$' && c != '%':
		case j+2 < len(text) && text[j+1] == c && text[j+2] == '{':
			j += 2
		case text[j+1] == '{':
			return src.errorf(i+j, "templates are not read: only plain values stand here (%c%c{ is a plain %c{)", c, c, c)
		}
	}
	return nil
}

func toLineEnd(b []byte) int {
	if n := bytes.IndexByte(b, '\n'); n > 0 {
		return n
	}
	return len(b)
}

// quoted returns the length of a string up to and with its closing mark. A
// string that does not end is the parser's to complain about.
func quoted(b []byte, mark string, escapes, multiline bool) int {
	for i := 0; i < len(b); i++ {
		switch {
		case escapes && b[i] == '\\':
			i++
		case b[i] == '\n' && !multiline:
			return i
		case bytes.HasPrefix(b[i:], []byte(mark)):
			return i + len(mark)
		}
	}
	return len(b)
}
