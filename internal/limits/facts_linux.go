// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/procfs"
	"golang.org/x/sys/unix"
)

// Look asks this machine.
func Look(uid int) Facts {
	m := newMachine(uid)
	return m.look()
}

// LookOwn asks only what holds a number of processes and costs next to nothing.
func LookOwn(uid int) Facts {
	m := newMachine(uid)
	return m.own()
}

func newMachine(uid int) machine {
	var name unix.Utsname
	_ = unix.Uname(&name)
	m := machine{uid: uid, release: unix.ByteSliceToString(name.Release[:]), writable: writable}
	m.read = func(name string) string {
		text, _ := procfs.Read(name)
		return text
	}
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
		return syscall.Stat(program, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFREG && st.Uid == 0 &&
			st.Mode&0o022 == 0 && st.Mode&0o111 != 0
	}
	return m
}

// writable asks with the effective user's rights, on a file system that takes
// writes.
func writable(name string) bool {
	return unix.Faccessat(unix.AT_FDCWD, name, unix.W_OK, unix.AT_EACCESS) == nil
}
