//go:build unix

package trust

import (
	"strconv"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// readFile reads a record that only the user can have written; found is false
// when there is none. It uses system calls directly, since runs in projects
// with a file go through here.
func (s Store) readFile(name string) (data []byte, found bool, err error) {
	// O_NONBLOCK: a fifo would hang the open.
	fd, err := open(s.Dir + "/" + name)
	switch err {
	case nil:
	case syscall.ENOENT, syscall.ENOTDIR:
		return nil, false, nil
	case syscall.ELOOP:
		return nil, false, s.bad(name, "a symbolic link", nil)
	default:
		return nil, false, s.bad(name, "cannot be opened", err)
	}
	defer func() { _ = syscall.Close(fd) }()
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, false, s.bad(name, "cannot be looked at", err)
	}
	if uint32(st.Mode)&syscall.S_IFMT != syscall.S_IFREG {
		return nil, false, s.bad(name, "not a regular file", nil)
	}
	if err := s.checkOwn(name, &st); err != nil {
		return nil, false, err
	}
	if st.Size > int64(maxRecord) {
		return nil, false, s.bad(name, "larger than a record can be", nil)
	}
	if err := s.checkDirs(); err != nil {
		return nil, false, err
	}
	data, err = s.readAll(name, fd, int(st.Size))
	return data, err == nil, err
}

// checkDirs looks at the store and at the directory of sbx's own that holds
// it: who may write there can put a record in place.
func (s Store) checkDirs() error {
	for _, dir := range []string{s.Dir, policy.Dir(s.Dir)} {
		var st syscall.Stat_t
		at := Store{Dir: dir}
		if err := syscall.Lstat(dir, &st); err != nil {
			return at.bad("", "cannot be looked at", err)
		}
		if uint32(st.Mode)&syscall.S_IFMT != syscall.S_IFDIR {
			return at.bad("", "not a directory", nil)
		}
		if err := at.checkOwn("", &st); err != nil {
			return err
		}
	}
	return nil
}

func (s Store) checkOwn(name string, st *syscall.Stat_t) error {
	switch {
	case int(st.Uid) != syscall.Geteuid():
		return s.bad(name, "owned by uid "+strconv.FormatUint(uint64(st.Uid), 10)+", not by you", nil)
	case uint32(st.Mode)&0o022 != 0:
		return s.bad(name, "writable by others", nil)
	}
	return nil
}

// readAll reads up to one byte more than fstat told: a file that grows
// meanwhile is no record.
func (s Store) readAll(name string, fd, size int) ([]byte, error) {
	buf := make([]byte, size+1)
	n := 0
	for n < len(buf) {
		k, err := syscall.Read(fd, buf[n:])
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return nil, s.bad(name, "cannot be read", err)
		case k == 0:
			return buf[:n], nil
		}
		n += k
	}
	return nil, s.bad(name, "changed while it was read", nil)
}

func open(path string) (fd int, err error) {
	for {
		if fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0); err != syscall.EINTR {
			return fd, err
		}
	}
}
