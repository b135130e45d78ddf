// SPDX-License-Identifier: Apache-2.0

package seccomp

import (
	"cmp"
	"slices"
)

// call is a system call with its number on each architecture. One that
// neither has is here for filter files, which are written for many.
type call struct {
	name         string
	amd64, arm64 int16
}

// errno is an error with its number, the same on both architectures. Package
// syscall has the host's, and macOS has other numbers.
type errno struct {
	name   string
	number uint32
}

// none marks a call that an architecture does not have.
const none = -1

func (c *call) number(arch string) int16 {
	if arch == "arm64" {
		return c.arm64
	}
	return c.amd64
}

// findSyscall returns an index into syscalls.
func findSyscall(name string) (int, bool) {
	return slices.BinarySearchFunc(syscalls[:], name,
		func(c call, name string) int { return cmp.Compare(c.name, name) })
}

// syscallNumber returns none for a call that the architecture does not have.
func syscallNumber(name, arch string) int16 {
	if i, ok := findSyscall(name); ok {
		return syscalls[i].number(arch)
	}
	return none
}

// errnoNumber returns the number of an error, 0 for an unknown name.
func errnoNumber(name string) uint32 {
	i, ok := slices.BinarySearchFunc(errnos[:], name,
		func(e errno, name string) int { return cmp.Compare(e.name, name) })
	if !ok {
		return 0
	}
	return errnos[i].number
}
