// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/openat"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// openDir opens a directory for the calls of openat. A link on the way is an error: the
// planner had resolved them all, so one that is there now was put there since.
func openDir(path string) (int, error) {
	fd, err := openat.Dir(path)
	switch err {
	case nil:
		return fd, nil
	case unix.ELOOP:
		err = errLinked
	}
	return -1, fail(path, err)
}

// errLinked is what became of a directory above a watched name.
var errLinked = errors.New("a directory on the way has become a link")

// absent turns the error of a directory that does not exist into none.
func absent(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return err
}

// namesIn returns the sorted names in a directory.
func namesIn(dir int, name string) ([]string, error) {
	f, err := openat.List(dir, name, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	return sorted(names), err
}

// namesAt lists a directory, none when it cannot be reached.
func namesAt(path string) ([]string, error) {
	names, err := namesIn(unix.AT_FDCWD, path)
	switch {
	case !unreachable(err):
		return names, err
	case err == unix.ENOENT || !exists(path):
		return nil, nil
	}
	return nil, errors.New("it is not a directory") // or a link to one
}

// listDir returns the names in a directory, none when it does not exist.
func listDir(path string) ([]string, error) {
	dir, err := openDir(path)
	if err != nil {
		return nil, absent(err)
	}
	defer unix.Close(dir)
	names, err := namesIn(dir, ".")
	if err != nil {
		return nil, fail(path, err)
	}
	return names, nil
}

// lstat is lstat(2).
func lstat(path string) (st unix.Stat_t, err error) {
	err = openat.Stat(unix.AT_FDCWD, path, &st)
	return st, err
}

// exists reports whether a path is one of anything.
func exists(path string) bool {
	_, err := lstat(path)
	return err == nil
}

func mtime(st *unix.Stat_t) int64 { return st.Mtim.Nano() }
func ctime(st *unix.Stat_t) int64 { return st.Ctim.Nano() }

func kindName(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "file"
	case unix.S_IFDIR:
		return "directory"
	case unix.S_IFLNK:
		return "link"
	case unix.S_IFIFO:
		return "fifo"
	case unix.S_IFSOCK:
		return "socket"
	}
	return "device"
}

// unreachable reports whether an error says that nothing can be reached there: no
// such name, a loop of links, a mount whose server is gone. A path that is too long
// is none: git goes there by a shorter one.
func unreachable(err error) bool {
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENOTCONN, unix.ESTALE, unix.EIO, unix.ENODEV, unix.EHOSTDOWN,
		unix.ETIMEDOUT:
		return true
	}
	return false
}

// regular reads a small regular file without following a link or waiting on a
// fifo.
func regular(path string) ([]byte, error) { return regularAt(unix.AT_FDCWD, path) }

func regularAt(dir int, name string) ([]byte, error) {
	data, err := openat.ReadFile(dir, name, maxConfig)
	if err == nil && len(data) > maxConfig {
		return nil, errLong
	}
	return data, err
}

var errLong = errors.New("it is too large")

// readFile reads a regular file, no link in its path, at most limit bytes and one
// more.
func readFile(path string, limit int) ([]byte, error) {
	dir, err := openDir(policy.Dir(path))
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	return openat.ReadFile(dir, base(path), limit)
}

// cause is what an error says without the path.
func cause(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	if err == unix.ELOOP {
		return "it is a symbolic link"
	}
	return err.Error()
}

// fail says which path it was.
func fail(path string, err error) error { return fmt.Errorf("%s: %w", text.Plain(path), err) }

func number(n int64) string { return strconv.FormatInt(n, 10) }

// from makes the path in a file of git's absolute.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// base is the last element, "." for the root.
func base(path string) string { return cmp.Or(path[strings.LastIndexByte(path, '/')+1:], ".") }

func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

// keep reads a small text so that a later look can say what is different. It
// returns nothing when it is not what the state says any more.
func keep(path, state string) (content string, ok bool) {
	data, err := readFile(path, maxKept)
	if err != nil || len(data) > maxKept || slices.Contains(data, 0) || !strings.HasPrefix(state, "file "+sum(data)) {
		return "", false
	}
	return string(data), true
}
