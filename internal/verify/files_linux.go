package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

func errnoOf(err error) int {
	var e syscall.Errno
	if errors.As(err, &e) {
		return int(e)
	}
	return int(einval)
}

// readBytes is how much of a file is compared, in bytes.
const readBytes = 64 << 10

// maxNames bounds the names that are read from a directory.
const maxNames = 4096

// look says what is at a path, links followed, without waiting on a fifo.
func look(path string, a *Answer) {
	f := Look(path)
	a.File = &f
	if f.Kind == "" {
		a.Errno = f.Errno
	}
}

// Look is what can be seen of a path, links followed.
func Look(path string) File {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		if err == unix.ENOENT || err == unix.ENOTDIR {
			return File{Kind: kindAbsent, Errno: int(err.(syscall.Errno))}
		}
		return File{Errno: errnoOf(err)}
	}
	f := File{Kind: kindOf(st.Mode), Dev: st.Dev, Ino: st.Ino, Own: int(st.Uid) == os.Geteuid(), Size: st.Size}
	if f.Kind != kindFile && f.Kind != kindDir {
		return f
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		f.Errno, f.May = errnoOf(err), permitted(path, unix.R_OK)
		return f
	}
	defer unix.Close(fd)
	if f.Kind == kindDir {
		f.Size = 0
		f.Names, err = listNames(fd)
	} else {
		f.Sum, err = sum(fd)
	}
	if f.Read = err == nil; !f.Read {
		f.Errno = errnoOf(err)
	}
	return f
}

func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return kindFile
	case unix.S_IFDIR:
		return kindDir
	case unix.S_IFLNK:
		return kindLink
	case unix.S_IFSOCK:
		return kindSocket
	}
	return kindOther
}

func sum(fd int) (string, error) {
	buf := make([]byte, readBytes)
	n := 0
	for n < len(buf) {
		k, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return "", err
		}
		if k <= 0 {
			break
		}
		n += k
	}
	if n == 0 {
		return "", nil
	}
	s := sha256.Sum256(buf[:n])
	return hex.EncodeToString(s[:]), nil
}

func listNames(fd int) ([][]byte, error) {
	var names []string
	buf := make([]byte, 32<<10)
	for len(names) < maxNames {
		n, err := syscall.ReadDirent(fd, buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			break
		}
		_, _, names = syscall.ParseDirent(buf[:n], -1, names)
	}
	out := make([][]byte, len(names))
	for i, n := range names {
		out[i] = []byte(n)
	}
	return out, nil
}

// guard says what keeps a path as it is: the mount of mount, the owner of
// owner, and whether path itself is a mount point.
func guard(path, mount, owner string) *Guard {
	g := &Guard{}
	var fs unix.Statfs_t
	if unix.Statfs(mount, &fs) == nil {
		g.ReadOnly = fs.Flags&unix.ST_RDONLY != 0
	}
	var st unix.Stat_t
	if unix.Lstat(owner, &st) == nil {
		g.Own = int(st.Uid) == os.Geteuid()
	}
	var sx unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, 0, &sx) == nil {
		g.Mount = sx.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 && sx.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
	}
	return g
}

// openForWriting opens an existing file and closes it again: it is neither
// made, nor truncated, nor written.
func openForWriting(path string, a *Answer) {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		a.fail("", err)
		a.Guard = guard(path, path, path)
		a.Guard.May = permitted(path, unix.W_OK)
		return
	}
	unix.Close(fd)
}

// permitted reports what permissions say, of which Landlock is no part: no hook
// of it is asked by access(2).
func permitted(path string, mode uint32) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS) == nil
}

// openForReading opens a path and reads nothing.
func openForReading(path string, a *Answer) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		a.fail("", err)
		a.Guard = guard(path, path, path)
		a.Guard.May = permitted(path, unix.R_OK)
		return
	}
	unix.Close(fd)
}

// makeOf makes something of a kind at a name that was free, and removes it.
func makeOf(kind, path string, a *Answer) {
	var err error
	remove := unix.Unlink
	switch kind {
	case "file":
		var fd int
		if fd, err = makeFile(path); err == nil {
			unix.Close(fd)
		}
	case "directory":
		err, remove = unix.Mkdir(path, 0o700), unix.Rmdir
	case "link":
		err = unix.Symlink("nowhere", path)
	case "fifo":
		err = unix.Mknod(path, unix.S_IFIFO|0o600, 0)
	case "socket":
		err = unix.Mknod(path, unix.S_IFSOCK|0o600, 0)
	default:
		err = unix.EINVAL
	}
	if err == nil {
		_ = remove(path)
		return
	}
	a.fail(kind, err)
	dir := policy.Dir(path)
	a.Guard = guard(dir, dir, dir)
	a.Guard.May = permitted(dir, unix.W_OK|unix.X_OK)
}

// removeNot removes a directory as if it were a file, and a file as if it were a
// directory: who may remove hears that it is not. Security modules are asked
// before that.
func removeNot(path string, a *Answer) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		if err = unix.Unlink(path); err == unix.EISDIR {
			return
		}
	default:
		if err = unix.Rmdir(path); err == unix.ENOTDIR {
			return
		}
	}
	a.fail("", err)
	dir := policy.Dir(path)
	a.Guard = guard(dir, dir, dir)
	a.Guard.May = permitted(dir, unix.W_OK|unix.X_OK)
}

// sameMode gives a path the mode that it has.
func sameMode(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	return unix.Fchmodat(unix.AT_FDCWD, path, st.Mode&0o7777, 0)
}

const newFile = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC

// create makes an empty file of a name that was free. It stays until the end.
func (p *prober) create(path string, a *Answer) {
	fd, err := makeFile(path)
	if err != nil {
		a.fail("", err)
		dir := policy.Dir(path)
		a.Guard = guard(dir, dir, dir)
		a.Guard.May = permitted(dir, unix.W_OK|unix.X_OK)
		return
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil {
		p.made = append(p.made, made{path, st.Dev, st.Ino})
	}
	unix.Close(fd)
}

// makeFile makes an empty file. With Landlock one may be made and not be opened
// then: that is no refusal, and what is returned is a reference to it.
func makeFile(path string) (int, error) {
	const nothing = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if fd, err := unix.Open(path, nothing, 0); err == nil {
		unix.Close(fd)
		return -1, unix.EEXIST
	}
	fd, err := unix.Open(path, newFile, 0o600)
	if err == unix.EACCES {
		if there, lerr := unix.Open(path, nothing, 0); lerr == nil {
			return there, nil
		}
	}
	return fd, err
}

// clean removes the files that create made, and no others.
func (p *prober) clean() {
	for _, m := range p.made {
		removeOwn(m.path, m.dev, m.ino)
	}
}

func removeOwn(path string, dev, ino uint64) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) == nil && st.Dev == dev && st.Ino == ino && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == 0 {
		_ = unix.Unlink(path)
	}
}

// rename moves a path to a free name beside it and back at once.
func rename(path, to string, a *Answer) {
	if err := move(path, to); err != nil {
		a.fail("", err)
		dir := policy.Dir(path)
		a.Guard = guard(path, dir, dir)
		a.Guard.May = permitted(dir, unix.W_OK|unix.X_OK)
		return
	}
	a.fail("", nil)
	if err := move(to, path); err != nil {
		// Whoever asked puts it back. That it could be moved is the answer.
		a.Step = "moved back: " + errnoName(errnoOf(err))
	}
}

// move is rename(2) that overwrites nothing. Some file systems do not know the
// flag, which is seen only when everything else would let the move happen.
func move(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	var st unix.Stat_t
	if unix.Lstat(to, &st) != unix.ENOENT {
		return unix.EEXIST
	}
	return unix.Rename(from, to)
}

// link makes a second name for a file, opens it for writing by that name, and
// removes the name.
func link(path, to string, a *Answer) {
	err := unix.Linkat(unix.AT_FDCWD, path, unix.AT_FDCWD, to, 0)
	if err != nil {
		a.fail("", err)
		dir := policy.Dir(to)
		a.Guard = guard(path, dir, path)
		if err == unix.EACCES {
			a.Guard = guard(path, dir, dir)
		}
		a.Guard.May = permitted(dir, unix.W_OK|unix.X_OK)
		return
	}
	openForWriting(to, a)
	_ = unix.Unlink(to)
}

// able does all that the other acts do, with files of its own in a new
// directory that it removes.
func able(dir string, a *Answer) {
	f, l, d, s := dir+"/f", dir+"/l", dir+"/d", dir+"/s"
	var sub Answer
	step := func(name string, err error) bool {
		if err == nil && sub.Errno != 0 {
			err = syscall.Errno(sub.Errno)
		}
		a.fail(name, err)
		return err == nil
	}
	if !step("mkdir", unix.Mkdir(dir, 0o700)) {
		return
	}
	defer func() {
		for _, name := range []string{f, l, s} {
			_ = unix.Unlink(name)
		}
		_ = unix.Rmdir(d)
		_ = unix.Rmdir(dir)
	}()
	p := &prober{}
	p.create(f, &sub)
	if !step("create", nil) {
		return
	}
	openForWriting(f, &sub)
	if !step("open", nil) {
		return
	}
	rename(f, dir+"/g", &sub)
	if !step("rename", nil) {
		return
	}
	link(f, l, &sub)
	_ = step("link", nil) && step("mkdir", unix.Mkdir(d, 0o700)) && step("symlink", unix.Symlink("f", s))
	if a.Errno == 0 {
		rename(d, dir+"/e", &sub)
		step("rename", nil)
	}
}
