// SPDX-License-Identifier: Apache-2.0

package ownfile

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/openat"
)

// Sweep removes the entries of a directory of the user's that over is true of,
// trees with all that is in them, and stops when its time is up: a process that
// goes on in the background can make files faster than they are removed. What is
// left is left to the next sweep. It follows no link.
//
// over is given the name of an entry and, if it asks, the time since the entry
// was changed.
func Sweep(path string, uid int, limit time.Duration, over func(name string, age func() time.Duration) bool) {
	top, err := Open(path, uid)
	if err != nil {
		return
	}
	defer top.Close()
	s := sweeper{top: top.fd, until: time.Now().Add(limit)}
	for moved := -1; moved < s.moved && err == nil; { // what was moved up has not been seen
		moved = s.moved
		err = s.each(top.fd, func(name string) error {
			if strings.HasPrefix(name, aside) || over(name, func() time.Duration { return age(top.fd, name) }) {
				s.remove(top.fd, name, 0)
			}
			return nil
		})
	}
}

// aside begins the names of what was moved up to be removed.
const aside = "aside."

// SetAside gives an entry a name by which the next sweep of the directory removes it.
func (d *Dir) SetAside(name string) error {
	next := aside + strconv.FormatUint(rand.Uint64(), 36)
	if err := unix.Renameat(d.fd, name, d.fd, next); err != nil {
		return pathError("rename", d.join(name), err)
	}
	return nil
}

// sweeper removes trees that another process may be changing meanwhile. It holds
// few descriptors however deep a tree is.
type sweeper struct {
	top   int // directory of the trees
	until time.Time
	moved int
}

// deepest is how far down a sweeper goes; what lies below is moved up first.
const deepest = 32

var errLate = errors.New("the time is over")

// remove takes away one entry of a directory, as far as that goes.
func (s *sweeper) remove(dir int, name string, depth int) {
	if !s.shrink(dir, name) {
		return
	}
	switch err := unix.Unlinkat(dir, name, 0); err {
	case unix.EISDIR, unix.EPERM:
	default:
		return
	}
	if depth == deepest {
		s.moved++
		_ = unix.Renameat(dir, name, s.top, aside+strconv.FormatInt(s.until.UnixNano(), 36)+"."+strconv.Itoa(s.moved))
		return
	}
	fd, err := openat.Open(dir, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == unix.EACCES && unlock(dir, name) {
		fd, err = openat.Open(dir, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	}
	if err != nil {
		return
	}
	_ = unix.Fchmod(fd, 0o700) // to remove what is in it
	err = s.each(fd, func(name string) error {
		s.remove(fd, name, depth+1)
		return nil
	})
	_ = unix.Close(fd)
	if err == nil {
		_ = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	}
}

// shrink makes a large file small bit by bit, since the kernel takes its time for
// one in many pieces and cannot be interrupted; false is that the time is over.
// What has another name keeps its content.
func (s *sweeper) shrink(dir int, name string) bool {
	const large, bit = 4 << 20, 2 << 20
	var st unix.Stat_t
	if openat.Stat(dir, name, &st) != nil || !openat.Is(&st, unix.S_IFREG) ||
		st.Blocks*512 < large {
		return true
	}
	fd, err := openat.Open(dir, name, unix.O_WRONLY, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	for unix.Fstat(fd, &st) == nil && openat.Is(&st, unix.S_IFREG) && st.Nlink == 1 && st.Size > 0 {
		if time.Now().After(s.until) {
			return false
		}
		if unix.Ftruncate(fd, max(0, st.Size-bit)) != nil {
			return true
		}
	}
	return true
}

// each calls do for the entries of an open directory until the time is over.
func (s *sweeper) each(fd int, do func(name string) error) error {
	return openat.EachName(fd, ".", func(_ int, name string) error {
		if time.Now().After(s.until) {
			return errLate
		}
		return do(name)
	})
}

// age is the time since an entry was changed, 0 where that is not known.
func age(dir int, name string) time.Duration {
	var st unix.Stat_t
	if openat.Stat(dir, name, &st) != nil {
		return 0
	}
	return time.Since(time.Unix(st.Ctim.Unix()))
}

// Ended reports whether a process of this machine that was started when [Started]
// said is known not to exist any more.
func Ended(id, start string) bool {
	pid, err := strconv.Atoi(id)
	if err != nil || pid <= 0 {
		return false
	}
	if unix.Kill(pid, 0) == unix.ESRCH {
		return true
	}
	now := Started(pid)
	return now != "" && now != start
}
