// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/sbx-sandbox/sbx/completions"
	"github.com/sbx-sandbox/sbx/man"
)

// manCmd prints a manual page, for man -l -.
type manCmd struct {
	Page string `arg:"" optional:"" enum:"sbx,sbx-sh" default:"sbx" help:"sbx or sbx-sh."`
}

func (c *manCmd) Run() error {
	page := map[string]string{"sbx": man.Page, "sbx-sh": man.Shell}[c.Page]
	_, err := exact.WriteString(page)
	return err
}

// completionCmd prints what a shell needs to complete sbx's words.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (c *completionCmd) Run() error {
	_, err := exact.WriteString(completions.Script(c.Shell))
	return err
}
