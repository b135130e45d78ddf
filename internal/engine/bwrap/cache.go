package bwrap

import (
	"slices"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// cache plans the private cache of the project: a directory of sbx's own that
// is seen as ~/.cache. A link anywhere on its way is refused, since a command
// in another sandbox might have left it there.
func cache(p *engine.Plan, req engine.Request, v *view.View, pol *policy.Policy) error {
	if pol.Cache != "private" || req.Cache == "" || len(v.Host.Homes) == 0 {
		return nil
	}
	home, err := v.Res.Resolve(v.Host.Homes[0])
	if err != nil || v.Access(home.Path) != policy.Private {
		return nil
	}
	dst := host.Join(home.Path, ".cache")
	if v.At(dst) != nil {
		return nil
	}
	src, err := p.CacheDir(req, v)
	if err != nil {
		return err
	}
	if p.Report.Unkept != "" { // an empty one, which ends with the run
		r := &policy.Rule{Path: dst, Access: policy.Private, Layer: policy.Builtin, Source: view.SourceCache}
		v.Entries = append(v.Entries, view.Entry{Path: dst, Info: host.Info{Kind: host.Dir}, Rule: r})
		v.Sort()
		p.CacheDst = dst
		return nil
	}
	r := &policy.Rule{Path: dst, Access: policy.Write, Layer: policy.Builtin, Source: view.SourceCache}
	// What the rules say of the host's ~/.cache is not about this one, and a
	// mask there would need a mount point in it.
	v.Entries = slices.DeleteFunc(v.Entries, func(m view.Entry) bool { return policy.Within(m.Path, dst) && !view.IsGrant(m.Rule) })
	// A mount point in the cache is made by bwrap, which follows links there: a
	// command may have left some.
	for _, m := range v.Entries {
		if !policy.Within(m.Path, dst) {
			continue
		}
		for at := m.Path; at != dst; at = policy.Dir(at) {
			if info, err := v.Host.FS.Lstat(src + at[len(dst):]); err != nil || info.Kind == host.Link {
				return engine.Fail(text.Plain(at)+" is a link in the private cache, and nothing can be opened through it", "remove "+text.Plain(src+at[len(dst):]))
			}
		}
	}
	v.Links = slices.DeleteFunc(v.Links, func(l host.Hop) bool { return policy.Within(l.Path, dst) })
	v.Entries = append(v.Entries, view.Entry{Path: dst, Info: host.Info{Kind: host.Dir}, Rule: r, Src: src})
	v.Sort()
	p.CacheDst = dst
	return nil
}
