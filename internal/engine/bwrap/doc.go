// SPDX-License-Identifier: Apache-2.0

// Package bwrap makes plans for bubblewrap: the view as mounts in namespaces,
// the system call filter, and sbx itself as process 1 in front of the command. A
// path that no rule names does not exist inside.
//
// It does not protect against bugs of the kernel or of bwrap. Start with
// [Engine.Plan].
package bwrap
