// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Files says where to look for configuration.
type Files struct {
	System   []string // /etc/sbx/config.toml, /etc/sbx/config.hcl
	User     []string // the same two in the user's directory
	CWD      string   // absolute and cleaned: where the search for a project file starts; "" for none
	Root     string   // root of the repository that holds CWD, where the search ends; "" looks in CWD only
	Explicit string   // --config: replaces the user's file, and has to exist

	// Trusts says whether the user has agreed to this content of the project
	// file at path. It is asked only where there is one, with the very bytes
	// that will count. nil trusts none.
	Trusts func(path string, data []byte) bool
}

// Find reads the files that exist, at most one of each layer. Every run goes
// through here: with no file there it costs one lstat for each place.
//
// A file that is there and cannot be used is a [*FileError], as are two files
// of one layer. On systems without owners and modes of files the error
// satisfies errors.ErrUnsupported.
func Find(where Files) ([]File, error) {
	s := search{Files: where}
	err := s.layer(policy.System, where.System)
	switch {
	case err != nil:
	case where.Explicit != "":
		err = s.read(policy.User, where.Explicit)
	default:
		err = s.layer(policy.User, where.User)
	}
	if err == nil && where.CWD != "" {
		err = s.project()
	}
	if err != nil {
		return nil, err
	}
	return s.found, nil
}

type search struct {
	Files
	found []File
}

// layer looks at each path; two that exist are one too many.
func (s *search) layer(layer policy.Layer, paths []string) error {
	first := ""
	for _, path := range paths {
		ok, err := exists(path)
		switch {
		case err != nil:
			return err
		case ok && first != "":
			return &FileError{Path: path, Text: "there is " + text.Plain(first) +
				" as well, and sbx does not guess which of the two counts", Hint: "keep one of them"}
		case ok:
			first = path
		}
	}
	if first == "" {
		return nil
	}
	return s.read(layer, first)
}

// project reads all files from the working directory up: one that a command left in
// a subdirectory must not take the place of the project's own.
func (s *search) project() error {
	first, root := len(s.found), s.Root
	if root == "" || !policy.Within(s.CWD, root) {
		root = s.CWD
	}
	for dir := s.CWD; ; dir = policy.Dir(dir) {
		at := strings.TrimSuffix(dir, "/")
		if err := s.layer(policy.Project, []string{at + "/.sbx.toml", at + "/.sbx.hcl"}); err != nil {
			return err
		}
		if dir == root || dir == "/" {
			slices.Reverse(s.found[first:])
			return nil
		}
	}
}

func (s *search) read(layer policy.Layer, path string) error {
	data, err := readSafe(layer, path, false)
	if err != nil {
		return err
	}
	f := File{Path: path, Layer: layer, Data: data}
	if !strings.HasPrefix(path, "/") { // as it was given to --config
		f.CWD = s.Files.CWD
	}
	f.Trusted = layer == policy.Project && s.Trusts != nil && s.Trusts(path, data)
	s.found = append(s.found, f)
	return nil
}

// Unread is a file that someone may take for a config file, and that no run reads.
type Unread struct {
	Path string `json:"path"`
	Read string `json:"read"` // what is read there
}

// Unread are the files of that kind.
func (f Files) Unread() (out []Unread) {
	look := func(read string, names ...string) {
		if ok, _ := exists(policy.Dir(read)); !ok {
			return
		}
		for _, name := range names {
			path := policy.Dir(read) + "/" + name
			if ok, _ := exists(path); ok {
				out = append(out, Unread{path, read})
			}
		}
	}
	for _, paths := range [][]string{f.System, f.User} {
		if len(paths) > 0 {
			look(paths[0], "config.json", "config.yaml", "config.yml", "sbx.toml", ".sbx.toml")
		}
	}
	for _, dir := range slices.Compact([]string{f.CWD, f.Root}) {
		if dir != "" {
			look(dir+"/.sbx.toml", ".sbx.json", ".sbx.yaml", ".sbx.yml", "sbx.toml")
		}
	}
	return out
}

// Digests has a line for each file that is about all that it says. Those of
// project files that are not trusted, which can only tighten, begin with "-".
func Digests(files []File) []string {
	var out []string
	for _, f := range files {
		sign := "+"
		if f.Layer == policy.Project && !f.Trusted {
			sign = "-"
		}
		out = append(out, fmt.Sprintf("%s %x %s", sign, sha256.Sum256(f.Data), f.Path))
	}
	return out
}

// ReadFilter reads a file that a profile names as its seccomp filter. It has to
// be as safe as the user's own configuration, and to have no second name; the
// error is a [*FileError].
func ReadFilter(path string) ([]byte, error) { return readSafe(policy.User, path, true) }

// FileError says why a file cannot be used as configuration.
type FileError struct {
	Path string
	Text string
	Hint string // what to do about it, or ""
	Err  error  // the system's error, or nil
}

func (e *FileError) Error() string {
	s := text.Plain(e.Path) + ": " + oneLine(e.Text)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *FileError) Unwrap() error { return e.Err }
