// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"encoding/binary"
	"os"
	"syscall"
)

// ReadDir lists a directory with the kinds of its entries, which package
// syscall does not tell (getdents64(2)).
func (OS) ReadDir(path string) ([]Entry, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	var entries []Entry
	buf := make([]byte, 32<<10)
	for {
		n, err := syscall.ReadDirent(fd, buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "readdir", Path: path, Err: err}
		}
		if n <= 0 {
			return entries, nil
		}
		entries = appendEntries(entries, buf[:n])
	}
}

// appendEntries reads struct linux_dirent64: inode and offset, 8 bytes each,
// the length of the record in 2, the type in 1, then the name, NUL-terminated.
func appendEntries(entries []Entry, buf []byte) []Entry {
	const lengthAt, typeAt, nameAt = 16, 18, 19
	for len(buf) > nameAt {
		length := int(binary.NativeEndian.Uint16(buf[lengthAt:]))
		if length <= nameAt || length > len(buf) {
			break
		}
		name, _, _ := bytes.Cut(buf[nameAt:length], []byte{0})
		if s := string(name); s != "." && s != ".." && s != "" {
			entries = append(entries, Entry{s, direntKind(buf[typeAt])})
		}
		buf = buf[length:]
	}
	return entries
}

func direntKind(t byte) Kind {
	switch t {
	case syscall.DT_DIR:
		return Dir
	case syscall.DT_REG:
		return File
	case syscall.DT_LNK:
		return Link
	case syscall.DT_SOCK:
		return Socket
	case syscall.DT_FIFO:
		return Fifo
	case syscall.DT_BLK, syscall.DT_CHR:
		return Device
	}
	return Absent
}

// missed reports whether an error of lstat(2) says that nothing is there.
func missed(err error) bool { return err == syscall.ENOENT || err == syscall.ENOTDIR }
