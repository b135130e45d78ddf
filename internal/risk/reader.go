package risk

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// reader goes through a command line and gathers findings.
type reader struct {
	found    []Finding
	budget   int // bytes of shell text still to be read
	depth    int // shells within shells
	searched int // nodes

	dir    string   // the working directory where a cd told it, else ""
	params []string // $0, $1, … of the shell text being read
	stdin  string   // what is known of the text on stdin
}

func (r *reader) add(rule, text string) {
	f := Finding{rule, text}
	if len(r.found) < maxFindings && !slices.Contains(r.found, f) {
		r.found = append(r.found, f)
	}
}

// text reads shell text as a shell started here would. The parameters are its
// $0, $1 and so on.
func (r *reader) text(s string, params []string) {
	s = source(s)
	if r.depth == maxDepth || len(s) > r.budget {
		return
	}
	r.budget -= len(s)
	file := parse(s)
	if file == nil {
		return
	}
	dir, old := r.dir, r.params
	r.depth++
	r.params = params
	r.visit(file)
	r.depth--
	r.dir, r.params = dir, old
}

// parse returns nil for what is not shell. A bug in the parser must not keep a
// command from running either, so a panic counts as that.
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

// visit reads what is below n in the order it would run.
func (r *reader) visit(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			return r.stmt(n)
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				r.pipe(n)
				return false
			}
		case *syntax.Subshell:
			r.subshell(n)
			return false
		case *syntax.CmdSubst, *syntax.ProcSubst:
			// Its commands do not read the text meant for the outer one.
			if r.stdin != "" {
				r.with("", n)
				return false
			}
		case *syntax.FuncDecl:
			r.function(n)
		case *syntax.CallExpr:
			r.command(r.words(n.Args))
		}
		return true
	})
}

// with visits n with other text on stdin.
func (r *reader) with(stdin string, n syntax.Node) {
	old := r.stdin
	r.stdin = stdin
	r.visit(n)
	r.stdin = old
}

// subshell keeps a cd to itself.
func (r *reader) subshell(n *syntax.Subshell) {
	dir := r.dir
	for _, s := range n.Stmts {
		r.visit(s)
	}
	r.dir = dir
}

// stmt reads redirections and reports whether the walk goes on below it. With
// text for stdin it visits the command itself.
func (r *reader) stmt(s *syntax.Stmt) bool {
	stdin, given := "", false
	for _, redir := range s.Redirs {
		switch redir.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.AppClob, syntax.RdrInOut, syntax.RdrAll, syntax.AppAll:
			r.writes(r.word(redir.Word))
		case syntax.Hdoc, syntax.DashHdoc:
			stdin, given = r.word(redir.Hdoc), true
		case syntax.WordHdoc:
			stdin, given = r.word(redir.Word), true
		case syntax.RdrIn:
			if strings.Contains(r.word(redir.Word), fetched) {
				stdin, given = fetched, true
			}
		}
	}
	if !given || s.Cmd == nil {
		return true
	}
	r.with(stdin, s.Cmd)
	for _, redir := range s.Redirs {
		r.visit(redir)
	}
	return false
}

// pipe reads both sides; what the left one prints is stdin of the right one.
func (r *reader) pipe(n *syntax.BinaryCmd) {
	r.visit(n.X)
	r.with(r.output(n.X), n.Y)
}

// output returns the text a statement prints, as far as it matters: that of
// echo and printf, and whether anything in it comes from the network.
func (r *reader) output(s *syntax.Stmt) string {
	if r.fetches(s) {
		return fetched
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok {
		return ""
	}
	words := r.words(call.Args)
	if len(words) < 2 || words[0] != "echo" && words[0] != "printf" {
		return ""
	}
	return strings.Join(words[1:], " ")
}

// function looks for a fork bomb: a function that starts itself twice, at
// least once in the background or in a pipe, whatever its name.
func (r *reader) function(f *syntax.FuncDecl) {
	if f.Name == nil || f.Body == nil {
		return
	}
	calls, apart := 0, false
	r.search(f.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) == 1 && n.Args[0].Lit() == f.Name.Value {
				calls++
			}
		case *syntax.Stmt:
			apart = apart || n.Background
		case *syntax.BinaryCmd:
			apart = apart || n.Op == syntax.Pipe || n.Op == syntax.PipeAll
		}
		return true
	})
	if calls > 1 && apart {
		r.add("fork-bomb", "function "+show(f.Name.Value)+" starts itself without end (fork bomb)")
	}
}

// command reads one simple command and the ones it starts.
func (r *reader) command(words []string) {
	for range maxDepth {
		if len(words) == 0 {
			return
		}
		words[0] = path.Base(words[0])
		if words[0] == "cd" {
			r.cd(words[1:])
			return
		}
		if r.shell(words) {
			return
		}
		c := newCommand(words, r.dir, r.stdin)
		for i := range rules {
			if text := rules[i].match(c); text != "" {
				r.add(rules[i].id, text)
			}
		}
		if words[0] == "xargs" && r.stdin != "" {
			words = append(slices.Clip(words), strings.Fields(r.stdin)...)
		}
		inner, ok := unwrap(words)
		if !ok {
			return
		}
		words = slices.Clone(inner)
	}
}

// cd remembers where the next commands run if that matters.
func (r *reader) cd(args []string) {
	switch {
	case len(args) == 0:
		r.dir = home
	case strings.HasPrefix(args[len(args)-1], "-"):
		r.dir = ""
	default:
		r.dir = resolve(r.dir, args[len(args)-1])
	}
}

// resolve returns path as seen from dir, cleaned; "" when that is not known.
func resolve(dir, name string) string {
	if strings.HasPrefix(name, "/") || strings.HasPrefix(name, home) {
		return path.Clean(name)
	}
	if dir == "" || strings.HasPrefix(name, unknown) {
		return ""
	}
	return path.Join(dir, name)
}

// writes looks at the target of a redirection.
func (r *reader) writes(target string) {
	switch full := resolve(r.dir, target); {
	case device(full):
		r.add("device-write", "overwrites the device "+show(full))
	case account(full):
		r.add("account-file", "writes "+show(full)+", which decides who may log in")
	case full == "/proc/sysrq-trigger":
		r.add("sysrq", "writes "+full+", which can stop the machine")
	}
}
