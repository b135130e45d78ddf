// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/openat"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// stampAt is what tells whether a thing is the one that was looked at, of a
// directory with what is in it; "" when nothing is there, and when it is so young
// that it may be written again with the same stamp. With rests it is "" besides when
// a process may have one of the files open for writing, or mapped.
func stampAt(dir, rel string, now time.Time, rests bool) string {
	path := join(dir, rel)
	st, err := lstat(path)
	if err != nil {
		return ""
	}
	s := &stamps{asks: rests}
	text := s.of(unix.AT_FDCWD, path, &st)
	if openat.Is(&st, unix.S_IFLNK) {
		text += s.target(dir, rel)
	}
	if s.written || s.newest > now.Add(-young).UnixNano() {
		return ""
	}
	return text
}

// young is an age at which a file can still be changed without another time of
// change: file systems count in steps of up to two seconds.
const young = 2 * time.Second

// stamps is what was found out of files beside their stamps.
type stamps struct {
	newest  int64 // time of the last change
	asks    bool
	written bool // a process may have one open for writing
}

// of is the stamp of a file, or of a directory with what is in it.
func (s *stamps) of(dir int, name string, st *unix.Stat_t) string {
	s.see(dir, name, st)
	if !openat.Is(st, unix.S_IFDIR) {
		return stamp(st)
	}
	d := newDigest(s)
	d.sub(dir, name, st, 0)
	return stamp(st) + d.sum()
}

// see looks at a file.
func (s *stamps) see(dir int, name string, st *unix.Stat_t) {
	s.newest = max(s.newest, ctime(st))
	if !s.asks || s.written || !openat.Is(st, unix.S_IFREG) {
		return
	}
	fd, err := openat.Open(dir, name, unix.O_RDONLY, 0)
	if s.written = err != nil || !unwritten(fd); err == nil {
		unix.Close(fd)
	}
}

// target is the stamp of what a link leads to.
func (s *stamps) target(dir, rel string) string {
	f, st, err := openTarget(dir, rel)
	if err != nil {
		return ""
	}
	defer f.Close()
	if openat.Is(&st, unix.S_IFDIR) {
		return "->" + s.of(int(f.Fd()), ".", &st)
	}
	s.newest = max(s.newest, ctime(&st))
	s.written = s.written || s.asks && openat.Is(&st, unix.S_IFREG) && !unwritten(int(f.Fd()))
	return "->" + stamp(&st)
}

// openTarget opens what a link in a directory leads to, where that lies in the
// directory as well: only there can a command write it.
func openTarget(dir, rel string) (f *os.File, st unix.Stat_t, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, st, err
	}
	defer root.Close()
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY
	f, err = root.OpenFile(rel, flags, 0)
	if errors.Is(err, unix.ELOOP) { // os.Root follows 8 links, and the system 40
		if real, e := filepath.EvalSymlinks(join(dir, rel)); e == nil && policy.Within(real, dir) {
			f, err = root.OpenFile(strings.TrimPrefix(real, join(dir, "")), flags, 0)
		}
	}
	if err == nil {
		err = unix.Fstat(int(f.Fd()), &st)
	}
	return f, st, err
}

// lookListed is Look of a Name in a directory, but of a link that leads to
// something in the directory: the state of that follows on a line of its own,
// which is empty for other links.
func lookListed(dir, rel string) (string, error) {
	state, err := Look(Name, join(dir, rel))
	if err != nil || !strings.HasPrefix(state, "link ") {
		return state, err
	}
	f, st, err := openTarget(dir, rel)
	if err != nil {
		return state + "\n", nil
	}
	defer f.Close()
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		data, err := openat.Read(int(f.Fd()), st.Size, maxFile)
		if err != nil || len(data) > maxFile {
			return state + "\nfile " + stamp(&st), nil
		}
		return state + "\nfile " + sum(data), nil
	case unix.S_IFDIR:
		return state + "\n" + dirState(int(f.Fd()), ".", &st), nil
	}
	return state + "\nother", nil
}
