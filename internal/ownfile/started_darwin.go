// SPDX-License-Identifier: Apache-2.0

package ownfile

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Started is when a process was started, in seconds to the base of 36, and "" for
// one that does not exist or is hidden.
func Started(pid int) string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid {
		return ""
	}
	return strconv.FormatInt(p.Proc.P_starttime.Sec, 36)
}
