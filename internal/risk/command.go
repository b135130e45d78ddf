package risk

import (
	"path"
	"slices"
	"strings"
)

// command is a simple command taken apart for the rules.
type command struct {
	name     string
	words    []string // all after the name
	flags    []string // -r for each letter of -rf, the words as they are, --long without =value
	operands []string
	dir      string // see reader
	stdin    string
}

func newCommand(words []string, dir, stdin string) *command {
	c := &command{name: words[0], words: words[1:], dir: dir, stdin: stdin}
	if c.name == "find" {
		c.find()
		return c
	}
	skip, done := valueOptions(c.name), false
	for i := 0; i < len(c.words); i++ {
		a := c.words[i]
		switch {
		case done || len(a) < 2 || a[0] != '-':
			c.operands = append(c.operands, a)
		case a == "--":
			done = true
		default:
			c.flag(a)
			if slices.Contains(skip, a) {
				i++
			}
		}
	}
	return c
}

// find reads find(1)'s words: paths come before the expression, and of that
// the tests and actions are flags. "-exec NAME" is one too.
func (c *command) find() {
	for i, a := range c.words {
		switch {
		case strings.HasPrefix(a, "-"):
			c.flags = append(c.flags, a)
			if isExec(a) && i+1 < len(c.words) {
				c.flags = append(c.flags, "-exec "+path.Base(c.words[i+1]))
			}
		case !slices.ContainsFunc(c.flags, func(f string) bool { return len(f) > 2 }): // -H, -L and -P are options
			c.operands = append(c.operands, a)
		}
	}
}

func (c *command) flag(a string) {
	if strings.HasPrefix(a, "--") {
		a, _, _ = strings.Cut(a, "=")
		c.flags = append(c.flags, a)
		return
	}
	c.flags = append(c.flags, a)
	if len(a) > 2 && len(a) <= 8 {
		for _, letter := range a[1:] {
			c.flags = append(c.flags, "-"+string(letter))
		}
	}
}

// valueOptions are options whose value, in the next word, is no operand. It
// matters where the first operand is a subcommand.
func valueOptions(name string) []string {
	switch name {
	case "git":
		return []string{"-C", "-c", "--git-dir", "--work-tree", "--exec-path", "--namespace"}
	case "docker", "podman", "nerdctl":
		return []string{"-H", "--host", "--context", "--config", "-l", "--log-level"}
	case "npm", "pnpm", "yarn", "bun":
		return []string{"--prefix", "-w", "--workspace", "--registry", "--tag", "--cwd", "-C"}
	case "cargo":
		return []string{"--manifest-path", "-p", "--package", "--config"}
	case "systemctl":
		return []string{"-H", "-M", "--host", "--machine"}
	case "kubectl":
		return []string{"-n", "--namespace", "--context", "--kubeconfig"}
	}
	return nil
}

// sub reports whether the operands start with the words of s, and returns the
// operands behind them.
func (c *command) sub(s string) ([]string, bool) {
	want := strings.Fields(s)
	if len(c.operands) < len(want) || !slices.Equal(c.operands[:len(want)], want) {
		return nil, false
	}
	return c.operands[len(want):], true
}

func (c *command) any(flags string) bool {
	return slices.ContainsFunc(strings.Split(flags, ","), func(f string) bool { return slices.Contains(c.flags, f) })
}
