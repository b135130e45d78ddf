// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"errors"
	"fmt"
	"strings"
)

// forms are the lists that are not calls: some of their parts are not evaluated.
var forms map[string]func(in *interpreter, n *node, s *scope) (value, error)

func init() {
	forms = map[string]func(in *interpreter, n *node, s *scope) (value, error){
		"version": (*interpreter).version,
		"allow":   (*interpreter).rule,
		"deny":    (*interpreter).rule,
		"with":    (*interpreter).with,
		"define":  (*interpreter).define,
		"lambda":  (*interpreter).lambda,
		"let":     (*interpreter).let,
		"let*":    (*interpreter).let,
		"if":      (*interpreter).ifForm,
		"when":    (*interpreter).when,
		"unless":  (*interpreter).when,
		"cond":    (*interpreter).cond,
		"and":     (*interpreter).logic,
		"or":      (*interpreter).logic,
		"begin":   func(in *interpreter, n *node, s *scope) (value, error) { return in.body(n.list[1:], s) },
		"quote":   (*interpreter).quote,
		"debug":   ignore,
		// They change what is logged, not what is decided.
		"disable-callouts": ignore, "disable-full-symbolication": ignore,
	}
}

func ignore(*interpreter, *node, *scope) (value, error) { return nothing{}, nil }

func (in *interpreter) version(n *node, _ *scope) (value, error) {
	if len(n.list) != 2 || n.list[1].kind != numberNode || n.list[1].num < 1 || n.list[1].num > 3 {
		return nil, errors.New("no version that is known")
	}
	return nothing{}, nil
}

// rule takes (allow OPERATION … FILTER …): all operations, any of the filters.
func (in *interpreter) rule(n *node, s *scope) (value, error) {
	r := &Rule{Allow: n.head() == "allow", Text: in.text[n.pos:n.end], Index: len(in.profile.Rules)}
	for _, a := range n.list[1:] {
		v, err := in.ruleArg(a, s)
		if err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case opName:
			if len(r.filters) > 0 {
				return nil, in.errorf(a, "operation %s after a filter", string(v))
			}
			r.Ops = append(r.Ops, string(v))
		case *filter:
			v.settle()
			r.filters = append(r.filters, v)
		case modifier:
			r.mods = append(r.mods, string(v))
		default:
			return nil, in.errorf(a, "%s is neither operation nor filter", describe(v))
		}
	}
	switch {
	case len(r.Ops) == 0:
		return nil, errors.New("a rule without operation")
	case r.Index == maxRules:
		return nil, fmt.Errorf("more than %d rules", maxRules)
	}
	if err := r.checkFilters(); err != nil {
		return nil, err
	}
	in.profile.Rules = append(in.profile.Rules, r)
	return nothing{}, nil
}

func (in *interpreter) ruleArg(a *node, s *scope) (value, error) {
	if a.kind == symbolNode {
		if _, ok := in.lookup(a.text, s); !ok {
			return nil, in.errorf(a, "unknown operation %q", a.text)
		}
	}
	return in.eval(a, s)
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

var modifiers = []string{
	"report", "no-report", "no-log", "message", "send-signal", "termination", "no-sandbox", "no-profile", "deprecated",
	"rootless", "user-approval", "no-approval-prompt", "authority", "telemetry", "no-callout", "partial-symbolication",
}

func (in *interpreter) with(n *node, _ *scope) (value, error) {
	for _, m := range modifiers {
		if len(n.list) > 1 && n.list[1].kind == symbolNode && n.list[1].text == m {
			return modifier(m), nil
		}
	}
	return nil, errors.New("unknown modifier")
}

func (in *interpreter) define(n *node, s *scope) (value, error) {
	if len(n.list) < 3 {
		return nil, errors.New("a definition of nothing")
	}
	name, head := n.list[1].text, n.list[1]
	if head.kind == listNode {
		name = head.head()
	}
	if name == "" || in.known(name, &scope{}) {
		return nil, fmt.Errorf("%q cannot be defined anew", name)
	}
	var v value
	var err error
	if head.kind == listNode {
		v, err = in.function(head.list[1:], n.list[2:], s)
	} else if head.kind != symbolNode || len(n.list) > 3 {
		err = errors.New("no definition that is read here")
	} else {
		v, err = in.eval(n.list[2], s)
	}
	if err == nil {
		s.vars[name] = v
	}
	return nothing{}, err
}

func (in *interpreter) lambda(n *node, s *scope) (value, error) {
	if len(n.list) < 3 || n.list[1].kind != listNode {
		return nil, errors.New("no lambda that is read here")
	}
	return in.function(n.list[1].list, n.list[2:], s)
}

func (in *interpreter) function(params, body []*node, s *scope) (value, error) {
	fn := &function{body: body, scope: s}
	for _, p := range params {
		if p.kind != symbolNode || in.known(p.text, &scope{}) {
			return nil, errors.New("a parameter that is no new name")
		}
		fn.params = append(fn.params, p.text)
	}
	return fn, nil
}

func (in *interpreter) let(n *node, s *scope) (value, error) {
	if len(n.list) < 3 || n.list[1].kind != listNode {
		return nil, errors.New("no let that is read here")
	}
	inner := s.child()
	for _, b := range n.list[1].list {
		if b.head() == "" || len(b.list) != 2 || in.known(b.head(), &scope{}) {
			return nil, errors.New("a binding that is not (new-name value)")
		}
		from := s
		if n.head() == "let*" {
			from = inner
		}
		v, err := in.eval(b.list[1], from)
		if err != nil {
			return nil, err
		}
		inner.vars[b.head()] = v
	}
	return in.body(n.list[2:], inner)
}

func (in *interpreter) ifForm(n *node, s *scope) (value, error) {
	if len(n.list) != 3 && len(n.list) != 4 {
		return nil, errors.New("an if has a condition and one or two forms")
	}
	v, err := in.eval(n.list[1], s)
	switch {
	case err != nil:
		return nil, err
	case truth(v):
		return in.eval(n.list[2], s)
	case len(n.list) == 4:
		return in.eval(n.list[3], s)
	}
	return nothing{}, nil
}

func (in *interpreter) when(n *node, s *scope) (value, error) {
	if len(n.list) < 2 {
		return nil, errors.New("a condition is missing")
	}
	v, err := in.eval(n.list[1], s)
	if err != nil || truth(v) != (n.head() == "when") {
		return nothing{}, err
	}
	return in.body(n.list[2:], s)
}

func (in *interpreter) cond(n *node, s *scope) (value, error) {
	for _, c := range n.list[1:] {
		if c.kind != listNode || len(c.list) == 0 {
			return nil, errors.New("a clause of cond is a list")
		}
		if c.head() == "else" {
			return in.body(c.list[1:], s)
		}
		v, err := in.eval(c.list[0], s)
		if err != nil {
			return nil, err
		}
		if truth(v) {
			return in.body(c.list[1:], s)
		}
	}
	return nothing{}, nil
}

func (in *interpreter) logic(n *node, s *scope) (value, error) {
	and := n.head() == "and"
	var v value = and
	for _, a := range n.list[1:] {
		var err error
		if v, err = in.eval(a, s); err != nil || truth(v) != and {
			return v, err
		}
	}
	return v, nil
}

func (in *interpreter) quote(n *node, _ *scope) (value, error) {
	if len(n.list) != 2 {
		return nil, errors.New("a quote of one form")
	}
	switch q := n.list[1]; q.kind {
	case symbolNode:
		return symbol(q.text), nil
	case listNode:
		return nil, errors.New("quoted lists are not read here")
	default:
		return in.eval(q, nil)
	}
}

// builtins are functions of evaluated arguments.
var builtins map[string]func(in *interpreter, args []value) (value, error)

func init() {
	builtins = map[string]func(in *interpreter, args []value) (value, error){
		"param":         (*interpreter).param,
		"string-append": (*interpreter).stringAppend,
		"defined?":      (*interpreter).defined,
		"not": func(_ *interpreter, args []value) (value, error) {
			if len(args) != 1 {
				return nil, errors.New("not of one value")
			}
			return !truth(args[0]), nil
		},
		"equal?": equal, "eq?": equal, "eqv?": equal, "string=?": equal, "=": equal,
	}
}

func (in *interpreter) param(args []value) (value, error) {
	if len(args) != 1 {
		return nil, errors.New("param of one name")
	}
	name, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("param of %s", describe(args[0]))
	}
	in.profile.used[name] = true
	if v, ok := in.params[name]; ok {
		return v, nil
	}
	return missing(name), nil
}

func (in *interpreter) stringAppend(args []value) (value, error) {
	var b strings.Builder
	for _, a := range args {
		s, ok := a.(string)
		if !ok {
			return nil, fmt.Errorf("string-append of %s", describe(a))
		}
		if b.WriteString(s); b.Len() > maxString {
			return nil, errors.New("too long a string")
		}
	}
	return b.String(), nil
}

func (in *interpreter) defined(args []value) (value, error) {
	if len(args) == 1 {
		if name, ok := args[0].(symbol); ok {
			return in.known(string(name), in.global), nil
		}
	}
	return nil, errors.New("defined? of one quoted name")
}

func equal(_ *interpreter, args []value) (value, error) {
	if len(args) != 2 {
		return nil, errors.New("a comparison of two values")
	}
	switch a := args[0].(type) {
	case string, int64, bool, symbol:
		return a == args[1], nil
	}
	return nil, fmt.Errorf("a comparison of %s", describe(args[0]))
}
