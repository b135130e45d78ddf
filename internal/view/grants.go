// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// validateGrants drops or refuses grants that a link leads somewhere they were not meant
// to go, and settles the others. A link is data of whoever could write the
// directory it lies in: grants on whose way no such link lies count first, and
// each of the rest is held against what those give.
func (v *View) validateGrants(found []resolvedRule) error {
	for i := range found {
		p := &found[i]
		if p.skip = p.rule.Lent != 0; p.skip {
			continue // see openToolDirs
		}
		err := v.validateTarget(p)
		if err == nil {
			err = validateHidden(found, p)
		}
		if err != nil {
			if p.rule.Layer != policy.Builtin {
				return RuleError(p.rule, err)
			}
			v.skip(p, err)
		}
	}
	linked := v.setAside(found)
	// Writable ones first: each may make another's link one that a command
	// could have made.
	slices.SortStableFunc(linked, func(a, b *resolvedRule) int { return int(a.rule.Access) - int(b.rule.Access) })
	for _, p := range linked {
		p.planted = v.plantable(p.to.Links)
	}
	// Twice: the second time each is held against all the others.
	for range min(2, 2*len(linked)) {
		for _, p := range linked {
			p.skip = true
			v.merge(found)
			err := v.validateLinks(p)
			if err != nil && p.rule.Layer != policy.Builtin {
				return RuleError(p.rule, err)
			}
			p.skip = err != nil
		}
		v.merge(found)
	}
	for _, p := range linked {
		if p.skip {
			v.skip(p, v.validateLinks(p))
		}
	}
	v.openToolDirs(found)
	return nil
}

// setAside leaves out, and returns, the grants on whose way a link lies that someone
// may have made, and merges the others.
func (v *View) setAside(found []resolvedRule) (linked []*resolvedRule) {
	leave := func(doubtful func(p *resolvedRule) bool) (some bool) {
		for i := range found {
			if p := &found[i]; !p.skip && IsGrant(p.rule) && doubtful(p) {
				linked = append(linked, p)
				p.skip, some = true, true
			}
		}
		return some
	}
	leave(func(p *resolvedRule) bool {
		return p.to.Info.Kind != host.Absent && slices.ContainsFunc(p.to.Links,
			func(l host.Hop) bool { return !v.Host.TrustedLink(l) })
	})
	v.merge(found)
	// A link of the system's counts as any other where it can be replaced.
	for leave(func(p *resolvedRule) bool { return v.plantable(p.to.Links) }) {
		v.merge(found)
	}
	return linked
}

func (v *View) skip(p *resolvedRule, why error) {
	p.skip = true
	if why == nil {
		why = errors.New(text.Plain(p.name) + " leads through a link that a command could have made")
	}
	v.Gaps = append(v.Gaps, p.rule.Source+": not opened: "+why.Error())
	v.refuse(p, why)
}

func (v *View) refuse(p *resolvedRule, why error) {
	if v.Refused == nil {
		v.Refused = make(map[string]string, 4)
	}
	v.Refused[p.name] = "not opened: " + why.Error()
}

func IsGrant(r *policy.Rule) bool { return r.Access == policy.Read || r.Access == policy.Write }

// plantable reports whether one of the links lies in a writable directory.
func (v *View) plantable(links []host.Hop) bool {
	return slices.ContainsFunc(links, func(l host.Hop) bool { return v.Access(policy.Dir(l.Path)) == policy.Write })
}

// validateTarget refuses what is not a place for binds (/proc and /dev belong to the
// sandbox, and a bind of the host's would undo that) or not for writing.
func (v *View) validateTarget(p *resolvedRule) error {
	if !IsGrant(p.rule) || p.to.Info.Kind == host.Absent {
		return nil
	}
	for _, dir := range []string{"/proc", "/dev"} {
		if policy.Within(p.to.Path, dir) {
			return fmt.Errorf("%s: %s is the sandbox's own and cannot be opened", text.Plain(p.to.Path), dir)
		}
	}
	if p.rule.Access == policy.Write && !p.rule.OfCWD {
		return v.Host.Writable(p.to.Path)
	}
	if p.rule.OfCWD && len(p.to.Links) > 0 { // it was canonical: another sandbox, above, has put a link in its way
		return fmt.Errorf("%s leads to %s now", text.Plain(p.name), text.Plain(p.to.Path))
	}
	return nil
}

// validateHidden refuses a grant through a link to something hidden that the grant
// does not name.
func validateHidden(found []resolvedRule, p *resolvedRule) error {
	if !IsGrant(p.rule) || len(p.to.Links) == 0 || p.to.Info.Kind == host.Absent {
		return nil
	}
	for i := range found {
		b := &found[i]
		if b.rule.Access != policy.Block || b.to.Info.Kind == host.Absent || !policy.Within(p.to.Path, b.to.Path) {
			continue
		}
		if policy.Within(p.name, b.name) && b.to.Path+p.name[len(b.name):] == p.to.Path {
			continue // the same way leads to both, and the grant goes further on it
		}
		return fmt.Errorf("%s leads to %s, which is hidden (%s); to open it, name it", text.Plain(p.name),
			text.Plain(p.to.Path), b.rule.Source)
	}
	return nil
}

// validateLinks refuses a grant through a link that a command could have made and
// that gives more than the command has anyway.
func (v *View) validateLinks(p *resolvedRule) error {
	for _, l := range p.to.Links {
		link, to := text.Plain(l.Path)+" is a link to "+text.Plain(l.Text), text.Plain(p.to.Path)
		if (p.planted || v.Access(policy.Dir(l.Path)) == policy.Write) && wider(p.rule.Access, v.Access(p.to.Path)) {
			return fmt.Errorf("%s in a directory the sandbox can write; to open the target, name it: %s", link, to)
		}
		if p.rule.Layer == policy.Builtin && v.Host.Shared(l) {
			return fmt.Errorf("%s is a link in a directory that sandboxes may have written", text.Plain(l.Path))
		}
		if p.rule.Access == policy.Write && p.rule.Layer != policy.Builtin && !v.Host.TrustedLink(l) && !v.Host.OwnLink(l) {
			return fmt.Errorf("%s, and a command could have made it; to make the target writable, name it: %s", link, to)
		}
	}
	return nil
}

// wider reports whether a grant gives more of the host than there is already.
func wider(grant, has policy.Access) bool {
	if grant == policy.Write {
		return has != policy.Write
	}
	return !Shows(has)
}
