// SPDX-License-Identifier: Apache-2.0

package ownfile

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/openat"
)

// UnsafeError tells why a file or directory is not believed.
type UnsafeError struct {
	Path string
	Why  string // "it is a symbolic link"
}

func (e *UnsafeError) Error() string { return strconv.Quote(e.Path) + ": " + e.Why }

// Make makes a directory with mode 0700, its parents as well, and reports whether
// it did not exist. One that exists has to be a directory of the user's.
func Make(path string, uid int) (made bool, err error) {
	err = os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return false, err
		}
		err = os.Mkdir(path, 0o700)
	}
	if !errors.Is(err, fs.ErrExist) {
		return err == nil, err
	}
	st, err := statDir(path)
	if err == nil {
		err = checkOwner(path, &st, uid)
	}
	return false, err
}

// CheckAbove refuses a directory in which another user could replace the
// directory that is about to be opened. Root's own is fine.
func CheckAbove(path string, uid int) error {
	st, err := statDir(path)
	if err != nil {
		return err
	}
	if st.Uid == 0 && (st.Mode&0o022 == 0 || st.Mode&unix.S_ISVTX != 0) {
		return nil
	}
	return check(path, &st, uid)
}

// Dir is an open directory of the user's.
type Dir struct {
	fd   int
	path string
	uid  int
}

// Open opens a directory and refuses it, by an [*UnsafeError], unless it belongs
// to the user and no one else can write in it. Other errors are those of open(2).
func Open(path string, uid int) (*Dir, error) {
	fd, err := openat.Open(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		if _, is := statDir(path); errors.As(is, new(*UnsafeError)) {
			return nil, is
		}
		return nil, pathError("open", path, err)
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err != nil {
		err = pathError("fstat", path, err)
	} else {
		err = check(path, &st, uid)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Dir{fd, path, uid}, nil
}

// Close closes the directory.
func (d *Dir) Close() { unix.Close(d.fd) }

// Read returns the content of a file of at most limit bytes. The error is
// [fs.ErrNotExist] when there is none, and an [*UnsafeError] when it is not to be
// believed.
func (d *Dir) Read(name string, limit int) ([]byte, error) {
	path := d.join(name)
	fd, err := openat.Open(d.fd, name, unix.O_RDONLY, 0)
	switch {
	case err == unix.ELOOP:
		return nil, &UnsafeError{path, "it is a symbolic link"}
	case err != nil:
		return nil, pathError("open", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, pathError("fstat", path, err)
	}
	if err := checkKind(path, &st, unix.S_IFREG); err != nil {
		return nil, err
	}
	if err := check(path, &st, d.uid); err != nil {
		return nil, err
	}
	if st.Size > int64(limit) {
		return nil, &UnsafeError{path, "it is larger than " + strconv.Itoa(limit) + " bytes"}
	}
	data, err := openat.Read(fd, st.Size, int(st.Size))
	switch {
	case err != nil:
		return nil, pathError("read", path, err)
	case int64(len(data)) > st.Size:
		return nil, &UnsafeError{path, "it changes while it is read"}
	}
	return data, nil
}

// temporary begins the names of files that are being written.
const temporary = ".new-"

// Write replaces a file, mode 0600, as a whole or not at all; with sync it lasts
// when the power fails, too.
func (d *Dir) Write(name string, data []byte, sync bool) error {
	next := temporary + strconv.FormatUint(rand.Uint64(), 36)
	fd, err := openat.Open(d.fd, next, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return pathError("create", d.join(next), err)
	}
	if err = openat.Write(fd, data); sync && err == nil {
		err = openat.Retry(func() error { return unix.Fsync(fd) })
	}
	if e := unix.Close(fd); err == nil {
		err = e
	}
	if err == nil {
		err = unix.Renameat(d.fd, next, d.fd, name)
	}
	if err != nil {
		_ = unix.Unlinkat(d.fd, next, 0)
		return pathError("write", d.join(name), err)
	}
	return nil
}

// Remove removes a file; that there is none is no error.
func (d *Dir) Remove(name string) error {
	if err := unix.Unlinkat(d.fd, name, 0); err != nil && err != unix.ENOENT {
		return pathError("remove", d.join(name), err)
	}
	return nil
}

// Names returns the names in the directory, in any order. Files that a killed
// process was writing are left out, and removed when they are an hour old.
func (d *Dir) Names() (names []string, err error) {
	err = openat.EachName(d.fd, ".", func(_ int, name string) error {
		if !strings.HasPrefix(name, temporary) {
			names = append(names, name)
		} else if age(d.fd, name) > time.Hour {
			_ = unix.Unlinkat(d.fd, name, 0)
		}
		return nil
	})
	if err != nil {
		return nil, pathError("list", d.path, err)
	}
	return names, nil
}

// Lock keeps other processes from locking the same name until unlock is called
// or this process ends. It waits for a time, and then gives up with EWOULDBLOCK:
// a process that was stopped must not stop all others. Lock a file of its own,
// since [Dir.Write] replaces files.
func (d *Dir) Lock(name string, wait time.Duration) (unlock func(), err error) {
	path := d.join(name)
	fd, err := openat.Open(d.fd, name, unix.O_RDWR|unix.O_CREAT, 0o600)
	if err == unix.ELOOP {
		return nil, &UnsafeError{path, "it is a symbolic link"}
	}
	if err != nil {
		return nil, pathError("open", path, err)
	}
	for end := time.Now().Add(wait); ; time.Sleep(500 * time.Microsecond) {
		err = openat.Retry(func() error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
		if err == nil {
			return func() { unix.Close(fd) }, nil
		}
		if err != unix.EWOULDBLOCK || time.Now().After(end) {
			unix.Close(fd)
			return nil, pathError("lock", path, err)
		}
	}
}

func (d *Dir) join(name string) string { return d.path + "/" + name }

// statDir says what is known of a directory, and refuses what is none.
func statDir(path string) (st unix.Stat_t, err error) {
	if err := openat.Stat(unix.AT_FDCWD, path, &st); err != nil {
		return st, pathError("lstat", path, err)
	}
	return st, checkKind(path, &st, unix.S_IFDIR)
}

func check(path string, st *unix.Stat_t, uid int) error {
	if err := checkOwner(path, st, uid); err != nil {
		return err
	}
	if st.Mode&0o022 != 0 {
		return &UnsafeError{path, "it is writable by others"}
	}
	return nil
}

func checkOwner(path string, st *unix.Stat_t, uid int) error {
	if int(st.Uid) != uid {
		return &UnsafeError{path, "it belongs to uid " + strconv.FormatUint(uint64(st.Uid), 10) + ", not to you"}
	}
	return nil
}

func checkKind(path string, st *unix.Stat_t, want uint32) error {
	kind := uint32(st.Mode) & unix.S_IFMT
	switch {
	case kind == want:
		return nil
	case kind == unix.S_IFLNK:
		return &UnsafeError{path, "it is a symbolic link"}
	case want == unix.S_IFDIR:
		return &UnsafeError{path, "it is not a directory"}
	}
	return &UnsafeError{path, "it is not a regular file"}
}

func pathError(op, path string, err error) error { return &fs.PathError{Op: op, Path: path, Err: err} }
