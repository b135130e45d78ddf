// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"slices"
	"strings"
)

// Change is one difference between two policies, seen from the first.
type Change struct {
	Key   string `json:"key"`  // as files name it: allow_network, writable_paths, env_pass, …
	What  string `json:"what"` // the path, the variable, or the new value
	From  string `json:"from"`
	To    string `json:"to"`
	Wider bool   `json:"-"` // gives more than before; false means it gives less
}

// Diff lists what b changes over a, sorted by key. It is exact for paths and
// single values; for environment patterns it errs towards wider.
func Diff(a, b *Policy) []Change {
	var out []Change
	av, bv := a.Scalars(), b.Scalars()
	for i := range av {
		if av[i].Value != bv[i].Value {
			k, was, is := av[i].Key, av[i].Value, bv[i].Value
			wider := Wider(k, was, is)
			if wider { // than what counts without a word
				was = cmp.Or(was, keys[i].usual)
			}
			out = append(out, Change{k, is, cmp.Or(was, "none"), cmp.Or(is, "none"), wider})
		}
	}
	out = append(out, diffPaths(a, b)...)
	out = append(out, onlyIn(b, a, true)...)
	out = append(out, onlyIn(a, b, false)...)
	slices.SortStableFunc(out, func(x, y Change) int {
		return cmp.Or(strings.Compare(x.Key, y.Key), strings.Compare(x.What, y.What))
	})
	return out
}

// Widened lists what b gives more than a, for locks and untrusted files: to
// [Diff] it adds variables that a later layer lets through once more.
func Widened(a, b *Policy) []Change {
	out := WiderOnly(Diff(a, b))
	for _, it := range b.EnvPass {
		if passesAgain(a, b, it) {
			out = append(out, Change{"env_pass", it.Text, "none", it.Text, true})
		}
	}
	return out
}

// WiderOnly returns the changes that give more.
func WiderOnly(changes []Change) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return !c.Wider })
}

// diffPaths compares at every path that a rule of either names and that a rule of one of
// them alone can be about, and leaves out what only repeats the change of a directory above.
func diffPaths(a, b *Policy) []Change {
	var paths []string
	own := ownRules(a.Rules, b.Rules)
	for _, rules := range [][]Rule{a.Rules, b.Rules} {
		for i := range rules {
			path := rules[i].Path
			if len(own) > maxOwn || slices.ContainsFunc(own, func(r *Rule) bool { return r.reaches(path) }) {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	was, is := newAtlas(a), newAtlas(b)
	var out []Change
	for _, path := range slices.Compact(paths) {
		x, y := was.access(path), is.access(path)
		if x.reach() == y.reach() || path != "/" && implied(was.access(Dir(path)), is.access(Dir(path)), x, y) {
			continue
		}
		out = append(out, Change{pathKey(x, y), path, x.String(), y.String(), y.reach() > x.reach()})
	}
	return out
}

// maxOwn bounds for how many rules it is cheaper to ask first what they reach.
const maxOwn = 64

// ownRules are the rules that only one of two policies has. Both are sorted; where they
// were not, it would be more.
func ownRules(a, b []Rule) (own []*Rule) {
	for len(a)+len(b) > 0 {
		order := len(b) - len(a) // where one is at its end
		if len(a) > 0 && len(b) > 0 {
			order = compareRules(&a[0], &b[0])
		}
		switch {
		case order < 0:
			own, a = append(own, &a[0]), a[1:]
		case order > 0:
			own, b = append(own, &b[0]), b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return own
}

// reaches reports whether the access to path can depend on the rule.
func (r *Rule) reaches(path string) bool {
	return Within(path, r.Path) || r.Pattern && Within(path, Dir(r.Path))
}

// onlyIn lists what p has and the other policy has not, of elements that have no
// path to ask about. More of it gives more, but for drops.
func onlyIn(p, other *Policy, added bool) []Change {
	var out []Change
	add := func(key, what, text string, wider bool) {
		c := Change{key, what, "none", text, wider}
		if !added {
			c.From, c.To = c.To, c.From
		}
		out = append(out, c)
	}
	// Exceptions that are patterns themselves open what others hide.
	for _, r := range p.Rules {
		if r.Except && r.Pattern && !other.hasExcept(r) && other.hasPatterns(Dir(r.Path)) {
			add(pathKeys[r.Access], "!"+r.Path, "exception", added)
		}
	}
	for i, it := range p.Devices {
		if !hasText(other.Devices, i, it.Text) {
			add("devices", it.Text, it.Text, added)
		}
	}
	for i, it := range p.EnvPass {
		if !hasText(other.EnvPass, i, it.Text) && !passesAnyway(other, p, it.Text) {
			add("env_pass", it.Text, it.Text, added)
		}
	}
	for i, it := range p.EnvDrop {
		if !hasText(other.EnvDrop, i, it.Text) {
			add("env_drop", it.Text, it.Text, !added)
		}
	}
	for _, v := range p.EnvSet {
		// Another value is new.
		same := func(o Var) bool { return o.Name == v.Name && (o.Value == v.Value || !added) }
		if !slices.ContainsFunc(other.EnvSet, same) {
			add("env_set", v.Name, "set", added)
		}
	}
	return out
}

// hasText reports whether a text is in a list, which is likely at i.
func hasText(items []Item, i int, text string) bool {
	return i < len(items) && items[i].Text == text ||
		slices.ContainsFunc(items, func(it Item) bool { return it.Text == text })
}

func (p *Policy) hasExcept(r Rule) bool {
	return slices.ContainsFunc(p.Rules, func(o Rule) bool {
		return o.Except && o.Path == r.Path && o.Access == r.Access
	})
}

func (p *Policy) hasPatterns(dir string) bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return !r.Except && r.Pattern && Dir(r.Path) == dir })
}

// implied reports whether a change from x to y only repeats, whole or in part,
// the change from over to under of the directory above.
func implied(over, under, x, y Access) bool {
	if y.reach() > x.reach() {
		return over.reach() <= x.reach() && under.reach() >= y.reach()
	}
	return over.reach() >= x.reach() && under.reach() <= y.reach()
}

var pathKeys = [...]string{Private: "private_paths", Write: "writable_paths", Read: "readonly_paths",
	Protect: "protected_paths", Block: "blocked_paths"}

// pathKey names the key that made the difference: the block or protect rule
// that came or went, else the grant.
func pathKey(from, to Access) string {
	switch {
	case from == Block || to == Block:
		return pathKeys[Block]
	case from == Protect || to == Protect:
		return pathKeys[Protect]
	case to.reach() < from.reach():
		return pathKeys[from]
	}
	return pathKeys[to]
}

// passesAnyway reports whether what an item of b's env_pass lets through
// passes in a, too: a inherits, and b drops whatever a would drop of it.
func passesAnyway(a, b *Policy, text string) bool {
	if strings.IndexByte(text, '*') < 0 {
		return a.Env(text).Pass
	}
	item, _ := match(b.EnvPass, nil, text, false)
	return a.Environment == "inherit" && !slices.ContainsFunc(a.EnvDrop, func(d Item) bool {
		stays := slices.ContainsFunc(b.EnvDrop, func(e Item) bool { return e.Text == d.Text && e.Layer >= item.Layer })
		return !stays && overlap(strings.ToUpper(text), strings.ToUpper(d.Text))
	})
}

// passesAgain reports whether an item that is in a's env_pass as well comes from
// a later layer in b, where it beats a drop that it did not beat in a.
func passesAgain(a, b *Policy, it Item) bool {
	found, later := false, true
	for _, o := range a.EnvPass {
		if o.Text == it.Text {
			found, later = true, later && o.Layer < it.Layer
		}
	}
	return found && later && (strings.Contains(it.Text, "*") || b.Env(it.Text).Pass && !a.Env(it.Text).Pass)
}

// atlas answers for many paths of one policy. The rules are sorted, but patterns
// stand among all that lies below their directory, and looking through that for
// each path made the comparison of two policies quadratic.
type atlas struct {
	p        *Policy
	patterns map[string][]Rule // by directory
	excepts  map[string][]Rule // likewise, and those that are no patterns
	known    map[string]Access
}

func newAtlas(p *Policy) *atlas {
	a := &atlas{p, make(map[string][]Rule), make(map[string][]Rule), make(map[string]Access)}
	for i := range p.Rules {
		switch r := &p.Rules[i]; {
		case r.Except:
			a.excepts[Dir(r.Path)] = append(a.excepts[Dir(r.Path)], *r)
		case r.Pattern:
			a.patterns[Dir(r.Path)] = append(a.patterns[Dir(r.Path)], *r)
		}
	}
	return a
}

// access is [Policy.Access].
func (a *atlas) access(path string) Access {
	if is, ok := a.known[path]; ok {
		return is
	}
	over := Unseen
	if path != "/" {
		over = a.access(Dir(path))
	}
	s := a.p.literal(path)
	s.match(a.patterns[Dir(path)], a.excepts[Dir(path)], path)
	is := over
	if s.Rule() != nil {
		is = s.Access(over)
	}
	a.known[path] = is
	return is
}
