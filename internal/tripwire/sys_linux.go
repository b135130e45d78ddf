// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/openat"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// inMemory reports whether a directory is on a file system that does not note
// the time of a write by mmap, as tmpfs does not before recent kernels.
func inMemory(dir string) bool {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return true
	}
	return st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC
}

// errMagic is what is said of a path that is another one for each process.
var errMagic = errors.New("a link of the kernel's is on the way (/proc/self/cwd)")

// reach is lstat(2) of a path that leads through no link of /proc: what git finds
// there is not what sbx finds.
func reach(path string, st *unix.Stat_t) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	fd := -1
	err := openat.Retry(func() (err error) { fd, err = unix.Openat2(unix.AT_FDCWD, path, &how); return err })
	switch err {
	case nil:
		defer unix.Close(fd)
		return unix.Fstat(fd, st)
	case unix.ELOOP:
		if _, err := lstat(path); err == unix.ELOOP {
			return err
		}
		return errMagic
	case unix.ENOSYS, unix.EPERM: // kernels before 5.6, and filters of containers: through no link at all
		dir, err := openDir(policy.Dir(path))
		if err != nil {
			return errors.Unwrap(err)
		}
		defer unix.Close(dir)
		return openat.Stat(dir, base(path), st)
	}
	return err
}

// unwritten reports whether no process has a file open for writing, or mapped
// for it: the kernel gives a lease only then (fcntl(2), F_SETLEASE).
func unwritten(fd int) bool {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		return false
	}
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	return err == nil
}
