//go:build linux || darwin

package wrap

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/host"
)

// sweepTime bounds what a run spends on what others left. A command that goes on
// in the background can make files faster than anybody removes them.
const sweepTime = 20 * time.Millisecond

// sweep removes the directories of runs that have ended. What a command left
// running in the background loses its temporary files then. Those of other
// namespaces of processes or time and of other starts of the machine, of which
// nothing is known here, stay until they are old. What is not done in time is
// left to the next run, and so is what cannot be removed.
func sweep(runtime, instance string, uid int) {
	top, err := host.OpenDir(unix.AT_FDCWD, runtime)
	if err != nil {
		return
	}
	defer syscall.Close(top)
	var st unix.Stat_t
	if unix.Fstat(top, &st) != nil || int(st.Uid) != uid || st.Mode&0o022 != 0 {
		return
	}
	b := broom{top: top, until: time.Now().Add(sweepTime)}
	for moved := -1; moved < b.moved && err == nil; _, err = unix.Seek(top, 0, 0) {
		moved = b.moved // what was moved up has not been seen
		if b.each(top, func(name string) error {
			if strings.HasPrefix(name, aside) || ended(instance, name) || old(instance, top, name) {
				b.remove(top, name, 0)
			}
			return nil
		}) != nil {
			return
		}
	}
}

// ended reports whether a name is that of a run which is over: of this machine
// as it was started last, with a process that is known not to be there.
func ended(instance, name string) bool {
	f, own := strings.Split(name, "."), strings.Split(instance, ".")
	if !isRun(f) || !isRun(own) || !slices.Equal(f[2:], own[2:]) {
		return false
	}
	pid, err := strconv.Atoi(f[0])
	if err != nil || pid <= 0 {
		return false
	}
	if unix.Kill(pid, 0) == unix.ESRCH {
		return true
	}
	start := started(pid) // "" is one that is hidden
	return start != "" && start != f[1]
}

// old reports whether an entry is the directory of a run of which nothing is known
// here, and so old that it can go all the same: a week after it was made.
func old(instance string, top int, name string) bool {
	var st unix.Stat_t
	f, own := strings.Split(name, "."), strings.Split(instance, ".")
	return isRun(f) && isRun(own) && !slices.Equal(f[2:], own[2:]) && unix.Fstatat(top, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		time.Since(time.Unix(st.Ctim.Unix())) > 7*24*time.Hour
}

// aside begins the names of what was moved up to be removed.
const aside = "aside."

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
	if !b.shrink(dir, name) {
		return
	}
	switch err := unix.Unlinkat(dir, name, 0); err {
	case unix.EISDIR, unix.EPERM:
	default:
		return
	}
	if depth == deepest {
		b.moved++
		_ = unix.Renameat(dir, name, b.top, aside+strconv.FormatInt(b.until.UnixNano(), 36)+"."+strconv.Itoa(b.moved))
		return
	}
	fd, err := host.OpenDir(dir, name)
	if err == unix.EACCES && unlock(dir, name) {
		fd, err = host.OpenDir(dir, name)
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

// shrink makes a large file small bit by bit, since the kernel takes its time for
// one in many pieces and cannot be interrupted; false is that the time is over.
// What has another name keeps its content.
func (b *broom) shrink(dir int, name string) bool {
	const large, bit = 4 << 20, 2 << 20
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Blocks*512 < large {
		return true
	}
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return true
	}
	defer syscall.Close(fd)
	for unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink == 1 && st.Size > 0 {
		if time.Now().After(b.until) {
			return false
		}
		if unix.Ftruncate(fd, max(0, st.Size-bit)) != nil {
			return true
		}
	}
	return true
}

// each calls do for the entries of an open directory until the time is over.
func (b *broom) each(fd int, do func(name string) error) error {
	return readNames(fd, func(names []string) error {
		for _, name := range names {
			if time.Now().After(b.until) {
				return errLate
			}
			if err := do(name); err != nil {
				return err
			}
		}
		return nil
	})
}
