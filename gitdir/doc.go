// Package gitdir knows what lies in a git directory: which files make git run
// programs or look elsewhere, how pointers between work trees and git
// directories are written, and how a config file is read.
//
// It opens nothing and decides nothing: whoever asks gives the bytes. Only
// [Harmless] looks at files, and is for reports. What it does not know is what
// a program does that git starts.
//
// Start with [Executed] and [Each].
package gitdir
