//go:build linux || darwin

package tripwire

import (
	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

var errAbsent = unix.ENOENT

// readFile reads a regular file, no link in its path, at most n bytes and one
// more.
func readFile(path string, n int) ([]byte, error) {
	dir, err := openDir(policy.Dir(path))
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	return readUpTo(dir, nameIn(path), n)
}

// describeFile says what a path is without reading it: the text behind "file"
// is "executable, " or nothing.
func describeFile(path string) (state string, size int64, err error) {
	dir, err := openDir(policy.Dir(path))
	if err != nil {
		return "", 0, err
	}
	defer unix.Close(dir)
	var st unix.Stat_t
	if err := statAt(dir, nameIn(path), &st); err != nil {
		return "", 0, err
	}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFLNK:
		text, err := readlinkAt(dir, nameIn(path))
		return "link " + text, 0, err
	case unix.S_IFREG:
		if st.Mode&0o111 != 0 {
			return "file executable, ", st.Size, nil
		}
		return "file ", st.Size, nil
	case unix.S_IFDIR:
		return "dir ", 0, nil
	}
	return "other " + kindName(uint32(st.Mode)), 0, nil
}

// isGit reports whether git would take a directory for a repository.
func isGit(path string) bool {
	if base(path) == ".git" {
		return true
	}
	for _, name := range []string{"/HEAD", "/objects", "/refs"} {
		var st unix.Stat_t
		if unix.Lstat(path+name, &st) != nil {
			return false
		}
	}
	return true
}
