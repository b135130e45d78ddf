// SPDX-License-Identifier: Apache-2.0

package bwrap

import (
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
)

// prefixed puts the program that makes the control group in front of bwrap,
// with the variables that it needs; bwrap takes those back, so that the command
// has what the policy gives it. systemd-run expands ${NAME} in the words that
// it executes, in some versions without being asked (--expand-environment).
func prefixed(p *engine.Plan, a *bwrapargs.Args) {
	for _, kv := range p.Limits.Env {
		name, value, _ := strings.Cut(kv, "=")
		i := slices.IndexFunc(p.Env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		switch {
		case i < 0:
			p.Env = append(p.Env, kv)
			a.Unsetenv = append(a.Unsetenv, name)
		case p.Env[i] != kv:
			a.Setenv = append(a.Setenv, bwrapargs.Var{Name: name, Value: p.Env[i][len(name)+1:]})
			p.Env[i] = name + "=" + value
		}
	}
	for _, name := range p.Limits.Drop {
		if value, ok := host.LookupEnv(p.Env, name); ok {
			a.Setenv = append(a.Setenv, bwrapargs.Var{Name: name, Value: value})
		} else {
			a.Unsetenv = append(a.Unsetenv, name)
		}
	}
}

// prefix does the same to the words.
func prefix(p *engine.Plan) error {
	if len(p.Limits.Prefix) == 0 {
		return nil
	}
	if slices.ContainsFunc(p.Argv, func(word string) bool { return strings.IndexByte(word, '$') >= 0 }) {
		return engine.Fail("a word of the command holds $, and some versions of systemd-run, which makes the control group, would replace what follows", "leave out --direct, or pass the words in a file")
	}
	// Its own words are in front: "--" ends them.
	p.Argv = slices.Concat(p.Limits.Prefix, []string{p.Path}, p.Argv[1:])
	p.Path = p.Limits.Prefix[0]
	return nil
}
