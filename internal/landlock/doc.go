// SPDX-License-Identifier: Apache-2.0

// Package landlock is landlock(7) as sbx uses it: a [Ruleset] is a value that
// says what stays allowed, [Ruleset.For] fits it to what a kernel knows, and
// [Ruleset.Open] gives it to the kernel. Package pid1 puts it into force, by
// landlock_restrict_self(2), on a thread and whatever that starts.
//
// What a ruleset handles is denied but for what its rules allow. A rule about
// a directory is about all that lies below it, and no deeper rule takes
// anything back: a hole in an allowed tree has to be cut out by naming what is
// around it.
//
// Nothing here can be undone, and none of it needs a privilege or an installed
// program; no_new_privs has to be set, or the caller be able to set it.
//
// Not covered by any version so far: the names, times, sizes and modes of files
// (stat, chmod, chown, utimes, setxattr), changing directory, watching with
// inotify, locks on files that may be opened.
//
// The package imports nothing but syscall and unsafe: pid1 runs before the
// rest of the program is initialised.
package landlock
