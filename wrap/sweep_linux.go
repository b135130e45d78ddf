package wrap

import (
	"errors"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sweepTime bounds what a run spends on what others left. A command that goes on
// in the background can make files faster than anybody removes them.
const sweepTime = 20 * time.Millisecond

// sweep removes the directories of runs that have ended. What a command left
// running in the background loses its temporary files then. Those of other
// process namespaces, of which nothing is known here, stay until the machine
// starts anew. What is not done in time is left to the next run, and so is what
// cannot be removed.
func (h *Host) sweep() {
	top, err := openDir(unix.AT_FDCWD, h.Runtime)
	if err != nil {
		return
	}
	defer syscall.Close(top)
	var st unix.Stat_t
	if unix.Fstat(top, &st) != nil || int(st.Uid) != h.UID || st.Mode&0o022 != 0 {
		return
	}
	b := broom{top: top, until: time.Now().Add(sweepTime)}
	_ = b.each(top, func(name string) error {
		if h.ended(name) {
			b.remove(top, name, 0)
		}
		return nil
	})
}

// ended reports whether a name is that of a run which is over.
func (h *Host) ended(name string) bool {
	f := strings.Split(name, ".")
	own := strings.Split(h.Instance, ".")
	if len(f) != 4 || len(own) != 4 || !digits(f[0]) || !digits(f[1]) || !digits(f[2]) || len(f[3]) != 8 || strings.Trim(f[3], "0123456789abcdef") != "" {
		return false
	}
	pid, err := strconv.Atoi(f[0])
	return err == nil && (f[3] != own[3] || f[2] == own[2] && started(pid) != f[1])
}

// broom removes trees that somebody else may be changing meanwhile: it follows
// no link and holds few descriptors however deep a tree is.
type broom struct {
	top   int // directory of the trees
	until time.Time
	moved int
}

// deepest is how far the broom goes down; what lies below is moved up first.
const deepest = 32

var errLate = errors.New("the time is over")

// remove takes away one entry of a directory, as far as that goes.
func (b *broom) remove(dir int, name string, depth int) {
	switch err := unix.Unlinkat(dir, name, 0); err {
	case unix.EISDIR, unix.EPERM:
	default:
		return
	}
	if depth == deepest {
		b.moved++
		// A name that no run has, and that the next look finds.
		_ = unix.Renameat(dir, name, b.top, strconv.Itoa(1<<30)+"."+strconv.Itoa(b.moved)+".0.00000000")
		return
	}
	fd, err := openDir(dir, name)
	if err == unix.EACCES && unlock(dir, name) {
		fd, err = openDir(dir, name)
	}
	if err != nil {
		return
	}
	_ = unix.Fchmod(fd, 0o700) // to remove what is in it
	err = b.each(fd, func(name string) error {
		b.remove(fd, name, depth+1)
		return nil
	})
	_ = syscall.Close(fd)
	if err == nil {
		_ = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	}
}

// each calls do for the entries of an open directory until the time is over.
func (b *broom) each(fd int, do func(name string) error) error {
	buf := make([]byte, 8<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if time.Now().After(b.until) {
				return errLate
			}
			if err := do(name); err != nil {
				return err
			}
		}
	}
}

func openDir(at int, name string) (int, error) {
	return unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
}

// unlock opens a directory to its owner that he closed to himself, and nothing
// else that might be at its place by now.
func unlock(at int, name string) bool {
	fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700) == nil
}
