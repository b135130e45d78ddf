// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Bounds of a project file that is not trusted. Its author may be the
// attacker, and policies are compared rule by rule.
const (
	untrustedSize     = 64 << 10
	untrustedItems    = 256
	untrustedProfiles = 16 // in all such files together: each is compared with what there is without it
	maxNamed          = 12 // ignored keys named in a notice

	tooMuch = ": too much for a project file that is not trusted"
)

// narrow takes out of a project file what is not the project's to say, and adds
// the rest to the loader.
//
// Of a file that is not trusted that is whatever could give more than the trusted
// layers give: no matter which profiles are selected afterwards, alone or together,
// the file must not have made them wider.
//
// The profiles of a file that the user has agreed to count in full, as do
// default_profile and tools. All the rest at the top can only be tightened, as by a
// file that is not trusted:
//   - enabled, fallback_on_unavailable, min_tier, tripwire and direct decide whether a
//     run may go on with less than was asked for, which is never a project's
//     to say;
//   - shell and shells name a program, whose content no one has agreed to, and it runs
//     without a sandbox where --no-sandbox or a fallback says so;
//   - roots and login_fallback are about what the user's own shell may do;
//   - hints are about what the user gets to know.
func (l *loader) narrow(doc *document) (err error) {
	t := &tightener{
		loader: l, doc: doc, trusted: maps.Clone(l.Profiles), usual: fmt.Sprint(l.now(topKey("default_profile"))),
	}
	t.base = sync.OnceValues(func() (*policy.Policy, error) { return t.resolve(t.usual) })
	t.blocked = sync.OnceValues(func() (*policy.Policy, error) { return t.trusted.Blocked(t.vars) })
	why := "a project file, trusted or not, may only tighten these"
	if !doc.file.Trusted {
		why = "this file is not trusted and may only tighten"
		if err := t.limits(); err != nil {
			return err
		}
	}
	for i, p := range doc.profiles {
		if doc.profiles[i], err = t.profile(p); err != nil {
			return err
		}
	}
	if err := l.addProfiles(doc); err != nil {
		return err
	}
	if !doc.file.Trusted {
		if err := t.dropWider(); err != nil {
			return err
		}
	}
	if err := t.settings(); err != nil {
		return err
	}
	t.notice(why)
	return nil
}

type tightener struct {
	*loader
	doc     *document
	trusted policy.Set                     // what the layers and trusted files before say
	usual   string                         // their default profile
	base    func() (*policy.Policy, error) // what the user gets without the file
	blocked func() (*policy.Policy, error) // what any trusted profile blocks, see visible
	ignored []word                         // keys that are left out
	gone    []string                       // names of the file's own profiles that were dropped
}

func (t *tightener) ignore(key string, at int) { t.ignored = append(t.ignored, word{key, at}) }

// resolve returns the policy of profiles that are trusted.
func (t *tightener) resolve(names ...string) (*policy.Policy, error) {
	return policy.Resolve(t.trusted, names, t.vars)
}

func (t *tightener) limits() error {
	items := 0
	t.narrowed += len(t.doc.profiles)
	for _, p := range t.doc.profiles {
		items += itemsOf(p.Profile)
	}
	switch {
	case items > untrustedItems:
		return t.doc.errorf(0, "more than %d elements in lists"+tooMuch, untrustedItems)
	case t.narrowed > untrustedProfiles:
		return t.doc.errorf(0, "more than %d profiles in the files of this project: too much for files that are "+
			"not trusted; leave some out, or agree to them with sbx trust", untrustedProfiles)
	}
	return nil
}

// profile returns what may be kept of a profile.
func (t *tightener) profile(p *profileDoc) (*profileDoc, error) {
	said, err := t.said(p.Name)
	if err != nil {
		return nil, err
	}
	values, e := scalars(p.Profile), p.entry
	keys := maps.Clone(e.value.(map[string]any))
	maps.DeleteFunc(keys, func(key string, _ any) bool {
		keep, quiet := t.key(p.Name, key, values[key], said)
		if !keep && !quiet {
			t.ignore(p.keyName(key), p.keyAt[key])
		}
		return !keep
	})
	e.value = keys
	q, err := t.doc.profile(e)
	if err != nil || t.doc.file.Trusted {
		return q, err
	}
	return q, t.lists(q)
}

func (p *profileDoc) keyName(key string) string { return "profiles." + p.Name + "." + key }

// said returns the single values that the trusted layers give a profile, nil
// when they do not have it.
func (t *tightener) said(name string) (map[string]string, error) {
	if t.trusted[name] == nil {
		return nil, nil
	}
	flat, err := t.trusted.Values([]string{name})
	if err != nil {
		return nil, err
	}
	return scalars(flat), nil
}

// scalars are the single values that a profile says, by key.
func scalars(p *policy.Profile) map[string]string {
	values := make(map[string]string)
	for _, s := range p.Scalars() {
		values[s.Key] = s.Value
	}
	return values
}

// tightLists are the lists that make a profile tighter.
var tightLists = []string{"blocked_paths", "protected_paths", "readonly_paths", "env_drop"}

// floor is what lets a run go on with less than was asked for. [Settings.KeepFloor]
// sees to it that no project does that; leaving the keys out is for the notice.
var floor = map[string]string{"min_tier": "reduced", "limits": "best-effort", "on_unmasked": "warn"}

// key decides about one key of a profile. A key that is left out quietly asks
// for what is so anyway.
func (t *tightener) key(profile, key, value string, said map[string]string) (keep, quiet bool) {
	now, known := said[key]
	switch {
	case t.doc.file.Trusted:
		return floor[key] == "" || floor[key] != value, value == now
	case key == "extends":
		return t.trusted[profile] == nil, false
	case value == "": // lists and env_set
		return slices.Contains(tightLists, key), false
	case !known && t.saysTighter(key, value):
		return false, false
	case !known:
		now = policy.KeyOf(key).Unsaid()
	}
	return policy.Tighter(key, now, value), value == now
}

// saysTighter reports whether a trusted profile says a tighter value. With several
// profiles selected the last that says something counts: a value that the profile
// leaves unsaid so far would replace the tighter one.
func (t *tightener) saysTighter(key, value string) bool {
	for _, stack := range t.trusted {
		for _, p := range stack {
			if said := scalars(p)[key]; said != "" && policy.Wider(key, said, value) {
				return true
			}
		}
	}
	return false
}

// lists narrows the lists that were kept.
func (t *tightener) lists(p *profileDoc) error {
	for _, key := range tightLists {
		if l := p.List(key); t.additions(l) {
			t.ignore(p.keyName(key), p.keyAt[key])
		}
	}
	if len(p.Protect.Items)+len(p.Read.Items) == 0 {
		return nil
	}
	views, err := t.views(p.Name)
	if err != nil {
		return err
	}
	protect, err := t.visible(p.Protect.Items, views)
	if err != nil {
		return err
	}
	read, err := t.visible(slices.DeleteFunc(slices.Clone(p.Read.Items), func(it policy.Item) bool {
		return strings.ContainsAny(it.Text, "*?")
	}), views)
	if err != nil {
		return err
	}
	if len(read) < len(p.Read.Items) {
		t.ignore(p.keyName("readonly_paths"), p.keyAt["readonly_paths"])
	}
	p.Protect.Items, p.Read = append(protect, read...), policy.List{}
	return nil
}

// additions leaves in a list what adds to the trusted layers' lists: it may
// not replace them nor take exceptions from their patterns.
func (t *tightener) additions(l *policy.List) (less bool) {
	less, l.Replace = l.Replace, false
	n := len(l.Items)
	l.Items = slices.DeleteFunc(l.Items, func(it policy.Item) bool { return strings.HasPrefix(it.Text, "!") })
	return less || len(l.Items) < n
}

// views are the policies a protected path is looked up in: the profile by
// itself, and on top of the default one, as modules are used.
func (t *tightener) views(name string) ([]*policy.Policy, error) {
	if t.trusted[name] == nil || name == t.usual {
		base, err := t.base()
		return []*policy.Policy{base}, err
	}
	var views []*policy.Policy
	for _, names := range [][]string{{t.usual, name}, {name}} {
		p, err := t.resolve(names...)
		if err != nil {
			return nil, err
		}
		views = append(views, p)
	}
	return views, nil
}

// visible returns the items whose paths the host shows without the file. A
// protect rule is meant for what would be writable; at a path that is hidden
// (by a block, a pattern, a private directory, or because nothing names it)
// it would be the deepest rule, and show the file. That any trusted profile blocks
// it is enough: the profile that a path is protected in may have a child that blocks
// it, or be selected with another that does, and a literal path beats a pattern.
func (t *tightener) visible(items []policy.Item, views []*policy.Policy) (out []policy.Item, err error) {
	blocked, err := t.blocked()
	if err != nil {
		return nil, err
	}
	hidden := func(r policy.Rule) bool {
		_, found := blocked.Decide(r.Path)
		return found || !shown(r.Path, views)
	}
	for _, it := range items {
		// One item can make several rules, for a second home directory.
		one := &policy.Profile{Layer: policy.Project, Protect: policy.List{Items: []policy.Item{it}}}
		p, err := policy.Resolve(nil, nil, t.vars, one)
		if err != nil {
			return nil, err
		}
		if len(p.Rules) > 0 && !slices.ContainsFunc(p.Rules, hidden) {
			out = append(out, it)
		}
	}
	return out, nil
}

func shown(path string, views []*policy.Policy) bool {
	for i, p := range views {
		a := p.Access(path)
		bare := a == policy.Unseen && i == 0 // a module shows little by itself
		if bare || a == policy.Private || a == policy.Block {
			return false
		}
	}
	return true
}

// Agents are the modules that open an agent with keys. Their files hold what is the same
// everywhere: where the socket is, only the caller knows, and no comparison of policies.
var Agents = []string{"ssh-agent", "gpg-agent"}

// isWider reports whether a profile as it now stands gives anything that the
// trusted default profile does not give.
func (t *tightener) isWider(name string) (bool, error) {
	base, err := t.base()
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(Agents, func(agent string) bool {
		return t.Profiles.Holds(name, agent) && !t.trusted.Holds(t.usual, agent)
	}) {
		return true, nil
	}
	p, err := policy.Resolve(t.Profiles, []string{name}, t.vars)
	if err != nil {
		return false, err
	}
	return len(policy.Widened(base, p)) > 0, nil
}

// dropWider takes those of the file's own profiles away that turn out wider than
// what the user would get without the file, and those that extend one of them.
func (t *tightener) dropWider() error {
	for _, p := range t.doc.profiles {
		if t.trusted[p.Name] != nil {
			continue
		}
		if wider, err := t.isWider(p.Name); err != nil {
			return err
		} else if wider {
			t.gone = append(t.gone, p.Name)
		}
	}
	for _, name := range t.gone {
		delete(t.Profiles, name)
	}
	for _, p := range t.doc.profiles {
		if err := t.Profiles.Walk(p.Name, nil, nil); err != nil {
			t.gone = append(t.gone, p.Name)
			t.ignore("profiles."+p.Name, p.at)
		}
	}
	for _, name := range t.gone {
		delete(t.Profiles, name)
	}
	return nil
}

// settings narrows the keys at the top of the file.
func (t *tightener) settings() error {
	kept := t.doc.settings[:0]
	for _, s := range t.doc.settings {
		keep, quiet, err := t.setting(s)
		if err != nil {
			return err
		}
		if keep {
			kept = append(kept, s)
		} else if !quiet {
			t.ignore(s.name("."), s.at)
		}
	}
	t.doc.settings = kept
	return nil
}

// setting decides about one key at the top. A key that is left out quietly asks
// for what is so anyway.
func (t *tightener) setting(s setting) (keep, quiet bool, err error) {
	k, trusted := topKey(s.path[0]), t.doc.file.Trusted
	now := t.now(k)
	switch {
	case k.kind == someTools || k.kind == someShells || k.kind == someRoots:
		return trusted && k.kind == someTools, false, nil
	case s.value == now:
		return false, true, nil
	case k.kind == aProfile && !trusted:
		keep, err = t.defaultProfile(s)
		return keep, false, err
	}
	return k.kind == aProfile || k.project && k.wider(s.value, now), false, nil
}

func (t *tightener) defaultProfile(s setting) (keep bool, err error) {
	name := fmt.Sprint(s.value)
	if slices.Contains(t.gone, name) {
		return false, nil
	}
	if err := t.known(t.doc, s, name); err != nil {
		return false, err
	}
	wider, err := t.isWider(name)
	return !wider, err
}

// notice says in one line what was left out, and why.
func (t *tightener) notice(why string) {
	if len(t.ignored) == 0 {
		return
	}
	slices.SortFunc(t.ignored, func(a, b word) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.text, b.text))
	})
	src := t.doc.source
	var keys []string
	for _, w := range slices.Compact(t.ignored) {
		keys = append(keys, w.text+" (line "+strconv.Itoa(src.line(w.at))+")")
	}
	t.Ignored = append(t.Ignored, Ignored{Path: t.doc.file.Path, Trusted: t.doc.file.Trusted, Keys: keys})
	if more := len(keys) - maxNamed; more > 0 {
		keys = append(keys[:maxNamed:maxNamed], fmt.Sprintf("and %d more", more))
	}
	t.Notices = append(t.Notices, src.name+": ignored, since "+why+": "+strings.Join(keys, ", "))
}
