// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// maxRead is how much of a file is compared, in bytes, and maxNames how many names
// are read from a directory.
const (
	maxRead  = 64 << 10
	maxNames = 4096
)

// The kinds of files, as in [fileInfo].
const (
	kindAbsent = "absent"
	kindFile   = "file"
	kindDir    = "dir"
	kindLink   = "link"
	kindSocket = "socket"
	kindOther  = "other"
)

// fileInfo is what there is at a path.
type fileInfo struct {
	Kind  string   `json:"kind"` // absent, file, dir, link, socket, other; "" when it cannot be seen
	Dev   uint64   `json:"dev,omitempty"`
	Ino   uint64   `json:"ino,omitempty"`
	Own   bool     `json:"own,omitempty"` // it belongs to who looks; to nobody in a user namespace, perhaps
	Size  int64    `json:"size,omitempty"`
	Read  bool     `json:"read,omitempty"` // it could be opened for reading
	Sum   string   `json:"sum,omitempty"`  // SHA-256 of the first 64 KiB
	Names [][]byte `json:"names,omitempty"`
	May   bool     `json:"may,omitempty"`   // it could not be opened, though permissions alone allow it
	Errno int      `json:"errno,omitempty"` // why it could not be opened or looked at
}

func (f *fileInfo) names() []string {
	out := make([]string, len(f.Names))
	for i, n := range f.Names {
		out[i] = string(n)
	}
	return out
}

// look says what is at a path.
func look(q *question, a *answer) error {
	f := lookAt(q.path())
	if a.File = &f; f.Kind == "" {
		return unix.Errno(f.Errno)
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
		f.Size = 0
		var names []string
		names, err = procfs.Names(path)
		for _, n := range names[:min(len(names), maxNames)] {
			f.Names = append(f.Names, []byte(n))
		}
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
	return cmp.Or(kinds[mode&unix.S_IFMT], kindOther)
}

var kinds = map[uint32]string{
	unix.S_IFREG: kindFile, unix.S_IFDIR: kindDir, unix.S_IFLNK: kindLink, unix.S_IFSOCK: kindSocket,
}

// sumOf is the SHA-256 of the beginning of a file.
func sumOf(data []byte) string {
	s := sha256.Sum256(data[:min(len(data), maxRead)])
	return hex.EncodeToString(s[:])
}
