// SPDX-License-Identifier: Apache-2.0

// Package risk recognises commands that are plainly destructive, so that sbx
// --no-sandbox can warn louder. Start with [Destructive].
//
// It is a courtesy and never a security boundary. It reads text: what a variable
// holds, what a script does and what a program decides by itself remain unknown.
// An empty answer means nothing, and nothing may be allowed because of it.
package risk

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"github.com/sbx-sandbox/sbx/shims"
)

// Bounds on what is looked at. They keep a hostile command line from costing time
// or stack; nothing is found behind them.
const (
	maxText  = 16 << 10 // bytes of shell text
	maxWords = 4096     // of one command
	maxDepth = 8        // shells within shells
	maxNodes = 1 << 16  // of syntax trees, counted again when met again
)

// Destructive returns what a command would plainly do to the machine: one line,
// safe to print, "" for nothing found. argv is the command as executed, one element
// per word; text given to a shell is parsed, so that echo 'rm -rf /' is nothing.
// homes are the caller's home directories: a shell has replaced ~ by one.
func Destructive(argv []string, homes ...string) string {
	r := &reader{}
	r.command(escaped(argv, homes))
	return r.found
}

// escaped are the words of a command as unquoted ones of the shell, see [reader].
func escaped(argv, homes []string) (words []string) {
	for _, a := range argv[:min(len(argv), maxWords)] {
		a = escape(a)
		for _, h := range homes {
			if rest, ok := strings.CutPrefix(path.Clean(a), h); ok && h != "/" && (rest == "" || rest[0] == '/') {
				a = "~" + rest
			}
		}
		words = append(words, a)
	}
	return words
}

// Each calls f for each simple command of a command line, in text given to a shell, too.
func Each(argv []string, f func(words []string)) {
	(&reader{each: f}).command(escaped(argv, nil))
}

// reader goes through a command line up to the first finding. It keeps a word as an
// unquoted one of the shell: what had been quoted has backslashes before ~ and *.
type reader struct {
	found string
	depth int                  // shells within shells
	each  func(words []string) // what is done with a command in place of judging it
	nodes int
}

func escape(s string) string { return strings.NewReplacer("~", `\~`, "*", `\*`).Replace(s) }

func plain(s string) string { return strings.NewReplacer(`\~`, "~", `\*`, "*").Replace(s) }

func (r *reader) add(text string) {
	if r.found == "" {
		r.found = text
	}
}

// command reads one simple command, and the one that it starts.
func (r *reader) command(words []string) {
	for len(words) > 0 {
		name := path.Base(strings.ReplaceAll(words[0], `\`, ""))
		switch {
		case in(shells, name):
			if call := shims.Classify(words[1:]); call.Mode == shims.Command {
				r.text(plain(call.Text))
			}
			return
		case name == "eval":
			r.text(plain(strings.Join(words[1:], " ")))
			return
		case !in(wrappers, name) && r.each != nil:
			for i := range words {
				words[i] = plain(words[i])
			}
			r.each(words)
			return
		case !in(wrappers, name):
			for i := range rules {
				r.add(rules[i].match(name, words[1:]))
			}
			return
		}
		// The command is behind options, their values, and NAME=VALUE.
		words = words[1:]
		if i := slices.IndexFunc(words, func(w string) bool { return known(w) || r.each != nil && path.Base(w) == "git" }); i > 0 {
			words = words[i:]
		}
	}
}

// Lists of commands, separated by spaces.
const (
	shells   = "sh bash dash zsh ksh ash fish"
	wrappers = "sudo doas env nice ionice nohup setsid timeout time xargs exec busybox"
	fetchers = "curl wget fetch"
)

func in(list, name string) bool { return slices.Contains(strings.Fields(list), name) }

// known reports whether a word is a command that this package knows.
func known(word string) bool {
	name := path.Base(word)
	return in(shells, name) || in(wrappers, name) ||
		slices.ContainsFunc(rules, func(r rule) bool { return r.named(name) })
}

// text reads shell text. A bug in the parser must not keep a command from running.
func (r *reader) text(s string) {
	if r.depth == maxDepth || len(s) > maxText {
		return
	}
	defer func() { _ = recover() }()
	file, err := syntax.NewParser().Parse(strings.NewReader(s), "")
	if err != nil {
		return
	}
	r.depth++
	r.walk(file, func(n syntax.Node) {
		switch n := n.(type) {
		case *syntax.CallExpr:
			r.call(n)
		case *syntax.BinaryCmd:
			if piped(n) && r.fetches(n.X) && readsStdin(n.Y) {
				r.add("runs what it downloads with a shell")
			}
		case *syntax.FuncDecl:
			r.function(n)
		case *syntax.Redirect:
			if name := word(n.Word); n.Op != syntax.RdrIn && device(name) {
				r.add("overwrites the device " + show(name))
			}
		}
	})
	r.depth--
}

// walk is syntax.Walk with a bound on all walks together: they may go over the same
// nested text again on each level.
func (r *reader) walk(n syntax.Node, f func(syntax.Node)) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if r.nodes++; n != nil && r.nodes < maxNodes && r.found == "" {
			f(n)
			return true
		}
		return false
	})
}

func (r *reader) call(n *syntax.CallExpr) {
	var words []string
	for _, w := range n.Args[:min(len(n.Args), maxWords)] {
		words = append(words, word(w))
	}
	if len(words) > 1 && (in(shells, path.Base(words[0])) || words[0] == "eval") &&
		slices.ContainsFunc(n.Args, func(w *syntax.Word) bool { return r.fetches(w) }) {
		r.add("runs what it downloads with a shell")
	}
	r.command(words)
}

// fetches reports whether a program that downloads runs anywhere below n.
func (r *reader) fetches(n syntax.Node) (found bool) {
	r.walk(n, func(n syntax.Node) {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			found = found || in(fetchers, call.Args[0].Lit())
		}
	})
	return found
}

func piped(n *syntax.BinaryCmd) bool { return n.Op == syntax.Pipe || n.Op == syntax.PipeAll }

// readsStdin reports whether a statement is a shell that is given no script.
func readsStdin(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	for i, w := range call.Args {
		if in(shells, path.Base(w.Lit())) {
			rest := call.Args[i+1:]
			return len(rest) == 0 || rest[0].Lit() == "-" || rest[0].Lit() == "-s"
		}
	}
	return false
}

// function looks for a fork bomb: a function that starts itself twice, at least once
// in the background or in a pipe, whatever its name.
func (r *reader) function(f *syntax.FuncDecl) {
	calls, apart := 0, false
	r.walk(f.Body, func(n syntax.Node) {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) == 1 && n.Args[0].Lit() == f.Name.Value {
				calls++
			}
		case *syntax.Stmt:
			apart = apart || n.Background
		case *syntax.BinaryCmd:
			apart = apart || piped(n)
		}
	})
	if calls > 1 && apart {
		r.add("function " + show(f.Name.Value) + " starts itself without end (fork bomb)")
	}
}

// word is the text of a word, as far as it is known: HOME is, other variables are not.
func word(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		part(&b, p, func(s string) string { return s })
	}
	return b.String()
}

func part(b *strings.Builder, p syntax.WordPart, quote func(string) string) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.WriteString(quote(p.Value))
	case *syntax.SglQuoted:
		b.WriteString(escape(p.Value))
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			part(b, inner, escape)
		}
	case *syntax.ParamExp:
		if p.Param != nil && p.Param.Value == "HOME" {
			b.WriteString("~")
			return
		}
		b.WriteString("$…")
	default:
		b.WriteString("$…")
	}
}

// show makes a word fit to be printed in a line: short, and harmless to a terminal.
func show(word string) string {
	const most = 60
	s := []rune(word)
	if len(s) > most {
		s = append(s[:most], '…')
	}
	for i, c := range s {
		if !unicode.IsPrint(c) {
			s[i] = unicode.ReplacementChar
		}
	}
	return string(s)
}

func (r *rule) named(name string) bool {
	return slices.ContainsFunc(strings.Fields(r.names), func(n string) bool {
		prefix, star := strings.CutSuffix(n, "*")
		return n == name || star && strings.HasPrefix(name, prefix)
	})
}

// match returns the text for a command, or "".
func (r *rule) match(name string, args []string) string {
	if !r.named(name) {
		return ""
	}
	flags, operands := split(name, args)
	given := func(list string) bool {
		return slices.ContainsFunc(strings.Fields(list), func(f string) bool { return slices.Contains(flags, f) })
	}
	if r.flags != "" && !given(r.flags) || given(r.unless) {
		return ""
	}
	if r.sub != "" && (len(operands) == 0 || operands[0] != r.sub) {
		return ""
	}
	if name == "mv" && len(operands) > 0 {
		operands = operands[:len(operands)-1] // the target
	}
	operand := r.sub
	if r.operand != nil {
		i := slices.IndexFunc(operands, r.operand)
		if i < 0 {
			return ""
		}
		operand = operands[i]
	}
	return strings.NewReplacer("%c", show(name), "%o", show(operand)).Replace(r.text)
}

// split takes the options of a command from its operands: each letter of -rf, and
// --long without its value.
func split(name string, args []string) (flags, operands []string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case len(a) < 2 || a[0] != '-':
			operands = append(operands, a)
		case a == "--":
			return flags, append(operands, args[i+1:]...)
		case name == "git" && (a == "-C" || a == "-c"):
			i++
		case a[1] == '-' || name == "find":
			a, _, _ = strings.Cut(a, "=")
			flags = append(flags, a)
		default:
			for _, letter := range a[1:] {
				flags = append(flags, "-"+string(letter))
			}
		}
	}
	return flags, operands
}
