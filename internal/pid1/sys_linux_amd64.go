// SPDX-License-Identifier: Apache-2.0

package pid1

const (
	seccompNr   = 317 // seccomp(2)
	statxNr     = 332 // statx(2)
	memfdCreate = 319 // memfd_create(2)

	restorer = 0x04000000 // SA_RESTORER

	// Where ptrace(2) has the number of a system call and its first argument, among
	// the registers.
	regNumber = 15
	regFirst  = 14
)
