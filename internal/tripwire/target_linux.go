package tripwire

import "golang.org/x/sys/unix"

// openTarget opens what a link in a directory leads to, where that lies in the
// directory as well and on the same file system: only there can a command write
// it, and only there opening it waits for nobody.
func openTarget(dir, rel string, flags int) (int, error) {
	base, err := openAt(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, err
	}
	defer unix.Close(base)
	if flags&unix.O_PATH == 0 { // with which openat2(2) refuses all else
		flags |= unix.O_NONBLOCK | unix.O_NOCTTY
	}
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	}
	return unix.Openat2(base, rel, &how)
}
