// SPDX-License-Identifier: Apache-2.0

package pid1

import "syscall"

// private is a directory whose file system ends with the sandbox. Its descriptor
// leads to it whatever the command does to the names above it.
type private struct {
	path string
	fd   int
	used uint64 // names in it at the start
}

// openPrivate counts what is in each directory before the command runs.
func openPrivate(paths []string) (dirs []private) {
	const oPath = 0x200000
	for _, path := range paths {
		fd, err := syscall.Open(path, oPath|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
		if err == nil {
			dirs = append(dirs, private{path, fd, namesIn(fd)})
		}
	}
	return dirs
}

// namesIn is how many names a file system in memory holds.
func namesIn(fd int) uint64 {
	var fs syscall.Statfs_t
	_ = syscall.Fstatfs(fd, &fs)
	return fs.Files - fs.Ffree
}

// left are the directories that hold more than at the start, as words for the process
// that looks at them.
func (s *supervisor) left() (words []string) {
	for _, p := range s.private {
		if namesIn(p.fd) > p.used {
			words = append(words, "left="+p.path)
		}
	}
	return words
}
