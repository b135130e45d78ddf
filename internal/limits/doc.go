// SPDX-License-Identifier: Apache-2.0

// Package limits decides how limits on memory, processors, processes and the
// size of files are put into force, and puts the command under them.
//
// Promised is a limit for everything that the command starts, all together:
// a control group of its own (cgroups(7)), which systemd makes or which is made
// where the caller may, or for processes RLIMIT_NPROC in the sandbox's own user
// namespace. What cannot be held that way is refused; with best effort it is
// left out or held for each process by itself, and said so.
//
// Not promised: that what stays below the limits harms no one. Disk, network
// and the bandwidth of memory are not limited at all, and the size of files is
// the size of each.
//
// [Choose] is a pure function of what is wanted and what the machine offers;
// [Look] asks the machine, and is only called when something is wanted that
// needs it. The package knows nothing of policies and plans.
package limits
