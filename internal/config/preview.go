// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Preview is what it would mean to trust a project file.
type Preview struct {
	Asks    []string // keys that count only when the file is trusted
	Never   []string // keys that do not count even then
	Loosens []Looser // what these come to on this host
	Filters []string // files of seccomp rules beside or below it that it names
}

// Looser is one thing that a run may do because a project file is trusted.
type Looser struct {
	Profiles []string `json:"profiles"` // selections it is so for: "moderate", "moderate + node"; none in particular
	policy.Change
}

// PreviewTrust compares what the i-th of the files, a project's, does when it is
// trusted with what it does when it is not. The error says why it cannot be
// used: it does not parse, or it goes against what the administrator locked.
func PreviewTrust(builtin policy.Set, files []File, i int, vars policy.Vars) (*Preview, error) {
	with := slices.Clone(files)
	with[i].Trusted = true
	after, err := Load(builtin, with, vars)
	if err != nil {
		return nil, err
	}
	byDefault, err := policy.Resolve(after.Profiles, []string{after.DefaultProfile}, vars)
	if err == nil {
		err = after.CheckLocked(byDefault, vars, false)
	}
	if err != nil {
		return nil, err
	}
	with[i].Trusted = false
	before, err := Load(builtin, with, vars)
	if err != nil {
		// Too large, say, for a file that is not trusted. Runs are refused then;
		// what they do without the file is what there is to compare with.
		if before, err = Load(builtin, slices.Delete(with, i, i+1), vars); err != nil {
			return nil, err
		}
	}
	t := preview{before: before, after: after, vars: vars, path: files[i].Path}
	t.keys()
	t.filters()
	return &t.Preview, t.loosens()
}

type preview struct {
	Preview
	before, after *Settings
	vars          policy.Vars
	path          string
}

func (t *preview) keys() {
	t.Never = ignoredIn(t.after, t.path)
	t.Asks = slices.DeleteFunc(slices.Clone(ignoredIn(t.before, t.path)), func(key string) bool {
		return slices.Contains(t.Never, key)
	})
}

// filters finds the files of rules whose content is agreed to together with the file.
func (t *preview) filters() {
	for _, name := range t.after.Profiles.Names() {
		for _, p := range t.after.Profiles[name] {
			if !strings.HasPrefix(p.Where["seccomp"], text.Plain(t.path)+":") || !policy.SeccompFile(p.Seccomp) {
				continue
			}
			path, ok, err := t.vars.Expand(p.Seccomp)
			// Another project file is agreed to by its own name, when its words are shown.
			if ok && err == nil && !IsProjectFile(path) && policy.Within(path, policy.Dir(t.path)) && !slices.Contains(t.Filters, path) {
				t.Filters = append(t.Filters, path)
			}
		}
	}
}

func ignoredIn(s *Settings, path string) []string {
	for _, i := range s.Ignored {
		if i.Path == path {
			return i.Keys
		}
	}
	return nil
}

// loosens compares the settings at the top, every profile, and those that the
// project adds to on top of every other: a list that one profile replaces or a
// value that it says may matter only there.
func (t *preview) loosens() error {
	b, a := t.before, t.after
	if b.DefaultProfile != a.DefaultProfile {
		t.add("", policy.Change{Key: "default_profile", What: a.DefaultProfile, From: b.DefaultProfile,
			To: a.DefaultProfile, Wider: true})
		if err := t.compare("the default", []string{b.DefaultProfile}, []string{a.DefaultProfile}); err != nil {
			return err
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(a.Tools)) {
		if from, to := b.Tools[tool], a.Tools[tool]; from != to {
			t.add("", policy.Change{Key: "tools." + tool, What: to, From: from, To: to, Wider: true})
		}
	}
	var selections [][]string
	names := a.Profiles.Names()
	for _, name := range names {
		selections = append(selections, []string{name})
	}
	for _, top := range names {
		if slices.ContainsFunc(a.Profiles[top], func(p *policy.Profile) bool { return p.Layer == policy.Project }) {
			for _, name := range names {
				selections = append(selections, []string{name, top})
			}
		}
	}
	for _, s := range selections {
		if err := t.compare(strings.Join(s, " + "), b.instead(s), s); err != nil {
			return err
		}
	}
	return nil
}

func (t *preview) compare(label string, before, after []string) error {
	b, err := policy.Resolve(t.before.Profiles, before, t.vars)
	if err != nil {
		return err
	}
	a, err := policy.Resolve(t.after.Profiles, after, t.vars)
	if err != nil {
		return err
	}
	changes := policy.Widened(b, a)
	for _, agent := range Agents {
		holds := func(s *Settings, names []string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return s.Profiles.Holds(name, agent) })
		}
		if holds(t.after, after) && !holds(t.before, before) {
			changes = append(changes, policy.Change{Key: "extends", What: agent, From: "closed",
				To: "open: signs with every key of the agent", Wider: true})
		}
	}
	for _, c := range changes {
		// A pair of profiles is of interest for what neither does alone.
		if len(after) == 2 && slices.ContainsFunc(t.Loosens,
			func(l Looser) bool { return l.Key == c.Key && l.What == c.What && l.To == c.To }) {
			continue
		}
		t.add(label, c)
	}
	return nil
}

// add notes a change once, with all selections that it is made for.
func (t *preview) add(label string, c policy.Change) {
	i := slices.IndexFunc(t.Loosens, func(l Looser) bool { return l.Change == c })
	if i < 0 {
		i = len(t.Loosens)
		t.Loosens = append(t.Loosens, Looser{Profiles: []string{}, Change: c})
	}
	if label != "" {
		t.Loosens[i].Profiles = append(t.Loosens[i].Profiles, label)
	}
}
