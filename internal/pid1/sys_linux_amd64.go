// SPDX-License-Identifier: Apache-2.0

package pid1

// seccompNr is seccomp(2).
const seccompNr = 317

// statxNr is statx(2).
const statxNr = 332

// memfdCreate is memfd_create(2).
const memfdCreate = 319

// Where ptrace(2) has the number of a system call and its first argument, among
// the registers.
const (
	regNumber = 15
	regFirst  = 14
)
