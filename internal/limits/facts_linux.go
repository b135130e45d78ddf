package limits

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Look asks this machine. Files of the kernel are small; what is longer than
// mountinfo ever is counts as unreadable.
func Look(uid int) Facts {
	var name unix.Utsname
	_ = unix.Uname(&name)
	m := machine{uid: uid, release: unix.ByteSliceToString(name.Release[:]), read: read, writable: writable}
	m.owner = func(name string) int {
		var st syscall.Stat_t
		if syscall.Lstat(name, &st) != nil {
			return -1
		}
		return int(st.Uid)
	}
	m.socket = func(name string) bool {
		var st syscall.Stat_t
		return syscall.Lstat(name, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFSOCK && int(st.Uid) == uid
	}
	m.safe = func(program string) bool {
		var st syscall.Stat_t
		return syscall.Stat(program, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFREG && st.Uid == 0 && st.Mode&0o022 == 0 && st.Mode&0o111 != 0
	}
	return m.look()
}

const maxRead = 4 << 20

func read(name string) string {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	var data []byte
	buf := make([]byte, 16<<10)
	for len(data) < maxRead {
		n, err := f.Read(buf)
		data = append(data, buf[:n]...)
		if err != nil {
			return string(data)
		}
	}
	return ""
}

// writable asks with the effective user's rights, on a file system that takes
// writes.
func writable(name string) bool {
	return unix.Faccessat(unix.AT_FDCWD, name, unix.W_OK, unix.AT_EACCESS) == nil
}
