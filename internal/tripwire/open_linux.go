package tripwire

import "golang.org/x/sys/unix"

// openPath opens a directory that may be searched and not be listed, as /home
// sometimes is.
const openPath = unix.O_PATH
