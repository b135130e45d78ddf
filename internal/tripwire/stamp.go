// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// stampAt is what tells whether a thing is the one that was looked at, of a
// directory with what is in it; "" when nothing is there, and when it is so young
// that it may be written again with the same stamp.
func stampAt(dir, rel string, now time.Time) string {
	text, _ := stampOf(dir, rel, now, false)
	return text
}

// restAt is stampAt of what no process can write without giving it another stamp.
func restAt(dir, rel string, now time.Time) string {
	text, written := stampOf(dir, rel, now, true)
	if written {
		return ""
	}
	return text
}

// stampOf is stampAt. With asks it finds out besides whether a process may have one
// of the files open for writing, or mapped.
func stampOf(dir, rel string, now time.Time, asks bool) (text string, written bool) {
	path := join(dir, rel)
	st, err := lstat(path)
	if err != nil {
		return "", false
	}
	s := &stamps{asks: asks}
	s.see(unix.AT_FDCWD, path, &st)
	text = stamp(&st)
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFDIR:
		d := newDigest(s)
		d.sub(unix.AT_FDCWD, path, &st, 0)
		text += d.sum()
	case unix.S_IFLNK:
		text += s.target(dir, rel)
	}
	if s.newest > now.Add(-young).UnixNano() {
		text = ""
	}
	return text, s.written
}

// stamps is what was found out of files beside their stamps.
type stamps struct {
	newest  int64 // time of the last change
	asks    bool
	written bool // a process may have one open for writing
}

// see looks at a file.
func (s *stamps) see(dir int, name string, st *unix.Stat_t) {
	s.newest = max(s.newest, ctime(st))
	if !s.asks || s.written || !is(st, unix.S_IFREG) {
		return
	}
	fd, err := openAt(dir, name, unix.O_RDONLY)
	if err != nil {
		s.written = true
		return
	}
	defer unix.Close(fd)
	s.written = !unwritten(fd)
}

// target is the stamp of what a link leads to.
func (s *stamps) target(dir, rel string) string {
	fd, err := openTarget(dir, rel, openPath)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return ""
	}
	s.newest = max(s.newest, ctime(&st))
	text := "->" + stamp(&st)
	switch {
	case is(&st, unix.S_IFDIR):
		d := newDigest(s)
		d.sub(fd, ".", &st, 0)
		text += d.sum()
	case is(&st, unix.S_IFREG) && s.asks:
		file, err := openTarget(dir, rel, unix.O_RDONLY)
		if s.written = s.written || err != nil || !unwritten(file); err == nil {
			unix.Close(file)
		}
	}
	return text
}

// lookListed is Look of a Name in a directory, but of a link that leads to
// something in the directory: the state of that follows on a line of its own,
// which is empty for other links.
func lookListed(dir, rel string) (string, error) {
	state, err := Look(Name, join(dir, rel))
	if err != nil || !strings.HasPrefix(state, "link ") {
		return state, err
	}
	fd, err := openTarget(dir, rel, unix.O_RDONLY)
	if err != nil {
		return state + "\n", nil
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return state + "\n", nil
	}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		data, err := readFD(fd, int(min(st.Size, maxFile)), maxFile)
		if err != nil || st.Size > maxFile {
			return state + "\nfile " + stamp(&st), nil
		}
		return state + "\nfile " + sum(data), nil
	case unix.S_IFDIR:
		return state + "\n" + dirState(fd, ".", &st), nil
	}
	return state + "\nother", nil
}
