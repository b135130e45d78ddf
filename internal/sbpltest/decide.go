// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"fmt"
	"slices"
	"strings"
)

// Request is one question of the kernel: may this process do Op to that? Which
// fields count depends on the operation.
type Request struct {
	Op string

	Path     string // absolute; links are followed
	NoFollow bool   // but not a link at the very end
	Kind     string // of the node, as in (vnode-type DIRECTORY); "" means a regular file, or a socket

	Name   string // of a service, sysctl, object, domain of preferences, …
	Space  string // global-name (or ""), local-name or xpc-service-name
	Target string // a process: self, children, same-sandbox, pgrp, others, initproc

	Net           string // tcp or udp
	Local, Remote string // HOST:PORT with a number for host, or localhost
	Domain, Type  string // of a new socket: AF_UNIX, SOCK_STREAM
	Protocol      int

	Ioctl      int64
	Extensions []string // classes that the process holds for this

	resolved bool   // the path is what the kernel makes of it
	folded   string // that in lower case
}

// String is for messages.
func (r Request) String() string {
	words := []string{r.Op}
	for _, w := range []string{r.Path, r.Kind, r.Name, r.Target, r.Net, r.Local, r.Remote, r.Domain} {
		if w != "" {
			words = append(words, w)
		}
	}
	if r.Ioctl != 0 {
		words = append(words, fmt.Sprintf("%#x", r.Ioctl))
	}
	return strings.Join(words, " ")
}

// Model is a reading of which rule wins.
type Model int

const (
	// Naive takes a profile as a list: the last rule that matches, about the
	// operation or one that it belongs to, wins.
	Naive Model = iota
	// Observed is what Macs were seen to do: see the package's description.
	Observed
)

// Models are all of them.
var Models = []Model{Naive, Observed}

func (m Model) String() string {
	if m == Naive {
		return "naive"
	}
	return "observed"
}

// Decision is an answer with its reason.
type Decision struct {
	Allowed bool
	Rule    *Rule  // nil where no rule decided
	Why     string // the rule with its number, or what stands in for it
}

func decidedBy(r *Rule) Decision {
	return Decision{r.Allow, r, fmt.Sprintf("rule %d: %s", r.Index, r.Text)}
}

// Decide answers a request under a model.
func (p *Profile) Decide(m Model, r Request) Decision {
	op, ok := operations[r.Op]
	if !ok {
		return Decision{Why: fmt.Sprintf("there is no operation %q", r.Op)}
	}
	if r.Path != "" {
		p.resolve(&r)
		if r.Kind == "" {
			r.Kind = "REGULAR-FILE"
			if strings.HasPrefix(r.Op, "network") {
				r.Kind = "SOCKET"
			}
		}
	}
	if m == Naive {
		return p.naive(op, &r)
	}
	return p.observed(op, &r)
}

// resolve makes the path of a request the kernel's, and returns the links on the way.
func (p *Profile) resolve(r *Request) (links []string) {
	if !r.resolved {
		r.Path, links = p.opts.resolve(r.Path, r.NoFollow)
		r.resolved, r.folded = true, strings.ToLower(r.Path)
	}
	return links
}

func (p *Profile) naive(op *operation, r *Request) Decision {
	for i := len(p.Rules) - 1; i >= 0; i-- {
		rule := p.Rules[i]
		for _, about := range rule.Ops {
			if slices.Contains(op.chain, about) && (rule.bare() || rule.matches(r)) {
				return decidedBy(rule)
			}
		}
	}
	return Decision{Why: "no rule, and no default"}
}

// observed asks the operation, then what it belongs to (P1). Of the rules of one
// operation the last that matches wins (P2), and one without filter counts only
// when none with filter matches (P3). Some operations end the search (P4).
func (p *Profile) observed(op *operation, r *Request) Decision {
	for ; op != nil; op = operations[op.parent] {
		if rule := p.own(op.name, r); rule != nil {
			return decidedBy(rule)
		}
		if op.implicit {
			return Decision{Allowed: true, Why: op.name + " is allowed by default"}
		}
	}
	return Decision{Why: "no rule, and no default"}
}

// own is the rule that decides of those that name an operation.
func (p *Profile) own(op string, r *Request) *Rule {
	var fallback *Rule
	for i := len(p.Rules) - 1; i >= 0; i-- {
		rule := p.Rules[i]
		switch {
		case !rule.names(op):
		case rule.bare():
			if fallback == nil {
				fallback = rule
			}
		case rule.matches(r):
			return rule
		}
	}
	return fallback
}

func (r *Rule) names(op string) bool { return slices.Contains(r.Ops, op) }
