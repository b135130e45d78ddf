package trust

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Store is a directory with a record for each trusted file. The directory
// need not exist.
type Store struct {
	Dir string // absolute; "" trusts nothing and keeps nothing
}

// State is what is known of a file.
type State uint8

const (
	Unknown State = iota // never agreed to
	Trusted              // agreed to as it is
	Changed              // agreed to with another content
)

var stateNames = [...]string{"unknown", "trusted", "changed"}

// String returns the lower-case name.
func (s State) String() string { return stateNames[s] }

// Check looks up the file at a canonical path. data is what was read of it,
// the bytes that are about to count. agreed is the content of the record, nil
// without one. With an error, a [*config.FileError] about the record, the
// state is Unknown.
func (s Store) Check(path string, data []byte) (state State, agreed []byte, err error) {
	if s.Dir == "" {
		return Unknown, nil, nil
	}
	r, found, err := s.read(nameOf(path))
	switch {
	case err != nil || !found:
		return Unknown, nil, err
	case r.Path != path:
		return Unknown, nil, s.bad(nameOf(path), "a record of another file, "+policy.Plain(r.Path), nil)
	case string(r.Data) == string(data):
		return Trusted, r.Data, nil
	}
	return Changed, r.Data, nil
}

// Record is one agreement.
type Record struct {
	Path string
	Data []byte // the content agreed to
}

// read returns the record of a name; found is false when there is none.
func (s Store) read(name string) (r Record, found bool, err error) {
	rec, found, err := s.readFile(name)
	if err != nil || !found {
		return Record{}, false, err
	}
	path, data, ok := decode(string(rec))
	if !ok {
		return Record{}, false, s.bad(name, "not a record of a trusted file", nil)
	}
	return Record{path, []byte(data)}, true, nil
}

// Add notes that the user has agreed to data as the content of the file at a
// canonical path, in the place of what was agreed to before.
func (s Store) Add(path string, data []byte) error {
	if s.Dir == "" {
		return errNoHome
	}
	// Others need not know which projects one trusts.
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	if err := s.checkDirs(); err != nil {
		return err
	}
	return writeWhole(s.Dir, nameOf(path), encode(path, data))
}

// writeWhole replaces a file by another, which is there whole or not at all.
func writeWhole(dir, name string, data []byte) (err error) {
	f, err := os.CreateTemp(dir, ".new-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	return err
}

// Remove takes an agreement back, also one whose record is of no use. It
// reports whether there was one.
func (s Store) Remove(path string) (was bool, err error) {
	if s.Dir == "" {
		return false, nil
	}
	name := filepath.Join(s.Dir, nameOf(path))
	if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err := s.checkDirs(); err != nil {
		return false, err
	}
	err = os.Remove(name)
	return err == nil, err
}

// List returns all agreements, sorted by path, and what is wrong with records
// that are of no use.
func (s Store) List() (out []Record, bad []error) {
	if s.Dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, []error{err}
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".new-") {
			continue // left by a crash
		}
		r, found, err := s.read(e.Name())
		if err == nil && found && nameOf(r.Path) != e.Name() {
			err = s.bad(e.Name(), "a record of another file, "+policy.Plain(r.Path), nil)
		}
		switch {
		case err != nil:
			bad = append(bad, err)
		case found:
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Record) int { return strings.Compare(a.Path, b.Path) })
	return out, bad
}

var errNoHome = errors.New("there is no home directory to remember trusted files in")

// bad is an error about a record or, without a name, the store.
func (s Store) bad(name, text string, err error) error {
	path := s.Dir
	if name != "" {
		path += "/" + name
	}
	return &config.FileError{Path: path, Text: text, Err: err, Hint: "look at it; removing it makes sbx forget what was trusted there"}
}
