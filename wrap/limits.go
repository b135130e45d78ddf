package wrap

import (
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/limits"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Wanted are the limits that a policy sets, but for time. Where they are for
// all processes together, the host has to be asked before a plan is made.
func Wanted(pol *policy.Policy) limits.Wanted {
	return limits.Wanted{MemoryMB: pol.MemoryLimitMB, CPUs: pol.CPUs, Procs: pol.Procs, FileSizeMB: pol.FileSizeMB}
}

// limit finds what puts the limits into force.
func (p *Plan) limit(req Request, h *Host, v *view, pol *policy.Policy) error {
	want := Wanted(pol)
	if !want.Any() {
		return nil
	}
	means, err := limits.Choose(want, h.Limits, limits.Options{BestEffort: pol.Limits == "best-effort", Staged: v.staged(req.Direct, pol, h)})
	if refused, ok := err.(*limits.Refusal); ok {
		text := refused.Error()
		if where := pol.Where[refused.Key]; where != "" {
			text = where + ": " + text
		}
		if v.ahead {
			refused.Hint = "macOS has no control groups: leave the limit out, or say limits = \"best-effort\" in a config file"
		} else if v.bare {
			refused.Hint = "it needs tier full, or a control group that you may use: sbx doctor says how to get there"
		}
		return &Error{StatusFailed, text, refused.Hint}
	}
	if err != nil {
		return &Error{StatusFailed, err.Error(), ""}
	}
	p.Limits = *means
	return nil
}

// prefixed puts the program that makes the control group in front of bwrap,
// with the variables that it needs; bwrap takes those back, so that the command
// has what the policy gives it. systemd-run expands ${NAME} in the words that
// it executes, in some versions without being asked (--expand-environment).
func (p *Plan) prefixed(a *bwrapargs.Args) {
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
		if value, ok := lookupEnv(p.Env, name); ok {
			a.Setenv = append(a.Setenv, bwrapargs.Var{Name: name, Value: value})
		} else {
			a.Unsetenv = append(a.Unsetenv, name)
		}
	}
}

// prefix does the same to the words.
func (p *Plan) prefix() error {
	if len(p.Limits.Prefix) == 0 {
		return nil
	}
	if slices.ContainsFunc(p.Argv, func(word string) bool { return strings.IndexByte(word, '$') >= 0 }) {
		return &Error{StatusFailed, "a word of the command holds $, and some versions of systemd-run, which makes the control group, would replace what follows",
			"leave out --direct, or pass the words in a file"}
	}
	// Its own words are in front: "--" ends them.
	p.Argv = slices.Concat(p.Limits.Prefix, []string{p.Path}, p.Argv[1:])
	p.Path = p.Limits.Prefix[0]
	return nil
}
