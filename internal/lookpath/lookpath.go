// SPDX-License-Identifier: Apache-2.0

// Package lookpath looks up programs in a search path: which directories count,
// in which order, and which refusal is told. Whether a file will do, and who may
// be believed to have put it there, is up to the caller. Start with [Find].
package lookpath

import (
	"errors"
	"path/filepath"
	"strings"
)

// ErrNone says that there is no such program.
var ErrNone = errors.New("not found")

// Find returns the first file of a name in a search path for which try returns
// nil. What try says ErrNone of is passed over. Without one the error is the first
// other one, or ErrNone. An empty directory, which a shell takes for the working
// directory, is left out; a relative one is not.
func Find(path, name string, try func(file string) error) (string, error) {
	if name == "" || strings.Contains(name, "/") {
		return "", ErrNone
	}
	first := ErrNone
	for dir := range strings.SplitSeq(path, ":") {
		if dir == "" {
			continue
		}
		file := dir + "/" + name
		if dir == "/" {
			file = "/" + name
		}
		err := try(file)
		if err == nil {
			return file, nil
		}
		if first == ErrNone {
			first = err
		}
	}
	return "", first
}

// First returns the first file, cleaned, in the absolute directories of a search
// path that will do, or "". What a relative directory leads to is up to whoever
// can write the working directory.
func First(path, name string, will func(file string) bool) string {
	file, _ := Find(path, name, func(file string) error {
		if filepath.IsAbs(file) && will(filepath.Clean(file)) {
			return nil
		}
		return ErrNone
	})
	if file == "" {
		return ""
	}
	return filepath.Clean(file)
}
