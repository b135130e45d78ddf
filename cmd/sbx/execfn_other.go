// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "os"

// executed is the path by which this program was executed, "" when the kernel
// does not say. It is what was given to execve(2), links kept: of a script the
// path of its interpreter, as the script names it. One that is not absolute counts
// from the directory in which the program was started.
func executed() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}
