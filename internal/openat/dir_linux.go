// SPDX-License-Identifier: Apache-2.0

package openat

import "golang.org/x/sys/unix"

// Path opens a directory that may be searched and not be listed, as /home sometimes is.
const Path = unix.O_PATH

// Dir opens a directory, by an absolute path that has to have no link in it, for use
// with the calls here. Through a link it is ELOOP.
func Dir(path string) (fd int, err error) {
	how := unix.OpenHow{Flags: Path | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	err = Retry(func() error { fd, err = unix.Openat2(unix.AT_FDCWD, path, &how); return err })
	switch err {
	case unix.ENOSYS, unix.EPERM, // before Linux 5.6, or a container's filter
		unix.ENAMETOOLONG: // which goes element by element
		return walk(path)
	}
	return fd, err
}

// Born is when a file was made, in nanoseconds, 0 where the file system does not know.
func Born(path string) int64 {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
}
