package verify

import (
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// entry is what a snapshot keeps of a name.
type entry struct {
	Kind   string
	Mode   uint32
	UID    int
	Mtime  int64 // nanoseconds
	Size   int64 // bytes, of files
	Target string
}

// tree is a snapshot: names to what they were.
type tree map[string]entry

// maxEntries bounds a snapshot.
const maxEntries = 20000

// compare proves that a run left nothing: the names, types, modes, times and
// link targets at the top of the project and of the home directories are what
// they were. What cannot have come from a sandbox, another program's new
// content, leaves the question open.
// Where the probe could make something, which is a hole of its own, a
// directory's time says no more.
func compare(before, after tree, site *Site, touched map[string]bool) []Result {
	var out []Result
	add := func(path string, v Verdict, detail string) {
		out = append(out, Result{Section: secResidue, Name: "changed", Subject: path, Verdict: v, Detail: detail})
	}
	paths := make([]string, 0, len(before))
	for p := range before {
		paths = append(paths, p)
	}
	for p := range after {
		if _, ok := before[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	for _, p := range paths {
		_, had := before[p]
		if _, has := after[p]; had != has {
			touched[policy.Dir(p)] = true
		}
	}
	for _, p := range paths {
		was, had := before[p]
		is, has := after[p]
		switch {
		case had && !has:
			add(p, Hole, "it is gone")
		case !had && (strings.Contains(p, site.Nonce) || is.Size == 0 || site.names(p)):
			add(p, Hole, "it is new, as a mount point or a stub would be")
		case !had:
			add(p, Unchecked, "it is new; if another program made it, verify again")
		case was.Kind != is.Kind || was.Mode != is.Mode || was.UID != is.UID || was.Target != is.Target:
			add(p, Hole, "its type, mode, owner or target has changed")
		case was.Size == is.Size && touched[p]:
		case was != is:
			add(p, Unchecked, "its time or size has changed; if another program wrote it, verify again")
		}
	}
	if len(out) == 0 && len(before) >= maxEntries {
		add("project and home", Unchecked, "there are more names than are looked at")
	}
	if len(out) == 0 {
		out = append(out, Result{Section: secResidue, Name: "unchanged", Subject: "project and home", Verdict: Proved, Detail: "names, types, modes, times and link targets of the two upper levels are what they were"})
	}
	for i := range out {
		out[i].Control = "looked at before and after"
	}
	return out
}

// names reports whether a path is one that the policy speaks of.
func (s *Site) names(path string) bool {
	return slices.ContainsFunc(s.Hidden, func(h Secret) bool { return h.Path == path }) || slices.ContainsFunc(s.Guarded, func(g Guarded) bool { return g.Path == path })
}
