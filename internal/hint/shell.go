// SPDX-License-Identifier: Apache-2.0

package hint

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// use is a file that the words of a command name.
type use struct {
	path    string // absolute, by its name inside
	write   bool   // to be made, changed or removed
	fresh   bool   // need not be touched when it exists
	bare    bool   // a word without a slash: a file only where a rule says so
	changed bool   // has to exist to be changed
	edited  bool   // it is there afterwards
	moves   bool   // another file is put in its place, or none
	dir     bool   // the word ends in a slash: nothing but a directory will do
	tree    bool   // or what lies below
	idle    bool   // its failure is not that of the whole; what it makes exists later
}

// reader goes through a command and gathers what hints need. A word that may as
// well be something else is left out: a hint that is wrong is worse than none.
// Nothing is allowed or refused by it.
type reader struct {
	home string
	cwd  string // "" after a cd that leads who knows where

	uses     []use
	asked    []string // paths that the command looks for itself, and does without
	programs []string // by names to be looked up in PATH
	gains    string   // the program that is there to gain privileges
	debugger string   // the program that looks into others
	said     []string // all words of commands
	borrowed []borrowed
	gits     []gitCall
	crates   []string // the words of cargo install
	installs []string // the words that install the packages of a project, and run its prepare script
	packs    bool     // npm pack
	starts   string   // the script that npm is told to run
	outward  bool     // something in it is about other machines
	near     bool     // or about a server on the loopback
	curious  bool     // a program in it goes there by itself, whatever it is told to do

	shell   string // that reads the script, "" for none
	errexit bool
	depth   int
	live    bool // the failure of the command that is read can be that of the whole
	last    bool // and the command is the last of all
}

// Bounds of what is read.
const (
	maxScript = 16 << 10 // bytes
	maxWords  = 64       // of one command
	maxUses   = 64
	maxDepth  = 3 // scripts in scripts
)

// parse returns nil for what is not shell. A bug in the parser counts as that.
func parse(s string) (file *syntax.File) {
	defer func() {
		if recover() != nil {
			file = nil
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(s), "")
	if err != nil {
		return nil
	}
	return file
}

// script reads a string for a shell.
func (r *reader) script(text string, errexit bool) {
	if r.depth == maxDepth || len(text) > maxScript {
		return
	}
	file := parse(text)
	if file == nil {
		return
	}
	live, last, old := r.live, r.last, r.errexit
	r.depth++
	r.errexit = errexit
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 1 && c.Args[0].Lit() == "set" {
			option := c.Args[1].Lit()
			r.errexit = r.errexit || len(option) > 1 && option[0] == '-' && option[1] != '-' && strings.Contains(option, "e")
		}
		return true
	})
	r.list(file.Stmts, live, last)
	r.depth--
	r.live, r.last, r.errexit = live, last, old
}

// list reads commands one after another. The status is that of the last one;
// set -e ends all of it at a failure.
func (r *reader) list(list []*syntax.Stmt, live, last bool) {
	for i, s := range list {
		end := i == len(list)-1
		r.stmt(s, live && end || r.errexit, last && end)
	}
}

// condition reads what decides by its failure, and does not fail by it.
func (r *reader) condition(list []*syntax.Stmt) {
	old := r.errexit
	r.errexit = false
	r.list(list, false, false)
	r.errexit = old
}

func (r *reader) stmt(s *syntax.Stmt, live, last bool) {
	r.live, r.last = live, last
	from := len(r.uses)
	for _, redir := range s.Redirs {
		file := r.word(redir.Word)
		switch redir.Op {
		case syntax.RdrIn, syntax.RdrInOut:
			r.add(file, false)
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.AppClob, syntax.RdrAll, syntax.AppAll:
			if file != "/dev/null" {
				r.add(file, true)
			} else if redir.N != nil && redir.N.Value == "2" && !last {
				r.uses = r.uses[:from]
				return // no one minds should it fail
			}
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) == 0 {
			r.substituted(c.Assigns, live, last)
			break
		}
		r.command(r.words(c.Args))
	case *syntax.BinaryCmd:
		r.binary(c, live, last)
	case *syntax.TestClause:
		syntax.Walk(c, func(n syntax.Node) bool {
			if t, ok := n.(*syntax.UnaryTest); ok {
				if w, ok := t.X.(*syntax.Word); ok && aboutFiles(t.Op.String()) {
					r.tested(r.word(w))
				}
			}
			return true
		})
	case *syntax.Subshell:
		cwd := r.cwd
		r.list(c.Stmts, live, last)
		r.cwd = cwd
	case *syntax.Block:
		r.list(c.Stmts, live, false)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			r.condition(c.Cond)
			r.list(c.Then, live, false)
		}
	case *syntax.WhileClause:
		r.condition(c.Cond)
		r.list(c.Do, live, false)
	case *syntax.ForClause:
		r.list(c.Do, live, false)
	case *syntax.CaseClause:
		for _, item := range c.Items {
			r.list(item.Stmts, live, false)
		}
	case *syntax.TimeClause:
		if c.Stmt != nil {
			r.stmt(c.Stmt, live, last)
		}
	}
}

// substituted reads commands whose output variables get: f=$(mktemp) ends as mktemp does.
func (r *reader) substituted(assigns []*syntax.Assign, live, last bool) {
	cwd := r.cwd
	for _, a := range assigns {
		if a.Value == nil || len(a.Value.Parts) != 1 {
			continue
		}
		if sub, ok := a.Value.Parts[0].(*syntax.CmdSubst); ok {
			r.list(sub.Stmts, live, last)
		}
	}
	r.cwd = cwd
}

func (r *reader) binary(c *syntax.BinaryCmd, live, last bool) {
	switch word := first(c.Y); {
	case c.Op == syntax.OrStmt && (word == "true" || word == ":"): // its failure is ignored
	case c.Op == syntax.OrStmt:
		r.stmt(c.X, live || word == "exit" || word == "return", false)
	case c.Op == syntax.AndStmt:
		if p, ok := c.X.Cmd.(*syntax.BinaryCmd); ok && (p.Op == syntax.Pipe || p.Op == syntax.PipeAll) {
			r.stmt(p.X, false, false)
			r.stmt(p.Y, live, false)
			break
		}
		r.stmt(c.X, live, false)
	default: // a failure before a pipe counts: what reads from it finds nothing
		r.stmt(c.X, live, false)
	}
	r.stmt(c.Y, live, last)
}

// first is the first word of a simple command, "" when there is none.
func first(s *syntax.Stmt) string {
	if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
		return c.Args[0].Lit()
	}
	return ""
}

func (r *reader) words(list []*syntax.Word) []string {
	var out []string
	for _, w := range list[:min(len(list), maxWords)] {
		out = append(out, r.word(w))
	}
	return out
}

// word is what the shell makes of a word, "" where only the shell knows. Of a
// pattern it is the directory before it.
func (r *reader) word(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	glob := -1
	if !r.parts(&b, w.Parts, false, &glob) || strings.ContainsAny(b.String(), "\x00\n") {
		return ""
	}
	text := b.String()
	if glob >= 0 && len(text) > 1 {
		return text[:max(strings.LastIndexByte(text[:glob], '/'), 0)]
	}
	return text
}

func (r *reader) parts(b *strings.Builder, parts []syntax.WordPart, quoted bool, glob *int) bool {
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text := p.Value
			if rest, ok := strings.CutPrefix(text, "~"); ok && !quoted && i == 0 {
				if r.home == "" || rest != "" && rest[0] != '/' || rest == "" && len(parts) > 1 {
					return false
				}
				b.WriteString(r.home)
				text = rest
			}
			literal(b, text, quoted, glob)
		case *syntax.SglQuoted:
			if p.Dollar {
				return false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar || !r.parts(b, p.Parts, true, glob) {
				return false
			}
		case *syntax.ParamExp:
			plain := p.Param != nil && p.Exp == nil && p.Slice == nil && p.Repl == nil && p.Index == nil && p.Names == 0
			if !plain || p.Excl || p.Length || p.Width {
				return false
			}
			value := map[string]string{"HOME": r.home, "PWD": r.cwd}[p.Param.Value]
			if value == "" {
				return false
			}
			b.WriteString(value)
		default:
			return false
		}
	}
	return true
}

// literal writes text without its backslashes, and notes where a pattern begins.
func literal(b *strings.Builder, s string, quoted bool, glob *int) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0):
			if i++; s[i] != '\n' {
				b.WriteByte(s[i])
			}
			continue
		case !quoted && *glob < 0 && strings.IndexByte("*?[{", c) >= 0:
			*glob = b.Len()
		}
		b.WriteByte(s[i])
	}
}

// path is where a word leads that names a file.
func (r *reader) path(word string) (string, bool) {
	switch {
	case word == "" || len(word) >= 1024 || strings.ContainsAny(word, "\n\x00"):
		return "", false
	case word[0] == '/':
		return path.Clean(word), true
	}
	return path.Clean(r.cwd + "/" + word), r.cwd != ""
}

func (r *reader) add(word string, write bool) {
	r.use(word, use{write: write})
}

func (r *reader) use(word string, u use) {
	var ok bool
	if u.path, ok = r.path(word); !ok || slices.Contains(r.asked, u.path) || len(r.uses) == maxUses {
		return
	}
	u.bare, u.dir = u.bare && !strings.Contains(word, "/"), strings.HasSuffix(word, "/")
	u.idle = u.idle || !r.live
	r.uses = append(r.uses, u)
}

// tested notes a file that a command looks for: it does without unless that is
// the end of it.
func (r *reader) tested(word string) {
	if r.last {
		r.use(word, use{bare: true})
	} else if path, ok := r.path(word); ok {
		r.asked = append(r.asked, path)
	}
}
