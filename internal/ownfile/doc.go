// SPDX-License-Identifier: Apache-2.0

// Package ownfile keeps files that only the user can have written: what sbx
// remembers from one run to the next.
//
// A directory is opened once ([Open]) and everything in it is reached by its
// descriptor, so that nothing can be swapped between check and use. A file is
// believed only when it is a regular file of the user's that no one else can
// write; no symbolic link is followed. A write replaces a file as a whole or not
// at all. [Sweep] removes what earlier runs left, within a bound of time, even
// while another process changes it.
//
// It does not protect against processes of the same user outside of any sandbox,
// nor against root.
package ownfile
