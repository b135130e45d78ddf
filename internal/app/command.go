// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/shims"
)

// shellCall is how a client called its shell.
type shellCall struct {
	shims.Call
	name shims.Name
	file string // by which sbx was executed, absolute; "" when it is not known
}

// login reports whether a person logs in with the shell.
func (inv *Invocation) login() bool {
	sh := inv.shell
	return sh != nil && inv.person && (sh.Login || sh.name.Login || sh.Interactive)
}

// givenCommand is what will run: the words after --, a string for the shell, or on
// a terminal the shell itself.
func givenCommand(c *Context) (command, error) {
	flags := c.Inv.Flags
	cmd := command{words: c.Inv.words, argv0: flags.Argv0, shell: c.userShell()}
	switch n := len(flags.Command); {
	case n > 0:
		cmd.words = append([]string{c.Shell("/bin/sh"), "-c", flags.Command[n-1]}, c.Inv.words...)
	case len(c.Inv.words) > 0:
	case !IsTerminal(0):
		return cmd, Failed("no command", "sbx -- npm test, or sbx --help")
	default:
		c.atPrompt = true
		cmd.words = []string{c.Shell(c.Login())}
	}
	return cmd, nil
}

// Login is the shell that the caller logs in with.
func (c *Caller) Login() string {
	login := os.Getenv("SHELL")
	if !strings.HasPrefix(login, "/") {
		login = host.PasswdShell(c.Host.UID)
	}
	if !strings.HasPrefix(login, "/") {
		login = "/bin/sh"
	}
	return login
}

// Shell is the one of the configuration, or another where that names none.
func (c *Context) Shell(other string) string {
	if c.Settings.Shell != "" {
		return c.Settings.Shell
	}
	return other
}

// userShell is what SHELL is inside where the caller's names sbx: the user's own,
// which programs start without a detour. It is "" where the caller's will do.
func (c *Context) userShell() string {
	if sh := os.Getenv("SHELL"); c.Inv.Client || !shims.Own(filepath.Base(sh)) &&
		!strings.Contains(sh, "/sbx/shells/") {
		return ""
	}
	login := host.PasswdShell(c.Host.UID)
	if login == "" || !Runs(login) || Ourselves(login) {
		return c.Shell("/bin/sh")
	}
	return c.Shell(login)
}

// shellCommand is the real shell with the words.
func shellCommand(c *Context) (command, error) {
	sh, words := c.Inv.shell, c.Inv.words
	choice := shims.Choice{
		Asked: os.Getenv("SBX_SHELL"), Shell: c.Settings.Shell, Shells: c.Settings.Shells,
		Terminal: IsTerminal(0) && IsTerminal(2), Runs: Runs, Ourselves: Ourselves,
	}
	if sh.Mode == shims.Stdin && sh.name.Text == "" { // else it is not asked for, and on macOS it takes a program to learn it
		choice.Passwd = host.PasswdShell(c.Host.UID)
	}
	real, err := shims.Real(sh.name, sh.Call, choice)
	var missing *shims.NotFoundError
	switch {
	case errors.Is(err, shims.ErrOurselves):
		return command{}, &host.Error{Status: host.StatusNoExec, Text: err.Error(),
			Hint: "name the shell that does the work"}
	case errors.As(err, &missing):
		hint := "install it, or say where it is: shells." + missing.Name + " in the config file"
		return command{}, &host.Error{Status: host.StatusNotFound, Text: err.Error(), Hint: hint}
	case err != nil:
		return command{}, &host.Error{Status: host.StatusNotFound, Text: err.Error()}
	}
	cmd := command{shell: real}
	if sh.name.Login && c.Host.OS == "darwin" {
		if words, err = shims.LoginWords(real, words); err != nil {
			return command{}, Failed(err.Error(), "name another shell: shell in the config file")
		}
	} else if sh.name.Login {
		cmd.argv0 = "-" + filepath.Base(real)
	}
	cmd.words = append([]string{real}, words...)
	return cmd, nil
}

// Runs reports whether a file is there that can be executed.
func Runs(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Ourselves reports whether a file is sbx, by a link, a hard link, or its name.
func Ourselves(path string) bool { return shims.Own(filepath.Base(path)) || IsSelf(path) }

// IsSelf reports whether a path leads to the program that runs.
func IsSelf(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	self, err := os.Stat(SelfFile())
	return err == nil && os.SameFile(info, self)
}

// SelfFile leads to the program that runs.
func SelfFile() string {
	const exe = "/proc/self/exe"
	if _, err := os.Lstat(exe); err == nil {
		return exe
	}
	path, _ := os.Executable()
	return path
}

// maxDepth bounds how often shims, or shells, lead to each other without a sandbox
// of their own. sbx leaves itself out when it looks for a tool, but cannot tell
// another version from the tool.
const maxDepth = 32

const depthVar = "SBX_DEPTH"

// depth is how often sbx has started itself in a row.
func depth() int {
	n, _ := strconv.Atoi(os.Getenv(depthVar))
	return max(n, 0)
}

// tooDeep ends a circle of shells outside of any sandbox: a copy of sbx under
// the name of a shell is one that nothing else recognizes.
func tooDeep() error {
	if depth() < maxDepth {
		return nil
	}
	return &host.Error{Status: host.StatusNoExec, Text: "sbx started itself " + strconv.Itoa(depth()) +
		" times in a row: the shell that it is to run is sbx by another name",
		Hint: "set shell in the config file to the real one"}
}

func setEnv(env []string, name, value string) []string {
	named := func(kv string) bool { return strings.HasPrefix(kv, name+"=") }
	return append(slices.DeleteFunc(slices.Clone(env), named), name+"="+value)
}
