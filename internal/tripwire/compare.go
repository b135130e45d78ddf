// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"slices"
	"strings"
	"time"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// entries compares records with how things are now. The first record is root's own
// and counts as a whole: what a run could write besides is in it, too.
func (l *comparison) entries(root string, watches []Watch) {
	var repositories []*entry
	for i, r := range l.recs {
		left := watches
		for j := range r.entries {
			e := &r.entries[j]
			if i > 0 && !policy.Within(e.path, root) || e.kind == Listed || e.kind == obeyed {
				continue
			}
			for len(left) > 0 && compare(left[0].Kind, left[0].Path, e.kind, e.path) < 0 {
				left = left[1:]
			}
			switch {
			case e.kind == Repository:
				repositories = append(repositories, e)
			case len(left) > 0 && left[0].Kind == e.kind && left[0].Path == e.path:
				l.compare(e, left[0].State, nil)
			default:
				now, err := Look(e.kind, e.path)
				l.compare(e, now, err)
			}
		}
	}
	// What is shown as a part of something new is not shown again.
	for _, e := range repositories {
		r := repositoryOf(e.state)
		l.findings(&r, e.path, e.time, l.survey(e.path, &r).findings)
	}
}

// compare adds what is different from an entry. A thing that cannot be looked
// at is different: a command can see to it that it cannot.
func (l *comparison) compare(e *entry, now string, err error) {
	c := l.change(e, now)
	switch {
	case err == errApart || err == nil && (now == e.state || now == "" && e.kind != Kept):
		return
	case err != nil:
		c.Now, c.Before = unseen(err), nil
	case e.kind == Settings:
		c.Was, c.Now = "settings", ""
		for _, line := range added(e.state, now) {
			c.Added = append(c.Added, unescape(line))
		}
		if len(c.Added) == 0 {
			return
		}
		c.Now = stateNow(e.path)
	case e.kind == Place:
		c.Was, c.Now = "", stateNow(e.path)
		if strings.HasPrefix(now, "place ") && l.usualGit(e.path, &c) { // made again, by `git init`
			return
		}
	case e.kind == Pattern || e.kind == Nested:
		l.appeared(e, now)
		return
	case e.kind == Name && l.usualGit(e.path, &c):
		return
	}
	l.changes = append(l.changes, c)
}

// usualGit reports whether a path is a .git in which nothing is worth an alarm, and notes
// what is.
func (l *comparison) usualGit(path string, c *Change) bool {
	if base(path) != ".git" {
		return false
	}
	c.Notes = l.git(path)
	return len(c.Notes) == 0
}

// change is the change of an entry.
func (l *comparison) change(e *entry, now string) Change {
	c := Change{Path: e.path, Was: e.state, Now: now, Since: time.Unix(e.time, 0)}
	if e.kept {
		c.Before = []byte(e.content)
	}
	return c
}

// appeared adds the names of a pattern or a directory that were not there.
func (l *comparison) appeared(e *entry, now string) {
	for _, name := range added(e.state, now) {
		c := Change{Path: join(policy.Dir(e.path), name), Since: time.Unix(e.time, 0)}
		if e.kind == Nested {
			c.Path = nestedPath(e.path, name)
			if c.Notes = l.git(c.Path); len(c.Notes) == 0 {
				continue
			}
		}
		if c.Now = stateNow(c.Path); c.Now != "" {
			l.changes = append(l.changes, c)
		}
	}
}

// added are the names that are in a state and were not in the one before.
func added(was, now string) []string {
	known := split(was)
	return slices.DeleteFunc(split(now), func(n string) bool { return slices.Contains(known, n) })
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
