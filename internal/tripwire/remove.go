// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// errChanged is what Remove says of a thing that is not what was shown.
var errChanged = errors.New("it has changed since it was looked at")

// Same reports by its error whether a change is as it was when it was found:
// before anything is done about it, since a command may still be running. Of
// what could not be looked at there is nothing to compare.
func (c *Change) Same() error {
	if c.Unseen() {
		return nil
	}
	now, err := Look(Name, c.Path)
	if err != nil {
		return err
	}
	if now != c.Now {
		return &pathError{c.Path, errChanged}
	}
	return nil
}

// Remove deletes what is there, a directory with all that is in it, and
// follows no link. The record stays as it is: what was watched is still.
func (c *Change) Remove() error {
	if c.Unseen() {
		return &pathError{c.Path, errors.New("it cannot be looked at, so it is not removed")}
	}
	if len(c.Added) > 0 {
		return &pathError{c.Path, errors.New("it existed before, so it is not removed because of what is new in it: " +
			"git config --unset, or an editor, takes that out")}
	}
	if err := c.Same(); err != nil {
		return err
	}
	dir, err := c.parent()
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.RemoveAll(base(c.Path))
}

// maxCount is where counting ends.
const maxCount = 100_000

// Entries counts what Remove would delete below a directory: 0 for what is
// none, at most 100,000.
func (c *Change) Entries() (int, error) {
	dir, err := openDir(policy.Dir(c.Path))
	if err != nil {
		return 0, err
	}
	defer unix.Close(dir)
	return entriesIn(dir, nameIn(c.Path), maxCount)
}

// entriesIn counts below a name, as far as it may look.
func entriesIn(dir int, name string, most int) (n int, err error) {
	fd, err := openAt(dir, name, unix.O_RDONLY|unix.O_DIRECTORY)
	switch err {
	case nil:
		defer unix.Close(fd)
	case unix.ENOTDIR, unix.ELOOP, unix.ENOENT, unix.EACCES:
		return 0, nil
	default:
		return 0, err
	}
	names, err := namesIn(fd)
	for _, name := range names {
		if n++; n >= most || err != nil {
			return min(n, most), err
		}
		var below int
		below, err = entriesIn(fd, name, most-n)
		n += below
	}
	return n, err
}

// parent opens the directory that the thing lies in, which has to be the one
// that its path leads to without a link.
func (c *Change) parent() (*os.Root, error) {
	path := policy.Dir(c.Path)
	fd, err := openDir(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	dir, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	var st, st2 unix.Stat_t
	info, err := dir.OpenFile(".", os.O_RDONLY, 0)
	if err == nil {
		err = unix.Fstat(int(info.Fd()), &st2)
		info.Close()
	}
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err == nil && (st.Ino != st2.Ino || st.Dev != st2.Dev) {
		err = &pathError{path, errLinked}
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}
