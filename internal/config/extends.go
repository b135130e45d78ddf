// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Bounds of one profile with all it extends. Flattening visits a parent once
// for every way that leads to it: without a bound, 32 profiles that each
// extend two of the next would be visited four thousand million times.
const (
	maxChain  = 32
	maxVisits = 256
	maxSum    = 50_000 // items
)

// load is what flattening a profile takes.
type load struct{ depth, visits, items int }

// checkExtends checks the parents of all profiles of a file: that they exist,
// that they do not lead back, and that they add up to something bearable.
func (l *loader) checkExtends(doc *document) error {
	w := adder{l: l, done: make(map[string]load)}
	for _, p := range doc.profiles {
		sum, err := w.add(p.Name, nil)
		if err != nil {
			return err
		}
		switch {
		case sum.depth > maxChain:
			return doc.errorf(p.at, "profile %s: extends is nested more than %d deep", strconv.Quote(p.Name), maxChain)
		case sum.visits > maxVisits:
			return doc.errorf(p.at, "profile %s: extends adds up more than %d profiles", strconv.Quote(p.Name),
				maxVisits)
		case sum.items > maxSum:
			return doc.errorf(p.at, "profile %s: its lists add up to more than %d elements", strconv.Quote(p.Name),
				maxSum)
		}
	}
	return nil
}

// adder adds up what profiles extend, visiting each once.
type adder struct {
	l    *loader
	done map[string]load
}

func (w *adder) add(name string, path []string) (load, error) {
	if sum, ok := w.done[name]; ok {
		return sum, nil
	}
	path = append(slices.Clip(path), name)
	stack := w.l.set[name]
	sum := load{depth: 1, visits: 1}
	for _, p := range stack {
		sum.items += itemsOf(p)
		for i, parent := range p.Extends {
			// A later layer's profile extends that of its own name anyway.
			if parent == name && len(stack) > 1 {
				continue
			}
			if w.l.set.AsBuiltIn(p, parent) {
				continue // its items are in p
			}
			if err := w.check(p, i, path); err != nil {
				return load{}, err
			}
			up, err := w.add(parent, path)
			if err != nil {
				return load{}, err
			}
			sum = load{max(sum.depth, up.depth+1), min(sum.visits+up.visits, maxVisits+1),
				min(sum.items+up.items, maxSum+1)}
		}
	}
	w.done[name] = sum
	return sum, nil
}

// check looks at the i-th parent of p, which path led to.
func (w *adder) check(p *policy.Profile, i int, path []string) error {
	parent := p.Extends[i]
	err := &policy.Error{Source: p.Source}
	if places := w.l.extends[p]; i < len(places) {
		err.Source = places[i]
	}
	if _, ok := w.l.set[parent]; !ok {
		err.Known = w.l.set.Names()
		err.Near = text.Nearest(parent, err.Known)
		err.Text = "profile " + strconv.Quote(p.Name) + ": extends " + strconv.Quote(parent) + ": no such profile"
		return err
	}
	if at := slices.Index(path, parent); at >= 0 {
		err.Text = oneLine("extends goes in a circle: " + strings.Join(append(slices.Clone(path[at:]), parent), " -> "))
		return err
	}
	return nil
}

func itemsOf(p *policy.Profile) int {
	n := len(p.EnvSet)
	for _, key := range policy.ListKeys() {
		n += len(p.List(key).Items)
	}
	return n
}
