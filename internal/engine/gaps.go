// SPDX-License-Identifier: Apache-2.0

package engine

// Versions of Landlock that make a difference here.
const (
	ABIRefer    = 2 // before, files cannot be moved to another directory
	ABITruncate = 3 // before, files are truncated in spite of the rules
	ABIScope    = 6 // signals, abstract sockets
	ABIUnix     = 9 // named sockets
)

// What gaps of Landlock begin with: whoever tries a sandbox knows by them what its
// plan has owned up to.
const (
	GapNames     = "files outside keep their names, sizes, times, extended attributes and the texts of links visible to those who know where to look, and a command that watches a directory learns what is used in it (inotify)"
	GapModes     = "your files everywhere can get another mode, owner, time or attribute (chmod, touch): a file can be opened to other users, a hook made executable"
	GapProcesses = "the processes of this host, their names and arguments, and its network interfaces and connections can be seen, and your processes be slowed (scheduling)"
	GapPlaces    = "/tmp, /dev/shm and the home directory are not private but closed, and there are no new pseudo terminals; $TMPDIR is for temporary files"
	GapLoopback  = "with the network off there is no loopback either: no program can serve another"
	GapSignals   = "your other processes can be signalled"
	GapUnix      = "there are no Unix sockets but pairs"
)

// GapSockets is what is left of the host's sockets where directories are shown.
const GapSockets = "a Unix socket in a directory that is shown can be connected to where sbx does not know of it: bound by a relative name, renamed since or of another network namespace, or more than two directories deep in /opt, /srv, /usr/local or /etc; and where it is bound after the start; the same goes for named pipes"
