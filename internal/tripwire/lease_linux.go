package tripwire

import "golang.org/x/sys/unix"

// unwritten reports whether no process has a file open for writing, or mapped
// for it: the kernel gives a lease only then (fcntl(2), F_SETLEASE).
func unwritten(fd int) bool {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		return false
	}
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	return err == nil
}
