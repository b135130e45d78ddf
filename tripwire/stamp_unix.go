//go:build linux || darwin

package tripwire

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"golang.org/x/sys/unix"
)

// tick is how long the clock of a file system may stand still, and more.
const tick = time.Second

// stampAt is what tells whether a thing is the one that was looked at, of a
// directory with what is in it; "" when nothing is there. It is young when it
// may be written again with the same stamp.
func stampAt(path string, now time.Time) (text string, young bool) {
	var st unix.Stat_t
	if retry(func() error { return unix.Lstat(path, &st) }) != nil {
		return "", false
	}
	newest := ctime(&st)
	text = stamp(&st)
	if uint32(st.Mode)&unix.S_IFMT == unix.S_IFDIR {
		s := stamps{entries: maxEntries, newest: newest}
		s.add(unix.AT_FDCWD, path, 0)
		sum := sha256.Sum256(s.text)
		text, newest = text+hex.EncodeToString(sum[:16]), s.newest
	}
	return text, newest > now.Add(-tick).UnixNano()
}

// stamps collects those below a directory, within the bounds of a digest.
type stamps struct {
	text    []byte
	entries int
	newest  int64
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
		if uint32(st.Mode)&unix.S_IFMT == unix.S_IFDIR && depth < maxDepth {
			s.add(fd, n, depth+1)
		}
	}
}
