// SPDX-License-Identifier: Apache-2.0

// Package gitdir knows what lies in a git directory: which files make git run
// programs or look elsewhere, how pointers between work trees and git
// directories are written, and how a config file is read.
//
// It opens nothing and decides nothing: whoever asks gives the bytes. What it does
// not know is what a program does that git starts.
//
// Start with [Executed], [Each] and [ReadIndex].
package gitdir
