// SPDX-License-Identifier: Apache-2.0

// Package jailtest runs a program of a test on a host that lacks something:
// bwrap, user namespaces, a /proc that is whole, Landlock, system call filters.
// What it simulates it makes by the kernel's own means (mounts in a namespace,
// a limit in a user namespace, a system call filter), so that the program meets
// the errors that it would meet there.
//
// It is for tests only. Nothing outside of the program's own namespaces is
// changed, and no setting of the first user namespace is touched.
//
// Start with [Host]; a test binary that uses it calls [Enter] first of all.
package jailtest
