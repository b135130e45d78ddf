// SPDX-License-Identifier: Apache-2.0

// Package completions holds the scripts by which shells complete sbx's words. They
// ask sbx itself, "sbx __complete WORD...": see cmd/sbx/complete_cmd.go.
package completions

import _ "embed"

//go:embed sbx.bash
var bash string

//go:embed _sbx
var zsh string

//go:embed sbx.fish
var fish string

// Script is the one of bash, zsh or fish, and "" for any other shell.
func Script(shell string) string {
	switch shell {
	case "bash":
		return bash
	case "zsh":
		return zsh
	case "fish":
		return fish
	}
	return ""
}
