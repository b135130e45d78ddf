// SPDX-License-Identifier: Apache-2.0

package ownfile

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// unlock opens a directory to its owner who closed it to himself, and nothing
// else that might be at its place by now.
func unlock(at int, name string) bool {
	fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700) == nil
}
