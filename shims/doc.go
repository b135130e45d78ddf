// SPDX-License-Identifier: Apache-2.0

// Package shims is about the other names of sbx: links that stand in front of
// tools, and the lines that make a shell use them. It knows no profiles.
//
// A shim is a link, called npm, to sbx. The shell finds it where it looks for
// npm, and sbx runs the npm that comes next in PATH, in a sandbox. That is a
// convenience, not a wall: who calls /usr/bin/npm is not caught.
//
// A client that calls its shell finds sbx by the name of one. The words of the
// call go to the real shell as they are: what is read of them here has no part
// in what a sandbox lets through.
//
// Start with [Parse], then [Dir] for tools and [Real] for shells.
package shims
