// SPDX-License-Identifier: Apache-2.0

package caches

import "golang.org/x/sys/unix"

// born is when a directory was made, 0 where that is not known.
func born(path string) int64 {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return 0
	}
	return st.Btim.Nano()
}
