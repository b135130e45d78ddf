// SPDX-License-Identifier: Apache-2.0

package caches

import (
	"time"

	"golang.org/x/sys/unix"
)

// born is when a directory was made, 0 where that is not known.
func born(path string) int64 {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)).UnixNano()
}
