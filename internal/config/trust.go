// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/ownfile"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// TrustStore is a directory with a record for each project file that the user
// has agreed to: the content word for word, under the file's path. A file is
// trusted only while its bytes are those that were agreed to. A record that
// anybody but the user could have written, or that is not whole, says nothing
// but an error. The directory need not exist.
//
// Nothing here protects against a program that runs as the user and can write to
// the store: the sandbox keeps the directory out of a command's reach.
type TrustStore struct {
	Dir string // absolute; "" trusts nothing and keeps nothing
}

// TrustState is what is known of a project file.
type TrustState uint8

const (
	Unknown TrustState = iota // never agreed to
	Trusted                   // agreed to as it is
	Changed                   // agreed to with another content
)

// String returns the lower-case name.
func (s TrustState) String() string { return [...]string{"unknown", "trusted", "changed"}[s] }

// TrustRecord is one agreement.
type TrustRecord struct {
	Path string
	Data []byte // the content agreed to
}

// A record is the header with the length of the path, a line feed, the path, a
// line feed, and the content to the end. The length is there because a path
// may hold anything but NUL.
const header = "sbx trust 1 "

// maxRecord is the size of the largest record: PATH_MAX bytes of path.
const maxRecord = len(header) + len("4096\n") + maxPath + len("\n") + maxSize

// recordName is the name of the record of a path.
func recordName(path string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(path))) }

func encodeRecord(path string, data []byte) []byte {
	return slices.Concat([]byte(header+strconv.Itoa(len(path))+"\n"+path+"\n"), data)
}

// decodeRecord reads a record; ok is false when it is none. Only what
// encodeRecord writes is one.
func decodeRecord(rec string) (path, data string, ok bool) {
	rest, ok := strings.CutPrefix(rec, header)
	length, rest, found := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(length)
	if !ok || !found || err != nil || n < 1 || n > maxPath || strconv.Itoa(n) != length || len(rest) <= n ||
		rest[0] != '/' || rest[n] != '\n' || strings.IndexByte(rest[:n], 0) >= 0 {
		return "", "", false
	}
	return rest[:n], rest[n+1:], true
}

// Check looks up the file at a canonical path. data is what was read of it,
// the bytes that are about to count. agreed is the content of the record, nil
// without one. With an error, a [*FileError] about the record, the state is
// Unknown.
func (s TrustStore) Check(path string, data []byte) (state TrustState, agreed []byte, err error) {
	dir, err := s.open()
	if dir == nil {
		return Unknown, nil, err
	}
	defer dir.Close()
	r, err := s.read(dir, recordName(path))
	switch {
	case r == nil:
		return Unknown, nil, err
	case string(r.Data) == string(data):
		return Trusted, r.Data, nil
	}
	return Changed, r.Data, nil
}

// open opens the store; it is nil when there is none.
func (s TrustStore) open() (*ownfile.Dir, error) {
	if s.Dir == "" {
		return nil, nil
	}
	dir, err := ownfile.Open(s.Dir, os.Geteuid())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	return dir, s.bad(s.Dir, err)
}

// checkAbove looks at the directory of sbx's own that holds the store: who may
// write there can put another store in place.
func (s TrustStore) checkAbove() error {
	above, err := ownfile.Open(policy.Dir(s.Dir), os.Geteuid())
	if err != nil {
		return s.bad(policy.Dir(s.Dir), err)
	}
	above.Close()
	return nil
}

// read returns the record of a name; it is nil when there is none.
func (s TrustStore) read(dir *ownfile.Dir, name string) (*TrustRecord, error) {
	at := s.Dir + "/" + name
	rec, err := dir.Read(name, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = s.checkAbove()
	}
	if err != nil {
		return nil, s.bad(at, err)
	}
	path, data, ok := decodeRecord(string(rec))
	switch {
	case !ok:
		return nil, s.bad(at, errors.New("not a record of a trusted file"))
	case recordName(path) != name:
		return nil, s.bad(at, errors.New("a record of another file, "+text.Plain(path)))
	}
	return &TrustRecord{path, []byte(data)}, nil
}

// Add notes that the user has agreed to data as the content of the file at a
// canonical path, in place of what was agreed to before.
func (s TrustStore) Add(path string, data []byte) error {
	if s.Dir == "" {
		return errors.New("there is no home directory to remember trusted files in")
	}
	// Others need not know which projects one trusts.
	if _, err := ownfile.Make(s.Dir, os.Geteuid()); err != nil {
		return s.bad(s.Dir, err)
	}
	dir, err := s.open()
	if dir == nil {
		return err
	}
	defer dir.Close()
	if err := s.checkAbove(); err != nil {
		return err
	}
	return dir.Write(recordName(path), encodeRecord(path, data), true)
}

// Remove takes an agreement back, also one whose record is of no use. It
// reports whether there was one.
func (s TrustStore) Remove(path string) (was bool, err error) {
	dir, err := s.open()
	if dir == nil {
		return false, err
	}
	defer dir.Close()
	name := recordName(path)
	if _, err := os.Lstat(s.Dir + "/" + name); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err := s.checkAbove(); err != nil {
		return false, err
	}
	err = dir.Remove(name)
	return err == nil, err
}

// List returns all agreements, sorted by path, and what is wrong with records
// that are of no use.
func (s TrustStore) List() (out []TrustRecord, bad []error) {
	var names []string
	dir, err := s.open()
	if dir != nil {
		defer dir.Close()
		names, err = dir.Names()
	}
	if err != nil {
		return nil, []error{err}
	}
	for _, name := range names {
		r, err := s.read(dir, name)
		switch {
		case err != nil:
			bad = append(bad, err)
		case r != nil:
			out = append(out, *r)
		}
	}
	slices.SortFunc(out, func(a, b TrustRecord) int { return strings.Compare(a.Path, b.Path) })
	return out, bad
}

// bad is an error about a record or the store.
func (s TrustStore) bad(path string, err error) error {
	out := &FileError{Path: path, Hint: "look at it; removing it makes sbx forget what was trusted there"}
	var (
		done   *FileError
		system *fs.PathError
		unsafe *ownfile.UnsafeError
	)
	switch {
	case err == nil || errors.As(err, &done):
		return err
	case errors.As(err, &system):
		out.Text, out.Err = "cannot be opened", system.Err
	case errors.As(err, &unsafe):
		out.Text = unsafe.Why
	default:
		out.Text = err.Error()
	}
	return out
}
