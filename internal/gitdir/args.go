// SPDX-License-Identifier: Apache-2.0

package gitdir

import (
	"slices"
	"strings"
)

// Args are the words behind a subcommand of git's. Names of options are given as a list
// separated by spaces.
type Args []string

func listed(names, word string) bool { return slices.Contains(strings.Fields(names), word) }

// Operands are the words that are no options. Of some options the next word is the value.
func (args Args) Operands(valued string) (operands []string) {
	for i, a := range args {
		if (len(a) < 2 || a[0] != '-') && (i == 0 || !listed(valued, args[i-1])) {
			operands = append(operands, a)
		}
	}
	return operands
}

// Given reports whether one of some words is there.
func (args Args) Given(names string) bool {
	_, ok := args.Option(names)
	return ok
}

// Option is the value of one that was given, "" also for none.
func (args Args) Option(names string) (value string, given bool) {
	for i, a := range args {
		name, value, set := strings.Cut(a, "=")
		switch {
		case !listed(names, name):
		case set:
			return value, true
		default:
			return strings.Join(args[i+1:min(i+2, len(args))], ""), true
		}
	}
	return "", false
}
