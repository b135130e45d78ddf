// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"os"
	"syscall"
)

// Do does one of the acts on names of files that the probe and the tests of
// package conformance try: it makes, moves or removes, and overwrites nothing but
// by "rename". To is for acts with two names.
func Do(act, path, to string) error {
	switch act {
	case "create":
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return err
		}
		return f.Close()
	case "mkdir":
		return os.Mkdir(path, 0o700)
	case "symlink":
		return os.Symlink(path, to)
	case "link":
		return os.Link(path, to)
	case "rename":
		return os.Rename(path, to)
	case "fifo":
		return syscall.Mknod(path, syscall.S_IFIFO|0o600, 0)
	case "socket":
		return syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0)
	case "unlink":
		return syscall.Unlink(path)
	case "rmdir":
		return syscall.Rmdir(path)
	}
	return syscall.ENOSYS
}
