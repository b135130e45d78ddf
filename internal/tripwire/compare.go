package tripwire

import (
	"slices"
	"time"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// changes compares. The first record is root's own and counts as a whole: what
// a run could write besides is in it, too.
func (s Store) changes(l *looker, root string, watches []Watch) []Change {
	var out []Change
	var repositories []*entry
	for i, r := range l.recs {
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
			if e.kind == Repository {
				repositories = append(repositories, e)
				continue
			}
			if known {
				out = l.compare(out, e, left[0].State, nil)
				continue
			}
			now, err := Look(e.kind, e.path)
			out = l.compare(out, e, now, err)
		}
	}
	// What is shown as a part of something new is not shown again.
	for _, e := range repositories {
		out = l.repository(out, e)
	}
	return out
}

// compare adds what is different from an entry. A thing that cannot be looked
// at is different: a command can see to it that it cannot.
func (l *looker) compare(out []Change, e *entry, now string, err error) []Change {
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
		c.Was, c.Now = "", stateNow(e.path)
		return append(out, c)
	case e.kind != Name:
		return l.appeared(out, e, now)
	case base(e.path) == ".git":
		if c.Notes = l.git(e.path); len(c.Notes) == 0 {
			return out
		}
	}
	if e.kept {
		c.Before = []byte(e.content)
	}
	return append(out, c)
}

// appeared adds the names of a pattern or a directory that were not there.
func (l *looker) appeared(out []Change, e *entry, now string) []Change {
	known := split(e.state)
	for _, name := range split(now) {
		if slices.Contains(known, name) {
			continue
		}
		path := join(policy.Dir(e.path), name)
		var notes []string
		if e.kind == Nested {
			path = nestedPath(e.path, name)
			if notes = l.git(path); len(notes) == 0 {
				continue
			}
		}
		if state := stateNow(path); state != "" {
			out = append(out, Change{Path: path, Now: state, Since: time.Unix(e.time, 0), Notes: notes})
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
	return append(out, Change{Path: e.path, Was: "settings", Now: stateNow(e.path), Since: time.Unix(e.time, 0), Added: added})
}

// stateNow is the state of a path as a Name, or why it cannot be looked at.
func stateNow(path string) string {
	state, err := Look(Name, path)
	if err != nil {
		return unseen(err)
	}
	return state
}

func unseen(err error) string { return "other (" + err.Error() + ")" }
