// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// value is what a form is worth: string, int64, bool, symbol, opName, *filter,
// modifier, missing, *function, []value or nothing.
type value any

type (
	symbol   string
	opName   string   // an operation
	modifier string   // of an action: (with report)
	missing  string   // the value of a parameter that is not given
	nothing  struct{} // what definitions and rules are worth
)

// function is one that the profile defines.
type function struct {
	params []string
	body   []*node
	scope  *scope
}

type scope struct {
	vars map[string]value
	up   *scope
}

func (s *scope) find(name string) (value, bool) {
	for ; s != nil; s = s.up {
		if v, ok := s.vars[name]; ok {
			return v, true
		}
	}
	return nil, false
}

func (s *scope) child() *scope { return &scope{vars: make(map[string]value), up: s} }

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
	case bool:
		return "a boolean"
	case *filter:
		return "the filter " + v.String()
	}
	return "something else"
}

// truth is Scheme's: only #f is false, and so is a parameter that is not given.
func truth(v value) bool {
	switch v := v.(type) {
	case bool:
		return v
	case missing:
		return false
	}
	return true
}

// Bounds that no profile reaches and that end every evaluation.
const (
	maxSteps  = 1 << 20
	maxCalls  = 100
	maxString = 1 << 16
	maxRules  = 2000
)

// interpreter evaluates a profile and collects its rules.
type interpreter struct {
	text    string
	opts    Options
	params  map[string]string
	profile *Profile
	global  *scope
	steps   int
	depth   int
}

// at gives an error the place of a form, unless it has one.
func (in *interpreter) at(n *node, err error) error {
	var placed *Error
	if err == nil || errors.As(err, &placed) {
		return err
	}
	return errorAt(in.text, n.pos, "%s", err)
}

func (in *interpreter) errorf(n *node, format string, args ...any) error {
	return errorAt(in.text, n.pos, format, args...)
}

func (in *interpreter) eval(n *node, s *scope) (value, error) {
	if in.steps++; in.steps > maxSteps {
		return nil, in.errorf(n, "this takes more than %d steps", maxSteps)
	}
	switch n.kind {
	case stringNode:
		return n.text, nil
	case numberNode:
		return n.num, nil
	case boolNode:
		return n.yes, nil
	case symbolNode:
		if v, ok := in.lookup(n.text, s); ok {
			return v, nil
		}
		return nil, in.errorf(n, "unbound symbol %q", n.text)
	}
	if len(n.list) == 0 {
		return nil, in.errorf(n, "() is no form")
	}
	if in.depth++; in.depth > maxCalls+maxDepth {
		return nil, in.errorf(n, "too deep a recursion")
	}
	defer func() { in.depth-- }()
	return in.call(n, s)
}

// lookup finds what a symbol stands for. Symbols that the language gives a
// meaning, but no value, stand for themselves.
func (in *interpreter) lookup(name string, s *scope) (value, bool) {
	if v, ok := s.find(name); ok {
		return v, true
	}
	if op, ok := in.opts.operation(name); ok {
		return opName(op), true
	}
	if isConstant(name) {
		return symbol(name), true
	}
	return nil, false
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

// known reports whether (defined? 'name) holds.
func (in *interpreter) known(name string, s *scope) bool {
	_, isFilter := filterSpecs[name]
	_, isForm := forms[name]
	_, isBuiltin := builtins[name]
	_, isValue := in.lookup(name, s)
	return isValue || isFilter || isForm || isBuiltin || name == all || name == some || name == not
}

// call evaluates a list: a special form, a filter, or a function.
func (in *interpreter) call(n *node, s *scope) (value, error) {
	name := n.head()
	if v, ok := s.find(name); ok && name != "" {
		return in.apply(n, v, s)
	}
	if form := forms[name]; form != nil {
		v, err := form(in, n, s)
		return v, in.at(n, err)
	}
	_, isFilter := filterSpecs[name]
	if name != all && name != some && name != not && !isFilter && builtins[name] == nil {
		if name == "" {
			v, err := in.eval(n.list[0], s)
			if err != nil {
				return nil, err
			}
			return in.apply(n, v, s)
		}
		return nil, in.errorf(n, "unknown filter or function %q", name)
	}
	args, err := in.args(n, s)
	if err != nil {
		return nil, err
	}
	if fn := builtins[name]; fn != nil {
		v, err := fn(in, args)
		return v, in.at(n, err)
	}
	f, err := newFilter(name, args)
	if err != nil {
		return nil, in.at(n, err)
	}
	return f, nil
}

func (in *interpreter) args(n *node, s *scope) ([]value, error) {
	var args []value
	for _, a := range n.list[1:] {
		v, err := in.eval(a, s)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	return args, nil
}

func (in *interpreter) apply(n *node, v value, s *scope) (value, error) {
	fn, ok := v.(*function)
	if !ok {
		return nil, in.errorf(n, "%s is no function", describe(v))
	}
	args, err := in.args(n, s)
	if err != nil {
		return nil, err
	}
	if len(args) != len(fn.params) {
		return nil, in.errorf(n, "%d arguments for a function of %d", len(args), len(fn.params))
	}
	inner := fn.scope.child()
	for i, p := range fn.params {
		inner.vars[p] = args[i]
	}
	return in.body(fn.body, inner)
}

// body evaluates forms in turn and is worth the last.
func (in *interpreter) body(nodes []*node, s *scope) (value, error) {
	var v value = nothing{}
	for _, n := range nodes {
		var err error
		if v, err = in.eval(n, s); err != nil {
			return nil, err
		}
	}
	return v, nil
}
