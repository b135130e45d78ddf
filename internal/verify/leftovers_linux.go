// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/procfs"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// restore puts back what the probe moved and removes what it made, should it have
// died before it could. Only names that were given out are touched.
func restore(tg *target, asked []question) []Result {
	var out []Result
	for _, q := range slices.Backward(asked) {
		undo, path, made := tg.leaves(q)
		if undo == nil || strings.HasPrefix(path, runDir) ||
			lkind(made) == "" { // the directory of the run goes with it
			continue
		}
		r := Result{Section: secLeft, Name: "left", Subject: made, Verdict: hole}
		r.Detail = "the probe could make it on the host"
		err := undo(path, made)
		if q.Act == actRename {
			r.Name, r.Subject, r.Detail = "moved", path, "it had been moved away, and was put back from outside"
			if err != nil {
				r.Detail = fmt.Sprintf("it has been moved away to %s and cannot be put back: %v", text.Plain(made),
					err)
			}
		}
		out = append(out, r)
	}
	return out
}

// leaves is how to undo an act from outside, what it is about, and the name that it
// could leave; nil for an act that leaves nothing.
func (s *target) leaves(q question) (undo func(path, made string) error, path, made string) {
	path, made = s.outsidePath(string(q.Path)), s.outsidePath(string(q.To))
	if made == "" {
		made = path
	}
	return q.act().undo, path, made
}

// touched are the directories of the host in which the probe could change
// something.
func touched(tg *target, asked []question, answers map[int]answer) map[string]bool {
	out := make(map[string]bool)
	for _, q := range asked {
		if a, ok := answers[q.ID]; ok && a.Errno == 0 {
			if undo, _, made := tg.leaves(q); undo != nil {
				out[policy.Dir(made)] = true
			}
		}
	}
	return out
}

// entry is what a snapshot keeps of a name.
type entry struct {
	Mode   uint32 // its type, too
	UID    int
	Mtime  int64 // nanoseconds
	Size   int64 // bytes, but of directories
	Target string
}

// tree is a snapshot: names to what they were.
type tree map[string]entry

// maxEntries bounds a snapshot.
const maxEntries = 20000

// snapshot looks at two levels of the project and of the home directories. sbx's
// own cache, which a run may change, and the directory of this process are left
// out.
func (sub *Subject) snapshot(own string) tree {
	t := make(tree)
	skip := []string{canonical(sub.Cache), canonical(own)}
	for _, root := range append([]string{sub.Host.CWD, sub.Root}, sub.Host.Homes...) {
		t.add(canonical(root), skip, 2)
	}
	return t
}

func (t tree) add(path string, skip []string, levels int) {
	if _, done := t[path]; slices.Contains(skip, path) || len(t) >= maxEntries || done && levels < 2 {
		return
	}
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return
	}
	e := entry{Mode: st.Mode, UID: int(st.Uid), Mtime: st.Mtim.Nano(), Size: st.Size}
	e.Target, _ = os.Readlink(path) // "" of what is no link
	var names []string
	if kindOf(st.Mode) == kindDir {
		if e.Size = 0; levels > 0 {
			names, _ = procfs.Names(path)
		}
	}
	t[path] = e
	for _, name := range names[:min(len(names), maxNames)] {
		t.add(host.Join(path, name), skip, levels-1)
	}
}

// compare proves that a run left nothing: the names, types, modes, times and link
// targets at the top of the project and of the home directories are what they
// were. Where neither the probe nor a mount had to do with it, another program may have
// made the change, which leaves the question open; what another verification beside this
// one makes is its own. Where the probe could make something, which is a hole
// of its own, a directory's time says no more.
func compare(before, after tree, tg *target, touched map[string]bool) []Result {
	all := maps.Clone(before)
	maps.Copy(all, after)
	paths := slices.Sorted(maps.Keys(all))
	for _, p := range paths {
		_, had := before[p]
		if _, has := after[p]; had != has {
			touched[policy.Dir(p)] = true
		}
	}
	var out []Result
	add := func(path string, v Verdict, detail string) {
		out = append(out, Result{Section: secLeft, Name: "changed", Subject: path, Verdict: v, Detail: detail,
			Control: "looked at before and after"})
	}
	for _, p := range paths {
		was, had := before[p]
		is, has := after[p]
		v, other := hole, ""
		if !tg.speaksOf(p) {
			v, other = unchecked, "; if another program did that, verify again"
		}
		switch {
		case v != hole && strings.HasPrefix(base(p), fixture):
		case had && !has:
			add(p, v, "it is gone"+other)
		case !had && v == hole:
			add(p, v, "it is new, as a mount point or a stub would be")
		case !had:
			add(p, v, "it is new"+other)
		case was.Mode != is.Mode || was.UID != is.UID || was.Target != is.Target:
			add(p, v, "its type, mode, owner or target has changed"+other)
		case was.Size == is.Size && touched[p]:
		case was != is:
			add(p, unchecked, "its time or size has changed; if another program did that, verify again")
		}
	}
	const both = "project and home"
	if len(out) == 0 && len(before) >= maxEntries {
		add(both, unchecked, "there are too many names to compare")
	}
	if len(out) == 0 {
		add(both, proved, "names, types, modes, times and link targets of the two upper levels are what they were")
		out[0].Name = "unchanged"
	}
	return out
}

// speaksOf reports whether a path is one that this run could have changed: by a name of
// the probe's, one that it tries to change, or a mount at or below it.
func (s *target) speaksOf(path string) bool {
	at := func(p string) bool { return policy.Within(p, path) }
	return strings.Contains(path, s.Nonce) || slices.ContainsFunc(s.Moves, at) || slices.ContainsFunc(s.Unborn, at) ||
		slices.ContainsFunc(s.Hidden, func(h secret) bool { return at(h.Path) }) ||
		slices.ContainsFunc(s.Guarded, func(g guardedPath) bool { return at(g.Path) }) ||
		slices.ContainsFunc(s.Plan, func(m engine.Mounted) bool { return at(m.Path) })
}
