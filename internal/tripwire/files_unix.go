//go:build linux || darwin

package tripwire

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// files is the open directory of a store. Everything in it is reached by this
// descriptor, so that it cannot be swapped between check and use.
type files struct {
	fd   int
	path string
	uid  int
}

// open opens the directory of the store. It returns nil without an error when
// there is none.
func (s Store) open() (*files, error) {
	// The directory above was made by sbx as well. What lies above that is the
	// user's own, links included.
	if err := s.safeDir(policy.Dir(s.Dir)); err != nil {
		return nil, absent(err)
	}
	fd, err := openAt(unix.AT_FDCWD, s.Dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		if why := s.safeDir(s.Dir); why != nil {
			return nil, absent(why)
		}
		// Another run has made it since.
		if fd, err = openAt(unix.AT_FDCWD, s.Dir, unix.O_RDONLY|unix.O_DIRECTORY); err != nil {
			return nil, fail(s.Dir, err)
		}
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		err = s.foreign(s.Dir, &st)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &files{fd, s.Dir, s.UID}, nil
}

func (f *files) close() { unix.Close(f.fd) }

// safeDir refuses a directory that somebody else could have put in place.
func (s Store) safeDir(path string) error {
	var st unix.Stat_t
	switch err := retry(func() error { return unix.Lstat(path, &st) }); err {
	case nil:
	case unix.EACCES:
		// A home of somebody else's, as su leaves it.
		return &UnwritableError{fail(path, err)}
	default:
		return fail(path, err)
	}
	above := path != s.Dir
	switch kind := uint32(st.Mode) & unix.S_IFMT; {
	case kind == unix.S_IFLNK:
		return &DamagedError{path, "it is a symbolic link"}
	case kind != unix.S_IFDIR:
		return &DamagedError{path, "it is not a directory"}
	case above && st.Uid == 0 && (st.Mode&0o022 == 0 || st.Mode&unix.S_ISVTX != 0):
		return nil
	}
	return s.foreign(path, &st)
}

// foreign is the error for what somebody but the user can have written.
func (s Store) foreign(path string, st *unix.Stat_t) error {
	switch {
	case int(st.Uid) != s.UID:
		return &DamagedError{path, "it belongs to uid " + strconv.FormatUint(uint64(st.Uid), 10) + ", not to you"}
	case st.Mode&0o022 != 0:
		return &DamagedError{path, "it is writable by others"}
	}
	return nil
}

// Make makes the directory of the store and reports whether it was not there.
// A caller that hides the directory from a command makes it before it works
// out how: what does not exist cannot be hidden.
func (s Store) Make() (made bool, err error) {
	var st unix.Stat_t
	if s.Dir == "" {
		return false, &UnwritableError{errors.New("there is no home directory")}
	}
	if unix.Lstat(s.Dir, &st) == nil {
		return false, nil
	}
	if s.Keeps != nil {
		if err := s.Keeps(policy.Dir(s.Dir)); err != nil {
			return false, &UnwritableError{err}
		}
	}
	if err := s.ownPlace(); err != nil {
		return false, err
	}
	if err := os.MkdirAll(policy.Dir(s.Dir), 0o700); err != nil {
		return false, &UnwritableError{err}
	}
	err = unix.Mkdir(s.Dir, 0o700)
	if err != nil && err != unix.EEXIST {
		return false, &UnwritableError{fail(s.Dir, err)}
	}
	return err == nil, nil
}

// ownPlace refuses to make the directory in the home of somebody else, where
// root could and its owner would be locked out of it.
func (s Store) ownPlace() error {
	var st unix.Stat_t
	for dir := policy.Dir(s.Dir); ; dir = policy.Dir(dir) {
		if err := unix.Stat(dir, &st); err == nil {
			if int(st.Uid) != s.UID && st.Mode&unix.S_ISVTX == 0 {
				return &UnwritableError{errors.New(policy.Plain(dir) + " belongs to another user")}
			}
			return nil
		}
		if dir == "/" {
			return &UnwritableError{errors.New(policy.Plain(s.Dir) + " cannot be made")}
		}
	}
}

// read returns the text of a record, false when there is none.
func (f *files) read(name string) (string, bool, error) {
	path := join(f.path, name)
	fd, err := openAt(f.fd, name, unix.O_RDONLY)
	switch {
	case err == unix.ENOENT:
		return "", false, nil
	case err == unix.ELOOP:
		return "", false, &DamagedError{path, "it is a symbolic link"}
	case err != nil:
		return "", false, &DamagedError{path, err.Error()}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", false, &DamagedError{path, err.Error()}
	}
	switch own := (Store{UID: f.uid}); {
	case uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG:
		return "", false, &DamagedError{path, "it is not a regular file"}
	case own.foreign(path, &st) != nil:
		return "", false, own.foreign(path, &st)
	case st.Size > maxRecord:
		return "", false, &DamagedError{path, "it is larger than 1 MiB"}
	}
	data, err := readFD(fd, int(st.Size), maxRecord+1)
	if err != nil || len(data) > maxRecord {
		return "", false, &DamagedError{path, "it cannot be read"}
	}
	return string(data), true, nil
}

// lockTime bounds the wait for another sbx, which needs a millisecond. One that
// was stopped in the middle must not stop all others.
const lockTime = 5 * time.Second

// lock keeps other processes from writing until the function it returns is
// called. The lock is that of a file of its own: records are replaced.
func (f *files) lock() (unlock func(), err error) {
	var fd int
	err = retry(func() error {
		fd, err = unix.Openat(f.fd, "lock", unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
		return err
	})
	if err == unix.ELOOP {
		return nil, &DamagedError{join(f.path, "lock"), "it is a symbolic link"}
	}
	if err != nil {
		return nil, &UnwritableError{fail(join(f.path, "lock"), err)}
	}
	for end := time.Now().Add(lockTime); ; time.Sleep(500 * time.Microsecond) {
		err = retry(func() error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
		if err == nil {
			return func() { unix.Close(fd) }, nil
		}
		if err != unix.EWOULDBLOCK || time.Now().After(end) {
			unix.Close(fd)
			return nil, &UnwritableError{fail(join(f.path, "lock"), err)}
		}
	}
}

// write replaces a file, whole or not at all, and with lasting also when the power
// fails. The lock is held, so the name of the new file is nobody else's, but for
// one that was killed.
func (f *files) write(name string, data []byte, lasting bool) error {
	tmp := name + ".new"
	_ = unix.Unlinkat(f.fd, tmp, 0)
	fd, err := unix.Openat(f.fd, tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &UnwritableError{fail(join(f.path, tmp), err)}
	}
	for rest := data; len(rest) > 0 && err == nil; {
		var n int
		n, err = unix.Write(fd, rest)
		if err == unix.EINTR {
			n, err = 0, nil
		}
		rest = rest[max(n, 0):]
	}
	if lasting && err == nil {
		err = retry(func() error { return unix.Fsync(fd) })
	}
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	if err == nil {
		err = unix.Renameat(f.fd, tmp, f.fd, name)
	}
	if err != nil {
		_ = unix.Unlinkat(f.fd, tmp, 0)
		return &UnwritableError{fail(join(f.path, name), err)}
	}
	return nil
}

// remove forgets a record.
func (f *files) remove(name string) error {
	if err := unix.Unlinkat(f.fd, name, 0); err != nil && err != unix.ENOENT {
		return &UnwritableError{fail(join(f.path, name), err)}
	}
	return nil
}

// names are the files that are records.
func (f *files) names() ([]string, error) {
	names, err := namesIn(f.fd)
	if err != nil {
		return nil, fail(f.path, err)
	}
	return sorted(slices.DeleteFunc(names, func(n string) bool { return len(n) != 32 || strings.Trim(n, "0123456789abcdef") != "" })), nil
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
