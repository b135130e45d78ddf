package tripwire

import "golang.org/x/sys/unix"

func mtime(st *unix.Stat_t) int64 { return st.Mtim.Nano() }
func ctime(st *unix.Stat_t) int64 { return st.Ctim.Nano() }

// inMemory reports whether a directory is on a file system that does not note
// the time of each write.
func inMemory(string) bool { return false }

// born is when a file was made.
func born(_ string, st *unix.Stat_t) int64 { return st.Btim.Nano() }
