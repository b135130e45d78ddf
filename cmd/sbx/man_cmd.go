// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/sbx-sandbox/sbx/man"

// manCmd prints a manual page, for man -l -.
type manCmd struct {
	Page string `arg:"" optional:"" enum:"sbx,sbx-sh" default:"sbx" help:"sbx or sbx-sh."`
}

func (c *manCmd) Run() error {
	page := man.Page
	if c.Page == "sbx-sh" {
		page = man.Shell
	}
	_, err := stdout.WriteString(page)
	return err
}
