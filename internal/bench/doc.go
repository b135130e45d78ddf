// SPDX-License-Identifier: Apache-2.0

// Command bench measures what sbx costs at start: the time of `sbx -- /bin/true`
// against raw bwrap with the identical words, descriptors and environment, read
// from a run of sbx --direct at the moment when it has become bwrap. It ends with
// status 1 above a ceiling and 2 where the machine is too noisy for a verdict.
//
// A round starts every command once, in shuffled order, directly and without a
// shell, and waits for it. A sitting is some hundred rounds, and its figure the
// median of paired ratios or differences: neighbours on the machine move the
// absolute times by far more than these. The verdict is about the median of three
// sittings. Before that each command has to show that it runs what it is given,
// may write into the project, and not beside it.
//
// Everything happens in throw-away home directories, as the calling user; root goes
// on as a user without an entry in the user database. It measures with a warm page
// cache, and nothing of what happens while the command runs but the filter of
// system calls. docs/performance.md has the figures.
package main
