// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"syscall"
	"unsafe"
)

func init() { helpers["pushback"] = pushbackMain }

// pushback types a letter into its standard input, which is no terminal, and
// says what the kernel or a filter answers, with the upper half of the command
// word set as well.
func pushbackMain() {
	letter := byte('x')
	for _, command := range []uintptr{syscall.TIOCSTI, 1<<32 | syscall.TIOCSTI} {
		_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, 0, command, uintptr(unsafe.Pointer(&letter)))
		fmt.Println(errno)
	}
}
