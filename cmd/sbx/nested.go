package main

import (
	"strings"

	"github.com/sbx-sandbox/sbx/policy"
	"github.com/sbx-sandbox/sbx/wrap"
)

// nested runs a command where a sandbox is around it already. What is asked
// for by name and is wider is refused; else the outer policy stays in force.
func nested(opts *options, command []string, outer *manifest) error {
	s, err := load(opts)
	if err != nil {
		return err
	}
	wide := func(what string) error {
		return &wrap.Error{Status: wrap.StatusFailed, Text: "this runs inside a sandbox already (" + strings.Join(outer.Profiles, "+") + "), which does not allow " + what,
			Hint: "ask for it where the outer sandbox is started"}
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
		return &wrap.Error{Status: wrap.StatusFailed, Text: "this runs inside a sandbox already, and a tighter one cannot be put into it",
			Hint: "ask for it where the outer sandbox is started"}
	}
	if own := strings.Join(s.policy.Profiles, "+"); len(opts.Profile) > 0 && own != strings.Join(outer.Profiles, "+") {
		s.notice("this runs inside a sandbox already, whose policy (" + strings.Join(outer.Profiles, "+") + ") stays in force in the place of " + own)
	}
	return s.execBare(command)
}
