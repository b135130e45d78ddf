package tripwire

// unwritten reports whether no process has a file open for writing. Nothing here
// says so.
func unwritten(int) bool { return false }
