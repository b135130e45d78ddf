// SPDX-License-Identifier: Apache-2.0

package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// atExecFn is AT_EXECFN of getauxval(3).
const atExecFn = 31

// executed is the path by which this program was executed, as it was given to
// execve(2), "" when the kernel does not say. A link's name is in it, which
// /proc/self/exe has not.
func executed() string {
	aux, err := unix.Auxv()
	if err != nil {
		return ""
	}
	for _, a := range aux {
		if a[0] != atExecFn || a[1] == 0 {
			continue
		}
		// The kernel put the text on the stack of the first thread, where it stays.
		p := *(*unsafe.Pointer)(unsafe.Pointer(&a[1]))
		return unix.BytePtrToString((*byte)(p))
	}
	return ""
}
