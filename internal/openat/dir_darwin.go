// SPDX-License-Identifier: Apache-2.0

package openat

import "golang.org/x/sys/unix"

// Path opens a directory; it has to be one that may be listed.
const Path = unix.O_RDONLY

// Dir opens a directory, by an absolute path that has to have no link in it, for use
// with the calls here. Through a link it is ELOOP.
func Dir(path string) (int, error) { return walk(path) }

// Born is when a file was made, in nanoseconds, 0 where the file system does not know.
func Born(path string) int64 {
	var st unix.Stat_t
	if Stat(unix.AT_FDCWD, path, &st) != nil {
		return 0
	}
	return st.Btim.Nano()
}
