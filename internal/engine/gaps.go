package engine

// Versions of Landlock that make a difference here.
const (
	ABIRefer    = 2
	ABITruncate = 3
	ABIScope    = 6 // signals, abstract sockets
	ABIUnix     = 9 // named sockets
)

// What the gaps of this engine begin with: whoever tries a sandbox knows by them
// what its plan has owned up to.
const (
	GapNames     = "files outside keep their names, sizes, times, extended attributes and the texts of links visible to those who know where to look, and who looks at a directory is told what is used in it (inotify)"
	GapModes     = "what belongs to you can get another mode, owner, time or attribute everywhere (chmod, touch): a file can be opened to other users, a hook made executable"
	GapRoot      = "as root that goes for nearly every file of this machine"
	GapProcesses = "the processes of this host, their names and arguments, and its network interfaces and connections can be seen, and your processes be slowed (scheduling)"
	GapPlaces    = "/tmp, /dev/shm and the home directory are not private but closed, and there are no new pseudo terminals; $TMPDIR is for temporary files"
	GapLoopback  = "with the network off there is no loopback either: no program can serve another"
	GapSignals   = "your other processes can be signalled"
	GapUnix      = "there are no Unix sockets but pairs"
)

// What the gaps of this engine begin with.
const (
	GapSeatNames     = "names can be probed: what is hidden or closed is refused (Operation not permitted), and stands in the list of a directory that can be read"
	GapSeatPlaces    = "/tmp and the home directory are not private but closed; $TMPDIR is for temporary files"
	GapSeatProcesses = "there is no process namespace: the list of processes, their arguments and variables are closed, but who guesses a number learns of that process its name and user"
	GapSeatBehind    = "what the command leaves running in the background goes on when it ends, inside the same walls"
	GapSeatCalls     = "there are no system call filters on macOS: the kernel's whole interface is open, as far as the sandbox's operations do not close it"
	GapSeatSetUID    = "programs with set-user-id (ps, sudo, top) cannot be started"
	GapSeatLoopback  = "with the network off there is no loopback either: no program can serve another but by a socket file in the project"
	GapSeatArgs      = "the rules stand in the arguments of the command while it starts, where other programs of yours can read them (paths, no contents)"
	GapSeatPatterns  = "of names with patterns (.env.*, *.pem) those are hidden that were there at the start"
)

// GapSockets is what is left of the host's sockets where directories are shown.
const GapSockets = "a Unix socket in a directory that is shown can be connected to where sbx does not know of it: bound by a relative name, renamed since or of another network namespace, or more than two directories deep in /opt, /srv, /usr/local or /etc; and where it is bound after the start; the same goes for named pipes"
