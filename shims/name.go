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
}

// Parse reads how a program was started: argv0 is its argument 0, file the path
// that was executed ("" when it is not known). The name is the file's, since
// argument 0 may be anything; of a script, whose path the file is, and of a
// file that gives no name, it is argument 0's.
func Parse(argv0, file string) Name {
	word, login := strings.CutPrefix(argv0, "-")
	n := Name{Login: login}
	for _, text := range []string{base(file), base(word)} {
		if text == "" {
			continue
		}
		if n.Kind, n.Text = kind(text); n.Kind != Tool {
			return n
		}
	}
	if file != "" && !strings.Contains(word, "/") {
		n.Text = base(file)
	}
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
