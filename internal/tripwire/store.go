// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Store is the directory that records are kept in, one for each root.
type Store struct {
	Dir string // $XDG_STATE_HOME/sbx/tripwire; "" when there is no home
	UID int    // whose the directory and the records have to be

	// Keeps says why Dir cannot be made, nil when it can. It is asked only when Dir
	// does not exist; nil is the answer "it can" to all.
	Keeps func(dir string) error

	// Tells is where the changes that Check returns are reported. Of those that are
	// no alarm it returns what was not told there yet, and records that it is now;
	// none when it is the zero value.
	Tells Telling
}

// DamagedError is a record, or a directory of records, that cannot be
// believed: a link, another user's, writable by others, damaged or too large.
// A run has to be refused then, since what it says may be what a command wants
// to be said.
type DamagedError struct {
	Path string // to be removed by a person
	Text string
}

func (e *DamagedError) Error() string {
	return "tripwire: " + text.Plain(e.Path) + ": " + e.Text
}

// UnwritableError is a store that nothing can be recorded in. What a run leaves
// cannot be reported then; what was recorded before still is.
type UnwritableError struct{ Err error }

func (e *UnwritableError) Error() string { return "tripwire: " + e.Err.Error() }
func (e *UnwritableError) Unwrap() error { return e.Err }

// Check compares what was recorded for root, the canonical root of a work
// tree, with how things are now, and then adds the watches that are not in the
// record yet. The states of the watches are taken as how things are; for what
// else is recorded it looks. Records of the directories above root count for
// the paths in root, since root may have been a subdirectory then.
//
// The errors are [*DamagedError], and [*UnwritableError], which comes together
// with the changes.
func (s Store) Check(root string, watches []Watch) ([]Change, error) {
	order := func(a, b Watch) int { return compare(a.Kind, a.Path, b.Kind, b.Path) }
	watches = slices.Clone(watches)
	slices.SortStableFunc(watches, order)
	watches = slices.CompactFunc(watches, func(a, b Watch) bool { return order(a, b) == 0 })
	var listed []Watch
	watches = slices.DeleteFunc(watches, func(w Watch) bool {
		if w.Kind == Listed {
			listed = append(listed, w)
		}
		return w.Kind == Listed
	})
	l, err := s.load(root)
	if err != nil {
		return nil, err
	}
	l.entries(root, watches)
	l.repositories(watches)
	l.obeyed(listed)
	l.changes = slices.DeleteFunc(l.changes, func(c Change) bool { return c.Grade != Alarm && !c.fresh })
	laid, drop := l.recs[0].merge(watches, time.Now().Unix())
	something := len(laid)+len(drop)+len(l.put) > 0
	if something || l.ix.fresh {
		err = s.add(root, watches, l.put, l.ix)
	}
	if !something {
		err = nil // an index that is not remembered is read again
	}
	return l.inPlace(), err
}

// Pending is Check without recording.
func (s Store) Pending(root string) ([]Change, error) {
	l, err := s.load(root)
	if err != nil {
		return nil, err
	}
	l.entries(root, nil)
	l.obeyed(l.recs[0].listed())
	return l.inPlace(), nil
}

// inPlace are the changes sorted by path, one for each.
func (l *comparison) inPlace() []Change {
	slices.SortStableFunc(l.changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(l.changes, func(a, b Change) bool { return a.Path == b.Path })
}

// Has reports whether there is a record of a root.
func (s Store) Has(root string) bool {
	_, err := os.Lstat(join(s.Dir, FileName(root)))
	return s.Dir != "" && !errors.Is(err, fs.ErrNotExist)
}

// load reads the record of root and those of the directories above.
func (s Store) load(root string) (*comparison, error) {
	f, err := s.open()
	if err != nil {
		return nil, err
	}
	defer f.close()
	l, err := f.load(root)
	if err == nil {
		l.store = s
	}
	return l, err
}

func (f *files) load(root string) (*comparison, error) {
	var recs []*record
	for dir := root; ; dir = policy.Dir(dir) {
		r, err := f.record(dir)
		if err != nil {
			return nil, err
		}
		if dir == root || len(r.entries) > 0 {
			recs = append(recs, r)
		}
		if dir == "/" {
			return newComparison(recs, f.indexes(root)), nil
		}
	}
}

// record reads the record of one root, an empty one when there is none.
func (f *files) record(root string) (*record, error) {
	name := FileName(root)
	data, ok, err := f.read(name)
	if err != nil || !ok {
		return &record{root: root}, err
	}
	r, err := decode(data, root)
	if err == ErrNewer {
		return nil, &UnwritableError{fail(join(f.path, name), err)}
	}
	if err != nil {
		return nil, &DamagedError{join(f.path, name), err.Error()}
	}
	return r, nil
}

// add records watches. The record is read again under the lock: another sbx
// may have written it since.
func (s Store) add(root string, watches []Watch, put []entry, ix *indexes) error {
	return s.change(func(f *files) error {
		f.keepIndexes(root, ix)
		r, err := f.record(root)
		if err != nil {
			return err
		}
		laid, drop := r.merge(watches, time.Now().Unix())
		if len(laid)+len(drop)+len(put) == 0 {
			return nil
		}
		dropped := func(e entry) bool { return e.kind == Name && slices.Contains(drop, e.path) }
		r.entries = slices.DeleteFunc(r.entries, dropped)
		r.put(laid)
		r.put(put)
		for i := range r.entries {
			e := &r.entries[i]
			if !e.kept && (e.kind == Name || e.kind == Kept) && strings.HasPrefix(e.state, "file ") {
				e.content, e.kept = keep(e.path, e.state)
			}
		}
		return f.save(r)
	})
}

// change opens the store, locks it, and does something to it.
func (s Store) change(do func(*files) error) error {
	if _, err := s.Make(); err != nil {
		return err
	}
	f, err := s.open()
	if err != nil {
		return err
	}
	if f == nil {
		return &UnwritableError{errors.New(text.Plain(s.Dir) + " does not exist")}
	}
	defer f.close()
	unlock, err := f.dir.Lock("lock", lockTime)
	if err == nil {
		defer unlock()
		err = do(f)
	}
	return unwritable(err)
}

// lockTime bounds the wait for another sbx, which needs a millisecond.
const lockTime = 5 * time.Second

func (f *files) save(r *record) error {
	name := FileName(r.root)
	if len(r.entries) == 0 {
		return f.dir.Remove(name)
	}
	data, ok := r.trim()
	if !ok {
		return &DamagedError{join(f.path, name), "more names are to be watched than a record holds"}
	}
	return f.dir.Write(name, data, true) // lasting
}

// Adopt joins the records of directories in root, which were roots themselves when they
// were written, to that of root, and returns those that there were.
func (s Store) Adopt(root string, dirs []string) (was []string, err error) {
	f, err := s.open()
	if err != nil || f == nil {
		return nil, err
	}
	defer f.close()
	for _, dir := range dirs {
		r, err := f.record(dir)
		if err != nil {
			return was, err
		}
		if len(r.entries) > 0 {
			was = append(was, dir)
		}
	}
	if len(was) == 0 {
		return nil, nil
	}
	return was, s.change(func(f *files) error {
		r, err := f.record(root)
		for i := 0; i < len(was) && err == nil; i++ {
			err = f.adopt(r, was[i])
		}
		return err
	})
}

// adopt puts what is older, or not in r, of the record of dir into r. The record of
// dir stays when one holds not so much.
func (f *files) adopt(r *record, dir string) error {
	of, err := f.record(dir)
	if err != nil || len(r.entries)+len(of.entries) > maxWatched {
		return err
	}
	for _, e := range of.entries {
		if known := r.at(e.kind, e.path); known == nil || known.time > e.time {
			r.put([]entry{e})
		}
	}
	if err = f.save(r); err == nil {
		of.entries = nil
		err = f.save(of)
	}
	return err
}

// Accept forgets the entries of changed paths: a thing that exists is protected
// from the next run on, and one that can still be replaced is recorded anew. A
// name that came to a pattern or a directory joins those that are known.
func (s Store) Accept(root string, paths ...string) error {
	return s.change(func(f *files) error {
		l, err := f.load(root)
		if err != nil {
			return err
		}
		for i, r := range l.recs {
			mine := paths
			if i > 0 {
				mine = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !policy.Within(p, root) })
			}
			if known := l.accept(r, mine); !r.accept(mine) && !known {
				continue
			}
			if err := f.save(r); err != nil {
				return err
			}
		}
		return nil
	})
}
