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

// repository is the state of an entry about one: "own" or "new", with "+index"
// behind it once it had an index, the work tree, and the hashes of what is known,
// one beside the other.
type repository struct {
	own   bool // it was there before the first run, or was accepted
	index bool
	tree  string
	known []string
}

func repositoryOf(state string) repository {
	fields := append(strings.Split(state, "/"), "")
	kind, _, index := strings.Cut(fields[0], "+")
	known := slices.DeleteFunc(fields[2:], func(s string) bool { return s == "" })
	return repository{kind == "own", index, unescape(fields[1]), known}
}

func (r repository) state() string {
	kind := "new"
	if r.own {
		kind = "own"
	}
	if r.index {
		kind += "+index"
	}
	slices.Sort(r.known)
	return strings.Join(append([]string{kind, escape(r.tree)}, slices.Compact(r.known)...), "/")
}

// knows takes findings as known.
func (r *repository) knows(findings ...finding) {
	for _, f := range findings {
		r.known = append(r.known, f.hash())
	}
}

// shown is how people know a repository.
func (r *repository) shown(dir string) string {
	if r.tree == "" || r.tree == dir {
		return dir
	}
	return join(r.tree, ".git")
}

// comparison compares repositories with records.
type comparison struct {
	recs  []*record
	ix    *indexes
	apart map[string]bool
	own   []string        // git directories of apart that have a baseline
	told  map[string]bool // hashes of findings that another change shows
	store Store
	found map[string]*survey

	changes []Change
	put     []entry // what belongs into the record of root
}

func newComparison(recs []*record, ix *indexes) *comparison {
	l := &comparison{recs: recs, ix: ix, apart: map[string]bool{}, told: map[string]bool{}, found: map[string]*survey{}}
	for _, r := range recs {
		for i := range r.entries {
			if r.entries[i].kind == Repository {
				path, of := r.entries[i].path, repositoryOf(r.entries[i].state)
				l.apart[path], l.apart[pair(path, of.tree)] = true, true
				if of.own {
					l.own = append(l.own, path)
				}
			}
		}
	}
	return l
}

// survey looks at a repository: at all of one that is new.
func (l *comparison) survey(dir string, r *repository) *survey {
	if v := l.found[dir]; v != nil {
		return v
	}
	v := newSurvey(l.ix, l.apart)
	l.found[dir] = v
	_, gone := lstat(dir)
	if at := r.shown(dir); r.own {
		v.seen[dir] = true
		v.changing(at, dir, r.tree)
		if path := join(r.tree, ".git"); r.tree != "" && path != dir {
			v.back(path, dir, r.tree)
		}
	} else if !unreachable(gone) {
		v.whole(at, dir, r.tree)
	}
	if index := join(dir, "index"); r.index && !v.index && r.tree != "" && !unreachable(gone) {
		if _, err := lstat(index); unreachable(err) {
			v.unread(index, "the index is gone", "")
		}
	}
	return v
}

// git looks at a .git or a bare repository that is new, and returns what is not
// usual in it, nothing for one that is worth no alarm.
func (l *comparison) git(path string) (notes []string) {
	// What it leads to and has a baseline of its own is reported there.
	own := map[string]bool{}
	for _, dir := range l.own {
		if dir != path {
			// The work tree that the record has may be one that only points there.
			own[dir], own[pair(dir, treeOf(dir))] = true, true
		}
	}
	s := newSurvey(l.ix, own)
	s.found(path)
	for _, f := range s.findings {
		if f.text == "" || f.path != path && l.nested(f.path) {
			continue
		}
		l.told[f.hash()] = true
		text := f.text
		if f.path != path {
			text = f.path + ": " + text
		}
		notes = append(notes, text)
	}
	return notes
}

// nested reports whether a .git is reported by itself: root's own record has a
// directory that did not have it, and it is seen there now.
func (l *comparison) nested(path string) bool {
	tree := policy.Dir(path)
	e := l.recs[0].at(Nested, policy.Dir(tree))
	if e == nil || base(path) != ".git" || slices.Contains(split(e.state), base(tree)) {
		return false
	}
	now, err := Look(Nested, e.path)
	return err == nil && slices.Contains(split(now), base(tree))
}

// findings adds a change for each path that findings are about.
func (l *comparison) findings(r *repository, dir string, since int64, findings []finding) {
	by := map[string][]finding{}
	for _, f := range findings {
		if h := f.hash(); f.text != "" && !l.told[h] && !slices.Contains(r.known, h) {
			by[f.path] = append(by[f.path], f)
		}
	}
	for path, all := range by {
		c := Change{Path: path, Since: time.Unix(since, 0)}
		for _, f := range all {
			c.Notes = append(c.Notes, f.text)
		}
		if slices.ContainsFunc(all, func(f finding) bool { return !f.unread }) {
			c.Now = stateNow(path)
		}
		here := finding{path: path}
		switch {
		case c.Now == "":
			c.Now = "other (" + strings.Join(c.Notes, "; ") + ")"
		case r.own && path == r.shown(dir) || slices.Contains(r.known, here.hash()):
			c.Was, c.Added, c.Notes = "repository", c.Notes, nil
		}
		l.changes = append(l.changes, c)
	}
}

// brought reports whether a repository that is looked at for the first time is
// one that a run can have made: an earlier run could write where it is, and it was
// not there.
func (r *record) brought(dir, tree string) bool {
	at := dir
	if tree != "" {
		at = tree
		if e := r.at(Name, join(tree, ".git")); e != nil && e.state == "" {
			return true
		}
	}
	if e := r.at(Nested, policy.Dir(at)); e != nil {
		return !slices.Contains(split(e.state), base(at))
	}
	return slices.ContainsFunc(r.entries, func(e entry) bool {
		if e.kind != Repository {
			return false
		}
		other := repositoryOf(e.state).tree
		return policy.Within(dir, e.path) || tree != "" && other != "" && policy.Within(tree, other)
	})
}

// repositories completes the watches of repositories: their states are those that
// the record is to have. What cannot be read of those that are looked at for the
// first time is added to the changes.
func (l *comparison) repositories(watches []Watch) {
	own := l.recs[0]
	var first []*Watch
	for i := range watches {
		w := &watches[i]
		if w.Kind != Repository {
			continue
		}
		if e := own.at(w.Kind, w.Path); e != nil {
			r := repositoryOf(e.state)
			r.tree = w.State
			r.index = r.index || l.found[w.Path] != nil && l.found[w.Path].index
			w.State = r.state()
			continue
		}
		first = append(first, w)
		l.apart[w.Path], l.apart[pair(w.Path, w.State)] = true, true
	}
	for _, w := range first {
		r := repository{own: !own.brought(w.Path, w.State), tree: w.State}
		v := l.survey(w.Path, &r)
		news := v.findings
		if r.own { // what is there is known, but for what cannot be
			waits := l.waiting(w.Path, w.State)
			isNews := func(f finding) bool { return f.unread || waits[f.path] }
			news = slices.DeleteFunc(slices.Clone(news), func(f finding) bool { return !isNews(f) })
			r.knows(slices.DeleteFunc(slices.Clone(v.findings), isNews)...)
		}
		l.findings(&r, w.Path, time.Now().Unix(), news)
		r.index = r.own && v.index
		w.State = r.state()
	}
}

// waiting are the paths that the records of a repository's work trees tell of: what
// waits there for a person is not the user's because a run in another directory sees
// it for the first time.
func (l *comparison) waiting(dir, tree string) map[string]bool {
	common := dir
	if base(policy.Dir(dir)) == "worktrees" {
		common = policy.Dir(policy.Dir(dir))
	}
	roots := []string{tree, treeOf(common)}
	names, _ := namesAt(join(common, "worktrees"))
	for _, n := range sorted(names)[:min(len(names), maxNeighbours)] {
		roots = append(roots, treeOf(join(join(common, "worktrees"), n)))
	}
	paths := map[string]bool{}
	for _, root := range roots {
		if root == "" || root == l.recs[0].root {
			continue
		}
		f, _ := l.store.open()
		r, err := f.record(root)
		f.close()
		if err == nil {
			other := newComparison([]*record{r}, l.ix)
			other.entries(root, nil)
			for _, c := range other.changes {
				paths[c.Path] = true
			}
		}
	}
	return paths
}

// maxNeighbours bounds the linked work trees whose records are read.
const maxNeighbours = 64

// accept takes what is at some paths as known. It reports whether the record is
// another one then.
func (l *comparison) accept(rec *record, paths []string) bool {
	changed := false
	for i := range rec.entries {
		e := &rec.entries[i]
		if e.kind != Repository {
			continue
		}
		r := repositoryOf(e.state)
		for _, f := range l.survey(e.path, &r).findings {
			if slices.Contains(paths, f.path) {
				r.knows(f)
			}
		}
		for _, p := range paths {
			if p == e.path || p == r.shown(e.path) || policy.Within(e.path, p) {
				r.own = true
				r.knows(l.found[e.path].findings...)
			}
		}
		if state := r.state(); state != e.state {
			e.state, changed = state, true
		}
	}
	for _, p := range paths {
		changed = l.adopt(rec, p) || changed
	}
	return changed
}

// adopt records a repository that a run brought, with what is in it now: the next
// run would take for granted what it finds there, and the command that made it may
// still be running.
func (l *comparison) adopt(rec *record, path string) bool {
	tree := ""
	if base(path) == ".git" {
		tree = policy.Dir(path)
	}
	st, err := lstat(path)
	if rec.at(Repository, path) != nil || err != nil || !openat.Is(&st, unix.S_IFDIR) || tree == "" && !bare(path) {
		return false
	}
	r := repository{tree: tree}
	v := l.survey(path, &r)
	r.knows(v.findings...)
	r.index = v.index
	rec.put([]entry{{kind: Repository, path: path, state: r.state(), time: time.Now().Unix()}})
	return true
}
