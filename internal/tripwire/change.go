// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Change is a watched name that is not as it was.
type Change struct {
	// Path is that of the thing itself: for Pattern and Nested the full path of what
	// appeared (Nested: DIR/NAME/.git, or DIR/NAME for a bare one).
	Path   string
	Was    string    // State before, "" for absent
	Now    string    // State as Look gives it, or "other (CAUSE)" for what could not be looked at
	Since  time.Time // when the baseline was taken
	Before []byte    // the content of the file that was there, nil when it was not kept
	Added  []string  // of what was there before, the settings and programs that are new
	Notes  []string  // of a repository that is new, what is not usual in it and where it leads
	Grade  Grade     // Alarm but for names of the list
	Told   bool      // a person was told already, and it is no alarm

	fresh bool // it is about to be told
}

// Open reports whether it still waits for a person: an alarm until it is
// accepted, anything else until it was told on a terminal.
func (c *Change) Open() bool { return c.Grade == Alarm || !c.Told }

// Unseen reports whether the thing could not be looked at: Now has the cause.
func (c *Change) Unseen() bool { return strings.HasPrefix(c.Now, "other (") }

// Same reports by its error whether a change is as it was when it was found:
// before anything is done about it, since a command may still be running. Of
// what could not be looked at there is nothing to compare.
func (c *Change) Same() error {
	if c.Unseen() {
		return nil
	}
	now, err := Look(Name, c.Path)
	if err == nil && now != c.Now {
		err = fail(c.Path, errors.New("it has changed since it was looked at"))
	}
	return err
}

// Remove deletes what is there, a directory with all that is in it, and
// follows no link. The record stays as it is: what was watched is still.
func (c *Change) Remove() error {
	if c.Unseen() {
		return fail(c.Path, errors.New("it cannot be looked at, so it is not removed"))
	}
	if len(c.Added) > 0 {
		return fail(c.Path, errors.New("it existed before, so it is not removed because of what is new in it: "+
			"git config --unset, or an editor, takes that out"))
	}
	if err := c.Same(); err != nil {
		return err
	}
	// The directory that it lies in has to be the one that the path leads to without a link.
	path := policy.Dir(c.Path)
	fd, err := openDir(path)
	if err != nil {
		return err
	}
	straight := os.NewFile(uintptr(fd), path)
	defer straight.Close()
	dir, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	want, err := straight.Stat()
	got, err2 := dir.Stat(".")
	switch {
	case err != nil || err2 != nil:
		return errors.Join(err, err2)
	case !os.SameFile(want, got):
		return fail(path, errLinked)
	}
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
	unix.Close(dir)
	n := -1 // the thing itself
	err = filepath.WalkDir(c.Path, func(_ string, _ fs.DirEntry, err error) error {
		if err == nil { // as far as it may look
			n++
		}
		if n == maxCount {
			return fs.SkipAll
		}
		return nil
	})
	return max(n, 0), err
}

// maxShared bounds the files that are looked at before something is accepted.
const maxShared = 20_000

// Shared is a file of a change that has another name as well (link(2)), "" when
// there is none. Once it is accepted the file is read-only by this name, and a
// command could still change it by the other. The objects of a repository do not
// count: a local clone shares them.
func (c *Change) Shared() (found string, err error) {
	left := maxShared
	err = filepath.WalkDir(c.Path, func(path string, d fs.DirEntry, err error) error {
		switch left--; {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case left < 0:
			return errMany
		case d.IsDir() && d.Name() == "objects":
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		if info, err := d.Info(); err == nil { // it is not gone
			if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
				found = path
				return fs.SkipAll
			}
		}
		return nil
	})
	return found, err
}
