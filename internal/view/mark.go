package view

import (
	"slices"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Mark is a place with the rule that is in force there.
type Mark struct {
	Path   string // as seen inside
	Access policy.Access
	Rule   string // the path of the rule as it was written, variables expanded: links in it are kept, and its last element may be a pattern
	Layer  policy.Layer
	Source string
	Pin    bool // no rule of its own: held in place for what is below it
	Closed bool // private by its rule; without mounts it is the host's own, which cannot be opened
}

// Word names the access as people are shown it.
func (m *Mark) Word() string { return Word(m.Access, m.Closed) }

// Closed is the word for a private place with Landlock and sandbox-exec.
const Closed = "closed"

func Word(a policy.Access, closed bool) string {
	if closed {
		return Closed
	}
	return a.String()
}

func (v *View) MarkOf(m *Mount) Mark {
	return Mark{Path: v.Inside(m.Path), Access: m.Eff, Rule: m.Rule.Path, Layer: m.Rule.Layer, Source: m.Rule.Source, Pin: m.Pin, Closed: v.Bare && m.Eff == policy.Private}
}

// SourceRun is the source of the rules for the directory of a run with Landlock
// or sandbox-exec.
const SourceRun = "sbx"

// BeltMarks are the links that nobody may replace, as marks of what is held in
// place: their names are hidden or protected, what they lead to has a mark of its
// own.
func (v *View) BeltMarks() []Mark {
	var out []Mark
	for _, l := range v.Nailed {
		if !slices.ContainsFunc(out, func(m Mark) bool { return m.Path == l.Path }) {
			out = append(out, Mark{Path: l.Path, Access: policy.Write, Rule: l.Path, Source: SourceRun, Pin: true})
		}
	}
	return out
}
