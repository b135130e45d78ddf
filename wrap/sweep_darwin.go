package wrap

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/host"
)

// readNames hands on the names in an open directory, some at a time. It reads
// by a stream of the C library's: without one each call would begin anew and
// pass over as many names as it has given, which may be gone by then.
func readNames(fd int, do func(names []string) error) error {
	again, err := host.OpenDir(fd, ".")
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(again), ".")
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(256)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := do(names); err != nil {
			return err
		}
	}
}

// unlock opens a directory to its owner that he closed to himself, and nothing
// else that might be at its place by now.
func unlock(at int, name string) bool {
	var st unix.Stat_t
	if unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false
	}
	return unix.Fchmodat(at, name, 0o700, unix.AT_SYMLINK_NOFOLLOW) == nil
}
