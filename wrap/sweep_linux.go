package wrap

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// readNames hands on the names in an open directory, some at a time.
func readNames(fd int, do func(names []string) error) error {
	buf := make([]byte, 8<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		if err := do(names); err != nil {
			return err
		}
	}
}

// unlock opens a directory to its owner that he closed to himself, and nothing
// else that might be at its place by now.
func unlock(at int, name string) bool {
	fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700) == nil
}
