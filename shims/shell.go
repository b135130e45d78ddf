// SPDX-License-Identifier: Apache-2.0

package shims

import (
	"errors"
	"slices"
	"strings"
)

// Mode is where a shell takes its commands from.
type Mode uint8

const (
	Stdin   Mode = iota // standard input, or a person at a terminal
	Command             // -c STRING
	Script              // a file
)

// Call is what the words after argument 0 ask of a shell. The words themselves
// go to the real shell as they are; this is only for what sbx says and for
// which shell it takes.
type Call struct {
	Mode        Mode
	Text        string // the string of -c, or the path of the script
	Interactive bool   // -i
	Login       bool   // -l
}

// valued are the long options that take the next word: bash's, zsh's, fish's.
var valued = map[string]bool{
	"rcfile": true, "init-file": true, "emulate": true, "init-command": true, "features": true, "debug-output": true,
}

// Classify reads the words as sh(1), bash(1), zsh(1) and fish(1) do. What it
// cannot read is taken as it looks; it never fails.
func Classify(words []string) Call {
	var c Call
	command, stdin := false, false
	i := 0
options:
	for ; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--" || w == "-":
			i++
			break options
		case strings.HasPrefix(w, "--"):
			name, value, has := strings.Cut(w[2:], "=")
			switch {
			case name == "login":
				c.Login = true
			case name == "interactive":
				c.Interactive = true
			case name == "command" && has: // fish
				return Call{Command, value, c.Interactive, c.Login}
			case name == "command":
				command = true
			case valued[name] && !has:
				i++
			}
		case len(w) > 1 && (w[0] == '-' || w[0] == '+'):
			for _, letter := range w[1:] {
				switch letter {
				case 'c':
					command = command || w[0] == '-'
				case 's':
					stdin = stdin || w[0] == '-'
				case 'i':
					c.Interactive = c.Interactive || w[0] == '-'
				case 'l':
					c.Login = c.Login || w[0] == '-'
				case 'o', 'O':
					i++ // its value
				}
			}
		default:
			break options
		}
	}
	switch rest := words[min(i, len(words)):]; {
	case command && len(rest) > 0:
		c.Mode, c.Text = Command, rest[0]
	case command:
		c.Mode = Command
	case !stdin && len(rest) > 0:
		c.Mode, c.Text = Script, rest[0]
	}
	return c
}

// errNoLogin says that a shell cannot be made a login shell by an option.
var errNoLogin = errors.New("it takes no option that would make it a login shell")

// knowLogin are the shells that -l makes login shells.
var knowLogin = []string{"sh", "bash", "zsh", "fish", "dash", "ksh", "ksh93", "mksh", "rbash", "rzsh"}

// LoginWords are the words for a login shell where its name cannot begin with
// "-": the option -l in front of them. csh and its like take that one alone, and
// of others nothing is known.
func LoginWords(shell string, words []string) ([]string, error) {
	if !slices.Contains(knowLogin, base(shell)) {
		return nil, &NotShellError{"the login shell", shell, errNoLogin}
	}
	return append([]string{"-l"}, words...), nil
}
