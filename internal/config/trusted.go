// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// trusted adds a project file that the user has agreed to. Its profiles count
// in full, as do default_profile and tools. All the rest at the top can only
// be tightened, as by a file that is not trusted:
//   - enabled, fallback_on_unavailable, min_tier, tripwire and direct decide whether a
//     run may go on with less than was asked for, which is never a project's
//     to say;
//   - shell and shells name a program, whose content no one has agreed to, and it runs
//     without a sandbox where --no-sandbox or a fallback says so;
//   - roots and login_fallback are about what the user's own shell may do;
//   - hints are about what the user gets to know.
func (l *loader) trusted(doc *document) error {
	t := newTightener(l, doc)
	for i, p := range doc.profiles {
		q, err := t.withFloor(p)
		if err != nil {
			return err
		}
		doc.profiles[i] = q
	}
	if err := l.addProfiles(doc); err != nil {
		return err
	}
	if err := t.settings(); err != nil {
		return err
	}
	t.notice("since a project file, trusted or not, may only tighten these")
	return nil
}

// withFloor returns a profile without what would let a run go on with less than
// was asked for. [Settings.KeepFloor] sees to it that this holds; leaving the
// keys out is for the notice.
func (t *tightener) withFloor(p *profileDoc) (*profileDoc, error) {
	said, err := t.said(p.Name)
	if err != nil {
		return nil, err
	}
	drop := map[string]string{"min_tier": "reduced", "limits": "best-effort", "on_unmasked": "warn"}
	for _, s := range p.Scalars() {
		switch {
		case drop[s.Key] != s.Value:
			delete(drop, s.Key)
		case said[s.Key] != s.Value:
			t.ignore(p.keyName(s.Key), p.keyAt[s.Key])
		}
	}
	return t.doc.profile(p.entry, func(key string) bool { return drop[key] == "" })
}

// KeepFloor puts back into a policy what no project file may take from a run, a
// trusted one neither, however it goes about it (by a profile that it extends
// or makes the default): the tier that is needed, that limits are
// enforced, and that a run ends when what is hidden from it is not any more. Asked are the profiles
// that the user named, none when the default
// counts; over are the flags on top of them, which are the user's own word.
func (s *Settings) KeepFloor(pol *policy.Policy, asked []string, vars policy.Vars, over ...*policy.Profile) error {
	if s.Outside == nil {
		return nil
	}
	names := slices.Clone(asked)
	for i, name := range names {
		if s.Outside.Profiles[name] == nil {
			names[i] = s.Outside.DefaultProfile // the project's own stands on top of that
		}
	}
	if !slices.ContainsFunc(names, func(name string) bool { return !s.Outside.Profiles.Module(name) }) {
		names = append([]string{s.Outside.DefaultProfile}, names...) // modules add to the default
	}
	base, err := policy.Resolve(s.Outside.Profiles, names, vars, over...)
	if err != nil {
		return err
	}
	keep := func(key, from string, to *string) {
		if !policy.Wider(key, from, *to) {
			return
		}
		*to = from
		if pol.Where != nil {
			pol.Where[key] = base.Where[key]
		}
	}
	keep("min_tier", base.MinTier, &pol.MinTier)
	keep("limits", base.Limits, &pol.Limits)
	keep("on_unmasked", base.OnUnmasked, &pol.OnUnmasked)
	return nil
}
