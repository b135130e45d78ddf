// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"os"

	"github.com/sbx-sandbox/sbx/internal/procfs"
	"golang.org/x/sys/unix"
)

// maxRead is how much of a file is compared, in bytes, and maxNames how many names
// are read from a directory.
const (
	maxRead  = 64 << 10
	maxNames = 4096
)

// look says what is at a path.
func look(q *question, a *answer) error {
	f := lookAt(q.path())
	if a.File = &f; f.Kind == "" {
		return errnoErr(unix.Errno(f.Errno))
	}
	return nil
}

// lookAt is what can be seen of a path, links followed, without waiting on a fifo.
func lookAt(path string) fileInfo {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		f := fileInfo{Errno: int(errnoOf(err))}
		if err == unix.ENOENT || err == unix.ENOTDIR {
			f.Kind = kindAbsent
		}
		return f
	}
	f := fileInfo{Kind: kindOf(st.Mode), Dev: st.Dev, Ino: st.Ino, Own: int(st.Uid) == os.Geteuid(), Size: st.Size}
	if f.Kind != kindFile && f.Kind != kindDir {
		return f
	}
	var err error
	if f.Kind == kindDir {
		var names []string
		names, err = procfs.Names(path)
		for _, n := range names[:min(len(names), maxNames)] {
			f.Names = append(f.Names, []byte(n))
		}
		f.Size = 0
	} else {
		var text string
		if text, err = procfs.Head(path, maxRead); text != "" {
			f.Sum = sumOf([]byte(text))
		}
	}
	if f.Read = err == nil; !f.Read {
		f.Errno = int(errnoOf(err))
		f.May = (err == unix.EACCES || err == unix.EPERM) && permitted(path, unix.R_OK)
	}
	return f
}

// lkind is what a path is, links not followed; "" for nothing.
func lkind(path string) string {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return ""
	}
	return kindOf(st.Mode)
}

func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return kindFile
	case unix.S_IFDIR:
		return kindDir
	case unix.S_IFLNK:
		return kindLink
	case unix.S_IFSOCK:
		return kindSocket
	}
	return kindOther
}

// sumOf is the SHA-256 of the beginning of a file.
func sumOf(data []byte) string {
	s := sha256.Sum256(data[:min(len(data), maxRead)])
	return hex.EncodeToString(s[:])
}
