// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/sbx-sandbox/sbx/completions"

// completionCmd prints what a shell needs to complete sbx's words.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help says where the script goes.
func (c *completionCmd) Help() string {
	return `  bash   eval "$(sbx completion bash)"     in ~/.bashrc
  zsh    eval "$(sbx completion zsh)"      in ~/.zshrc, after compinit
  fish   sbx completion fish | source      in ~/.config/fish/config.fish

A package installs them where the shells look. dash and ksh have no completion
of this kind.`
}

func (c *completionCmd) Run() error {
	_, err := exact.WriteString(completions.Script(c.Shell))
	return err
}
