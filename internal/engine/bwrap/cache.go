// SPDX-License-Identifier: Apache-2.0

package bwrap

import (
	"slices"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// addCache shows the private cache of the project as ~/.cache, or an empty
// directory that ends with the run. A link anywhere on its way is refused, since a
// command in another sandbox might have left it there.
func addCache(r *engine.Run) error {
	dst, src, err := r.Cache()
	switch {
	case err != nil || dst == "":
		return err
	case src == "":
		r.AddCache(dst, "", policy.Private)
		return nil
	}
	v := r.View
	// What the rules say of the host's ~/.cache is not about this one, and a
	// mask there would need a mount point in it.
	v.Entries = slices.DeleteFunc(v.Entries, func(m view.Entry) bool {
		return policy.Within(m.Path, dst) &&
			!view.IsGrant(m.Rule)
	})
	// A mount point in the cache is made by bwrap, which follows links there: a
	// command may have left some. What only a variable names is left out then.
	for _, m := range slices.Clone(v.Entries) {
		at := planted(v, m.Path, dst, src)
		switch {
		case at == "":
		case m.Rule.Lent > 0:
			v.Entries = slices.DeleteFunc(v.Entries, func(o view.Entry) bool { return o.Path == m.Path })
		default:
			what := "no directory"
			if info, _ := v.Host.FS.Lstat(src + at[len(dst):]); info.Kind == host.Link {
				what = "a link"
			}
			return engine.Fail(text.Plain(at)+" is "+what+" in the private cache, and nothing can be opened through it",
				"remove "+text.Plain(src+at[len(dst):]))
		}
	}
	v.Links = slices.DeleteFunc(v.Links, func(l host.Hop) bool { return policy.Within(l.Path, dst) })
	r.AddCache(dst, src, policy.Write)
	return nil
}

// planted is what stands in the way to a path below dst in the cache of src: a link, or
// above the path anything but a directory; "" for nothing.
func planted(v *view.View, path, dst, src string) string {
	if !policy.Within(path, dst) {
		return ""
	}
	for at := path; at != dst; at = policy.Dir(at) {
		info, err := v.Host.FS.Lstat(src + at[len(dst):])
		if err != nil || info.Kind == host.Link || at != path && info.Kind != host.Absent && info.Kind != host.Dir {
			return at
		}
	}
	return ""
}
