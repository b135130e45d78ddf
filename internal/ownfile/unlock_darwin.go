// SPDX-License-Identifier: Apache-2.0

package ownfile

import "golang.org/x/sys/unix"

// unlock opens a directory to its owner who closed it to himself, and nothing
// else that might be at its place by now.
func unlock(at int, name string) bool {
	var st unix.Stat_t
	if unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false
	}
	return unix.Fchmodat(at, name, 0o700, unix.AT_SYMLINK_NOFOLLOW) == nil
}
