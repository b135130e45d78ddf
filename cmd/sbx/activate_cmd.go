// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/completions"
	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/shims"
)

// activateCmd prints what puts the shims first in PATH.
type activateCmd struct {
	Shell string `arg:"" optional:"" enum:"bash,zsh,fish,sh," default:"" help:"bash, zsh, fish or sh (any POSIX shell); default is $SHELL's."`
}

func (c *activateCmd) Run() error {
	shell, err := shellName(c.Shell, "activate")
	if err != nil {
		return err
	}
	s, err := app.Here("")
	if err != nil {
		return err
	}
	dir, err := s.ShimsDir()
	if err != nil {
		return err
	}
	// Whoever may write there would be run by every shell from now on.
	if err := dir.Check(); err != nil {
		return err
	}
	text, err := shims.Activate(shell, string(dir), completions.Script(shell))
	if err != nil {
		return err
	}
	if _, err := exact.WriteString(text); err != nil {
		return err
	}
	if onTerminal() {
		app.Say("hint", "this is for a shell to run: write "+activateLine(shell)+" into "+startFile(shell))
	}
	return nil
}

// shellName is the shell to write for: the one named, or $SHELL.
func shellName(named, command string) (string, error) {
	if named != "" {
		return named, nil
	}
	if shell := shims.ShellOf(os.Getenv("SHELL")); shell != "" {
		return shell, nil
	}
	return "", app.Failed("cannot tell which shell this is for: SHELL is "+strconv.Quote(os.Getenv("SHELL")),
		"name it: sbx "+command+" bash, zsh, fish or sh")
}

// aliasCmd prints aliases for those who want no links: only what is typed at a
// prompt is caught, and \npm is npm itself.
type aliasCmd struct {
	Shell string   `arg:"" enum:"bash,zsh,fish,sh" help:"bash, zsh, fish or sh (any POSIX shell)."`
	Tools []string `arg:"" optional:"" name:"tool" help:"Names of programs; default: those that have shims."`
}

func (c *aliasCmd) Run(s *shimming) error {
	names, err := namedOr(s.dir, c.Tools, "aliases for which tools?", "sbx alias "+c.Shell+" npm pip cargo")
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, name := range names {
		if err := shims.CheckName(name); err != nil {
			return err
		}
		words := []string{"sbx", "--", name}
		if p := s.Settings.Tools[name]; p != "" {
			words = []string{"sbx", "-p", p, "--", name}
		}
		b.WriteString(shims.Alias(c.Shell, name, words))
	}
	_, err = exact.WriteString(b.String())
	return err
}
