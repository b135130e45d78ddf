// SPDX-License-Identifier: Apache-2.0

package pid1

import "syscall"

// mountsAsPlanned reports whether everything is mounted as it was planned. expected
// holds records, each ended by NUL, of "=" for a file that has to be the one
// that was looked at, "!" for one that must not be, since it is hidden, then
// device, inode and path. Between the plan and the mounts someone may have put
// a link or another directory in place of one: nothing of the command has
// run then.
func mountsAsPlanned(expected []byte) bool {
	for len(expected) > 0 {
		end := index(expected, 0)
		if end < 2 || !sameAsPlanned(string(expected[:end])) {
			return false
		}
		expected = expected[end+1:]
	}
	return true
}

func sameAsPlanned(record string) bool {
	rest := record[1:]
	dev, rest, ok1 := number(rest)
	ino, path, ok2 := number(rest)
	var st syscall.Stat_t
	err := syscall.Lstat(path, &st)
	if ok1 && ok2 && err == nil && (uint64(st.Dev) == dev && st.Ino == ino) == (record[0] == '=') {
		return true
	}
	why := "replaced while the sandbox was being set up"
	if err == syscall.EACCES { // the capabilities of root are gone here
		why = "a directory above it may not be searched; chmod u+rwx it"
	}
	say("error: Failed to initialize sandbox: " + plain(path) + ": " + why)
	return false
}

// number cuts a number and the space after it.
func number(s string) (n uint64, rest string, ok bool) {
	i := index(s, ' ')
	if i < 0 {
		return 0, s, false
	}
	n, ok = atou(s[:i])
	return n, s[i+1:], ok
}
