// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// IsProjectFile reports whether a path is called as project files are.
func IsProjectFile(path string) bool {
	return slices.Contains([]string{".sbx.toml", ".sbx.hcl"}, filepath.Base(path))
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
	names := s.Outside.instead(asked) // the project's own stands on top of the default
	if !slices.ContainsFunc(names, func(name string) bool { return !s.Outside.Profiles.Module(name) }) {
		names = append([]string{s.Outside.DefaultProfile}, names...) // modules add to the default
	}
	base, err := s.Outside.Profiles.Values(names, over...)
	if err != nil {
		return err
	}
	keep := func(key, from string, to *string) {
		if from = cmp.Or(from, policy.KeyOf(key).Unsaid()); !policy.Wider(key, from, *to) {
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

// instead are the profiles in whose place the named ones would be used with these
// settings: itself, or the default for one that there is not.
func (s *Settings) instead(names []string) []string {
	out := slices.Clone(names)
	for i, name := range names {
		if s.Profiles[name] == nil {
			out[i] = s.DefaultProfile
		}
	}
	return out
}
