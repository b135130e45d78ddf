// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/ownfile"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// files is the open directory of a store.
type files struct {
	dir  *ownfile.Dir
	path string
}

// open opens the directory of the store. It returns nil without an error when
// there is none.
func (s Store) open() (*files, error) {
	if s.Dir == "" {
		return nil, nil
	}
	// The directory above was made by sbx as well. What lies above that is the
	// user's own, links included.
	err := ownfile.CheckAbove(policy.Dir(s.Dir), s.UID)
	if err == nil {
		var dir *ownfile.Dir
		if dir, err = ownfile.Open(s.Dir, s.UID); err == nil {
			return &files{dir, s.Dir}, nil
		}
	}
	if _, err := os.Lstat(s.Dir); errors.Is(err, fs.ErrPermission) { // the home of another user, as su leaves it
		return nil, unwritable(err)
	}
	return nil, absent(believed(err))
}

func (f *files) close() {
	if f != nil {
		f.dir.Close()
	}
}

// believed makes the errors of ownfile those of this package.
func believed(err error) error {
	if u := (*ownfile.UnsafeError)(nil); errors.As(err, &u) {
		return &DamagedError{u.Path, u.Why}
	}
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return fail(p.Path, p.Err)
	}
	return err
}

// unwritable is the error of what cannot be written, but for what cannot be believed.
func unwritable(err error) error {
	switch err := believed(err).(type) {
	case nil, *DamagedError, *UnwritableError:
		return err
	default:
		return &UnwritableError{err}
	}
}

// Make makes the directory of the store and reports whether it did not exist.
// A caller that hides the directory from a command makes it before it works
// out how: what does not exist cannot be hidden.
func (s Store) Make() (made bool, err error) {
	if s.Dir == "" {
		return false, &UnwritableError{errors.New("there is no home directory")}
	}
	if _, err := os.Lstat(s.Dir); err == nil {
		return false, nil
	}
	if s.Keeps != nil {
		if err := s.Keeps(policy.Dir(s.Dir)); err != nil {
			return false, &UnwritableError{err}
		}
	}
	if err := s.ownPlace(); err != nil {
		return false, &UnwritableError{err}
	}
	made, err = ownfile.Make(s.Dir, s.UID)
	return made, unwritable(err)
}

// ownPlace refuses to make the directory in one of another user, who could take the
// records away, and whom root could lock out.
func (s Store) ownPlace() error {
	var st unix.Stat_t
	dir := policy.Dir(s.Dir)
	err := unix.Stat(dir, &st)
	for err != nil && dir != "/" {
		dir = policy.Dir(dir)
		err = unix.Stat(dir, &st)
	}
	if err == nil && int(st.Uid) != s.UID && st.Mode&unix.S_ISVTX == 0 {
		err = errors.New(text.Plain(dir) + " belongs to another user")
	}
	return err
}

// read returns the text of a record, false when there is none. One that cannot be
// read is not believed either.
func (f *files) read(name string) (string, bool, error) {
	if f == nil {
		return "", false, nil
	}
	data, err := f.dir.Read(name, maxRecord)
	var p *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case errors.As(err, &p):
		err = &DamagedError{p.Path, p.Err.Error()}
	}
	return string(data), err == nil, believed(err)
}
