// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Bounds of a record. More than that is an error, not a record cut short.
const (
	maxWatched = 4096    // entries
	maxRecord  = 1 << 20 // bytes
	maxKept    = 16 << 10
	maxAllKept = 256 << 10 // bytes of contents in one record
)

// record is what was recorded for a root: the entries sorted by path, no two
// alike.
type record struct {
	root    string
	entries []entry
}

// entry is one watch with its baseline.
type entry struct {
	kind    Kind
	path    string
	state   string
	time    int64  // of the baseline, in seconds since 1970
	kept    bool   // content is the file's at that time
	content string // without NUL
}

// A record is a line "sbx tripwire 2 ROOT", the root quoted, and behind it for
// each entry
//
//	kind and path NUL state NUL time NUL "=" and the content kept, or nothing NUL
//
// with the kind as one letter. Version 1 had another one, "l", in place of
// "r"; what it says is forgotten.
const (
	magic       = "sbx tripwire "
	version     = "2"
	kindLetters = "npgsrdkto"
	oldLetter   = "l"
)

func header(root string) string { return magic + version + " " + strconv.Quote(root) + "\n" }

// ErrNewer is what becomes of a record that this sbx does not understand: it is
// left as it is.
var ErrNewer = errors.New("a newer sbx wrote it, and this one leaves it as it is")

// FileName is where the record of a root lies in the store.
func FileName(root string) string {
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:16])
}

func (r *record) encode() []byte {
	out := append(make([]byte, 0, 4096), header(r.root)...)
	for i := range r.entries {
		e := &r.entries[i]
		out = fmt.Appendf(out, "%c%s\x00%s\x00%d\x00", kindLetters[e.kind], e.path, e.state, e.time)
		if e.kept {
			out = append(append(out, '='), e.content...)
		}
		out = append(out, 0)
	}
	return out
}

var errDamaged = errors.New("it is damaged")

// decode reads the record of a root. Nothing in it is taken on trust: one that
// is not exactly as encode writes it is an error.
func decode(data, root string) (*record, error) {
	rest, ok := strings.CutPrefix(data, magic)
	digits, rest, ok2 := strings.Cut(rest, " ")
	n, err := strconv.ParseUint(digits, 10, 63)
	switch {
	case !ok || !ok2 || err != nil || n == 0 || digits[0] == '0':
		return nil, errDamaged
	case n > 2:
		return nil, ErrNewer
	}
	rest, ok = strings.CutPrefix(magic+version+" "+rest, header(root))
	if !ok {
		return nil, errors.New("it is no record of " + text.Plain(root))
	}
	fields := strings.Split(rest, "\x00")
	last := len(fields) - 1
	if last%4 != 0 || fields[last] != "" || last/4 > maxWatched {
		return nil, errDamaged
	}
	r := &record{root: root, entries: make([]entry, 0, last/4)}
	for f := range slices.Chunk(fields[:last], 4) {
		if n == 1 && strings.HasPrefix(f[0], oldLetter) {
			continue
		}
		kind := strings.IndexByte(kindLetters, (f[0] + "?")[0])
		e := entry{kind: Kind(kind), path: f[0][min(1, len(f[0])):], state: f[1]}
		e.time, _ = strconv.ParseInt(f[2], 10, 64)
		e.content, e.kept = strings.CutPrefix(f[3], "=")
		if kind < 0 || !strings.HasPrefix(e.path, "/") || e.time < 0 || number(e.time) != f[2] ||
			!e.kept && f[3] != "" {
			return nil, errDamaged
		}
		if n := len(r.entries); n > 0 && compare(r.entries[n-1].kind, r.entries[n-1].path, e.kind, e.path) >= 0 {
			return nil, errDamaged
		}
		r.entries = append(r.entries, e)
	}
	return r, nil
}

// compare orders watches and entries by path, then by kind.
func compare(kind Kind, path string, kind2 Kind, path2 string) int {
	if c := strings.Compare(path, path2); c != 0 {
		return c
	}
	return int(kind) - int(kind2)
}

// merge returns what watches change in the record: entries to put, those that are not
// in it and those of a pattern or a directory that no longer has all its names, lest
// they come back unnoticed; and names to drop, which stand as they were and were
// looked at for the last time. Both are sorted.
func (r *record) merge(watches []Watch, now int64) (put []entry, drop []string) {
	old := r.entries
	for _, w := range watches {
		for len(old) > 0 && compare(old[0].kind, old[0].path, w.Kind, w.Path) < 0 {
			old = old[1:]
		}
		if len(old) == 0 || old[0].kind != w.Kind || old[0].path != w.Path {
			put = append(put, entry{kind: w.Kind, path: w.Path, state: w.State, time: now})
			continue
		}
		state := old[0].state
		switch {
		case state == w.State:
			continue
		case w.Kind == Repository:
			// Another sbx may have accepted something meanwhile.
			was, now := repositoryOf(state), repositoryOf(w.State)
			was.tree, was.index = now.tree, was.index || now.index
			state = was.state()
		case w.Kind == Pattern || w.Kind == Nested || w.Kind == Settings: // what is gone is forgotten
			state = both(state, w.State)
		}
		if state != old[0].state {
			e := old[0]
			e.state = state
			put = append(put, e)
		}
	}
	for _, e := range r.entries {
		if e.kind != Name || e.state == "" || now-e.time <= aDay ||
			slices.ContainsFunc(watches, func(w Watch) bool { return w.Kind == e.kind && w.Path == e.path }) {
			continue
		}
		if state, err := Look(e.kind, e.path); err == nil && state == e.state {
			drop = append(drop, e.path)
		}
	}
	return put, drop
}

// aDay is how long a name that a person accepted is watched on, in seconds: it is
// protected from then on, but not in the runs that had begun before.
const aDay = 24 * 60 * 60

// both are the names that are in two states.
func both(a, b string) string {
	names := split(b)
	return strings.Join(slices.DeleteFunc(split(a), func(n string) bool { return !slices.Contains(names, n) }), "/")
}

// trim leaves out contents until the record is small enough; ok is false when
// that does not do.
func (r *record) trim() (data []byte, ok bool) {
	for _, room := range []int{maxAllKept, 0} {
		for i := range r.entries {
			if e := &r.entries[i]; len(e.content) <= room {
				room -= len(e.content)
			} else {
				e.kept, e.content = false, ""
			}
		}
		if data = r.encode(); len(data) <= maxRecord {
			break
		}
	}
	return data, len(data) <= maxRecord && len(r.entries) <= maxWatched
}

// accept takes what is at these paths as known. It is watched on as it is now: a
// command may still be running. Of a pattern or a directory only the one name is
// settled: it goes to those that are known. What cannot be looked at is forgotten.
func (r *record) accept(paths []string) (changed bool) {
	var left []entry
	for _, e := range r.entries {
		if slices.Contains(paths, e.path) && e.kind != Repository && e.kind != Listed && e.kind != obeyed {
			// The config file of a repository changes all the time: what counts in it is
			// watched besides. A repository has an entry of its own, see [comparison.accept].
			besides := e.kind == Name && (r.at(Settings, e.path) != nil || r.at(Repository, e.path) != nil)
			now, err := Look(e.kind, e.path)
			switch {
			case besides || err != nil && e.kind != Place && e.kind != Kept:
				changed = true
				continue
			case err == nil && e.kind != Pattern && e.kind != Nested && now != e.state:
				e, changed = entry{kind: e.kind, path: e.path, state: now, time: time.Now().Unix()}, true
			}
		}
		for _, p := range paths {
			if name, ok := e.names(p); ok && !slices.Contains(split(e.state), name) {
				e.state, changed = strings.Join(sorted(append(split(e.state), name)), "/"), true
			}
		}
		left = append(left, e)
	}
	r.entries = left
	return r.acceptObeyed(paths) || changed
}

// names reports which name in the state of an entry stands for a path.
func (e *entry) names(path string) (string, bool) {
	switch {
	case e.kind == Nested && base(path) == ".git" && policy.Dir(policy.Dir(path)) == e.path:
		return base(policy.Dir(path)), true
	case e.kind == Nested && policy.Dir(path) == e.path && path != e.path:
		return base(path), true
	case e.kind == Pattern && policy.Dir(path) == policy.Dir(e.path):
		return base(path), policy.Match(base(e.path), base(path))
	}
	return "", false
}
