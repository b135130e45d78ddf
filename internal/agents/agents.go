// SPDX-License-Identifier: Apache-2.0

// Package agents knows the programs that run commands for a model: how each
// chooses the shell for them, what has to be set so that it chooses one of
// sbx's, how it calls it, and what goes past any shell.
//
// It is data and pure functions. The rules were read in the clients' code and
// compared with what they do (docs/agents.md says which were run and which
// version); a client can change them with any release, and this package cannot
// know. So nothing here proves that a command lands inside: sbx doctor NAME does,
// with a command.
//
// Start with [Find] and [Client.Choose].
package agents

import (
	"path"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/lookpath"
)

// World is what a client sees when it chooses its shell.
type World struct {
	Env    []string // NAME=VALUE; the last of a name counts
	Passwd string   // the user's shell in the password database
	Home   string
	CWD    string // absolute
	TTY    bool   // standard input and output are a terminal

	Exec func(path string) bool                     // whether a file can be executed
	Read func(path string) (text string, err error) // a file of the client's settings, or fs.ErrNotExist
	// Writable says whether commands may write a path; nil: none is known.
	Writable func(path string) bool
}

// Get returns the value of a variable, "" when it is not set.
func (w *World) Get(name string) string {
	for _, e := range slices.Backward(w.Env) {
		if n, v, ok := strings.Cut(e, "="); ok && n == name {
			return v
		}
	}
	return ""
}

// Look returns the first program of that name on PATH, or "".
func (w *World) Look(name string) string {
	// A client's idea of a relative directory depends on where it is; sbx starts none with them.
	return lookpath.First(w.Get("PATH"), name, w.Exec)
}

// first is the first of some files that can be executed, or "".
func (w *World) first(files ...string) string {
	if i := slices.IndexFunc(files, func(f string) bool { return f != "" && w.Exec(f) }); i >= 0 {
		return files[i]
	}
	return ""
}

// Var is a variable to set. An empty value sets it to the empty text.
type Var struct{ Name, Value string }

// Place is where sbx's own things are for a client that is started now.
type Place struct {
	Shells string // directory with links to sbx that have the names of shells
	Line   string // program that runs its one argument as a line of the shell that Client.Line names; "" for none
	Target string // the shell that Line runs
	Tmp    string // directory for temporary files of the commands
}

// Choice is what a client would start for a command.
type Choice struct {
	Shell  string   // absolute path, "" for none
	Prefix []string // what the client puts before a command line that it has quoted into one word; it is run by Shell
	By     string   // what decided: "CLAUDE_CODE_SHELL", "bash on PATH"
	Why    string   // why Shell cannot be one of sbx's, when that is known
	Fix    string   // what to do about it
}

// Call is one call of a shell as the client makes it.
type Call struct {
	Argv0 string   // "" for the path of the shell
	Args  []string // without argument 0
}

// Client is one program that runs commands for a model.
type Client struct {
	Name     string   // as in sbx agent NAME
	Title    string   // as its makers write it
	Programs []string // what it is started as; the first that is on PATH
	Aliases  []string // other words for Name

	// Refused says why commands alone cannot be put inside; sbx agent starts
	// no such client.
	Refused string

	choose func(*look) Choice // its own rule, made again; nil where it is refused

	// Vars are set for the client on top of what every client gets: TMPDIR,
	// SBX_ROOT, SBX_SESSION.
	Vars func(*World, Place) []Var
	// Makes is a directory of the client's own in Place.Tmp. It is there before
	// any command is: one could put a link in its place.
	Makes func(uid int) string
	// Path puts the directory with the names of shells first in PATH.
	Path bool
	// Line is the name of the shell (in Place.Shells) that runs the lines the
	// client hands to Place.Line; nil when the client has no use for it.
	Line func(*World) string

	// Call is how the client calls its shell for a command.
	Call func(c Choice, p Place, command string) Call

	Inside  []string // what lands inside
	Outside []string // what does not
	// Reads are a directory that only a variable names, and names in it that are
	// of Module's kind.
	Reads func(*World) []string

	Module string // profile with the paths that the client shares with its shell; "" when it shares none
	Whole  string // profile for the whole client inside; "" when there is none
	Seen   string // how the rule is known

	Install string // a line that installs it, as its makers say
}

// Choose is what the client would start, by its own rule. Settings that cannot be
// read in full, or that put something in place of the shell, come first. A client
// that is refused has no rule.
func (c *Client) Choose(w *World) Choice {
	l := &look{World: w}
	choice := c.choose(l)
	if l.refused != nil {
		return *l.refused
	}
	return choice
}

// Find returns the client of a name or an alias.
func Find(name string) (*Client, bool) {
	i := slices.IndexFunc(table, func(c Client) bool { return c.Name == name || slices.Contains(c.Aliases, name) })
	if i < 0 {
		return nil, false
	}
	return &table[i], true
}

// All returns the clients in order.
func All() (out []*Client) {
	for i := range table {
		out = append(out, &table[i])
	}
	return out
}

// Names returns their names in order.
func Names() (out []string) {
	for _, c := range All() {
		out = append(out, c.Name)
	}
	return out
}

// dialect is the name of a shell as a client should see it: exactly bash, zsh
// or sh is what most of them know.
func dialect(shell string) string {
	if base := path.Base(shell); slices.Contains([]string{"zsh", "sh", "fish"}, base) {
		return base
	}
	return "bash"
}
