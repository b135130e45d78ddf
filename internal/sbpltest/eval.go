// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// value is what an argument is worth: string, int64, symbol, opName, *filter,
// modifier or missing.
type value any

type (
	symbol   string
	opName   string // an operation
	modifier string // of an action: (with report)
	missing  string // the value of a parameter that is not given
)

func describe(v value) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("the string %q", v)
	case int64:
		return fmt.Sprintf("the number %d", v)
	case symbol:
		return fmt.Sprintf("the symbol %q", string(v))
	case opName:
		return fmt.Sprintf("the operation %s", string(v))
	case missing:
		return fmt.Sprintf("a parameter that is not given, %q", string(v))
	case *filter:
		return "the filter " + v.String()
	}
	return "something else"
}

// evaluator reads the forms of a profile and collects its rules.
type evaluator struct {
	text    string
	params  map[string]string
	profile *Profile
}

// at gives an error the place of a form, unless it has one.
func (e *evaluator) at(n *node, err error) error {
	var placed *Error
	if err == nil || errors.As(err, &placed) {
		return err
	}
	return errorAt(e.text, n.pos, "%s", err)
}

func (e *evaluator) errorf(n *node, format string, args ...any) error {
	return errorAt(e.text, n.pos, format, args...)
}

// forms evaluates what stands at the top of a profile, or in a (when …).
func (e *evaluator) forms(nodes []*node) error {
	for _, n := range nodes {
		var err error
		switch n.head() {
		case "version":
			if len(n.list) != 2 || n.list[1].kind != numberNode || n.list[1].num < 1 || n.list[1].num > 3 {
				err = errors.New("no version that is known")
			}
		case "allow", "deny":
			err = e.rule(n)
		case "when":
			var holds bool
			if holds, err = e.condition(n); holds {
				err = e.forms(n.list[2:])
			}
		default:
			_, err = e.eval(n)
		}
		if err != nil {
			return e.at(n, err)
		}
	}
	return nil
}

// condition is that of a when: (defined? 'NAME).
func (e *evaluator) condition(n *node) (bool, error) {
	if len(n.list) > 1 && n.list[1].head() == "defined?" && len(n.list[1].list) == 2 {
		if q := n.list[1].list[1]; q.head() == "quote" && q.list[1].kind == symbolNode {
			return e.known(q.list[1].text), nil
		}
	}
	return false, errors.New("a condition that is not (defined? 'NAME)")
}

// known reports whether (defined? 'name) holds.
func (e *evaluator) known(name string) bool {
	_, isOp := e.profile.opts.operation(name)
	return isOp || isConstant(name) || isFilter(name)
}

// rule takes (allow OPERATION … FILTER …): all operations, any of the filters.
func (e *evaluator) rule(n *node) error {
	r := &Rule{Allow: n.head() == "allow", Text: e.text[n.pos:n.end], Index: len(e.profile.Rules)}
	for _, a := range n.list[1:] {
		if a.kind == symbolNode && (isFilter(a.text) || !e.known(a.text)) {
			return e.errorf(a, "unknown operation %q", a.text)
		}
		v, err := e.eval(a)
		if err != nil {
			return err
		}
		switch v := v.(type) {
		case opName:
			if len(r.filters) > 0 {
				return e.errorf(a, "operation %s after a filter", string(v))
			}
			r.Ops = append(r.Ops, string(v))
		case *filter:
			v.settle()
			r.filters = append(r.filters, v)
		case modifier:
			r.mods = append(r.mods, string(v))
		default:
			return e.errorf(a, "%s is neither operation nor filter", describe(v))
		}
	}
	if len(r.Ops) == 0 {
		return errors.New("a rule without operation")
	}
	e.profile.Rules = append(e.profile.Rules, r)
	return r.checkFilters()
}

// checkFilters refuses filters that an operation has nothing for.
func (r *Rule) checkFilters() (err error) {
	for _, f := range r.filters {
		f.leaves(func(leaf *filter, _ bool) {
			for _, op := range r.Ops {
				if !operations[op].takes(leaf.spec.family) {
					err = fmt.Errorf("filter %s does not go with operation %s", leaf.name, op)
				}
			}
		})
	}
	return err
}

// constants are the words for arguments of filters.
var constants = append([]string{
	"REGULAR-FILE", "DIRECTORY", "SYMLINK", "BLOCK-DEVICE", "CHARACTER-DEVICE", "FIFO", "SOCKET", "TTY",
	"self", "same-sandbox", "others", "children", "pgrp", "initproc", "unix", "unix-socket",
}, protocols...)

func isConstant(name string) bool {
	if _, ok := ioctls[name]; ok || slices.Contains(constants, name) {
		return true
	}
	for _, prefix := range []string{"AF_", "SOCK_", "IPPROTO_", "SIG", "F_", "SYS_"} {
		if strings.HasPrefix(name, prefix) && name == strings.ToUpper(name) {
			return true
		}
	}
	return false
}

var modifiers = []string{
	"report", "no-report", "no-log", "message", "send-signal", "termination", "no-sandbox", "no-profile", "deprecated",
	"rootless", "user-approval", "no-approval-prompt", "authority", "telemetry", "no-callout", "partial-symbolication",
}

// eval gives the value of an argument of a rule or of a filter.
func (e *evaluator) eval(n *node) (value, error) {
	switch n.kind {
	case stringNode:
		return n.text, nil
	case numberNode:
		return n.num, nil
	case symbolNode:
		if op, ok := e.profile.opts.operation(n.text); ok {
			return opName(op), nil
		}
		if isConstant(n.text) {
			return symbol(n.text), nil
		}
		return nil, e.errorf(n, "unbound symbol %q", n.text)
	}
	switch name := n.head(); {
	case name == "param":
		return e.param(n)
	case name == "with":
		if len(n.list) > 1 && n.list[1].kind == symbolNode && slices.Contains(modifiers, n.list[1].text) {
			return modifier(n.list[1].text), nil
		}
		return nil, e.errorf(n, "unknown modifier")
	case isFilter(name):
		var args []value
		for _, a := range n.list[1:] {
			v, err := e.eval(a)
			if err != nil {
				return nil, err
			}
			args = append(args, v)
		}
		f, err := newFilter(name, args)
		return f, e.at(n, err)
	default:
		return nil, e.errorf(n, "unknown filter or function %q", name)
	}
}

func (e *evaluator) param(n *node) (value, error) {
	if len(n.list) != 2 || n.list[1].kind != stringNode {
		return nil, e.errorf(n, "a param has one name")
	}
	name := n.list[1].text
	e.profile.used[name] = true
	if v, ok := e.params[name]; ok {
		return v, nil
	}
	return missing(name), nil
}
