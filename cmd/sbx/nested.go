package main

import (
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// nested runs a command where a sandbox is around it already. What is asked
// for by name and is wider is refused; else the outer policy stays in force.
func nested(opts *options, command []string, outer *manifest) error {
	s, err := load(opts)
	if err != nil {
		return err
	}
	wide := func(what string) error {
		return already(" (" + strings.Join(outer.Profiles, "+") + "), which does not allow " + what)
	}
	asked := opts.given && (len(opts.Profile) > 0 || opts.Net)
	if asked && s.policy.Network && outer.Network != "true" {
		return wide("the network")
	}
	if opts.SharePID && outer.SharePID != "true" {
		return wide("the processes of the host")
	}
	if opts.NoSandbox {
		return wide("--no-sandbox")
	}
	for _, r := range s.policy.Rules {
		if r.Must && r.Access == policy.Write && !s.host.FS.Access(r.Path, 'w') {
			return wide("writing " + policy.Plain(r.Path))
		}
		if r.Must && r.Access == policy.Read && !s.host.FS.Access(r.Path, 'r') {
			return wide("reading " + policy.Plain(r.Path))
		}
	}
	command, err = s.command(command)
	if err != nil {
		return err
	}
	if opts.given && (len(opts.Block) > 0 || opts.ReadOnly || opts.limited() != "" || policy.SeccompFile(opts.Seccomp) || opts.NoNet && outer.Network == "true") {
		return already(tighter)
	}
	if err := opts.differs(outer, wide); err != nil {
		return err
	}
	if own := strings.Join(s.policy.Profiles, "+"); len(opts.Profile) > 0 && own != strings.Join(outer.Profiles, "+") {
		s.notice("this runs inside a sandbox already, whose policy (" + strings.Join(outer.Profiles, "+") + ") stays in force in the place of " + own)
	}
	return s.execBare(command)
}

// already is the error for what cannot be had in a sandbox that is there.
func already(text string) error {
	return &host.Error{Status: host.StatusFailed, Text: "this runs inside a sandbox already" + text, Hint: "ask for it where the outer sandbox is started"}
}

const tighter = ", and a tighter one cannot be put into it"

// differs refuses flags that ask for something else than what is in force. What
// a profile says of these is no question: the outer one's stays.
func (o *options) differs(outer *manifest, wide func(string) error) error {
	if o.named() && o.Engine != outer.Engine {
		return already(", and its engine is " + outer.Engine + ", not " + o.Engine)
	}
	if o.MinTier == host.TierFull && outer.Tier != host.TierFull {
		return already(", and its tier is " + outer.Tier)
	}
	for _, f := range []struct{ key, value, has string }{
		{"seccomp", o.Seccomp, outer.Seccomp}, {"git", o.Git, outer.Git}, {"new_session", o.NewSession, outer.NewSession}, {"protect", o.Protect, outer.Protect},
	} {
		switch {
		case f.value == "" || f.value == f.has || f.value == "auto":
		case f.key == "protect" && outer.Engine != host.EngineLandlock: // enforced, whatever it says
		// Of a filter from a file no more is known than what it comes on top of.
		case f.has == "" || policy.Tighter(f.key, policy.SeccompLevel(f.has), f.value):
			return already(tighter)
		default:
			return wide("--" + strings.ReplaceAll(f.key, "_", "-") + " " + f.value)
		}
	}
	return nil
}
