// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"fmt"
	"strings"
)

// Mutant is a profile with one thing deleted.
type Mutant struct {
	Text string
	Desc string // line and what is gone
	By   string // what noticed: a case, a lint, an error of loading
}

// Mutants are all texts that come from deleting one allow or deny, one filter of a
// rule that has several, or one part of a require-any or require-all that has
// several. A text that cannot be read has none.
func Mutants(text string) []Mutant { return mutants(text, false) }

// OpMutants are all that come from deleting one operation of a rule with several.
func OpMutants(text string) []Mutant { return mutants(text, true) }

func mutants(text string, ops bool) []Mutant {
	nodes, err := read(text)
	if err != nil {
		return nil
	}
	m := &mutator{text: text, ops: ops}
	for _, n := range nodes {
		m.form(n, n)
	}
	return m.out
}

type mutator struct {
	text string
	ops  bool
	out  []Mutant
}

// form looks for rules in a form. Whole is what has to go with a rule that is
// alone in its (when …).
func (m *mutator) form(n, whole *node) {
	switch head := n.head(); head {
	case "allow", "deny":
		if !m.ops {
			m.cut(whole, "without "+m.source(n))
		}
		m.rule(n)
	case "quote", "with":
	default:
		for _, in := range n.list {
			outer := in
			if head == "when" && m.rules(n) == 1 {
				outer = whole
			}
			m.form(in, outer)
		}
	}
}

// rules counts the rules directly in a form.
func (m *mutator) rules(n *node) int {
	count := 0
	for _, in := range n.list {
		if h := in.head(); h == "allow" || h == "deny" {
			count++
		}
	}
	return count
}

func (m *mutator) rule(n *node) {
	var ops, filters []*node
	for _, a := range n.list[1:] {
		switch {
		case a.kind == symbolNode && len(filters) == 0:
			ops = append(ops, a)
		case a.kind == listNode && a.head() != "with":
			filters = append(filters, a)
		}
	}
	if m.ops {
		m.oneOf(ops, n)
		return
	}
	m.oneOf(filters, n)
	for _, f := range filters {
		m.parts(f, n)
	}
}

// parts deletes members of boolean filters.
func (m *mutator) parts(f, rule *node) {
	switch f.head() {
	case all, some:
		m.oneOf(f.list[1:], rule)
		fallthrough
	case not:
		for _, in := range f.list[1:] {
			m.parts(in, rule)
		}
	}
}

func (m *mutator) oneOf(nodes []*node, rule *node) {
	if len(nodes) < 2 {
		return
	}
	for _, n := range nodes {
		m.cut(n, "without "+m.source(n)+" in "+m.source(rule))
	}
}

func (m *mutator) source(n *node) string {
	s := strings.Join(strings.Fields(m.text[n.pos:n.end]), " ")
	if len(s) > 120 {
		s = s[:120] + "…"
	}
	return s
}

func (m *mutator) cut(n *node, desc string) {
	line := 1 + strings.Count(m.text[:n.pos], "\n")
	rest := m.text[:n.pos] + " " + m.text[n.end:]
	m.out = append(m.out, Mutant{Text: rest, Desc: fmt.Sprintf("line %d: %s", line, desc)})
}

// Kill says which mutants a table and the lints notice: a case comes out
// otherwise in a model, the text does not load, or a lint finds something new.
// Parameters that only the deleted part used are no reason. The profile itself
// must pass the cases.
func Kill(
	text string, params map[string]string, cases []Case, mutants []Mutant,
) (killed, survivors []Mutant, err error) {
	var o Options
	p, err := o.Load(text, params)
	if err != nil {
		return nil, nil, err
	}
	if err := p.Run(cases); err != nil {
		return nil, nil, err
	}
	known := count(p.lint())
	o.lax = true
	for _, m := range mutants {
		if m.By = o.noticed(m, params, cases, known); m.By == "" {
			survivors = append(survivors, m)
		} else {
			killed = append(killed, m)
		}
	}
	return killed, survivors, nil
}

// noticed says by what a mutant is, "" if by nothing.
func (o Options) noticed(m Mutant, params map[string]string, cases []Case, known map[string]int) string {
	p, err := o.Load(m.Text, params)
	if err != nil {
		return "does not load: " + err.Error()
	}
	for _, c := range cases {
		for _, model := range Models {
			if got, _ := p.Check(model, c.Act); got != c.Want {
				return fmt.Sprintf("line %d: %s (%s)", c.Line, c.Act.Name, model)
			}
		}
	}
	found := p.lint()
	now := count(found)
	for _, f := range found {
		if now[f.kind] > known[f.kind] {
			return "lint: " + f.text
		}
	}
	return ""
}

// count is how many findings there are of each kind.
func count(found []finding) map[string]int {
	n := make(map[string]int)
	for _, f := range found {
		n[f.kind]++
	}
	return n
}
