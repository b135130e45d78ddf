// SPDX-License-Identifier: Apache-2.0

package view

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// What is hidden is a mount each, and each mount takes bwrap longer than the one
// before it. So up to fewMasks names in a directory are hidden one by one; in a
// directory that the command can write, where it could make no other file then, up to
// manyMasks, which is also how many there may be in all without a word about it.
const (
	fewMasks  = 20
	manyMasks = 200
)

// HideWholeDirs hides the directories of which all that is in them is hidden, where
// that is much.
func (v *View) HideWholeDirs() {
	in, all := make(map[string]int), 0
	for i := range v.Entries {
		if m := &v.Entries[i]; m.Access == policy.Block && v.Needed(m) {
			in[policy.Dir(m.Path)]++
			all++
		}
	}
	for _, dir := range slices.SortedFunc(maps.Keys(in), func(a, b string) int { return strings.Compare(b, a) }) {
		n, most := in[dir], fewMasks
		if v.Access(dir) == policy.Write {
			most = manyMasks
		}
		if n <= most {
			continue
		}
		if m, ok := v.wholeMask(dir); ok {
			v.Entries = slices.DeleteFunc(v.Entries, func(m Entry) bool { return policy.Within(m.Path, dir) })
			v.Entries = append(v.Entries, m)
			v.Sort()
			all -= n - 1
		}
	}
	if all > manyMasks {
		v.Once = append(v.Once, strconv.Itoa(all)+" files and directories are hidden one by one, which takes long at each "+
			"start: block the directories that they are in")
	}
}

// wholeMask hides a directory whose every name is hidden, and that no rule is about. What
// git tracks keeps its name: git would take it for removed.
func (v *View) wholeMask(dir string) (Entry, bool) {
	var first *policy.Rule
	for i := v.from(dir); i < len(v.Entries) && policy.Within(v.Entries[i].Path, dir); i++ {
		switch m := &v.Entries[i]; {
		case m.Path == dir && m.Pinned:
		case m.Path == dir || m.Access != policy.Block || m.tracked:
			return Entry{}, false
		case first == nil:
			first = m.Rule
		}
	}
	to, err := v.Res.Resolve(dir)
	entries, unread := v.Res.Entries(dir)
	if err != nil || unread != nil || !hideable(v.Host, dir) || policy.Within(v.Root, dir) ||
		slices.ContainsFunc(entries, func(e host.Entry) bool { return !v.Has(host.Join(dir, e.Name)) }) {
		return Entry{}, false
	}
	return Entry{Path: dir, Info: to.Info, Rule: first, rules: policy.RuleSet{Give: first}, Access: policy.Block}, true
}
