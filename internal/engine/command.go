// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Words finds the file to execute. It returns the path to execute it by and the
// words of the command, both empty for a plan that is only looked at. Self is
// where the command finds sbx itself.
func (r *Run) Words(self string) (path string, words []string, err error) {
	words = r.Request.Command
	if len(r.Request.Self) > 0 {
		words = append([]string{self}, r.Request.Self...)
		r.Report.Command = self
	} else if len(words) > 0 {
		if r.Report.Command, err = r.lookUp(words[0]); err != nil {
			return "", nil, err
		}
	}
	if len(words) == 0 {
		return "", nil, nil
	}
	if path = words[0]; !strings.Contains(path, "/") {
		path = r.View.Inside(r.Report.Command)
	}
	if name := r.Request.Argv0; name != "" {
		words = append([]string{name}, words[1:]...)
	}
	return path, words, nil
}

// Builtins change the shell that they are typed in, and are no programs.
var Builtins = []string{"cd", "pushd", "popd", "export", "unset", "set", "alias", "unalias", "source", ".", "eval",
	"exec", "umask", "ulimit", "local", "declare"}

// Opens takes the flag that shows a program out of the error for one that is not visible.
func Opens(err *host.Error) (why, flags string, ok bool) {
	if err == nil {
		return "", "", false
	}
	why, path, ok := strings.Cut(err.Hint, "; -r ")
	return why, "-r " + path, ok
}

// lookUp finds a command in the PATH that it will have. What this machine lacks a
// Mac that it models may have, under the same name.
func (r *Run) lookUp(name string) (string, error) {
	path, _ := host.LookupEnv(r.Env, "PATH")
	full, err := r.View.LookCommand(name, path)
	var missing *host.Error
	if errors.As(err, &missing) && missing.Hint == "" && slices.Contains(Builtins, name) {
		missing.Hint = name + " is built into shells, and what it changes would end with the sandbox; type it without sbx: " +
			text.ShellLine(r.Request.Command)
	}
	if why, flags, ok := Opens(missing); ok && len(r.Request.Command) > 0 {
		line, _ := r.Request.Hints.Line(flags, r.Request.Command)
		missing.Hint = why + "; to allow: " + line
	}
	if r.Host.Modelled && name != "" && (!strings.Contains(name, "/") || !host.MacFS{}.Host(full)) &&
		errors.As(err, &missing) && missing.Status == host.StatusNotFound {
		return name, nil
	}
	return full, err
}
