// SPDX-License-Identifier: Apache-2.0

// Package pid1 is what runs first in a sandbox, as its process 1.
//
// It takes the place of bwrap's reaper: it looks whether everything is mounted
// that was planned, starts the command, reaps what is orphaned, passes on the
// signals that reach the parent process, keeps the terminal's job control
// working, ends everything when the time is up, and gives the exit status.
//
// The parent process is bwrap, which was sbx. It cannot be told anything any
// more, and from inside it has no process id; all that leads to it are the
// descriptors that sbx opened before (see [ParentFDs] and [PrepareParent]).
package pid1
