// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// source is the text of one file, to turn offsets into places, and what both
// parsers make its map with: they put keys where they belong, note their places, and
// refuse what is said twice. Values are string, bool, int64, float64, []any and
// map[string]any.
type source struct {
	name  string // as messages show it
	data  []byte
	at    map[string]int  // offset of each key by its path, and of each value by that and a delim
	made  map[string]made // of tables, by path
	items int             // of all lists
}

func newSource(name string, data []byte) *source {
	return &source{
		name: text.Plain(name), data: data, at: make(map[string]int), made: map[string]made{"": opened},
	}
}

// line returns the line of an offset, from 1.
func (s *source) line(at int) int { return bytes.Count(s.data[:at], []byte("\n")) + 1 }

// place returns "file:line:col"; columns count bytes from 1, as compilers do.
func (s *source) place(at int) string {
	col := at - bytes.LastIndexByte(s.data[:at], '\n')
	return s.name + ":" + strconv.Itoa(s.line(at)) + ":" + strconv.Itoa(col)
}

// errorf returns an error at an offset. Its text is one line whatever the
// arguments hold.
func (s *source) errorf(at int, format string, args ...any) *policy.Error {
	return &policy.Error{Source: s.place(at), Text: oneLine(fmt.Sprintf(format, args...))}
}

// maxText bounds the length of an error, which may quote what it is about.
const maxText = 600

// oneLine escapes what a terminal could take for a command, and cuts what is
// too long to be read.
func oneLine(text string) string {
	var b strings.Builder
	for _, r := range text {
		if b.Len() > maxText {
			b.WriteString("…")
			break
		}
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// short quotes a word for a message and cuts a long one.
func short(s string) string {
	if len(s) > 80 {
		return strconv.Quote(s[:80]) + "…"
	}
	return strconv.Quote(s)
}
