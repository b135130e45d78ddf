// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package host

import (
	"cmp"
	"os"
	"slices"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/procfs"
	"golang.org/x/sys/unix"
)

// OS is the machine sbx runs on. It uses system calls directly: package os
// would register each descriptor with a poller that no run needs.
type OS struct {
	remotes *remotes // nil: every file system of it is taken to answer
}

// Lstat is lstat(2).
func (o OS) Lstat(path string) (Info, error) {
	if err := o.remotes.reach(path); err != nil {
		return Info{}, err
	}
	var st syscall.Stat_t
	switch err := syscall.Lstat(path, &st); {
	case err == nil:
		return infoOf(&st), nil
	case missed(err):
		return Info{Refused: err == syscall.EPERM}, nil
	case err == syscall.EACCES:
		return Info{}, ErrDenied
	default:
		return Info{}, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
}

// Exist reports for each path below a directory whether something is there. In
// a directory that may not be searched nothing is; errors count as there. It is not
// asked about names on other mounts, see [Host.OnRemote].
func (h *Host) Exist(dir string, below []string) []bool {
	if o, ok := h.FS.(OS); ok {
		return o.exist(dir, below)
	}
	there := make([]bool, len(below))
	for i, name := range below {
		info, err := h.FS.Lstat(Join(dir, name))
		there[i] = err != ErrDenied && (err != nil || info.Kind != Absent)
	}
	return there
}

// exist asks relative to the directory, which is opened once: planning asks
// this for every directory of a project.
func (o OS) exist(dir string, below []string) []bool {
	fd, err := -1, o.remotes.reach(dir)
	if err == nil {
		fd, err = unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil { // there, and nothing that can be looked at
		return slices.Repeat([]bool{true}, len(below))
	}
	defer unix.Close(fd)
	there := make([]bool, len(below))
	for i, path := range below {
		var st unix.Stat_t
		e := unix.Fstatat(fd, path, &st, unix.AT_SYMLINK_NOFOLLOW)
		there[i] = e != unix.ENOENT && e != unix.ENOTDIR && e != unix.EACCES
	}
	return there
}

func infoOf(st *syscall.Stat_t) Info {
	return Info{Kind: cmp.Or(kindOf(uint32(st.Mode)), Device), Mode: uint32(st.Mode) & 0o7777, UID: int(st.Uid),
		GID: int(st.Gid), Size: st.Size, Ino: st.Ino, Dev: uint64(st.Dev)}
}

// kinds are the types of files by their numbers, those of entries of a directory
// (DT_DIR): the upper bits of a mode.
var kinds = [16]Kind{
	syscall.S_IFDIR >> 12: Dir, syscall.S_IFREG >> 12: File, syscall.S_IFLNK >> 12: Link, syscall.S_IFSOCK >> 12: Socket,
	syscall.S_IFIFO >> 12: Fifo, syscall.S_IFBLK >> 12: Disk, syscall.S_IFCHR >> 12: Device,
}

// kindOf is the type in a mode, Absent for one that has none, as what is no file.
func kindOf(mode uint32) Kind { return kinds[mode&syscall.S_IFMT>>12] }

// Readlink is readlink(2).
func (o OS) Readlink(path string) (string, error) {
	if err := o.remotes.reach(path); err != nil {
		return "", err
	}
	to, err := procfs.Readlink(path)
	if err != nil {
		return "", &os.PathError{Op: "readlink", Path: path, Err: err}
	}
	return to, nil
}

// Access is access(2) with the effective ids.
func (o OS) Access(path string, rwx byte) bool {
	mode := map[byte]uint32{'r': unix.R_OK, 'w': unix.W_OK, 'x': unix.X_OK}[rwx]
	return o.remotes.reach(path) == nil && unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS) == nil
}

// Head reads the beginning of a file without waiting on a fifo.
func (o OS) Head(path string, n int) ([]byte, error) {
	if err := o.remotes.reach(path); err != nil {
		return nil, err
	}
	text, err := procfs.Head(path, n)
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: path, Err: err}
	}
	return []byte(text), nil
}

// Content opens no link in place of the file: what is looked at must be what
// was resolved, since it is shown to the command.
func (OS) Content(path string, want Info, n int) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC|syscall.O_NOCTTY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, &os.PathError{Op: "fstat", Path: path, Err: err}
	}
	if is := infoOf(&st); is.Kind != File || is.Dev != want.Dev || is.Ino != want.Ino || is.Size > int64(n) {
		return nil, &os.PathError{Op: "read", Path: path, Err: syscall.ESTALE}
	}
	data, err := procfs.FromFD(fd, n+1)
	if err == nil && len(data) > n {
		err = syscall.EFBIG
	}
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: path, Err: err}
	}
	return []byte(data), nil
}
