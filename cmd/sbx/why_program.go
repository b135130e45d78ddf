// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-shellwords"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/procfs"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// answerProgram is about the file that a name in a command line runs.
func (in *insight) answerProgram(a *answerJSON) {
	outside, within, err := in.program(a.Name)
	runs, seen := err == nil, false
	a.Found, a.Inside, a.Execute, a.Seen = outside, within, &runs, &seen
	if file := cmp.Or(within, outside); file != "" {
		v := in.path(file)
		seen, a.NoRemedy = v.Seen && v.Kind != host.Absent, v.Fixed
		a.decides(&v)
		runs = runs && (in.engine != host.EngineLandlock || v.Read) // of which reading and running are one
	}
	why, opens := a.opens(err)
	switch {
	case runs && outside != "" && outside != within:
		a.Why = "another file than outside, where it is " + text.Plain(outside)
	case runs:
		a.Why = "the first file of that name in PATH"
	case outside == "" && slices.Contains(engine.Builtins, a.Name):
		a.Why = a.Name + " is built into shells: there is no file to run, and what it changes ends with its shell"
	case opens:
		a.Why = why
	case err != nil:
		a.Why = strings.TrimPrefix(err.Error(), text.Plain(a.Name)+": ")
	}
	if runs || len(a.Remedies) > 0 {
		a.NoRemedy = ""
	}
}

// opens adds what shows a program that is not visible, and says why it is not.
func (a *answerJSON) opens(err error) (why string, ok bool) {
	var e *host.Error
	errors.As(err, &e)
	why, flags, ok := engine.Opens(e)
	if words, err := shellwords.Parse(flags); ok && err == nil {
		a.remedy("execute", "", words...)
	}
	return why, ok
}

// runs reports whether PATH has a program of a name.
func (in *insight) runs(name string) bool {
	outside, within, _ := in.program(name)
	return outside+within != ""
}

// port reports whether a word is the number of one, perhaps with a colon before it.
func port(word string) bool {
	n, err := strconv.ParseUint(strings.TrimPrefix(word, ":"), 10, 16)
	return err == nil && n > 0
}

// listens reports whether a server of the host listens at a TCP port, where that can be
// known.
func (in *insight) listens(port uint64) (yes, known bool) {
	for _, name := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		data, err := in.files.Head(name, 1<<20)
		known = known || err == nil && (!in.within || in.network)
		yes = yes || slices.Contains(procfs.Listening(string(data)), int(port))
	}
	return yes, known
}
