// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/tripwire"
)

// namePattern is a pattern of protected names with what it matches now.
type namePattern struct {
	path    string // canonical but for the pattern
	members []resolvedRule
}

// WatchList lists the protected names that the command can make, since they do
// not exist, or replace, since they are links: where it can write at all, but for
// the directory for temporary files of a session, which is gone with that.
func (v *View) WatchList(more []tripwire.Watch, temporary string) []tripwire.Watch {
	out := slices.Clone(more)
	for _, path := range v.absentNames {
		out = append(out, tripwire.Watch{Kind: tripwire.Name, Path: path})
	}
	for _, l := range v.replaceableLinks {
		out = append(out, tripwire.Watch{Kind: tripwire.Name, Path: l.Path, State: "link " + l.Text})
	}
	for _, f := range v.patterns {
		names := make([]string, 0, len(f.members))
		for _, m := range f.members {
			names = append(names, host.Base(m.name))
		}
		out = append(out, tripwire.Watch{Kind: tripwire.Pattern, Path: f.path, State: strings.Join(names, "/")})
	}
	out = slices.DeleteFunc(out, func(w tripwire.Watch) bool {
		return !v.creates(w) || temporary != "" && policy.Within(w.Path, temporary)
	})
	for i := range out {
		w := &out[i]
		names := w.Open
		w.Open = nil
		for _, rel := range names {
			if v.Access(host.Join(w.Path, rel)) == policy.Write {
				w.Open = append(w.Open, rel)
			} else {
				w.Shut = append(w.Shut, rel)
			}
		}
	}
	slices.SortFunc(out, func(a, b tripwire.Watch) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind))
	})
	return slices.CompactFunc(out, func(a, b tripwire.Watch) bool { return a.Kind == b.Kind && a.Path == b.Path })
}

// creates reports whether the command can make or replace what is watched.
func (v *View) creates(w tripwire.Watch) bool {
	dir := policy.Dir(w.Path)
	switch w.Kind {
	case tripwire.Repository:
		return true // of a git directory that is open, wherever its work tree is
	case tripwire.Nested, tripwire.Listed:
		dir = w.Path
	}
	m := v.nearest(dir) // a Src is not the host's own file: the private cache
	return m != nil && m.Access == policy.Write && m.Src == ""
}
