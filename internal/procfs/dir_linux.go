// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"strconv"
	"syscall"
)

// EachEntry calls do with the names in an open directory, but for "." and "..", and
// their types (syscall.DT_DIR, …; DT_UNKNOWN where the file system does not tell),
// until do returns false.
func EachEntry(fd int, do func(name string, kind byte) bool) error {
	// struct linux_dirent64: inode and offset, the length of the record, the type,
	// the name, which ends in a NUL (getdents64(2)). amd64 and arm64 are little-endian.
	const lengthAt, kindAt, nameAt = 16, 18, 19
	for buf := make([]byte, 16<<10); ; {
		n, err := syscall.ReadDirent(fd, buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		for rest := buf[:n]; len(rest) > nameAt; {
			length := int(rest[lengthAt]) | int(rest[lengthAt+1])<<8
			if length <= nameAt || length > len(rest) {
				break
			}
			name, _ := Cut(string(rest[nameAt:length]), 0)
			if name != "" && name != "." && name != ".." && !do(name, rest[kindAt]) {
				return nil
			}
			rest = rest[length:]
		}
	}
}

// Names returns the names in a directory, without "." and "..".
func Names(dir string) (names []string, err error) {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	err = EachEntry(fd, func(name string, _ byte) bool {
		names = append(names, name)
		return true
	})
	return names, err
}

// Processes returns the numbers of all processes that /proc shows.
func Processes() (pids []int, err error) {
	names, err := Names("/proc")
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
}
