// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// tighten takes out of a project file whatever could give more than the
// trusted layers give, and adds the rest to the loader. No matter which
// profiles are selected afterwards, alone or together, the file must not have
// made them wider.
func (l *loader) tighten(doc *document) error {
	t := newTightener(l, doc)
	if err := t.limits(); err != nil {
		return err
	}
	if err := t.profiles(); err != nil {
		return err
	}
	if err := t.settings(); err != nil {
		return err
	}
	t.notice("since this file is not trusted and may only tighten")
	return nil
}

func newTightener(l *loader, doc *document) *tightener {
	return &tightener{l: l, doc: doc, trusted: l.set, usual: l.k.String("default_profile")}
}

type tightener struct {
	l       *loader
	doc     *document
	trusted policy.Set // what the layers and trusted files before say
	usual   string     // their default profile
	base    *policy.Policy
	blocked *policy.Policy
	ignored []word
	gone    []string // names of the file's own profiles that were dropped
}

// ignore notes a key that is left out.
func (t *tightener) ignore(key string, at int) {
	if !slices.Contains(t.ignored, word{key, at}) {
		t.ignored = append(t.ignored, word{key, at})
	}
}

func (t *tightener) limits() error {
	items := 0
	t.l.narrowed += len(t.doc.profiles)
	for _, p := range t.doc.profiles {
		items += itemsOf(p.Profile)
	}
	switch {
	case items > untrustedItems:
		return t.doc.errorf(0, "more than %d elements in lists"+tooMuch, untrustedItems)
	case t.l.narrowed > untrustedProfiles:
		return t.doc.errorf(0, "more than %d profiles in the files of this project: too much for files that are "+
			"not trusted; leave some out, or agree to them with sbx trust", untrustedProfiles)
	}
	return nil
}

// profiles narrows each profile and adds it, then drops those of the file's
// own that turn out wider than what the user would get without the file.
func (t *tightener) profiles() error {
	narrowed := make([]*profileDoc, 0, len(t.doc.profiles))
	for _, p := range t.doc.profiles {
		q, err := t.profile(p)
		if err != nil {
			return err
		}
		narrowed = append(narrowed, q)
	}
	t.doc.profiles = narrowed
	t.l.set = copySet(t.trusted)
	if err := t.l.addProfiles(t.doc); err != nil {
		return err
	}
	for _, p := range narrowed {
		if err := t.dropWider(p); err != nil {
			return err
		}
	}
	t.dropOrphans()
	return nil
}

// profile returns what may be kept of a profile.
func (t *tightener) profile(p *profileDoc) (*profileDoc, error) {
	said, err := t.said(p.Name)
	if err != nil {
		return nil, err
	}
	values := scalars(p.Profile)
	kept := make(map[string]bool)
	for key, at := range p.keyAt {
		ok, quiet := t.key(p.Name, key, values[key], said)
		kept[key] = ok
		if !ok && !quiet {
			t.ignore(p.keyName(key), at)
		}
	}
	q, err := t.doc.profile(p.entry, func(key string) bool { return kept[key] })
	if err != nil {
		return nil, err
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
	flat, err := t.trusted.Flatten(name)
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

// key decides about one key of a profile. A key that is left out quietly asks
// for what is so anyway.
func (t *tightener) key(profile, key, value string, said map[string]string) (keep, quiet bool) {
	switch key {
	case "extends":
		return t.trusted[profile] == nil, false
	case "blocked_paths", "protected_paths", "readonly_paths", "env_drop":
		return true, false
	}
	if value == "" { // the other lists and env_set
		return false, false
	}
	if now, ok := said[key]; ok {
		return policy.Tighter(key, now, value), value == now
	}
	return t.tightest(key, value)
}

// tightest decides about a value that the profile leaves unsaid so far. With
// several profiles selected the last that says something counts: so a value
// may be said only when no trusted profile says a tighter one, which it would
// replace.
func (t *tightener) tightest(key, value string) (keep, quiet bool) {
	for _, stack := range t.trusted {
		for _, p := range stack {
			for _, s := range p.Scalars() {
				if s.Key == key && policy.Wider(key, s.Value, value) {
					return false, false
				}
			}
		}
	}
	unsaid := policy.KeyOf(key).Unsaid()
	return policy.Tighter(key, unsaid, value), value == unsaid
}

// lists narrows the lists that were kept.
func (t *tightener) lists(p *profileDoc) error {
	for _, key := range []string{"blocked_paths", "protected_paths", "readonly_paths", "env_drop"} {
		if l := p.List(key); t.additions(l) {
			t.ignore(p.keyName(key), p.keyAt[key])
		}
	}
	if len(p.Protect.Items)+len(p.Read.Items) == 0 {
		return nil
	}
	if err := t.addBlocked(); err != nil {
		return err
	}
	views, err := t.views(p.Name)
	if err != nil {
		return err
	}
	protect, _, err := t.visible(p.Protect.Items, views)
	if err != nil {
		return err
	}
	read, all, err := t.visible(p.Read.Items, views)
	if err != nil {
		return err
	}
	if !all {
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
	selections := [][]string{{t.usual}}
	if t.trusted[name] != nil && name != t.usual {
		selections = [][]string{{t.usual, name}, {name}}
	}
	var views []*policy.Policy
	for _, names := range selections {
		p, err := policy.Resolve(t.trusted, names, t.l.vars)
		if err != nil {
			return nil, err
		}
		views = append(views, p)
	}
	return views, nil
}

// addBlocked collects what any trusted profile blocks. The profile that a
// path is protected in may have a child that blocks it, or be selected with
// another that does, and a literal path beats a pattern: so such a path is
// not protected.
func (t *tightener) addBlocked() (err error) {
	if t.blocked != nil {
		return nil
	}
	all := &policy.Profile{}
	for _, name := range t.trusted.Names() {
		for _, p := range t.trusted[name] {
			for _, it := range p.Block.Items {
				if !strings.HasPrefix(it.Text, "!") {
					all.Block.Items = append(all.Block.Items, it)
				}
			}
		}
	}
	t.blocked, err = policy.Resolve(nil, nil, t.l.vars, all)
	return err
}

// visible returns the items whose paths the host shows without the file. A
// protect rule is meant for what would be writable; at a path that is hidden
// (by a block, a pattern, a private directory, or because nothing names it)
// it would be the deepest rule, and show the file.
func (t *tightener) visible(items []policy.Item, views []*policy.Policy) (out []policy.Item, all bool, err error) {
	all = true
	for _, it := range items {
		// One item can make several rules, for a second home directory.
		one := &policy.Profile{Layer: policy.Project, Protect: policy.List{Items: []policy.Item{it}}}
		p, err := policy.Resolve(nil, nil, t.l.vars, one)
		if err != nil {
			return nil, false, err
		}
		hidden := func(r policy.Rule) bool {
			_, blocked := t.blocked.Decide(r.Path)
			return blocked || !shown(r.Path, views)
		}
		if len(p.Rules) > 0 && !slices.ContainsFunc(p.Rules, hidden) {
			out = append(out, it)
		} else {
			all = false
		}
	}
	return out, all, nil
}

func shown(path string, views []*policy.Policy) bool {
	for i, p := range views {
		switch p.Access(path) {
		case policy.Write, policy.Read, policy.Protect:
		case policy.Unseen:
			// A module shows little by itself.
			if i == 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// usualPolicy is what the user gets without the project file.
func (t *tightener) usualPolicy() (*policy.Policy, error) {
	if t.base == nil {
		p, err := policy.Resolve(t.trusted, []string{t.usual}, t.l.vars)
		if err != nil {
			return nil, err
		}
		t.base = p
	}
	return t.base, nil
}

// isWider reports whether a profile as it now stands gives anything that the
// trusted default profile does not give.
func (t *tightener) isWider(name string) (bool, error) {
	base, err := t.usualPolicy()
	if err != nil {
		return false, err
	}
	p, err := policy.Resolve(t.l.set, []string{name}, t.l.vars)
	if err != nil {
		return false, err
	}
	return len(policy.Widened(base, p)) > 0, nil
}

// dropWider takes a profile of the file's own away when it is too wide.
func (t *tightener) dropWider(p *profileDoc) error {
	if t.trusted[p.Name] != nil {
		return nil
	}
	wider, err := t.isWider(p.Name)
	if err == nil && wider {
		t.drop(p)
	}
	return err
}

func (t *tightener) drop(p *profileDoc) {
	t.gone = append(t.gone, p.Name)
	t.ignore("profiles."+p.Name, p.at)
}

// dropOrphans drops what extends a dropped profile, then takes all of them
// out of the set.
func (t *tightener) dropOrphans() {
	for more := true; more; {
		more = false
		for _, p := range t.doc.profiles {
			orphan := slices.ContainsFunc(p.Extends, func(name string) bool { return slices.Contains(t.gone, name) })
			if orphan && !slices.Contains(t.gone, p.Name) {
				t.drop(p)
				more = true
			}
		}
	}
	for _, name := range t.gone {
		delete(t.l.set, name)
	}
}

// settings narrows the keys at the top of the file.
func (t *tightener) settings() error {
	var kept []setting
	for _, s := range t.doc.settings {
		keep, quiet, err := t.setting(s)
		if err != nil {
			return err
		}
		if keep {
			kept = append(kept, s)
		} else if !quiet {
			t.ignore(s.name(), s.at)
		}
	}
	t.doc.settings = kept
	return nil
}

// setting decides about one key at the top. A key that is left out quietly asks
// for what is so anyway.
func (t *tightener) setting(s setting) (keep, quiet bool, err error) {
	k := topKey(s.path[0])
	switch trusted := t.doc.file.Trusted; {
	case k.kind == someTools:
		return trusted, false, nil
	case k.field == nil:
		return false, false, nil
	}
	now := t.l.k.Get(k.name)
	switch {
	case s.value == now:
		return false, true, nil
	case k.kind == aProfile && !t.doc.file.Trusted:
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
	if err := t.l.known(t.doc, s, name); err != nil {
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
	keys := make([]string, len(t.ignored))
	for i, w := range t.ignored {
		keys[i] = w.text + " (line " + strconv.Itoa(src.line(w.at)) + ")"
	}
	t.l.ignored = append(t.l.ignored, Ignored{Path: t.doc.file.Path, Trusted: t.doc.file.Trusted, Keys: keys})
	if more := len(keys) - maxNamed; more > 0 {
		keys = append(slices.Clone(keys[:maxNamed]), fmt.Sprintf("and %d more", more))
	}
	t.l.notices = append(t.l.notices, src.name+": ignored, "+why+": "+strings.Join(keys, ", "))
}
