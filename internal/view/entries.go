// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"iter"
	"slices"
	"sort"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Entry is what the rules say at one canonical path.
type Entry struct {
	Path      string
	Info      host.Info
	rules     policy.RuleSet
	Rule      *policy.Rule  // the one that decides
	Src       string        // where the content comes from; "" is path itself
	Pinned    bool          // bound onto itself so that it cannot be renamed away
	Parent    int           // index of the mount it lies in, -1 for none
	Access    policy.Access // see weigh
	Redundant bool          // it changes nothing where it stands
	tracked   bool          // git tracks the hidden file
	Blank     bool          // hidden, and an empty file in place of one that cannot be opened

	Overlaid bool // what the command writes over the directory is gone with the run

	Copied bool   // a file that is shown as a copy
	Copy   []byte // its content
}

// blocked is an entry that hides what is at a path.
func blocked(path string, info host.Info, source string) Entry {
	r := &policy.Rule{Path: path, Access: policy.Block, Layer: policy.Builtin, Source: source}
	return Entry{Path: path, Info: info, Rule: r, rules: policy.RuleSet{Give: r}, Access: policy.Block}
}

// merge adds up the rules at each canonical path, parents first.
func (v *View) merge(found []resolvedRule) {
	v.Entries = slices.Grow(v.Entries[:0], len(found))
	for _, i := range v.order {
		p := &found[i]
		absent := p.to.Info.Kind == host.Absent
		if p.skip || absent && p.rule.Access != policy.Private && (IsGrant(p.rule) || !v.DenyAbsent) {
			continue
		}
		if n := len(v.Entries); n == 0 || v.Entries[n-1].Path != p.to.Path {
			v.Entries = append(v.Entries, Entry{Path: p.to.Path, Info: p.to.Info})
		}
		m := &v.Entries[len(v.Entries)-1]
		m.rules.Add(p.rule)
		m.Rule = m.rules.Rule()
	}
	v.nest()
}

// sortFound notes the order in which merge takes rules: by where they lead.
func (v *View) sortFound(found []resolvedRule) {
	v.order = make([]int, len(found))
	for i := range v.order {
		v.order[i] = i
	}
	slices.SortFunc(v.order, func(a, b int) int {
		return cmp.Or(ComparePaths(found[a].to.Path, found[b].to.Path), a-b)
	})
}

// Sort puts parents before children and works out what each mount amounts to.
func (v *View) Sort() {
	slices.SortFunc(v.Entries, func(a, b Entry) int { return ComparePaths(a.Path, b.Path) })
	v.nest()
}

// nest works that out of sorted entries.
func (v *View) nest() {
	over := -1
	for i := range v.Entries {
		m := &v.Entries[i]
		for over >= 0 && !policy.Within(m.Path, v.Entries[over].Path) {
			over = v.Entries[over].Parent
		}
		m.Parent = over
		m.Access = v.effectiveAccess(m)
		over = i
	}
}

// effectiveAccess is a mount's access where it stands. One that protects or hides what
// no one can see changes nothing, nor does a private directory for which there
// is no place.
func (v *View) effectiveAccess(m *Entry) policy.Access {
	over := v.outerAccess(m)
	m.Redundant = false
	if m.Pinned || m.Src != "" || m.Copied || m.Overlaid {
		return m.Rule.Access
	}
	a := m.rules.Access(over)
	switch {
	case a == policy.Private && m.Rule.Access == policy.Private && (Shows(over) || over == policy.Block):
		switch m.Info.Kind {
		case host.Dir:
		case host.Absent:
			m.Redundant = true
			return over
		default:
			return policy.Block // a file in place of the directory
		}
	case m.Rule.Access != a && !(a == policy.Protect || a == policy.Read):
		m.Redundant = true
	}
	if m.Rule.Access == policy.Protect && m.rules.Give == nil && a != policy.Protect {
		m.Redundant = true
	}
	return a
}

// parent is the entry that one lies in, nil for none.
func (v *View) parent(m *Entry) *Entry {
	if m.Parent < 0 {
		return nil
	}
	return &v.Entries[m.Parent]
}

// outerAccess is the access of what an entry lies in.
func (v *View) outerAccess(m *Entry) policy.Access {
	if over := v.parent(m); over != nil {
		return over.Access
	}
	return policy.Unseen
}

// ComparePaths orders by elements, so that everything below a directory comes
// right after it.
func ComparePaths(a, b string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] == b[i] {
			continue
		}
		if a[i] == '/' {
			return -1
		}
		if b[i] == '/' {
			return 1
		}
		return int(a[i]) - int(b[i])
	}
	return len(a) - len(b)
}

// pinParents adds the directories between a rule and the top of the writable area it
// lies in: without, `mv .git x` would take the protected files away and leave
// room for others.
func (v *View) pinParents() {
	var pins []Entry
	have := make(map[string]bool)
	for i := range v.Entries {
		m := &v.Entries[i]
		if m.Redundant || m.Access == policy.Write || v.outerAccess(m) != policy.Write {
			continue
		}
		top := v.parent(m)
		for v.outerAccess(top) == policy.Write {
			top = v.parent(top)
		}
		for dir := policy.Dir(m.Path); dir != top.Path && !have[dir]; dir = policy.Dir(dir) {
			have[dir] = true
			if v.At(dir) != nil {
				continue
			}
			r := &policy.Rule{Path: dir, Access: policy.Write, Layer: m.Rule.Layer, Source: m.Rule.Source}
			info := host.Info{Kind: host.Dir}
			if to, err := v.Res.Resolve(dir); err == nil {
				info = to.Info
			}
			pins = append(pins, Entry{Path: dir, Info: info, Rule: r, Pinned: true})
		}
	}
	if len(pins) > 0 {
		v.Entries = append(v.Entries, pins...)
		v.Sort()
	}
}

// nearest is the entry at a path or nearest above it, nil for none.
func (v *View) nearest(path string) *Entry {
	i := v.from(path)
	if i == len(v.Entries) || v.Entries[i].Path != path { // what is before it may hold it, or lie in what does
		for i--; i >= 0 && !policy.Within(path, v.Entries[i].Path); i = v.Entries[i].Parent {
		}
	}
	if i < 0 {
		return nil
	}
	return &v.Entries[i]
}

// At is the entry at a canonical path, nil for none.
func (v *View) At(path string) *Entry {
	if i := v.from(path); i < len(v.Entries) && v.Entries[i].Path == path {
		return &v.Entries[i]
	}
	return nil
}

// from is the index of the first entry that is not before a path.
func (v *View) from(path string) int {
	return sort.Search(len(v.Entries), func(i int) bool { return ComparePaths(v.Entries[i].Path, path) >= 0 })
}

// Overlay shows a directory that is read-only by a built-in rule, on a file system,
// so that the command can write over it, and what it writes is gone with the run.
func (v *View) Overlay(path string, dev uint64) {
	m := v.nearest(path)
	info, err := v.Host.FS.Lstat(path)
	if m == nil || m.Access != policy.Read || m.Rule.Layer != policy.Builtin || m.Src != "" || err != nil || info.Dev != dev {
		return
	}
	rule := *m.Rule
	rule.Access = policy.Read
	rule.Source += "; changes end with the run"
	if m.Path != path {
		v.Entries = append(v.Entries, Entry{Path: path, Info: info, rules: m.rules, Rule: &rule, Overlaid: true})
	} else {
		m.Rule, m.Overlaid = &rule, true
	}
	v.Sort()
}

// Has reports whether a rule is in force at a canonical path that exists.
func (v *View) Has(path string) bool {
	m := v.At(path)
	return m != nil && !m.Redundant
}

// Access returns what may be done with a canonical path.
func (v *View) Access(path string) policy.Access {
	if m := v.nearest(path); m != nil {
		return m.Access
	}
	return policy.Unseen
}

// Shows reports whether the host's own file at a canonical path can be seen.
func Shows(a policy.Access) bool {
	return a == policy.Read || a == policy.Write || a == policy.Protect
}

// Needed reports whether a mount gives its path anything that what lies above does
// not give already.
func (v *View) Needed(m *Entry) bool {
	over := v.outerAccess(m)
	if m.Path == "/" || m.Redundant {
		return false
	}
	switch m.Access {
	case policy.Private:
		return true
	case policy.Write:
		// A writable directory in a writable tree is bound all the same: a
		// mount point cannot be renamed.
		return over != policy.Write || m.Info.Kind == host.Dir
	case policy.Read, policy.Protect:
		return m.Copied || m.Overlaid || over != policy.Read && over != policy.Protect
	case policy.Block:
		return v.masked(m)
	}
	return false
}

// masked reports whether hiding a path takes a mount: what the caller cannot
// read, the command cannot either.
func (v *View) masked(m *Entry) bool {
	return m.Info.Kind == host.Dir || v.Host.UID == 0 || m.Info.UID == v.Host.UID || v.Host.FS.Access(m.Path, 'r') ||
		v.Host.FS.Access(m.Path, 'w')
}

// Rule is a place with the rule that is in force there.
type Rule struct {
	Path    string // as seen inside
	Access  policy.Access
	Written string // the path of the rule, variables expanded, links kept; its last element may be a pattern
	Layer   policy.Layer
	Source  string
	Pinned  bool // no rule of its own: held in place for what is below it
	Closed  bool // private by its rule; without mounts it is the host's own, which cannot be opened
}

// Word names the access as people are shown it.
func (m *Rule) Word() string {
	if m.Closed {
		return Closed
	}
	return m.Access.String()
}

// Closed is the word for a private place with Landlock and sandbox-exec.
const Closed = "closed"

// SourceRun is the source of the rules for the directory of a run with Landlock
// or sandbox-exec.
const SourceRun = "sbx"

// Rules are the rules in force, parents first, and after them the links that no one
// may replace, as rules for what is held in place: their names are hidden or
// protected, what they lead to has a rule of its own.
func (v *View) Rules() []Rule {
	var out []Rule
	for m := range v.InForceEntries() {
		r := v.RuleOf(m)
		r.Path = v.Inside(m.Path)
		out = append(out, r)
	}
	for _, l := range v.HeldLinks {
		out = appendNew(out, Rule{Path: l.Path, Access: policy.Write, Written: l.Path, Source: SourceRun, Pinned: true})
	}
	return out
}

// RuleOf is what an entry says, at its path on the host.
func (v *View) RuleOf(m *Entry) Rule {
	return Rule{Path: m.Path, Access: m.Access, Written: m.Rule.Path, Layer: m.Rule.Layer, Source: m.Rule.Source,
		Pinned: m.Pinned, Closed: v.NoMounts && m.Access == policy.Private}
}

// InForceEntries are the entries that decide about their paths.
func (v *View) InForceEntries() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for i := range v.Entries {
			if m := &v.Entries[i]; v.InForce(m) && !yield(m) {
				return
			}
		}
	}
}
