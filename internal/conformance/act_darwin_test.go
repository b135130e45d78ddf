// SPDX-License-Identifier: Apache-2.0

package conformance

import "golang.org/x/sys/unix"

// arguments, and the environment behind them, are what ps shows.
func arguments(pid int) (string, error) {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	return string(data), err
}

func environment(pid int) (string, error) { return arguments(pid) }
