// SPDX-License-Identifier: Apache-2.0

package host

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Memfd returns a close-on-exec descriptor that reads as data.
func Memfd(data []byte) (int, error) {
	fd, err := unix.MemfdCreate("sbx", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, err
	}
	for off := 0; off < len(data); {
		n, err := unix.Pwrite(fd, data[off:], int64(off))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			syscall.Close(fd)
			return -1, err
		}
		off += n
	}
	return fd, nil
}

// Seal makes the content of a memfd unchangeable.
func Seal(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	return err
}
