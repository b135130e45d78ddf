// SPDX-License-Identifier: Apache-2.0

package view

import (
	"iter"
	"slices"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Rule is a place with the rule that is in force there.
type Rule struct {
	Path    string // as seen inside
	Access  policy.Access
	Written string // the path of the rule, variables expanded, links kept; its last element may be a pattern
	Layer   policy.Layer
	Source  string
	Pinned  bool // no rule of its own: held in place for what is below it
	Closed  bool // private by its rule; without mounts it is the host's own, which cannot be opened
}

// Word names the access as people are shown it.
func (m *Rule) Word() string { return Word(m.Access, m.Closed) }

// Closed is the word for a private place with Landlock and sandbox-exec.
const Closed = "closed"

func Word(a policy.Access, closed bool) string {
	if closed {
		return Closed
	}
	return a.String()
}

// Rules are the rules in force, parents first, and after them the links that are
// held in place.
func (v *View) Rules() iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		for _, m := range v.InForceEntries() {
			if !yield(v.ruleOf(m)) {
				return
			}
		}
		for _, m := range v.heldLinkRules() {
			if !yield(m) {
				return
			}
		}
	}
}

// InForceEntries are the entries that decide about their paths.
func (v *View) InForceEntries() iter.Seq2[int, *Entry] {
	return func(yield func(int, *Entry) bool) {
		for i := range v.Entries {
			if m := &v.Entries[i]; v.InForce(m) && !yield(i, m) {
				return
			}
		}
	}
}

func (v *View) ruleOf(m *Entry) Rule {
	return Rule{Path: v.Inside(m.Path), Access: m.Access, Written: m.Rule.Path, Layer: m.Rule.Layer,
		Source: m.Rule.Source, Pinned: m.Pinned, Closed: v.NoMounts && m.Access == policy.Private}
}

// SourceRun is the source of the rules for the directory of a run with Landlock
// or sandbox-exec.
const SourceRun = "sbx"

// heldLinkRules are the links that no one may replace, as rules for what is held in
// place: their names are hidden or protected, what they lead to has a rule of its
// own.
func (v *View) heldLinkRules() []Rule {
	var out []Rule
	for _, l := range v.HeldLinks {
		if !slices.ContainsFunc(out, func(m Rule) bool { return m.Path == l.Path }) {
			out = append(out, Rule{Path: l.Path, Access: policy.Write, Written: l.Path, Source: SourceRun,
				Pinned: true})
		}
	}
	return out
}
