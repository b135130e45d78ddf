// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/openat"
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
func (s *survey) listed(f *os.File, dir string) {
	if _, err := s.list(f, dir); err != nil {
		s.unseen(dir, err)
	}
	fd := int(f.Fd())
	objects, err := openat.Open(fd, "objects", openat.Path|unix.O_DIRECTORY, 0)
	if err == nil {
		defer unix.Close(objects)
	}
	for _, name := range written {
		switch _, below, ok := strings.Cut(name, "/"); {
		case !ok:
			s.walk(fd, name, join(dir, name), 0)
		case err == nil:
			s.odd(objects, below, join(dir, name))
			s.walk(objects, below, join(dir, name), 0)
		}
	}
}

// walk lists a directory and those in it. What is not a directory was reported with
// the names around it.
func (s *survey) walk(parent int, name, path string, depth int) {
	f, err := openat.List(parent, name, path)
	var below []string
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return
	case nil:
		defer f.Close()
		below, err = s.list(f, path)
	}
	if depth == maxListDepth && len(below) > 0 {
		below, err = nil, errDeep
	}
	if err != nil {
		s.unseen(path, err)
	}
	for _, n := range below {
		s.walk(int(f.Fd()), n, join(path, n), depth+1)
	}
}

var (
	errDeep = errors.New("there are more directories in one another than are looked at")
	errMany = errors.New("there are more than " + strconv.Itoa(maxListed) + " names, and not all are looked at")
)

// list tells of links and the like in an open directory, and returns the directories
// in it. That there are too many names it says once.
func (s *survey) list(f *os.File, path string) (dirs []string, err error) {
	for s.listing -= listedAsDir; s.listing >= 0; {
		entries, err := f.ReadDir(1 << 10)
		for _, e := range entries {
			if s.listing--; e.IsDir() {
				dirs = append(dirs, e.Name())
			} else if !e.Type().IsRegular() {
				s.odd(int(f.Fd()), e.Name(), join(path, e.Name()))
			}
		}
		if err == io.EOF {
			err = nil
		}
		if err != nil || len(entries) == 0 {
			return dirs, err
		}
	}
	if s.full {
		return dirs, nil
	}
	s.full = true
	return dirs, errMany
}

// odd tells of what is neither a file nor a directory, and of what may not be looked
// at: a command can take the right to search a directory away, and give it back later.
func (s *survey) odd(dir int, name, path string) {
	var st unix.Stat_t
	if openat.Stat(dir, name, &st) == unix.ENOENT {
		return
	}
	switch kind := uint32(st.Mode) & unix.S_IFMT; {
	case kind == unix.S_IFREG || kind == unix.S_IFDIR:
	case kind == unix.S_IFLNK:
		text, _ := openat.Readlink(dir, name)
		s.add(path, "a link, and git writes to where it leads", text)
	// A socket cannot be opened as a file, and git's file system monitor has one.
	case kind != unix.S_IFSOCK || name != "fsmonitor--daemon.ipc":
		s.add(path, "a "+kindName(kind)+", and git makes none there", "")
	}
}
