// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/sbx-sandbox/sbx/shims"
)

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
			return shimError(err)
		}
		words := []string{"sbx", "--", name}
		if p := s.Settings.Tools[name]; p != "" {
			words = []string{"sbx", "-p", p, "--", name}
		}
		b.WriteString(shims.Alias(c.Shell, name, words))
	}
	_, err = stdout.WriteString(b.String())
	return err
}
