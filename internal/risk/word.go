package risk

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// A word is kept as a string in which these stand for what the shell would put
// there. They cannot come from the text itself, see literal.
const (
	unknown = "\x00" // an expansion whose value only the shell knows
	home    = "\x01" // the home directory
	glob    = "\x02" // an unquoted *
	fetched = "\x03" // the output of a command that reads from the network
)

// literal returns s without characters that have a meaning in words.
func literal(s string) string {
	if !strings.ContainsAny(s, unknown+home+glob+fetched) {
		return s
	}
	return strings.Map(func(c rune) rune {
		if c <= 3 {
			return unicode.ReplacementChar
		}
		return c
	}, s)
}

// source turns a word back into shell text that means the same.
func source(word string) string {
	return strings.NewReplacer(unknown, "${_}", home, "${HOME}", glob, "*", fetched, "${_}").Replace(word)
}

// show makes a word fit to be printed in a line: short, and harmless to a
// terminal.
func show(word string) string {
	const most = 60
	s := []rune(strings.NewReplacer(unknown, "$…", home, "~", glob, "*", fetched, "$(…)").Replace(word))
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

// words expands the words of a command as far as that can be known.
func (r *reader) words(list []*syntax.Word) []string {
	var out []string
	for _, w := range list[:min(len(list), maxWords)] {
		if isAllParams(w) {
			out = append(out, r.params[min(1, len(r.params)):]...)
			continue
		}
		out = append(out, r.word(w))
	}
	return out
}

// isAllParams reports whether w is "$@", "$*" or either without quotes.
func isAllParams(w *syntax.Word) bool {
	parts := w.Parts
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok {
			parts = q.Parts
		}
	}
	if len(parts) != 1 {
		return false
	}
	p, ok := parts[0].(*syntax.ParamExp)
	return ok && p.Param != nil && (p.Param.Value == "@" || p.Param.Value == "*") && !p.Length
}

func (r *reader) word(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	for i, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			b.WriteString(bare(lit.Value, i == 0))
			continue
		}
		b.WriteString(r.part(part))
	}
	return b.String()
}

func (r *reader) part(part syntax.WordPart) string {
	switch p := part.(type) {
	case *syntax.SglQuoted:
		return literal(p.Value)
	case *syntax.DblQuoted:
		var b strings.Builder
		for _, inner := range p.Parts {
			if lit, ok := inner.(*syntax.Lit); ok {
				b.WriteString(quoted(lit.Value))
				continue
			}
			b.WriteString(r.part(inner))
		}
		return b.String()
	case *syntax.ParamExp:
		return r.param(p)
	case *syntax.CmdSubst, *syntax.ProcSubst:
		if r.fetches(p) {
			return fetched
		}
	case *syntax.ExtGlob:
		return glob
	}
	return unknown
}

func (r *reader) param(p *syntax.ParamExp) string {
	if p.Param == nil || p.Excl || p.Length {
		return unknown
	}
	switch name := p.Param.Value; {
	case name == "HOME":
		return home
	case name == "PWD" && r.dir != "":
		return r.dir
	case len(name) == 1 && '0' <= name[0] && name[0] <= '9' && int(name[0]-'0') < len(r.params):
		return r.params[name[0]-'0']
	}
	return unknown
}

// bare reads unquoted text: backslashes, the tilde at its start, stars.
func bare(s string, first bool) string {
	var b strings.Builder
	s = literal(s)
	if first && strings.HasPrefix(s, "~") {
		user, _, _ := strings.Cut(s[1:], "/")
		b.WriteString(homeOf(user))
		s = s[1+len(user):]
	}
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			if s[i] != '\n' {
				b.WriteByte(s[i])
			}
		case s[i] == '*':
			b.WriteString(glob)
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// homeOf is what the shell makes of a tilde and the name behind it.
func homeOf(user string) string {
	switch user {
	case "":
		return home
	case "+", "-": // $PWD, $OLDPWD
		return unknown
	case "root":
		return "/root"
	}
	return "/home/" + user
}

// quoted reads text in double quotes, where a backslash is one except before
// four characters and the end of a line.
func quoted(s string) string {
	s = literal(s)
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// fetchers read from the network and write to stdout.
var fetchers = []string{"curl", "wget", "fetch", "aria2c", "http", "https", "xh", "lynx", "lwp-request"}

// fetches reports whether a fetcher runs anywhere below n.
func (r *reader) fetches(n syntax.Node) bool {
	found := false
	r.search(n, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && !found {
			words := r.words(plain(call.Args))
			for ok = len(words) > 0; ok && !found; words, ok = unwrap(words) {
				found = slices.Contains(fetchers, path.Base(words[0]))
			}
		}
		return !found
	})
	return found
}

// search is syntax.Walk with a bound on all searches together, since they may
// go over the same nested text again on each level.
func (r *reader) search(n syntax.Node, f func(syntax.Node) bool) {
	syntax.Walk(n, func(n syntax.Node) bool {
		r.searched++
		return r.searched < maxSearched && f(n)
	})
}

// plain returns the words up to the first that may have a command in it: the
// name and its first options are before that, and fetches must not recurse.
func plain(list []*syntax.Word) []*syntax.Word {
	for i, w := range list {
		for _, part := range w.Parts {
			switch part.(type) {
			case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.DblQuoted:
				return list[:i]
			}
		}
	}
	return list
}
