// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// openDir opens a directory for use with the calls that end in "at". A link on
// the way is an error: the planner had resolved them all, so one that is there
// now was put there since.
func openDir(path string) (int, error) {
	fd, err := openAt(unix.AT_FDCWD, "/", openPath|unix.O_DIRECTORY)
	for rest := path[1:]; rest != "" && err == nil; {
		elem, tail, _ := strings.Cut(rest, "/")
		var next int
		next, err = openAt(fd, elem, openPath|unix.O_DIRECTORY)
		if err != nil {
			var st unix.Stat_t
			if statAt(fd, elem, &st) == nil && is(&st, unix.S_IFLNK) {
				err = errLinked
			}
		}
		unix.Close(fd)
		fd, rest = next, tail
	}
	if err != nil {
		return -1, fail(path, err)
	}
	return fd, nil
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

func openAt(dir int, name string, flags int) (fd int, err error) {
	err = retry(func() error {
		fd, err = unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		return err
	})
	return fd, err
}

func statAt(dir int, name string, st *unix.Stat_t) error {
	return retry(func() error { return unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW) })
}

func readlinkAt(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// readUpTo reads a regular file, at most n bytes and one more that says there
// is more. Anything but a regular file is an error.
func readUpTo(dir int, name string, n int) ([]byte, error) {
	fd, err := openAt(dir, name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if !is(&st, unix.S_IFREG) {
		return nil, errors.New("not a regular file")
	}
	return readFD(fd, int(min(st.Size, int64(n)+1)), n+1)
}

// readFD reads up to limit bytes. size is how many fstat(2) says there are, 0
// also for files of the kernel, whose end only reading finds.
func readFD(fd, size, limit int) ([]byte, error) {
	buf := make([]byte, 0, size+1)
	for len(buf) < limit {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := unix.Read(fd, buf[len(buf):min(cap(buf), limit)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return buf, nil
		}
		if buf = buf[:len(buf)+n]; len(buf) == size {
			break
		}
	}
	return buf, nil
}

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// namesIn returns the sorted names in an open directory.
func namesIn(dir int) ([]string, error) {
	fd, err := openAt(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return readNames(fd)
}

// readNames is namesIn of a directory that is open for reading, for the first time.
func readNames(fd int) (names []string, err error) {
	var buf [16 << 10]byte
	for {
		n, err := unix.ReadDirent(fd, buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return sorted(names), err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// namesAt lists a directory, none when it cannot be reached.
func namesAt(path string) ([]string, error) {
	fd, err := openAt(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY)
	switch {
	case unreachable(err) && (err == unix.ENOENT || !exists(path)):
		return nil, nil
	case unreachable(err):
		return nil, errNoDirectory // or a link to one
	case err != nil:
		return nil, err
	}
	defer unix.Close(fd)
	return readNames(fd)
}

var errNoDirectory = errors.New("it is not a directory")

// listDir returns the names in a directory, none when it does not exist.
func listDir(path string) ([]string, error) {
	dir, err := openDir(path)
	if err != nil {
		return nil, absent(err)
	}
	defer unix.Close(dir)
	names, err := namesIn(dir)
	if err != nil {
		return nil, fail(path, err)
	}
	return names, nil
}

// lstat is lstat(2).
func lstat(path string) (st unix.Stat_t, err error) {
	err = retry(func() error { return unix.Lstat(path, &st) })
	return st, err
}

// exists reports whether a path is one of anything.
func exists(path string) bool {
	_, err := lstat(path)
	return err == nil
}

func mtime(st *unix.Stat_t) int64 { return st.Mtim.Nano() }
func ctime(st *unix.Stat_t) int64 { return st.Ctim.Nano() }

// is reports whether a file is of a kind: unix.S_IFREG, for one.
func is(st *unix.Stat_t, kind uint32) bool { return uint32(st.Mode)&unix.S_IFMT == kind }

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

// nameIn is the last element, "." for the root.
func nameIn(path string) string {
	if path == "/" {
		return "."
	}
	return base(path)
}

// regular reads a small regular file without following a link or waiting on a
// fifo.
func regular(path string) ([]byte, error) { return regularAt(unix.AT_FDCWD, path) }

func regularAt(dir int, name string) ([]byte, error) {
	data, err := readUpTo(dir, name, maxConfig)
	if err == nil && len(data) > maxConfig {
		return nil, errLong
	}
	return data, err
}

// readFile reads a regular file, no link in its path, at most n bytes and one
// more.
func readFile(path string, n int) ([]byte, error) {
	dir, err := openDir(policy.Dir(path))
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	return readUpTo(dir, nameIn(path), n)
}

// cause is what an error says without the path.
func cause(err error) string {
	if e, ok := err.(*fs.PathError); ok {
		err = e.Err
	}
	if e, ok := err.(*pathError); ok {
		err = e.err
	}
	if err == unix.ELOOP {
		return "it is a symbolic link"
	}
	return err.Error()
}

// fail says which path it was.
func fail(path string, err error) error { return &pathError{path, err} }

type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string { return text.Plain(e.path) + ": " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

func number(n int64) string { return strconv.FormatInt(n, 10) }

// from makes the path in a file of git's absolute.
func from(dir, path string) string {
	if path == "" || path[0] != '/' {
		path = join(dir, path)
	}
	return filepath.Clean(path)
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

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
	dir, err := openDir(policy.Dir(path))
	if err != nil {
		return "", false
	}
	defer unix.Close(dir)
	data, err := readUpTo(dir, nameIn(path), maxKept)
	if err != nil || len(data) > maxKept || slices.Contains(data, 0) || !strings.HasPrefix(state, "file "+sum(data)) {
		return "", false
	}
	return string(data), true
}
