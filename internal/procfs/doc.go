// SPDX-License-Identifier: Apache-2.0

// Package procfs reads what Linux tells in /proc: files of the kernel's ([Head],
// [Read]) and the few formats in them that sbx needs, as proc(5) describes them.
//
// It imports strconv and syscall alone and initialises nothing, so that process 1 of a
// sandbox can use it before the rest of the program is initialised. Numbers of
// processes are reused: what is read of another process may be another's by the
// time it is used.
package procfs
