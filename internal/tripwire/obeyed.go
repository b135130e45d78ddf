// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/openat"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Telling is how far what changed has been reported.
type Telling uint8

const (
	untold     Telling = iota
	ToLog              // to what is no terminal: a log, a client
	ToTerminal         // to a person
)

// shut are the names of the list, in the directory of a Listed entry, that the
// command could not change when it was recorded.
func (e *entry) shut() []string {
	names := split(e.state)
	for i, word := range names {
		names[i] = unescape(strings.TrimPrefix(word, "-"))
	}
	return names
}

func shutState(names []string) string {
	words := make([]string, len(names))
	for i, rel := range names {
		words[i] = "-" + escape(rel)
	}
	return strings.Join(words, "/")
}

// observed is the state of an obeyed entry: what is there, what was there when it
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

// obeyed compares the names of the list in the directories of watches with the
// record: it adds what is different from what was recorded or accepted, and the
// entries that belong into the record.
func (l *comparison) obeyed(listed []Watch) {
	own, now := l.recs[0], time.Now()
	for _, w := range listed {
		first := entry{kind: Listed, path: w.Path, time: now.Unix()}
		marker := own.at(Listed, w.Path)
		var shut []string
		if marker != nil {
			first, shut = *marker, marker.shut()
		}
		if state := shutState(w.Shut); marker == nil || first.state != state {
			first.state = state
			l.put = append(l.put, first)
		}
		forgetful := inMemory(w.Path)
		for _, rel := range slices.Concat(w.Open, own.gone(w)) {
			if apart(join(w.Path, rel)) {
				continue
			}
			stamp := ""
			if !forgetful {
				stamp = stampAt(w.Path, rel, now, false)
			}
			if marker == nil || slices.Contains(shut, rel) {
				l.obeyedName(w.Path, rel, stamp, now.Unix(), true)
			} else {
				l.obeyedName(w.Path, rel, stamp, marker.time, false)
			}
		}
	}
}

// obeyedName compares one name of the list in a directory, which nothing is known of
// since a time: first says that what is there is no change then. Nearly always its
// stamp says that it is the same.
func (l *comparison) obeyedName(dir, rel, stamp string, since int64, first bool) {
	e, is := entry{kind: obeyed, path: join(dir, rel), time: since}, observed{}
	known := l.recs[0].at(obeyed, e.path)
	if known != nil {
		e, is = *known, observedIn(known.state)
	}
	if known == nil || stamp == "" || stamp != is.stamp {
		is = e.look(is, dir, rel, stamp, known == nil && first)
	}
	if c := l.change(&e, ofLink(is.now)); is.now != is.base {
		c.Was, c.Grade, c.Told = ofLink(is.base), gradeOf(rel), is.told == ToTerminal
		if c.fresh = c.Grade != Alarm && is.told < l.store.Tells; c.fresh {
			is.told = l.store.Tells
		}
		if c.Grade != Alarm || is.now != "" {
			l.changes = append(l.changes, c)
		}
	}
	if e.state = is.String(); known == nil || known.state != e.state {
		l.put = append(l.put, e)
	}
}

// look observes an entry as it is now. What is there at first is its base.
func (e *entry) look(is observed, dir, rel, stamp string, first bool) observed {
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
	if is.stamp = stamp; now != is.now {
		is.now, is.told = now, untold
	}
	if first {
		is.base = now
		e.content, e.kept = keep(e.path, now)
	}
	return is
}

// gone lists the names of a directory that were there and are not any more.
func (r *record) gone(w Watch) (out []string) {
	prefix := join(w.Path, "")
	for i, _ := r.find(Name, prefix); i < len(r.entries) && strings.HasPrefix(r.entries[i].path, prefix); i++ {
		e := &r.entries[i]
		rel, at := e.path[len(prefix):], policy.Dir(e.path)
		switch {
		case e.kind != obeyed || slices.Contains(w.Open, rel) || slices.Contains(w.Shut, rel) || apart(e.path):
		case at != w.Path && r.at(Listed, at) != nil: // it is of that directory
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
		shut := e.shut()
		isShut := func(rel string) bool { return slices.Contains(shut, rel) }
		open := slices.DeleteFunc(pickFrom(e.path), isShut)
		out = append(out, Watch{Kind: Listed, Path: e.path, Open: open, Shut: shut})
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
		if err != nil || !openat.Is(&st, unix.S_IFDIR) {
			return nil, err == nil && openat.Is(&st, unix.S_IFLNK)
		}
		below, _ := listDir(join(dir, rel))
		return below, false
	})
}

// acceptObeyed takes names of the list as they are now: those that are in a listed
// directory, or were when they were seen.
func (r *record) acceptObeyed(paths []string) (changed bool) {
	for _, path := range paths {
		for dir := policy.Dir(path); dir != "/"; dir = policy.Dir(dir) {
			rel := path[len(join(dir, "")):]
			if r.at(Listed, dir) == nil || r.at(obeyed, path) == nil && !slices.Contains(pickFrom(dir), rel) {
				continue
			}
			e := entry{kind: obeyed, path: path, time: time.Now().Unix()}
			e.state = e.look(observed{}, dir, rel, "", true).String()
			r.put([]entry{e})
			changed = true
			break
		}
	}
	return changed
}
