// SPDX-License-Identifier: Apache-2.0

// Package shims is about the other names of sbx: links that stand in front of
// tools, and the lines that make a shell use them. It knows no profiles.
//
// A shim is a link, called npm, to sbx. The shell finds it where it looks for
// npm, and sbx runs the npm that comes next in PATH, in a sandbox. That is a
// convenience, not a wall: who calls /usr/bin/npm is not caught.
//
// A client that calls its shell finds sbx by the name of one. The words of the
// call go to the real shell as they are: what is read of them here has no part
// in what a sandbox lets through.
//
// Start with [Parse], then [Dir] for tools and [Real] for shells.
package shims

import (
	"slices"
	"strings"
)

// Kind is what a name asks for.
type Kind uint8

const (
	Self  Kind = iota // sbx itself, with its own command line
	Shell             // a shell behind the wall
	Tool              // a program of that name behind the wall
)

// Dialects are the shells that have a name: sbx-bash, and bash in the directory
// of names.
var Dialects = []string{"sh", "bash", "zsh", "fish", "dash", "ksh", "mksh"}

// Name is what a program was started as.
type Name struct {
	Kind  Kind
	Text  string // of the shell or the tool; "" for sbx-sh, which leaves the shell to the configuration
	Login bool   // argument 0 began with "-", as login(1) and su(1) do it
	Line  bool   // the one word is a command line: a client puts this program before each
}

// Executed returns the path of what was executed if the program's name is in it,
// else "": of a script the path is the script's, of a descriptor a number, and a
// packager's wrapper hides the program behind a dot.
// own reports whether a path leads to sbx; it is asked only where it matters,
// when argument 0 gives another name.
func Executed(argv0, file string, own func(path string) bool) string {
	word := strings.TrimPrefix(argv0, "-")
	switch {
	case file == "" || descriptor(file) || strings.HasPrefix(base(file), "."):
		return ""
	case base(file) != base(word) && !own(file):
		return ""
	}
	return file
}

// descriptor reports whether a path is a descriptor's, which is what fexecve(3)
// leaves of a name.
func descriptor(path string) bool {
	dir, number := path[:strings.LastIndexByte(path, '/')+1], base(path)
	return number != "" && strings.Trim(number, "0123456789") == "" &&
		(dir == "/dev/fd/" || strings.HasPrefix(dir, "/proc/") && strings.HasSuffix(dir, "/fd/"))
}

// Parse reads how a program was started: argv0 is its argument 0, file the path
// as [Executed] returns it. The name is the file's, since argument 0 may be
// anything; if there is no file, it is argument 0's.
func Parse(argv0, file string) Name {
	word, login := strings.CutPrefix(argv0, "-")
	n, text := Name{Login: login}, base(file)
	if text == "" {
		text = base(word)
	}
	n.Kind, n.Text = kind(text)
	return n
}

// kind is what a base name asks for.
func kind(name string) (Kind, string) {
	rest, own := strings.CutPrefix(name, "sbx")
	switch {
	case own && rest == "-sh":
		return Shell, ""
	case own && slices.Contains(Dialects, strings.TrimPrefix(rest, "-")):
		return Shell, rest[1:]
	case own || name == "":
		return Self, ""
	case slices.Contains(Dialects, name):
		return Shell, name
	}
	return Tool, name
}

// Own reports whether a base name is one that always means sbx.
func Own(name string) bool {
	k, _ := kind(name)
	return strings.HasPrefix(name, "sbx") && k == Shell
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
