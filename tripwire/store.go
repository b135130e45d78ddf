package tripwire

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sbx-sandbox/sbx/policy"
)

// Store is the directory that records are kept in, one for each root.
type Store struct {
	Dir string // $XDG_STATE_HOME/sbx/tripwire; "" when there is no home
	UID int    // whose the directory and the records have to be

	// Keeps says why Dir cannot be made, nil when it can. It is asked only when Dir
	// is not there; nil is the answer "it can" to all.
	Keeps func(dir string) error

	// Harmless says of a git directory or pointer that appeared, or of the steps of
	// a rebase, that it is worth no alarm. It is asked at each look, since that can change; nil means that
	// nothing is harmless.
	Harmless func(path string) bool

	// Tells is where the changes that Check returns are told of. Of those that are
	// no alarm it returns what was not told there yet, and records that it is now;
	// none when it is Untold.
	Tells Telling
}

// DamagedError is a record, or a directory of records, that cannot be
// believed: a link, somebody else's, writable by others, damaged or too large.
// A run has to be refused then, since what it says may be what a command wants
// to be said.
type DamagedError struct {
	Path string // to be removed by a person
	Text string
}

func (e *DamagedError) Error() string {
	return "tripwire: " + policy.Plain(e.Path) + ": " + e.Text
}

// UnwritableError is a store that nothing can be recorded in. What a run leaves
// can not be told of then; what was recorded before still is.
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
	watches, listed := cutListed(inOrder(watches))
	recs, err := s.load(root)
	if err != nil {
		return nil, err
	}
	changes := s.changes(recs, root, watches)
	more, put := s.obeyed(recs[0], listed)
	changes = withObeyed(changes, slices.DeleteFunc(more, func(c Change) bool { return c.Grade != Alarm && !c.fresh }))
	watches = s.links(recs[0], watches)
	if own := recs[0]; own.settled(watches) && len(put) == 0 {
		return changes, nil
	}
	return changes, s.add(root, watches, put)
}

// withObeyed adds changes of the list to others, but for paths that are among
// those.
func withObeyed(changes, more []Change) []Change {
	if len(more) == 0 {
		return changes
	}
	out := slices.Concat(changes, more)
	slices.SortStableFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(out, func(a, b Change) bool { return a.Path == b.Path })
}

// Pending is Check without recording.
func (s Store) Pending(root string) ([]Change, error) {
	recs, err := s.load(root)
	if err != nil {
		return nil, err
	}
	more, _ := s.obeyed(recs[0], recs[0].listed())
	return withObeyed(s.changes(recs, root, nil), more), nil
}

// inOrder sorts watches as records are, without those given twice. A planner
// has them sorted, mostly.
func inOrder(watches []Watch) []Watch {
	order := func(a, b Watch) int { return compare(a.Kind, a.Path, b.Kind, b.Path) }
	for i := 1; i < len(watches); i++ {
		if order(watches[i-1], watches[i]) >= 0 {
			watches = slices.Clone(watches)
			slices.SortStableFunc(watches, order)
			return slices.CompactFunc(watches, func(a, b Watch) bool { return order(a, b) == 0 })
		}
	}
	return watches
}

// load reads the record of root, an empty one when there is none, and behind it
// those of the directories above.
func (s Store) load(root string) ([]*record, error) {
	recs := []*record{{root: root}}
	if s.Dir == "" {
		return recs, nil
	}
	f, err := s.open()
	if err != nil || f == nil {
		return recs, err
	}
	defer f.close()
	return f.load(root)
}

func (f *files) load(root string) ([]*record, error) {
	recs := []*record{{root: root}}
	for dir := root; ; dir = policy.Dir(dir) {
		r, err := f.record(dir)
		switch {
		case err != nil:
			return nil, err
		case r != nil && dir == root:
			recs[0] = r
		case r != nil:
			recs = append(recs, r)
		}
		if dir == "/" {
			return recs, nil
		}
	}
}

// record reads the record of one root, nil when there is none.
func (f *files) record(root string) (*record, error) {
	name := FileName(root)
	data, ok, err := f.read(name)
	if err != nil || !ok {
		return nil, err
	}
	r, err := decode(data, root)
	if err != nil {
		return nil, &DamagedError{join(f.path, name), err.Error()}
	}
	return r, nil
}

// changes compares. The first record is root's own and counts as a whole: what
// a run could write besides is in it, too.
func (s Store) changes(recs []*record, root string, watches []Watch) []Change {
	var out []Change
	for i, r := range recs {
		left := watches
		for j := range r.entries {
			e := &r.entries[j]
			if i > 0 && !policy.Within(e.path, root) || e.kind == Listed || e.kind == Obeyed {
				continue
			}
			for len(left) > 0 && compare(left[0].Kind, left[0].Path, e.kind, e.path) < 0 {
				left = left[1:]
			}
			known := len(left) > 0 && left[0].Kind == e.kind && left[0].Path == e.path
			if e.kind == Gitlinks {
				stamp := ""
				if known {
					stamp = left[0].State
				} else {
					stamp = Stamp(indexOf(e.path))
				}
				out = s.linked(out, e, stamp)
				continue
			}
			if known {
				out = s.compare(out, e, left[0].State, nil)
				continue
			}
			now, err := Look(e.kind, e.path)
			out = s.compare(out, e, now, err)
		}
	}
	if len(out) > 1 {
		slices.SortStableFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
		out = slices.CompactFunc(out, func(a, b Change) bool { return a.Path == b.Path })
	}
	return out
}

// compare adds what is different from an entry. A thing that cannot be looked
// at is different: a command can see to it that it cannot.
func (s Store) compare(out []Change, e *entry, now string, err error) []Change {
	c := Change{Path: e.path, Was: e.state, Now: now, Since: time.Unix(e.time, 0)}
	switch {
	case err == errApart:
		return out
	case err != nil:
		c.Now = unseen(err)
		return append(out, c)
	case e.kind == Kept && now != e.state:
		if e.kept {
			c.Before = []byte(e.content)
		}
		return append(out, c)
	case now == e.state || now == "":
		return out
	case e.kind == Settings:
		return set(out, e, now)
	case e.kind == Place:
		c.Was = ""
		if c.Now, err = Look(Name, e.path); err != nil {
			c.Now = unseen(err)
		}
		return append(out, c)
	case e.kind != Name:
		return s.appeared(out, e, now)
	case s.harmless(e.kind, e.path):
		return out
	}
	if e.kept {
		c.Before = []byte(e.content)
	}
	return append(out, c)
}

// appeared adds the names of a pattern or a directory that were not there.
func (s Store) appeared(out []Change, e *entry, now string) []Change {
	known := split(e.state)
	for _, name := range split(now) {
		if slices.Contains(known, name) {
			continue
		}
		path := join(policy.Dir(e.path), name)
		if e.kind == Nested {
			path = nestedPath(e.path, name)
		}
		if s.harmless(e.kind, path) {
			continue
		}
		state, err := Look(Name, path)
		if err != nil {
			state = unseen(err)
		}
		if state != "" {
			out = append(out, Change{Path: path, Now: state, Since: time.Unix(e.time, 0)})
		}
	}
	return out
}

// set adds a config file with the settings that were not in it.
func set(out []Change, e *entry, now string) []Change {
	known := split(e.state)
	var added []string
	for _, line := range split(now) {
		if !slices.Contains(known, line) {
			added = append(added, unescape(line))
		}
	}
	if len(added) == 0 {
		return out
	}
	state, err := Look(Name, e.path)
	if err != nil {
		state = unseen(err)
	}
	return append(out, Change{Path: e.path, Was: "settings", Now: state, Since: time.Unix(e.time, 0), Added: added})
}

func unseen(err error) string { return "other (" + err.Error() + ")" }

// asked are the names of which a look inside tells whether they are worth an
// alarm.
var asked = []string{".git", "git-rebase-todo", "strategy", "opts"}

func (s Store) harmless(kind Kind, path string) bool {
	return s.Harmless != nil && (kind == Nested || kind == Gitlinks || slices.Contains(asked, base(path))) && s.Harmless(path)
}

// add records watches. The record is read again under the lock: another sbx
// may have written it since.
func (s Store) add(root string, watches []Watch, put []entry) error {
	f, unlock, err := s.writable()
	if err != nil {
		return err
	}
	defer f.close()
	defer unlock()
	r, err := f.record(root)
	if err != nil {
		return err
	}
	if r == nil {
		r = &record{root: root}
	}
	if !r.merge(watches, time.Now().Unix()) && len(put) == 0 {
		return nil
	}
	r.put(put)
	for i := range r.entries {
		if e := &r.entries[i]; !e.kept && (e.kind == Name || e.kind == Kept) && strings.HasPrefix(e.state, "file ") {
			e.content, e.kept = keep(e.path, e.state)
		}
	}
	return f.save(r)
}

// writable opens the store for a change, and locks it.
func (s Store) writable() (f *files, unlock func(), err error) {
	if _, err := s.Make(); err != nil {
		return nil, nil, err
	}
	f, err = s.open()
	if err != nil {
		return nil, nil, err
	}
	if f == nil {
		return nil, nil, &UnwritableError{errors.New(policy.Plain(s.Dir) + " is not there")}
	}
	if unlock, err = f.lock(); err != nil {
		f.close()
		return nil, nil, err
	}
	return f, unlock, nil
}

func (f *files) save(r *record) error {
	name := FileName(r.root)
	if len(r.entries) == 0 {
		return f.remove(name)
	}
	data, ok := r.trim()
	if !ok {
		return &DamagedError{join(f.path, name), "more names are to be watched than a record holds"}
	}
	return f.write(name, data)
}

// Accept forgets the entries of changed paths: a thing that exists is protected
// from the next run on, and one that can still be replaced is recorded anew. A
// name that came to a pattern or a directory joins those that are known.
func (s Store) Accept(root string, paths ...string) error {
	f, unlock, err := s.writable()
	if err != nil {
		return err
	}
	defer f.close()
	defer unlock()
	recs, err := f.load(root)
	if err != nil {
		return err
	}
	for i, r := range recs {
		mine := paths
		if i > 0 {
			mine = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !policy.Within(p, root) })
		}
		if !r.accept(mine) {
			continue
		}
		if err := f.save(r); err != nil {
			return err
		}
	}
	return nil
}

// Records lists the roots that have a record.
func (s Store) Records() ([]string, error) {
	if s.Dir == "" {
		return nil, nil
	}
	f, err := s.open()
	if err != nil || f == nil {
		return nil, err
	}
	defer f.close()
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	var roots []string
	for _, name := range names {
		data, ok, err := f.read(name)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue // accepted just now
		}
		root, err := rootOf(data)
		if err != nil || FileName(root) != name {
			return nil, &DamagedError{join(f.path, name), errDamaged.Error()}
		}
		roots = append(roots, root)
	}
	return sorted(roots), nil
}
