// Package risk says what a command line would do to the machine if it ran
// without a sandbox, so that sbx can warn louder. Start with [Assess].
//
// It is a warning aid and never a security boundary. It reads text: what a
// variable holds, what a script file does, what a program decides by itself
// remain unknown, and anyone who wants to get past it can. No finding means
// nothing. Nothing may be allowed because this package was silent.
//
// The rules are data, see rules.go. A string given to a shell is parsed, not
// searched: echo 'rm -rf /' is harmless and says nothing.
package risk

import (
	"path"
	"strings"
)

// Finding is one thing a command would do.
type Finding struct {
	Rule string // short id of the rule: rm-root
	Text string // one line for a person, safe to print: rm -r of /
}

// Bounds on what is looked at. They keep a hostile command line from costing
// time or stack; behind them there are no findings.
const (
	maxText     = 16 << 10 // bytes of shell text, nested ones counted again
	maxWords    = 4096     // of one command
	maxDepth    = 8        // shells within shells
	maxFindings = 16
	maxSearched = 1 << 16 // nodes of the syntax tree, counted again when met again
)

// Assess returns what stands out in a command line, in the order it is met.
// argv is the command as executed, one element per word; strings given to
// shells are read as such, nested ones too. Text that is no valid shell gives
// no finding.
//
// homes are the caller's home directories: a shell has replaced ~ by one.
func Assess(argv []string, homes ...string) []Finding {
	r := reader{budget: maxText}
	words := make([]string, 0, min(len(argv), maxWords))
	for _, a := range argv[:min(len(argv), maxWords)] {
		words = append(words, tilde(literal(a), homes))
	}
	r.command(words)
	return r.found
}

// tilde writes a path in a home directory as a shell would take it, ~/x.
func tilde(word string, homes []string) string {
	for _, h := range homes {
		if rest, ok := strings.CutPrefix(path.Clean(word), h); ok && h != "/" && strings.HasPrefix(word, "/") && (rest == "" || rest[0] == '/') {
			return home + rest
		}
	}
	return word
}
