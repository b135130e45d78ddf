// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// PathRef names one element of a profile's lists of paths. Built-in profiles
// hold theirs sorted, as [SortPaths] does it when they are generated, so that a
// run neither parses nor sorts what does not depend on it.
type PathRef struct {
	Access Access // of the list
	Plain  bool   // the text is clean, with nothing to expand but a variable in front, and no pattern
	Index  uint32 // in the list
}

// SortPaths returns the order in which the rules of a profile's paths come,
// whatever the variables are: by variable, and below that by what follows it.
func SortPaths(p *Profile) []PathRef {
	rules := make(map[PathRef]*Rule) // as with each variable standing for itself
	for _, l := range pathLists {
		for i, it := range l.of(p).Items {
			text, except := strings.CutPrefix(it.Text, "!")
			rules[PathRef{l.access, isPlain(it.Text), uint32(i)}] = &Rule{
				Path: text, Access: l.access, Source: it.Source, Offline: it.Offline,
				Pattern: strings.ContainsAny(text, "*?"), Except: except, OfCWD: ofCWD(text),
			}
		}
	}
	return slices.SortedFunc(maps.Keys(rules), func(a, b PathRef) int {
		return cmp.Or(compareRules(rules[a], rules[b]), cmp.Compare(a.Index, b.Index))
	})
}

func isPlain(text string) bool {
	rest := text
	if text, ok := strings.CutPrefix(text, "$"); ok {
		rest = strings.TrimPrefix(text, varName(text))
	}
	return strings.HasPrefix(rest, "/") && rest != "/" && path.Clean(rest) == rest &&
		!strings.ContainsAny(rest, "$*?\x00")
}

// layers are profiles laid over each other, parents first. What they say of
// paths stays where they say it: there is much of it, and it is read once.
type layers struct {
	Profile // all but the lists of paths
	parts   []part
	blocks  bool    // only what is hidden counts, and no exception
	way     []step  // of the walk that adds them, to the one that it entered last
	grants  []grant // see [layers.findGrants]
}

// part is a profile, less its lists that a later one replaced.
type part struct {
	*Profile
	replaced [Block + 1]bool // by access
	first    int             // of the parts that it extends, which are those right before it
}

// step is a name on the way of a walk, with the number of parts before it.
type step struct {
	name  string
	first int
}

// enter is called before a profile's parents are added, see [Set.Walk].
func (l *layers) enter(p *Profile, depth int) error {
	if depth > len(l.way) || l.way[depth-1].name != p.Name {
		l.way = append(l.way[:depth-1], step{p.Name, len(l.parts)})
	}
	l.way = l.way[:depth]
	return nil
}

// leave adds a profile to its parents.
func (l *layers) leave(p *Profile) {
	l.add(p)
	at := slices.IndexFunc(l.way, func(s step) bool { return s.name == p.Name })
	l.parts[len(l.parts)-1].first = l.way[at].first
}

// add lays a profile on top. A list of it that replaces, does so for all below.
func (l *layers) add(p *Profile) {
	l.addValues(p)
	for _, list := range pathLists {
		if !list.of(p).Replace {
			continue
		}
		for i := range l.parts {
			l.parts[i].replaced[list.access] = true
		}
	}
	l.parts = append(l.parts, part{Profile: p, first: len(l.parts)})
}

// addSelection lays a profile with its parents on top of what was selected
// before. What it replaces are lists of its parents, never of the others: a second
// -p hides no less than the first.
func (l *layers) addSelection(selected *layers) {
	if len(l.parts) == 0 {
		*l = *selected
		return
	}
	l.addValues(&selected.Profile)
	n := len(l.parts)
	l.parts = append(l.parts, selected.parts...)
	for i := range selected.parts {
		l.parts[n+i].first += n
	}
}

// element is one element of a list of paths, with its layer and source.
type element struct {
	*Item
	Layer  Layer
	Source string
	access Access
	plain  bool
}

// element is an element of the part, ok is false where its list was replaced.
func (p *part) element(ref PathRef) (it element, ok bool) {
	item := &pathLists[ref.Access-Private].of(p.Profile).Items[ref.Index]
	it = element{item, max(item.Layer, p.Layer), item.Source, ref.Access, ref.Plain}
	if it.Source == "" {
		it.Source = p.source("")
	}
	return it, !p.replaced[ref.Access]
}

// rules adds the rules of all lists of paths that count, of the elements that are
// wanted; nil wants all. The error is about the first element of which no rule can
// be made.
func (l *layers) rules(out []Rule, vars Vars, wanted func(*element) bool) (_ []Rule, first error) {
	e := expander{Vars: &vars}
	var it element
	for i := range l.parts {
		p := &l.parts[i]
		for _, ref := range p.order() {
			if l.blocks && ref.Access != Block {
				continue
			}
			var ok bool
			it, ok = p.element(ref)
			if !ok || wanted != nil && !wanted(&it) || l.blocks && it.Text != "" && it.Text[0] == '!' {
				continue
			}
			n := len(out)
			out = append(out, Rule{}) // made in its place
			ok, err := e.rule(&it, &out[n])
			if err != nil && first == nil {
				first = &Error{Source: it.Source, Text: err.Error()}
			}
			if err != nil || !ok || len(l.grants) > 0 && l.overruled(i, &out[n]) {
				out = out[:n]
			}
		}
	}
	return out, first
}

// grant is what a person's profile opens, and where it stands among the parts.
type grant struct {
	Rule
	first, part int
}

// findGrants notes what profiles of files open: that takes the place of what the
// profiles that they extend say of the same path.
func (l *layers) findGrants(vars Vars) {
	e := expander{Vars: &vars}
	l.grants = nil
	for i := range l.parts {
		p := &l.parts[i]
		if p.Layer == Builtin || p.first == i {
			continue
		}
		for _, ref := range p.order() {
			if it, ok := p.element(ref); ok && ref.Access <= Read {
				var r Rule
				if ok, err := e.rule(&it, &r); ok && err == nil && !r.Pattern {
					l.grants = append(l.grants, grant{r, p.first, i})
				}
			}
		}
	}
}

// overruled reports whether a profile that extends the part says something else of
// the rule's path, or of the project that the working directory is in.
func (l *layers) overruled(part int, r *Rule) bool {
	return slices.ContainsFunc(l.grants, func(g grant) bool {
		around := g.OfCWD && r.OfCWD && r.Access <= Read && Within(r.Path, g.Path)
		return g.first <= part && part < g.part && (g.Path == r.Path || around) && g.overrules(r)
	})
}

// overrules reports whether a grant takes the place of a rule of a profile that its
// own one extends. What sbx hides by itself, and what the administrator hides or
// protects, stays so. A rule about any working directory names none: only others of
// that kind yield to it.
func (g *Rule) overrules(r *Rule) bool {
	switch {
	case g.Layer < r.Layer, g.OfCWD && !r.OfCWD, r.Pattern, r.Except:
		return false
	case r.Access == Block:
		return r.Layer > System
	case r.Access == Protect:
		return r.Layer != System && g.Access == Write
	}
	return true
}

// order names the elements of all lists of paths, sorted where that was done
// before.
func (p *Profile) order() []PathRef {
	n := 0
	for _, l := range pathLists {
		n += len(l.of(p).Items)
	}
	if len(p.Sorted) == n {
		return p.Sorted
	}
	var refs []PathRef
	for _, l := range pathLists {
		for i := range l.of(p).Items {
			refs = append(refs, PathRef{Access: l.access, Index: uint32(i)})
		}
	}
	return refs
}
