package tripwire

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// errMagic is what is said of a path that is another one for each process.
var errMagic = errors.New("a link of the kernel's is on the way (/proc/self/cwd)")

// reach is lstat(2) of a path that leads through no link of /proc: what git finds
// there is not what sbx finds.
func reach(path string, st *unix.Stat_t) error {
	fd, err := openPlain(path, unix.RESOLVE_NO_MAGICLINKS)
	switch {
	case err == nil:
		defer unix.Close(fd)
		return unix.Fstat(fd, st)
	case err == unix.ELOOP:
		if err := retry(func() error { return unix.Lstat(path, st) }); err == unix.ELOOP {
			return err
		}
		return errMagic
	case err == unix.ENOSYS || err == unix.EPERM:
		return reachByNames(path, st) // kernels before 5.6, and filters of containers
	}
	return err
}

// reachByNames goes there one name at a time, through no link at all.
func reachByNames(path string, st *unix.Stat_t) error {
	dir, err := openDir(policy.Dir(path))
	if err != nil {
		return errors.Unwrap(err)
	}
	defer unix.Close(dir)
	return statAt(dir, nameIn(path), st)
}

func openPlain(path string, resolve uint64) (fd int, err error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: resolve}
	err = retry(func() error {
		fd, err = unix.Openat2(unix.AT_FDCWD, path, &how)
		return err
	})
	return fd, err
}
