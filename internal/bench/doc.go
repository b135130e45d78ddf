// SPDX-License-Identifier: Apache-2.0

// Command bench measures what sbx costs at start: the time of `sbx -- /bin/true`
// against bwrap with the identical argv, descriptors and environment, as
// `sbx --dry-run --json` prints them. It fails above the ceilings.
//
// A round starts every command once, in shuffled order, directly and without a
// shell, and waits for it. The figures are medians over the rounds of paired
// differences and paired ratios: neighbours on the machine move the absolute
// times by far more than these. A row above a ceiling is measured once more
// with twice the rounds before it counts.
//
// Everything happens in a throw-away home directory, as the calling user. It
// measures the start only, with a warm page cache, and nothing of what happens
// while the command runs.
package main
