// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/sbx-sandbox/sbx/completions"

// completionCmd prints what a shell needs to complete sbx's words.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (c *completionCmd) Run() error {
	_, err := exact.WriteString(completions.Script(c.Shell))
	return err
}
