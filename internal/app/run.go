// SPDX-License-Identifier: Apache-2.0

// Package app takes one run of sbx from how it was called to the command in its
// sandbox: [Invocation] → [Load] → [Prepare] → [Run.Exec]. It is the same for all ways
// to call sbx; they differ in the Invocation alone. Commands that only ask (explain,
// why, status) stop at Load, or plan with [Context.PlanAnywhere].
//
// It promises that nothing loosens a policy but what the user or the administrator
// said: not the variables and the working directory of a client that calls its
// shell, and no file of a project that is not trusted. It decides nothing about how a
// policy is enforced (package wrap), and prints only to standard error.
package app

import (
	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/profiles"
	"github.com/sbx-sandbox/sbx/wrap"
)

// Context is all that is known before a plan is made.
type Context struct {
	Caller
	Settings *config.Settings
	Policy   *policy.Policy
	Notices  []string      // of the files, and why one that was trusted is not any more
	Read     []config.File // the files
	doubted  bool          // a file that was trusted is not any more
	atPrompt bool          // the command is a shell that a person types into
}

// Load reads the host and the files, and resolves the policy of an invocation.
func Load(inv Invocation) (*Context, error) {
	log := logger(inv.Flags.LogLevel)
	caller, err := detect(inv)
	if err != nil {
		return nil, err
	}
	caller, err = caller.inProject()
	if err != nil {
		return nil, err
	}
	files, doubts, err := caller.Files()
	if err != nil {
		return nil, err
	}
	c := &Context{Caller: *caller, Read: files, doubted: len(doubts) > 0}
	if err := inv.agrees(files); err != nil {
		return nil, err
	}
	if c.Settings, err = inv.settings(profiles.For(c.Host.OS), files, c.Vars); err != nil {
		return nil, err
	}
	c.Inv.Flags.Quiet = c.Inv.Flags.Quiet || c.Settings.Quiet && !c.Inv.Flags.Verbose
	c.Notices = append(doubts, c.Settings.Notices...)
	if c.Policy, err = c.resolve(inv.Flags); err != nil {
		return nil, err
	}
	if c, err = c.tightened(); err != nil {
		return nil, err
	}
	log.Info("resolved policy", "profiles", c.Policy.Profiles, "rules", len(c.Policy.Rules))
	return c, c.locked()
}

// Run is a command that is ready to be executed.
type Run struct {
	Plan *engine.Plan
	c    *Context // nil without a sandbox of its own
}

// Prepare takes an invocation to the plan of its command.
func Prepare(inv Invocation) (*Run, error) {
	if outer, ok := inv.outer(); ok {
		return inv.nested(inv, outer)
	}
	c, err := Load(inv)
	if err != nil {
		return nil, err
	}
	if err := c.recoverCopies(); err != nil {
		return nil, err
	}
	c.TellNotices()
	c.hintTrust()
	cmd, err := inv.command(c)
	if err != nil {
		return nil, err
	}
	if off := c.DisabledBy(); off != "" {
		return c.disabled(cmd, off)
	}
	by, err := c.Engine()
	if err != nil {
		return c.unavailable(cmd, err)
	}
	plan, err := c.plan(cmd, by)
	if err == nil {
		err = c.refuseGit(cmd, plan)
	}
	if err != nil {
		return nil, err
	}
	return &Run{plan, c}, err
}

// Exec replaces this process by the command. It returns only when it could not.
func (r *Run) Exec() error {
	if r.c == nil {
		return wrap.Become(r.Plan)
	}
	if err := r.c.Watch(r.Plan); err != nil {
		return err
	}
	r.c.tellStatus(r.Plan)
	return wrap.Exec(r.Plan, r.c.Host)
}

// settings are what the files say. Most runs have none.
func (inv *Invocation) settings(builtin policy.Set, files []config.File, vars policy.Vars) (s *config.Settings,
	err error) {
	if len(files) == 0 {
		s = config.Defaults(builtin)
	} else if s, err = config.Load(builtin, files, vars); err != nil {
		return nil, err
	}
	s.Direct = s.Direct || inv.Flags.Direct
	if named := inv.Flags.Engine; named != "" {
		s.Engine = named
		if s.Where != nil {
			s.Where["engine"] = "--engine"
		}
	}
	return s, nil
}

// Resolved is the context with other flags, and the same files.
func (c *Context) Resolved(flags Flags) (*Context, error) {
	out := *c
	out.Inv.Flags = flags
	var err error
	out.Policy, err = out.resolve(flags)
	return &out, err
}

// resolve selects the profiles (flags, SBX_PROFILE, files) and adds the flags.
func (c *Context) resolve(flags Flags) (*policy.Policy, error) {
	names, asked := c.selected(flags)
	names, err := c.base(names)
	if err != nil {
		return nil, err
	}
	over, err := flags.profile(&c.Caller)
	if err != nil {
		return nil, err
	}
	pol, err := policy.Resolve(c.Settings.Profiles, names, c.Vars, c.needs(), c.agents(names), over)
	if err != nil {
		return nil, err
	}
	if err := c.Settings.KeepFloor(pol, asked, c.Vars, c.needs(), c.agents(names), over); err != nil {
		return nil, err
	}
	if c.Settings.Direct && pol.TimeoutSeconds > 0 {
		return nil, Failed("--direct: a time limit needs sbx as process 1 of the sandbox",
			"timeout_seconds is set in "+pol.Where["timeout_seconds"])
	}
	if policy.Wider("min_tier", c.Settings.MinTier, pol.MinTier) {
		pol.MinTier = c.Settings.MinTier
	}
	return pol, nil
}
