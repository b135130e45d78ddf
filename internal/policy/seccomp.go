// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"strconv"
	"strings"
)

// SeccompFile reports whether a value of the key seccomp names a file, and not
// one of sbx's own filters.
func SeccompFile(value string) bool {
	return strings.Contains(value, "/") || strings.HasSuffix(value, ".json")
}

// SeccompLevel is the one of sbx's own filters that a value of the key seccomp
// asks for. A file comes on top of dev: the walls stay, and whether debuggers
// work is for the file to say.
func SeccompLevel(value string) string {
	if SeccompFile(value) {
		return "dev"
	}
	return value
}

// expandSeccomp makes the name of a file absolute.
func (pol *Policy) expandSeccomp(vars Vars) error {
	if !SeccompFile(pol.Seccomp) {
		return nil
	}
	path, ok, err := vars.Expand(pol.Seccomp)
	if err == nil && !ok {
		err = errors.New(strconv.Quote(pol.Seccomp) + ": a variable in it has no value here")
	}
	if err != nil {
		return &Error{Source: pol.Where["seccomp"], Text: "seccomp: " + err.Error()}
	}
	pol.Seccomp = path
	return nil
}
