// SPDX-License-Identifier: Apache-2.0

package host

import (
	"os"
	"slices"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// ReadDir lists a directory with the kinds of its entries.
func (o OS) ReadDir(path string) (entries []Entry, err error) {
	if err := o.remotes.reach(path); err != nil {
		return nil, err
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	err = procfs.EachEntry(fd, func(name string, kind byte) bool {
		entries = append(entries, Entry{name, kinds[kind&15]})
		return true
	})
	if err != nil {
		return nil, &os.PathError{Op: "readdir", Path: path, Err: err}
	}
	return entries, nil
}

// missed reports whether an error of lstat(2) says that nothing is there.
func missed(err error) bool { return err == syscall.ENOENT || err == syscall.ENOTDIR }

// Mounts reads /proc/self/mountinfo. In a run of an hour it may change: what is
// mounted later does not appear in a sandbox that is already there.
func (o OS) Mounts() ([]Mount, error) {
	if o.remotes != nil && o.remotes.table != nil {
		return o.remotes.table, nil
	}
	text, err := procfs.Read("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	mounts := make([]Mount, 0, 64)
	return slices.AppendSeq(mounts, procfs.Mounts(text)), nil
}
