// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Telling is how far what changed has been reported.
type Telling uint8

const (
	Untold     Telling = iota
	ToLog              // to what is no terminal: a log, a client
	ToTerminal         // to a person
)

// The State of a Listed watch holds the names of the list that are in the
// directory, escaped, each with "+" before it, or "-" when the command cannot
// change what is there. The record of it holds the latter only; of each of the
// former there is an entry of kind Obeyed.

func openName(rel string) string { return "+" + escape(rel) }
func shutName(rel string) string { return "-" + escape(rel) }

// StateOf is the State of a Listed watch of a directory with these names of the
// list, as [Pick] returns them, all of which the command can change.
func StateOf(names []string) string {
	words := make([]string, len(names))
	for i, rel := range names {
		words[i] = openName(rel)
	}
	return strings.Join(words, "/")
}

// Narrowed is such a State when the command can change only what open says.
func Narrowed(state string, open func(rel string) bool) string {
	names, words := openNames(state)
	for _, rel := range names {
		if open(rel) {
			words = append(words, openName(rel))
		} else {
			words = append(words, shutName(rel))
		}
	}
	return strings.Join(words, "/")
}

// openNames returns the names in the state of a Listed watch that a command can
// change, and the words for the others.
func openNames(state string) (open, shut []string) {
	for _, word := range split(state) {
		if word[0] == '+' {
			open = append(open, unescape(word[1:]))
		} else {
			shut = append(shut, word)
		}
	}
	return open, shut
}

// observed is the state of an Obeyed entry: what is there, what was there when it
// was recorded or accepted, and how far the difference was reported.
type observed struct {
	told      Telling
	stamp     string // of now; "" when that may be too young to tell
	now, base string // as Look gives them
}

func (s observed) String() string {
	return string('0'+rune(s.told)) + "/" + s.stamp + "/" + escape(s.now) + "/" + escape(s.base)
}

func observedIn(state string) observed {
	f := strings.SplitN(state, "/", 4)
	if len(f) < 4 || len(f[0]) != 1 {
		return observed{base: state}
	}
	return observed{Telling(f[0][0] - '0'), f[1], unescape(f[2]), unescape(f[3])}
}

// ofLink is the state of a link without that of what it leads to.
func ofLink(state string) string {
	if end := strings.LastIndexByte(state, '\n'); end >= 0 && strings.HasPrefix(state, "link ") {
		return state[:end]
	}
	return state
}

// settledAt reports whether a thing is as it was recorded or accepted, by the stamp
// of now alone.
func (s observed) settledAt(stamp string) bool {
	return stamp != "" && s.stamp == stamp && s.now == s.base
}

// obeyed compares the names of the list in the directories of watches with the
// record. It returns all that is different from what was recorded or accepted,
// and the entries that belong into the record: what was seen, and what the
// caller is about to tell of.
func (s Store) obeyed(own *record, listed []Watch) (changes []Change, put []entry) {
	now := time.Now()
	for _, w := range listed {
		open, shut := openNames(w.State)
		marker := own.at(Listed, w.Path)
		forgetful := inMemory(w.Path)
		if state := strings.Join(shut, "/"); marker == nil || marker.state != state {
			e := entry{kind: Listed, path: w.Path, state: state, time: now.Unix()}
			if marker != nil {
				e.time = marker.time
			}
			put = append(put, e)
		}
		for _, rel := range append(open, own.gone(w.Path, open, shut)...) {
			if apart(join(w.Path, rel)) {
				continue
			}
			stamp := ""
			if !forgetful {
				stamp = stampAt(w.Path, rel, now, false)
			}
			c, e := s.obeyedName(own, marker, w.Path, rel, stamp, now)
			if c != nil {
				changes = append(changes, *c)
			}
			if e != nil {
				put = append(put, *e)
			}
		}
	}
	return changes, put
}

// obeyedName compares one name of the list in a directory. It returns what is
// different, and the entry that belongs into the record, each nil for none. marker
// is the entry of the directory, nil when it is looked at for the first time.
func (s Store) obeyedName(own *record, marker *entry, dir, rel, stamp string, now time.Time) (*Change, *entry) {
	path := join(dir, rel)
	known := own.at(Obeyed, path)
	if known != nil && observedIn(known.state).settledAt(stamp) {
		return nil, nil // nearly always
	}
	e := entry{kind: Obeyed, path: path, time: now.Unix()}
	first := marker == nil || slices.Contains(split(marker.state), shutName(rel))
	if known != nil {
		e = *known
	} else if !first {
		e.time = marker.time
	}
	is := e.look(dir, known != nil, first, stamp)
	c := &Change{
		Path: e.path, Was: ofLink(is.base), Now: ofLink(is.now), Since: time.Unix(e.time, 0),
		Grade: gradeOf(rel), Told: is.told == ToTerminal,
	}
	if e.kept {
		c.Before = []byte(e.content)
	}
	switch {
	case is.now == is.base || c.Grade == Alarm && is.now == "":
		c = nil
	case c.Grade != Alarm && is.told < s.Tells:
		is.told, c.fresh = s.Tells, true
	}
	if e.state = is.String(); known != nil && known.state == e.state {
		return c, nil
	}
	return c, &e
}

// look observes an entry as it is now. A file is read when its stamp is
// another one only.
func (e *entry) look(dir string, known, first bool, stamp string) observed {
	var is observed
	if known {
		is = observedIn(e.state)
	}
	if known && stamp != "" && stamp == is.stamp {
		return is
	}
	rel := e.path[len(join(dir, "")):]
	if stamp != "" && stampAt(dir, rel, time.Now(), true) != stamp {
		stamp = "" // it is being written, and may keep it
	}
	now, err := lookListed(dir, rel)
	if err != nil {
		now = unseen(err)
	}
	if stamp != "" && stampAt(dir, rel, time.Now(), false) != stamp {
		stamp = ""
	}
	is.stamp = stamp
	if known && now == is.now {
		return is
	}
	is.now, is.told = now, Untold
	if !known && first {
		is.base = now
		e.content, e.kept = keep(e.path, now)
	}
	return is
}

// gone lists the names of a directory that were there and are not any more.
func (r *record) gone(dir string, open, shut []string) (out []string) {
	prefix := join(dir, "")
	for i, _ := r.find(Name, prefix); i < len(r.entries) && strings.HasPrefix(r.entries[i].path, prefix); i++ {
		e := &r.entries[i]
		rel := e.path[len(prefix):]
		at := policy.Dir(e.path)
		switch {
		case e.kind != Obeyed || slices.Contains(open, rel) || slices.Contains(shut, shutName(rel)) || apart(e.path):
		case at != dir && r.at(Listed, at) != nil: // it is of that directory
		case !exists(e.path):
			out = append(out, rel)
		}
	}
	return out
}

// at finds an entry.
func (r *record) at(kind Kind, path string) *entry {
	if i, ok := r.find(kind, path); ok {
		return &r.entries[i]
	}
	return nil
}

func (r *record) find(kind Kind, path string) (int, bool) {
	order := func(e entry, path string) int { return compare(e.kind, e.path, kind, path) }
	return slices.BinarySearchFunc(r.entries, path, order)
}

// put lays entries over a record.
func (r *record) put(entries []entry) {
	for _, e := range entries {
		if i, ok := r.find(e.kind, e.path); ok {
			r.entries[i] = e
		} else {
			r.entries = slices.Insert(r.entries, i, e)
		}
	}
}

// listed are the watches for the directories in a record, as they are now.
func (r *record) listed() (out []Watch) {
	for i := range r.entries {
		e := &r.entries[i]
		if e.kind != Listed {
			continue
		}
		shut := split(e.state)
		words := slices.Clone(shut)
		for _, rel := range pickFrom(e.path) {
			if !slices.Contains(shut, shutName(rel)) {
				words = append(words, openName(rel))
			}
		}
		out = append(out, Watch{Kind: Listed, Path: e.path, State: strings.Join(words, "/")})
	}
	return out
}

// pickFrom lists a directory for the names of the list.
func pickFrom(dir string) []string {
	names, err := listDir(dir)
	if err != nil {
		return nil
	}
	return Pick(names, func(rel string) ([]string, bool) {
		if apart(join(dir, rel)) {
			return nil, false
		}
		st, err := lstat(join(dir, rel))
		if err != nil || !is(&st, unix.S_IFDIR) {
			return nil, err == nil && is(&st, unix.S_IFLNK)
		}
		below, _ := listDir(join(dir, rel))
		return below, false
	})
}

// acceptObeyed takes names of the list as they are now.
func (r *record) acceptObeyed(paths []string) bool {
	changed := false
	for _, path := range paths {
		for dir := policy.Dir(path); dir != "/"; dir = policy.Dir(dir) {
			if r.at(Listed, dir) == nil || !r.obeys(dir, path) {
				continue
			}
			e := entry{kind: Obeyed, path: path, time: time.Now().Unix()}
			e.state = e.look(dir, false, true, "").String()
			r.put([]entry{e})
			changed = true
			break
		}
	}
	return changed
}

// obeys reports whether a path in a listed directory is a name of the list, or
// was one when it was seen.
func (r *record) obeys(dir, path string) bool {
	return r.at(Obeyed, path) != nil || slices.Contains(pickFrom(dir), path[len(join(dir, "")):])
}
