// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
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
	var refs []PathRef
	var rules []Rule // as with each variable standing for itself
	for _, l := range pathLists {
		for i, it := range l.of(p).Items {
			text, except := strings.CutPrefix(it.Text, "!")
			r := Rule{
				Path: text, Access: l.access, Source: it.Source, Offline: it.Offline,
				Pattern: strings.ContainsAny(text, "*?"), Except: except, OfCWD: text == "$CWD",
			}
			rules, refs = append(rules, r), append(refs, PathRef{l.access, isPlain(it.Text), uint32(i)})
		}
	}
	order := make([]int, len(refs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compareRules(&rules[a], &rules[b]) })
	out := make([]PathRef, len(refs))
	for i, n := range order {
		out[i] = refs[n]
	}
	return out
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
}

// part is a profile, less its lists that a later one replaced.
type part struct {
	*Profile
	replaced [Block + 1]bool // by access
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
	l.parts = append(l.parts, part{Profile: p})
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
	l.parts = append(l.parts, selected.parts...)
}

// element is one element of a list of paths, with its layer and source.
type element struct {
	Item
	access Access
	plain  bool
}

// rules adds the rules of all lists of paths that count, of the elements that are
// wanted; nil wants all. The error is about the first element of which no rule can
// be made.
func (l *layers) rules(out []Rule, vars Vars, wanted func(element) bool) (_ []Rule, first error) {
	e := expander{Vars: &vars}
	for _, p := range l.parts {
		source, lists := p.source(""), [...][]Item{Private: p.Private.Items, Write: p.Write.Items,
			Read: p.Read.Items, Protect: p.Protect.Items, Block: p.Block.Items}
		for _, ref := range p.order() {
			if p.replaced[ref.Access] {
				continue
			}
			it := element{lists[ref.Access][ref.Index], ref.Access, ref.Plain}
			it.Source, it.Layer = cmp.Or(it.Source, source), max(it.Layer, p.Layer)
			if wanted != nil && !wanted(it) {
				continue
			}
			r, ok, err := e.rule(it)
			switch {
			case err != nil && first == nil:
				first = &Error{Source: it.Source, Text: err.Error()}
			case ok:
				out = append(out, r)
			}
		}
	}
	return out, first
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
