package wrap

import (
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
)

// This file reads command lines of shells as far as hints need it: which words
// are there, and which files they name. It is no parser of a shell, and nothing
// is allowed or refused by it: what it does not know for sure it leaves out.

// simple is a simple command: words and redirections.
type simple struct {
	words  []string // those that hold what only a shell knows are ""
	reads  []string // redirected from
	writes []string // redirected to
	quiet  bool     // what it says of errors goes nowhere, or its failure is ignored
	sub    int      // how many parentheses it stands in
	then   op       // what stands behind it
}

// op is an operator between commands.
type op byte

const (
	end  op = iota // of the text, of parentheses
	next           // ; & or a new line
	and
	or
	pipe
)

// Bounds of what is read.
const (
	maxScript = 16 << 10 // bytes
	maxWords  = 64       // in all commands together
	maxEvals  = 3        // scripts in scripts
)

// scan reads a script for a shell.
type scan struct {
	text  string
	at    int
	vars  func(name string) (string, bool) // of those that may be shown: paths everybody knows
	out   []simple
	now   simple
	words int
	sub   int
	until []string // ends of here-documents that begin after this line
}

// split returns the commands of a script, in the order of the text.
func split(script string, vars func(string) (string, bool)) []simple {
	s := &scan{text: script[:min(len(script), maxScript)], vars: vars}
	if len(script) > maxScript { // the last word may be cut
		s.text = s.text[:strings.LastIndexAny(s.text, " \t\n")+1]
	}
	for s.at < len(s.text) && s.words < maxWords {
		s.step()
	}
	s.end()
	return s.out
}

func (s *scan) end() {
	if len(s.now.words)+len(s.now.reads)+len(s.now.writes) > 0 {
		s.now.sub = s.sub
		s.out = append(s.out, s.now)
	}
	s.now = simple{}
}

// close ends a command by an operator. A line that ends in one goes on.
func (s *scan) close(by op) {
	s.end()
	if n := len(s.out); n > 0 && s.out[n-1].then == end {
		s.out[n-1].then = by
	}
}

func (s *scan) peek(n int) byte {
	if s.at+n < len(s.text) {
		return s.text[s.at+n]
	}
	return 0
}

// step reads one word or operator.
func (s *scan) step() {
	switch c := s.text[s.at]; c {
	case ' ', '\t', '\r':
		s.at++
	case '\n':
		s.at++
		s.close(next)
		s.skipDocuments()
	case '#':
		if i := strings.IndexByte(s.text[s.at:], '\n'); i >= 0 {
			s.at += i
		} else {
			s.at = len(s.text)
		}
	case ';':
		s.at++
		s.close(next)
	case '(':
		s.at++
		s.end()
		s.sub++
	case ')':
		s.at++
		s.end()
		s.sub = max(s.sub-1, 0)
	case '|':
		s.at++
		if s.peek(0) == '|' {
			s.at++
			s.close(or)
			s.tolerated()
			return
		}
		if s.peek(0) == '&' {
			s.at++
		}
		s.close(pipe)
	case '&':
		if s.peek(1) == '>' {
			s.at++
			s.redirect(1)
			return
		}
		s.at++
		if s.peek(0) == '&' {
			s.at++
			s.close(and)
			return
		}
		s.close(next)
	case '<', '>':
		s.redirect(-1)
	default:
		s.word()
	}
}

// tolerated notes that the failure of the last command is ignored.
func (s *scan) tolerated() {
	rest := strings.TrimLeft(s.text[s.at:], " \t\n")
	if n := len(s.out); n > 0 && (strings.HasPrefix(rest, "true") || strings.HasPrefix(rest, ":")) {
		s.out[n-1].quiet = true
	}
}

// deciding says of each command whether its failure can be that of the whole
// list: the status of a list is that of its last command, but for what && skips,
// and set -e ends. A failure before a pipe counts where the pipe is the end: what
// reads from it finds nothing.
func deciding(list []simple, errexit bool) []bool {
	out := make([]bool, len(list))
	live, sub := true, 0 // of what was last looked at, from the end
	var around []bool    // of the compound commands that it stands in
	push := func() { around = append(around, live) }
	pop := func() {
		if n := len(around); n > 0 {
			live, around = around[n-1], around[:n-1]
		}
	}
	errexit = errexit || slices.ContainsFunc(list, func(c simple) bool {
		return len(c.words) > 1 && c.words[0] == "set" && len(c.words[1]) > 1 && c.words[1][0] == '-' && c.words[1][1] != '-' && strings.Contains(c.words[1], "e")
	})
	for i := len(list) - 1; i >= 0; i-- {
		c := &list[i]
		if i < len(list)-1 {
			behind := &list[i+1]
			n := 0
			for n < len(behind.words) && (opens(behind.words[n]) || slices.Contains(parts, behind.words[n])) {
				n++
			}
			part := ""
			for n--; n >= 0; n-- {
				if w := behind.words[n]; opens(w) {
					pop()
				} else {
					part = w
				}
			}
			for ; c.sub < sub; sub-- {
				pop()
			}
			switch {
			case part == "then" || part == "do":
				live = false // a condition
			case part == "else" || part == "elif":
				if n := len(around); n > 0 {
					live = around[n-1]
				}
			case c.then == next:
				live = errexit || live && len(behind.words) > 0 && closes(behind.words[0])
			case c.then == or:
				live = live || len(behind.words) > 0 && (behind.words[0] == "exit" || behind.words[0] == "return")
			case c.then == pipe:
				live = live && behind.then != and
			}
		}
		for ; c.sub > sub; sub++ {
			push()
		}
		if len(c.words) > 0 && closes(c.words[0]) {
			push()
		}
		out[i] = live
	}
	return out
}

// parts are words of the shell's own between the first and the last of a
// compound command.
var parts = []string{"then", "do", "else", "elif", "!"}

func opens(w string) bool {
	switch w {
	case "if", "while", "until", "for", "case", "select", "{":
		return true
	}
	return false
}

func closes(w string) bool {
	switch w {
	case "fi", "done", "esac", "}":
		return true
	}
	return false
}

// skipDocuments passes over the here-documents that the line before announced.
func (s *scan) skipDocuments() {
	for _, end := range s.until {
		for s.at < len(s.text) {
			line, _, _ := strings.Cut(s.text[s.at:], "\n")
			s.at = min(s.at+len(line)+1, len(s.text))
			if strings.TrimLeft(line, "\t") == end {
				break
			}
		}
	}
	s.until = nil
}

// redirect reads an operator at < or > and its word; fd is the descriptor before
// it, -1 for none.
func (s *scan) redirect(fd int) {
	op := s.text[s.at]
	s.at++
	document := false
	switch next := s.peek(0); {
	case op == '<' && next == '<':
		document = s.peek(1) != '<'
		s.at++
		if !document || s.peek(0) == '-' && document {
			s.at++
		}
		if !document { // a here-string is a text
			op = 0
		}
	case next == '&' || next == '(': // a descriptor, or a command in the place of a file
		if next == '(' {
			return
		}
		s.at++
		if n := s.peek(0); n >= '0' && n <= '9' || n == '-' {
			op = 0
		}
	case next == '>' || next == '|' || op == '<' && next == '>':
		s.at++
	}
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
	before := len(s.now.words)
	if !s.word() || len(s.now.words) == before {
		return
	}
	target := s.now.words[before]
	s.now.words = s.now.words[:before]
	switch {
	case document:
		s.until = append(s.until, target)
	case target == "" || op == 0:
	case op == '<':
		s.now.reads = append(s.now.reads, target)
	case target == "/dev/null":
		s.now.quiet = s.now.quiet || fd == 2
	default:
		s.now.writes = append(s.now.writes, target)
	}
}

// word reads one word and reports whether there was one.
func (s *scan) word() bool {
	var b strings.Builder
	start, known, quoted, glob := s.at, true, false, -1
	text := s.text
loop:
	for s.at < len(text) {
		switch c := text[s.at]; c {
		case ' ', '\t', '\r', '\n', ';', '&', '|', '(', ')':
			if c == '(' && s.at > start && !quoted { // an array, a function, a pattern
				known = false
			}
			break loop
		case '<', '>':
			if fd := text[start:s.at]; !quoted && host.Digits(fd) && len(fd) == 1 {
				s.redirect(int(fd[0] - '0'))
				return true
			}
			break loop
		case '\'':
			quoted = true
			end := strings.IndexByte(text[s.at+1:], '\'')
			if end < 0 {
				s.at, known = len(text), false
				break loop
			}
			b.WriteString(text[s.at+1 : s.at+1+end])
			s.at += end + 2
		case '"':
			quoted = true
			s.at++
			known = s.double(&b) && known
		case '\\':
			if s.peek(1) == '\n' {
				s.at += 2
				continue
			}
			quoted = true
			if s.at+1 < len(text) {
				b.WriteByte(text[s.at+1])
			}
			s.at = min(s.at+2, len(text))
		case '$', '`':
			known = s.dollar(&b) && known
		case '~':
			if s.at == start {
				home, ok := s.vars("HOME")
				if n := s.peek(1); !ok || n != '/' && n != 0 && !strings.ContainsRune(" \t\n;&|()<>", rune(n)) {
					known = false
				}
				b.WriteString(home)
			} else {
				b.WriteByte(c)
			}
			s.at++
		case '*', '?', '[', '{':
			if glob < 0 {
				glob = b.Len()
			}
			fallthrough
		default:
			b.WriteByte(c)
			s.at++
		}
	}
	if s.at == start {
		s.at++ // an operator that nobody expected here
		return false
	}
	w := b.String()
	if w == "" && !quoted && known {
		return true // a line that goes on
	}
	if glob >= 0 && len(w) > 1 && w != "[[" { // what the directory before the pattern is, is known
		i := strings.LastIndexByte(w[:glob], '/')
		if w = w[:max(i, 0)]; w == "" {
			known = false
		}
	}
	if !known || strings.IndexByte(w, 0) >= 0 {
		w = ""
	}
	s.now.words = append(s.now.words, w)
	s.words++
	return true
}

// double reads up to the closing quote, and reports whether all of it is known.
func (s *scan) double(b *strings.Builder) bool {
	known := true
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case '"':
			s.at++
			return known
		case '\\':
			if n := s.peek(1); n == '$' || n == '`' || n == '"' || n == '\\' {
				s.at++
			}
			if s.at < len(s.text) {
				b.WriteByte(s.text[s.at])
				s.at++
			}
		case '$', '`':
			known = s.dollar(b) && known
		default:
			b.WriteByte(c)
			s.at++
		}
	}
	return false
}

// dollar reads an expansion, and reports whether its value is known.
func (s *scan) dollar(b *strings.Builder) bool {
	if s.text[s.at] == '`' {
		end := strings.IndexByte(s.text[s.at+1:], '`')
		if end < 0 {
			s.at = len(s.text)
			return false
		}
		s.at += end + 2
		return false
	}
	s.at++
	brace := s.peek(0) == '{'
	switch c := s.peek(0); {
	case brace:
		s.at++
	case c == '(':
		s.nested()
		return false
	case c == '\'' || c == '"':
		return false // $'…': escapes
	}
	from := s.at
	for s.at < len(s.text) && nameByte(s.text[s.at], s.at > from) {
		s.at++
	}
	name := s.text[from:s.at]
	if brace {
		end := strings.IndexByte(s.text[s.at:], '}')
		if end < 0 {
			s.at = len(s.text)
			return false
		}
		s.at += end + 1
		if end > 0 {
			return false
		}
	} else if name == "" {
		if c := s.peek(0); c != 0 && strings.IndexByte("@*#?$!-0123456789", c) >= 0 {
			s.at++
			return false
		}
		b.WriteByte('$')
		return true
	}
	value, ok := s.vars(name)
	if !ok || b.Len() > host.MaxPath {
		return false
	}
	b.WriteString(value)
	return true
}

// nested passes over $(…), quotes in it and all.
func (s *scan) nested() {
	for depth := 0; s.at < len(s.text); {
		switch c := s.text[s.at]; c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				s.at++
				return
			}
		case '\\':
			s.at++
		case '\'', '"':
			end := strings.IndexByte(s.text[min(s.at+1, len(s.text)):], c)
			if end < 0 {
				s.at = len(s.text)
				return
			}
			s.at += end + 1
		}
		s.at++
	}
	s.at = min(s.at, len(s.text))
}

func nameByte(c byte, digit bool) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || digit && c >= '0' && c <= '9'
}

// isShell reports whether a program takes a script after -c.
func isShell(name string) bool {
	switch host.Base(name) {
	case "sh", "bash", "zsh", "dash", "ksh", "fish", "ash", "mksh", "busybox":
		return true
	}
	return false
}

// script is the string that a shell gets with -c, by the words after its name.
func script(words []string) (text string, ok bool) {
	command := false
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--" && command && i+1 < len(words):
			return words[i+1], true
		case len(w) < 2 || w[0] != '-' && w[0] != '+':
			return w, command
		case w == "--command" || strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.IndexByte(w, 'c') > 0:
			command = true
		}
		if w == "--rcfile" || w == "--init-file" || len(w) > 1 && w[1] != '-' && (w[len(w)-1] == 'o' || w[len(w)-1] == 'O') {
			i++ // takes a word
		}
	}
	return "", false
}
