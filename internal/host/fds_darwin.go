// SPDX-License-Identifier: Apache-2.0

package host

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// few descriptors are looked at one by one, whatever the list says.
const few = 256

// Descriptors lists what is open, sbx's own descriptors included; those have
// close-on-exec set. /dev/fd lists those of the process that reads it; where it
// cannot be read all numbers are tried that the process may have.
func Descriptors() ([]FD, error) {
	upTo := few
	numbers, err := numbered()
	if err != nil {
		var lim unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
			return nil, err
		}
		// A limit may have been lowered below numbers that are in use: 10240 is what
		// a process has at most unless it was raised (OPEN_MAX).
		upTo = int(min(max(lim.Cur, 10240), 1<<20))
	}
	for n := range upTo {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	var fds []FD
	for _, n := range slices.Compact(numbers) {
		if fd, ok := descriptor(n); ok {
			fds = append(fds, fd)
		}
	}
	return fds, nil
}

// numbered are the numbers in /dev/fd, the one that it was read by included.
func numbered() ([]int, error) {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n >= 0 {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// pathOnly is zero: only Linux opens a path alone.
const pathOnly = 0

// describe adds what is known of a descriptor that is no socket.
func (fd *FD) describe(st *syscall.Stat_t) {
	switch fd.Kind {
	case FDFile, FDDevice, FDPipe: // a pipe without a name has no path
		fd.Deleted = fd.Kind == FDFile && st.Nlink == 0
		fd.Path, _ = pathOf(fd.Num)
	}
}

// pathOf is the canonical path of what a descriptor leads to (fcntl(2), F_GETPATH).
func pathOf(n int) (string, error) {
	buf := new([unix.PathMax]byte)
	var pin runtime.Pinner // it goes to the kernel as a number
	pin.Pin(buf)
	defer pin.Unpin()
	if _, err := unix.FcntlInt(uintptr(n), unix.F_GETPATH, int(uintptr(unsafe.Pointer(buf)))); err != nil {
		return "", err
	}
	return unix.ByteSliceToString(buf[:]), nil
}

// unnamedPair reports whether a descriptor is one end of a socketpair(2):
// neither end has a name, so it leads to no service of the host.
func unnamedPair(n int) bool {
	own, err := unix.Getsockname(n)
	if err != nil {
		return false
	}
	peer, err := unix.Getpeername(n)
	if err == unix.EINVAL { // the other end is closed: there is only what was written before
		return unnamed(own)
	}
	return err == nil && unnamed(own) && unnamed(peer)
}

func unnamed(a unix.Sockaddr) bool {
	u, ok := a.(*unix.SockaddrUnix)
	return ok && u.Name == ""
}
