//go:build linux || darwin

package tripwire

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

func lookName(path string) (string, error) {
	// Nearly all names are absent, and one system call says so.
	var st unix.Stat_t
	if err := retry(func() error { return unix.Lstat(path, &st) }); unreachable(err) {
		return "", nil
	} else if err != nil {
		return "", fail(path, err)
	}
	dir, err := openDir(policy.Dir(path))
	if err != nil {
		return "", absent(err)
	}
	defer unix.Close(dir)
	state, err := stateAt(dir, nameIn(path))
	if err != nil {
		return "", fail(path, err)
	}
	return state, nil
}

// lookPlace tells one directory from another that was put in its place.
func lookPlace(path string) (string, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Lstat(path, &st) })
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return lookName(path)
	}
	// A number is given anew when a directory is gone; when it was made is not.
	return "place " + strconv.FormatUint(uint64(st.Dev), 10) + " " + strconv.FormatUint(uint64(st.Ino), 10) + " " + number(born(path, &st)), nil
}

// lookKept is lookName with all that is in a directory, up to what a run can
// wait for: more is an error, since a part of it could be changed unseen.
func lookKept(path string) (string, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Lstat(path, &st) })
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return lookName(path)
	}
	dir, err := openDir(policy.Dir(path))
	if err != nil {
		return "", fail(path, err)
	}
	defer unix.Close(dir)
	d := &digest{hash: sha256.New(), entries: 20_000, bytes: 32 << 20, depth: 64}
	d.sub(dir, nameIn(path), &st, 0)
	if d.lost {
		return "", errors.New(policy.Plain(path) + ": more than can be watched (20,000 names, 64 directories deep, all of them readable)")
	}
	return "dir " + hex.EncodeToString(d.hash.Sum(nil)), nil
}

// nameIn is the last element, "." for the root.
func nameIn(path string) string {
	if path == "/" {
		return "."
	}
	return base(path)
}

// stateAt is the state of a name in an open directory.
func stateAt(dir int, name string) (string, error) {
	var st unix.Stat_t
	switch err := statAt(dir, name, &st); err {
	case nil:
	case unix.ENOENT:
		return "", nil
	default:
		return "", err
	}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFLNK:
		text, err := readlinkAt(dir, name)
		return "link " + text, err
	case unix.S_IFREG:
		state := "file " + fileText(dir, name, &st, maxFile)
		if st.Mode&0o111 != 0 {
			state += " executable"
		}
		return state, nil
	case unix.S_IFDIR:
		return dirState(dir, name, &st), nil
	}
	return "other " + kindName(uint32(st.Mode)), nil
}

func kindName(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "file"
	case unix.S_IFDIR:
		return "directory"
	case unix.S_IFLNK:
		return "link"
	case unix.S_IFIFO:
		return "fifo"
	case unix.S_IFSOCK:
		return "socket"
	}
	return "device"
}

// lookNested lists the subdirectories that git would take for a repository, or
// for a part of one.
func lookNested(path string) (string, error) {
	dir, err := openDir(path)
	if err != nil {
		return "", absent(err)
	}
	defer unix.Close(dir)
	names, err := namesIn(dir)
	if err != nil {
		return "", fail(path, err)
	}
	var found []string
	for _, n := range names {
		if n != ".git" && !apart(join(path, n)) && holdsGit(dir, n) {
			found = append(found, n)
		}
	}
	return strings.Join(sorted(found), "/"), nil
}

// holdsGit reports whether a name in a directory is a directory, or a link to
// one, that is or holds a git directory.
func holdsGit(dir int, name string) bool {
	has := func(rest string) bool {
		var st unix.Stat_t
		err := statAt(dir, name+rest, &st)
		// Nobody's git gets into a directory that may not be searched; when it may
		// be, what is in it is new.
		return !unreachable(err) && err != unix.EACCES
	}
	if !has("/.git") && !(has("/HEAD") && (has("/commondir") || has("/objects") && has("/refs"))) {
		return false
	}
	return true
}

// nestedPath is what a name in the State of a Nested watch stands for.
func nestedPath(dir, name string) string {
	sub := join(dir, name)
	var st unix.Stat_t
	if err := unix.Lstat(sub+"/.git", &st); err == unix.ENOENT {
		return sub
	}
	return sub + "/.git"
}

// listDir returns the names in a directory, none when it does not exist.
func listDir(path string) ([]string, error) {
	dir, err := openDir(path)
	if err != nil {
		return nil, absent(err)
	}
	defer unix.Close(dir)
	names, err := namesIn(dir)
	if err != nil {
		return nil, fail(path, err)
	}
	return names, nil
}

// namesIn reads an open directory, in any order.
func namesIn(dir int) ([]string, error) {
	fd, err := openAt(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var names []string
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// openDir opens a directory for use with the calls that end in "at". A link on
// the way is an error: the planner had resolved them all, so one that is there
// now was put there since.
func openDir(path string) (int, error) {
	fd, err := openAt(unix.AT_FDCWD, "/", openPath|unix.O_DIRECTORY)
	for rest := path[1:]; rest != "" && err == nil; {
		elem, tail, _ := strings.Cut(rest, "/")
		var next int
		next, err = openAt(fd, elem, openPath|unix.O_DIRECTORY)
		if err != nil {
			var st unix.Stat_t
			if statAt(fd, elem, &st) == nil && uint32(st.Mode)&unix.S_IFMT == unix.S_IFLNK {
				err = errLinked
			}
		}
		unix.Close(fd)
		fd, rest = next, tail
	}
	if err != nil {
		return -1, fail(path, err)
	}
	return fd, nil
}

// errLinked is what became of a directory above a watched name.
var errLinked = errors.New("a directory on the way has become a link")

// absent turns the error of a directory that does not exist into none.
func absent(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return err
}

func openAt(dir int, name string, flags int) (fd int, err error) {
	err = retry(func() error {
		fd, err = unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
		return err
	})
	return fd, err
}

func statAt(dir int, name string, st *unix.Stat_t) error {
	return retry(func() error { return unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW) })
}

func readlinkAt(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// readUpTo reads a regular file, at most n bytes and one more that says there
// is more. Anything but a regular file is an error.
func readUpTo(dir int, name string, n int) ([]byte, error) {
	fd, err := openAt(dir, name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.New("not a regular file")
	}
	return readFD(fd, int(min(st.Size, int64(n)+1)), n+1)
}

// readFD reads up to limit bytes. size is how many fstat(2) says there are, 0
// also for files of the kernel, whose end only reading finds.
func readFD(fd, size, limit int) ([]byte, error) {
	buf := make([]byte, 0, size+1)
	for len(buf) < limit {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := unix.Read(fd, buf[len(buf):min(cap(buf), limit)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return buf, nil
		}
		if buf = buf[:len(buf)+n]; len(buf) == size {
			break
		}
	}
	return buf, nil
}

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// fail says which path it was.
func fail(path string, err error) error { return &pathError{path, err} }

type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string { return policy.Plain(e.path) + ": " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

func number(n int64) string { return strconv.FormatInt(n, 10) }

// lookSettings reads a config file. One that is a link or not there has no
// settings of its own.
func lookSettings(path string) (string, error) {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Lstat(path, &st) }); err != nil {
		return "", absent(err)
	}
	if uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG {
		return "", nil
	}
	data, err := readFile(path, 1<<20)
	if err != nil {
		return "", fail(path, err)
	}
	return SettingsOf(data), nil
}
