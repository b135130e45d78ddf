// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// written are the directories of a git directory in which git writes files by
// their names, at any depth. It writes through a link there: into COMMIT_EDITMSG
// the message of a commit, to the end of logs/HEAD its subject.
var written = []string{
	"branches", "fsmonitor--daemon", "info", "lost-found", "NOTES_MERGE_WORKTREE", "objects/info", "objects/pack",
	"rebase-apply", "rebase-merge", "reftable", "remotes", "rr-cache", "sequencer",
	"logs", "refs", // last: there may be more names in them than are looked at
}

const (
	maxListed    = 1 << 16 // names that are listed in git directories
	listedAsDir  = 8       // a directory counts as so many: it costs four system calls
	maxListDepth = 64
)

// listed tells of what is neither a file nor a directory at the top of a git
// directory and in those directories of it that git writes to: git itself makes no
// links there. A directory that is a link is reported and not looked into: it can
// lead git elsewhere than sbx (/proc/self/cwd).
func (s *survey) listed(fd int, dir string) {
	if err := s.list(fd, dir, nil); err != nil {
		s.unseen(dir, err)
	}
	objects, err := openAt(fd, "objects", openPath|unix.O_DIRECTORY)
	if err == nil {
		defer unix.Close(objects)
	}
	for _, name := range written {
		switch below, rest, ok := strings.Cut(name, "/"); {
		case !ok:
			s.walk(fd, name, join(dir, name), 0)
		case err == nil:
			s.entry(objects, join(dir, below), rest, 0, nil)
			s.walk(objects, rest, join(join(dir, below), rest), 0)
		}
	}
}

// walk lists a directory and those in it. What is not a directory was reported with
// the names around it.
func (s *survey) walk(parent int, name, path string, depth int) {
	fd, err := openAt(parent, name, unix.O_RDONLY|unix.O_DIRECTORY)
	switch {
	case err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP:
		return
	case err == nil:
		defer unix.Close(fd)
	}
	var below []string
	if err == nil {
		err = s.list(fd, path, &below)
	}
	if depth == maxListDepth && len(below) > 0 {
		below, err = nil, errDeep
	}
	if err != nil {
		s.unseen(path, err)
	}
	for _, n := range below {
		s.walk(fd, n, join(path, n), depth+1)
	}
}

var (
	errDeep = errors.New("there are more directories in one another than are looked at")
	errMany = errors.New("there are more than " + strconv.Itoa(maxListed) + " names, and not all are looked at")
)

// list tells of links and the like in an open directory, and adds the directories
// in it to dirs.
func (s *survey) list(fd int, path string, dirs *[]string) error {
	if s.buf == nil {
		s.buf = make([]byte, 16<<10)
	}
	if s.listing -= listedAsDir; s.listing < 0 {
		return s.tooMany()
	}
	for {
		n, err := unix.ReadDirent(fd, s.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		eachEntry(s.buf[:n], func(name []byte, kind uint32) {
			if kind == unix.S_IFREG {
				s.listing--
				return
			}
			s.entry(fd, path, string(name), kind, dirs)
		})
		if s.listing < 0 {
			return s.tooMany()
		}
	}
}

// tooMany says so once.
func (s *survey) tooMany() error {
	if s.full {
		return nil
	}
	s.full = true
	return errMany
}

// entry is one that is not a regular file, or of a kind that the listing does not say.
func (s *survey) entry(fd int, path, name string, kind uint32, dirs *[]string) {
	s.listing--
	if kind != unix.S_IFDIR {
		var st unix.Stat_t
		if statAt(fd, name, &st) == unix.ENOENT {
			return
		}
		kind = uint32(st.Mode) & unix.S_IFMT
	}
	switch kind {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		if dirs != nil {
			*dirs = append(*dirs, name)
		}
	case unix.S_IFLNK:
		text, _ := readlinkAt(fd, name)
		s.add(join(path, name), "a link, and git writes to where it leads", text)
	default:
		// A socket cannot be opened as a file, and git's file system monitor has one.
		if kind != unix.S_IFSOCK || name != "fsmonitor--daemon.ipc" {
			s.add(join(path, name), "a "+kindName(kind)+", and git makes none there", "")
		}
	}
}

// eachEntry reads what getdents(2) returns, but for "." and "..". kind is 0 where
// the file system does not say.
func eachEntry(buf []byte, f func(name []byte, kind uint32)) {
	const (
		atLength = unsafe.Offsetof(unix.Dirent{}.Reclen)
		atType   = unsafe.Offsetof(unix.Dirent{}.Type)
		atName   = unsafe.Offsetof(unix.Dirent{}.Name)
	)
	for len(buf) > int(atName) {
		length := int(binary.NativeEndian.Uint16(buf[atLength:]))
		if length <= int(atName) || length > len(buf) {
			return
		}
		name := buf[atName:length]
		for i, c := range name {
			if c == 0 {
				name = name[:i]
				break
			}
		}
		// S_IFDIR is DT_DIR, and so on, twelve bits on.
		if text := string(name); text != "." && text != ".." && text != "" {
			f(name, uint32(buf[atType])<<12)
		}
		buf = buf[length:]
	}
}
