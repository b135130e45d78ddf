// SPDX-License-Identifier: Apache-2.0

// Package openat has operations on files by an open directory and a name in it. They
// follow no link, wait for no other process and go on after a signal. Whatever another
// process puts up meanwhile, they stay where the caller opened the directory.
//
// Only the last element of a name is checked: a name with a slash may lead through a
// link. [Dir] opens a directory without following one anywhere. The errors are errnos.
package openat

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Open opens a name in a directory; mode is of a file that is made.
func Open(dir int, name string, flags int, mode uint32) (fd int, err error) {
	if flags&unix.O_DIRECTORY == 0 {
		flags |= unix.O_NONBLOCK | unix.O_NOCTTY
	}
	err = Retry(func() error {
		fd, err = unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		return err
	})
	return fd, err
}

// Stat says what a name in a directory is.
func Stat(dir int, name string, st *unix.Stat_t) error {
	return Retry(func() error { return unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW) })
}

// Readlink returns the text of a link.
func Readlink(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	return string(buf[:max(n, 0)]), err
}

// walk is [Dir], element by element.
func walk(path string) (int, error) {
	fd, err := Open(unix.AT_FDCWD, "/", Path|unix.O_DIRECTORY, 0)
	for elem := range strings.SplitSeq(path[1:], "/") {
		if err != nil || elem == "" {
			break
		}
		above := fd
		fd, err = Open(above, elem, Path|unix.O_DIRECTORY, 0)
		var st unix.Stat_t
		if err != nil && Stat(above, elem, &st) == nil && Is(&st, unix.S_IFLNK) {
			err = unix.ELOOP
		}
		unix.Close(above)
	}
	if err != nil {
		return -1, err
	}
	return fd, nil
}

// ReadFile reads a regular file, at most limit bytes and one more that says that there
// are more. Anything but a regular file is an error.
func ReadFile(dir int, name string, limit int) ([]byte, error) {
	fd, err := Open(dir, name, unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if !Is(&st, unix.S_IFREG) {
		return nil, errors.New("not a regular file")
	}
	return Read(fd, st.Size, limit)
}

// Read reads at most limit bytes of an open file, and one more that says that there
// are more. size is how many fstat(2) says there are, 0 also for files of the kernel,
// whose end only reading finds.
func Read(fd int, size int64, limit int) ([]byte, error) {
	data := make([]byte, 0, min(size, int64(limit))+512)
	for len(data) <= limit {
		data = slices.Grow(data, 1)
		room, n := data[len(data):min(cap(data), limit+1)], 0
		err := Retry(func() (err error) { n, err = unix.Read(fd, room); return err })
		if n <= 0 {
			return data, err
		}
		data = data[:len(data)+n]
	}
	return data, nil
}

// Write writes all of data to an open file.
func Write(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err != nil && err != unix.EINTR {
			return err
		}
		data = data[max(n, 0):]
	}
	return nil
}

// List opens a directory to list it. path is what it is known by.
func List(dir int, name, path string) (*os.File, error) {
	fd, err := Open(dir, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// EachName hands on the names in a directory with a descriptor of it. It opens the
// directory again, and on macOS reads by a stream of the C library's: without one each
// call would begin from the start and pass over as many names as it has given, which may
// be gone by then.
func EachName(dir int, name string, do func(fd int, name string) error) error {
	f, err := List(dir, name, name)
	if err != nil {
		return err
	}
	defer f.Close()
	for fd := int(f.Fd()); ; {
		names, err := f.Readdirnames(256)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := do(fd, name); err != nil {
				return err
			}
		}
	}
}

// Is reports whether a file is of a kind: unix.S_IFREG, for one.
func Is(st *unix.Stat_t, kind uint32) bool { return uint32(st.Mode)&unix.S_IFMT == kind }

// Retry calls again what a signal interrupted.
func Retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
