package tripwire

import "golang.org/x/sys/unix"

// openPath opens a directory; it has to be one that may be listed.
const openPath = unix.O_RDONLY
