// SPDX-License-Identifier: Apache-2.0

package session

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// processes is "0": there are no namespaces of processes.
func processes() string { return "0" }

// started is when a process began, in seconds; "0" where that is hidden.
func started(pid int) string {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(p.Proc.P_pid) != pid {
		return "0"
	}
	return strconv.FormatInt(p.Proc.P_starttime.Sec, 10)
}
