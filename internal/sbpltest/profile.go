// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"fmt"
	"maps"
	"slices"
)

// Rule is an allow or deny of a profile, as evaluated: rules that are made twice
// by a function are two.
type Rule struct {
	Index int // in the order of evaluation, from 0
	Allow bool
	Ops   []string // by their proper names: process-exec* for process-exec
	Text  string   // as it stands in the profile

	filters []*filter // any of them; none means everything
	mods    []string
}

// bare reports whether a rule has no filter.
func (r *Rule) bare() bool { return len(r.filters) == 0 }

// matches reports whether a rule with filters is about a request.
func (r *Rule) matches(req *Request) bool {
	return slices.ContainsFunc(r.filters, func(f *filter) bool { return f.match(req) })
}

// Profile is an evaluated profile.
type Profile struct {
	Rules []*Rule

	opts  Options
	forms []*node
	used  map[string]bool // parameters that were asked for
}

// Options say on what Mac a profile is evaluated. The zero value is a current
// release with volumes as they are by default.
type Options struct {
	// Without are operations that the release does not know: (defined? 'op) is
	// false, a rule that names one is an error, and the kernel never asks.
	Without []string
	// Links are symbolic links besides /tmp, /var, /etc and /home: path to target.
	Links map[string]string

	lax bool // for mutants: parameters may be left over
}

// Old is a Mac that knows fewer operations than any that is in use: macOS 10.12
// had neither file-clone nor file-test-existence, and 10.15 none of the others.
func Old() Options {
	o := Options{Without: []string{"file-clone", "file-test-existence"}}
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		if operations[name].since {
			o.Without = append(o.Without, name)
		}
	}
	return o
}

// operation gives the proper name of an operation that the release knows.
func (o *Options) operation(name string) (string, bool) {
	if proper, ok := aliases[name]; ok {
		name = proper
	}
	_, ok := operations[name]
	return name, ok && !slices.Contains(o.Without, name)
}

// Load evaluates a profile on a current Mac with its parameters, as given to
// sandbox-exec by -D. The error of a text that does not load is an [*Error].
func Load(text string, params map[string]string) (*Profile, error) {
	return Options{}.Load(text, params)
}

// Load evaluates a profile.
func (o Options) Load(text string, params map[string]string) (*Profile, error) {
	nodes, err := read(text)
	if err != nil {
		return nil, err
	}
	p := &Profile{opts: o, forms: nodes, used: make(map[string]bool)}
	e := &evaluator{text: text, params: params, profile: p}
	if err := e.forms(nodes); err != nil {
		return nil, err
	}
	if o.lax {
		return p, nil
	}
	for _, n := range nodes {
		mentions(n, p.used)
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !p.used[name] {
			return nil, fmt.Errorf("parameter %q is given but never used", name)
		}
	}
	return p, nil
}

// mentions collects the names in (param "NAME"), evaluated or not: a parameter of
// rules that the release leaves out is no mistake.
func mentions(n *node, names map[string]bool) {
	if n.head() == "param" && len(n.list) == 2 {
		names[n.list[1].text] = true
	}
	for _, in := range n.list {
		mentions(in, names)
	}
}
