//go:build linux || darwin

package tripwire

import (
	"crypto/sha256"
	"encoding/hex"
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
	var st unix.Stat_t
	path := join(dir, rel)
	if retry(func() error { return unix.Lstat(path, &st) }) != nil {
		return "", false
	}
	s := stamps{entries: maxEntries, newest: ctime(&st), asks: asks}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		s.file(unix.AT_FDCWD, path)
	case unix.S_IFDIR:
		s.add(unix.AT_FDCWD, path, 0)
	case unix.S_IFLNK:
		s.target(dir, rel)
	}
	if text = stamp(&st); len(s.text) > 0 {
		sum := sha256.Sum256(s.text)
		text += hex.EncodeToString(sum[:16])
	}
	if s.newest > now.Add(-young).UnixNano() {
		text = ""
	}
	return text, s.written
}

// thereAt reports whether something is there.
func thereAt(dir, rel string) bool {
	var st unix.Stat_t
	return retry(func() error { return unix.Lstat(join(dir, rel), &st) }) == nil
}

// file finds out whether a process may have a file open for writing.
func (s *stamps) file(dir int, name string) {
	if !s.asks || s.written {
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

// target adds what a link leads to.
func (s *stamps) target(dir, rel string) {
	fd, err := openTarget(dir, rel, openPath)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return
	}
	s.newest = max(s.newest, ctime(&st))
	s.text = append(append(s.text, "->"...), stamp(&st)...)
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFDIR:
		s.add(fd, ".", 0)
	case unix.S_IFREG:
		if !s.asks {
			break
		}
		file, err := openTarget(dir, rel, unix.O_RDONLY)
		if s.written = s.written || err != nil || !unwritten(file); err == nil {
			unix.Close(file)
		}
	}
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

// stamps collects those below a directory, within the bounds of a digest.
type stamps struct {
	text    []byte
	entries int
	newest  int64
	asks    bool
	written bool
}

func (s *stamps) add(dir int, name string, depth int) {
	fd, err := openAt(dir, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	var names []string
	var buf [4096]byte
	for {
		n, err := unix.ReadDirent(fd, buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
	for _, n := range sorted(names) {
		var st unix.Stat_t
		if s.entries == 0 || statAt(fd, n, &st) != nil {
			continue
		}
		s.entries--
		s.newest = max(s.newest, ctime(&st))
		s.text = append(append(append(s.text, n...), 0), stamp(&st)...)
		switch kind := uint32(st.Mode) & unix.S_IFMT; {
		case kind == unix.S_IFDIR && depth < maxDepth:
			s.add(fd, n, depth+1)
		case kind == unix.S_IFREG:
			s.file(fd, n)
		}
	}
}
