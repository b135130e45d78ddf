// SPDX-License-Identifier: Apache-2.0

package shims

import (
	"errors"
	"slices"
)

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
