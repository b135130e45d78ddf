// SPDX-License-Identifier: Apache-2.0

package view

import (
	"path/filepath"
	"slices"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// looseLinks reports the protected and hidden names that are links in a
// writable directory: where they lead is safe, the name itself can be replaced.
func (v *View) looseLinks(found []resolvedRule) {
	for _, p := range found {
		if p.rule.Access != policy.Protect && p.rule.Access != policy.Block || len(p.to.Links) == 0 {
			continue
		}
		for _, l := range p.to.Links {
			if v.Access(policy.Dir(l.Path)) != policy.Write {
				continue
			}
			if v.DenyAbsent {
				v.HeldLinks = append(v.HeldLinks, l)
				continue
			}
			if p.rule.Access == policy.Protect && !p.rule.Pattern { // those of patterns are watched as such
				v.replaceableLinks = append(v.replaceableLinks, l)
			}
			v.Loose = append(v.Loose, text.Plain(l.Path)+" is a link in a writable directory: what it leads to is "+
				p.rule.Access.String()+"ed now, but the command can replace the link")
		}
	}
}

// keepLinks remembers the links that lead to something visible and that no
// bind brings along, for instance /bin -> usr/bin.
func (v *View) keepLinks(found []resolvedRule) {
	for _, p := range found {
		a := p.rule.Access
		if a == policy.Block || a == policy.Protect || p.skip || !Shows(v.Access(p.to.Path)) && a != policy.Private {
			continue
		}
		v.addLinks(p.to.Links)
	}
}

func (v *View) addLinks(links []host.Hop) {
	for _, l := range links {
		if v.carries(l) {
			continue
		}
		switch v.Access(policy.Dir(l.Path)) {
		case policy.Unseen, policy.Private:
			v.Links = append(v.Links, l)
		case policy.Block:
			if v.DenyAbsent { // where it is hidden it can be walked through
				v.Links = append(v.Links, l)
			}
		}
	}
}

// carries reports whether a link exists inside.
func (v *View) carries(l host.Hop) bool {
	if v.NoMounts || Shows(v.Access(policy.Dir(l.Path))) {
		return true
	}
	return slices.ContainsFunc(v.Links, func(o host.Hop) bool { return o.Path == l.Path })
}

// Visible resolves a path as the sandbox will see it. ok is false when it or
// a link on the way does not exist inside.
func (v *View) Visible(path string) (host.Resolved, bool) {
	to, err := v.Res.Resolve(filepath.Clean(path))
	if err != nil || to.Info.Kind == host.Absent || !Shows(v.Access(to.Path)) {
		return to, false
	}
	if m := v.nearest(to.Path); m != nil && m.Src != "" && to.Path != m.Path { // other content, as that of the private cache
		own, err := v.Res.Resolve(m.Src + to.Path[len(m.Path):])
		return own, err == nil && own.Info.Kind != host.Absent && len(own.Links) == 0 && v.carriesAll(to.Links)
	}
	if v.DenyAbsent { // any link can be opened
		v.addLinks(to.Links)
	}
	return to, v.carriesAll(to.Links)
}

func (v *View) carriesAll(links []host.Hop) bool {
	return !slices.ContainsFunc(links, func(l host.Hop) bool { return !v.carries(l) })
}

// addAliases adds the places at which a hidden or protected file has another
// name through a mount: what is hidden in the home directory is hidden in a
// bind mount of it, too.
func (v *View) addAliases(found []resolvedRule) ([]resolvedRule, error) {
	mounts, err := v.Host.FS.Mounts()
	if err != nil {
		return nil, failed("cannot list the mounts of this machine: "+err.Error(), "is /proc mounted?")
	}
	t := host.NewMountTable(mounts)
	v.table = t
	if len(t.Twice) == 0 {
		return found, nil
	}
	for _, p := range found {
		if IsGrant(p.rule) || p.rule.Access == policy.Private || p.to.Info.Kind == host.Absent {
			continue
		}
		for _, path := range t.Aliases(p.to.Path) {
			info, err := v.Host.FS.Lstat(path)
			if err == nil && info.Kind == host.Absent && v.Res.Makes(p.to.Path) {
				// It will be there when the one that it is another name of is made.
				v.Res.Make(path, v.Host.UID)
				info = p.to.Info
			}
			if err != nil || info.Kind == host.Absent || info.Kind == host.Link {
				continue
			}
			found = append(found, resolvedRule{rule: p.rule, name: path, to: host.Resolved{Path: path, Info: info}})
		}
	}
	return found, nil
}
