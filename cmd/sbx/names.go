// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/session"
	"github.com/sbx-sandbox/sbx/shims"
)

// calledAs reads by which name sbx was started, and by which file, absolute;
// the file is "" where it is not known.
func calledAs() (shims.Name, string) {
	argv0 := ""
	if len(os.Args) > 0 {
		argv0 = os.Args[0]
	}
	file := executed()
	if strings.HasPrefix(file, "/proc/") && filepath.Base(file) == "exe" { // by itself
		return shims.Name{}, ""
	}
	if dir := filepath.Dir(file); filepath.Base(file) == session.Line &&
		filepath.Dir(dir) == session.Store(os.Geteuid()) {
		shell, _ := os.Readlink(file)
		name := shims.Parse("", shell)
		name.Line = true
		return name, file
	}
	file = shims.Executed(argv0, file, wasExecuted)
	name := shims.Parse(argv0, file)
	if name.Kind != shims.Shell {
		return name, ""
	}
	if shims.Parse("", file).Kind != shims.Shell { // as of a script, of which it is the interpreter
		file = argv0
	}
	if full, err := filepath.Abs(file); err == nil {
		file = full
	}
	return name, file
}

// wasExecuted reports whether a path that was given to execve(2) is the file of
// this program, and not a script's. Through the descriptor of a directory
// (execveat(2)) the kernel executes a script only if the descriptor stays open.
func wasExecuted(path string) bool {
	if rest, ok := strings.CutPrefix(path, "/dev/fd/"); ok {
		fd, _, inDir := strings.Cut(rest, "/")
		if _, err := os.Lstat("/dev/fd/" + fd); inDir && errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return app.IsSelf(path)
}

// shellsDir is a directory in which sbx has the names of shells: the package's,
// or one of the user's own, which is made and fixed here.
func shellsDir(s *app.Caller) (string, error) {
	own := shims.Program(s.Host.Self, s.Host.Path())
	dirs := append([]string{filepath.Join(filepath.Dir(own), "../lib/sbx/shells")}, app.Packaged...)
	for _, dir := range dirs {
		if app.IsSelf(filepath.Join(dir, "bash")) && app.IsSelf(filepath.Join(dir, "sbx-bash")) {
			return dir, nil
		}
	}
	shimsDir, err := s.ShimsDir()
	dir := filepath.Join(filepath.Dir(string(shimsDir)), "shells")
	if err != nil {
		return "", app.Failed("there is no home directory to keep the names of shells in", "set HOME or XDG_DATA_HOME")
	}
	if err := s.Kept(filepath.Dir(dir), "the names of shells cannot be kept",
		"set HOME, or XDG_DATA_HOME to a directory that exists"); err != nil {
		return "", err
	}
	return dir, shims.Dir(dir).AddShells(own)
}
