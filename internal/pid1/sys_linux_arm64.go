// SPDX-License-Identifier: Apache-2.0

package pid1

const (
	seccompNr   = 277 // seccomp(2)
	statxNr     = 291 // statx(2)
	memfdCreate = 279 // memfd_create(2)

	restorer = 0 // the kernel has its own

	// Where ptrace(2) has the number of a system call and its first argument, among
	// the registers.
	regNumber = 8
	regFirst  = 0
)
