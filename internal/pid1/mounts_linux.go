// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"strconv"
	"syscall"
)

// mountsAsPlanned reports whether everything is mounted as it was planned. expected
// holds records, each ended by NUL, of "=" for a file that has to be the one
// that was looked at, "!" for one that must not be, since it is hidden, then
// device, inode and path. Between the plan and the mounts someone may have put
// a link or another directory in place of one: nothing of the command has
// run then.
func mountsAsPlanned(expected []byte) bool {
	for rest := string(expected); rest != ""; {
		var record string
		if record, rest = cut(rest, 0); !sameAsPlanned(record) {
			return false
		}
	}
	return true
}

func sameAsPlanned(record string) bool {
	sign := record[:min(1, len(record))]
	first, rest := cut(record[len(sign):], ' ')
	second, path := cut(rest, ' ')
	dev, err1 := strconv.ParseUint(first, 10, 64)
	ino, err2 := strconv.ParseUint(second, 10, 64)
	var st syscall.Stat_t
	err := syscall.Lstat(path, &st)
	if err1 == nil && err2 == nil && err == nil && (uint64(st.Dev) == dev && st.Ino == ino) == (sign == "=") {
		return true
	}
	why := "replaced while the sandbox was being set up"
	if err == syscall.EACCES { // the capabilities of root are gone here
		why = "a directory above it may not be searched; chmod u+rwx it"
	}
	failed(plain(path) + ": " + why)
	return false
}
