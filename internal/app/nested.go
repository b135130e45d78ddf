// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"

	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// nested runs a command where a sandbox is around it already. What is asked
// for by name and is wider is refused; else the outer policy stays in force.
func nested(inv Invocation, outer *engine.Manifest) (*Run, error) {
	c, err := Load(inv)
	if err != nil {
		return nil, err
	}
	if err := c.widerThan(outer); err != nil {
		return nil, err
	}
	cmd, err := inv.command(c)
	if err != nil {
		return nil, err
	}
	flags := inv.Flags
	if len(flags.Block) > 0 || flags.ReadOnly || flags.limited() != "" || policy.SeccompFile(flags.Seccomp) ||
		flags.NoNet && outer.Network == "true" {
		return nil, Already(tighter)
	}
	if err := flags.differs(outer); err != nil {
		return nil, err
	}
	if own := strings.Join(c.Policy.Profiles, "+"); len(flags.Profile) > 0 && own != names(outer) {
		c.notice("this runs inside a sandbox already, whose policy (" + names(outer) +
			") stays in force instead of " + own)
	}
	return c.withoutSandbox(cmd)
}

// nestedTool runs a tool where no flag asks for anything: the outer sandbox holds
// it, whatever [tools] says, and no file is read.
func nestedTool(inv Invocation, _ *engine.Manifest) (*Run, error) {
	c, err := newCaller(inv, "")
	if err != nil {
		return nil, err
	}
	return (&Context{Caller: *c}).withoutSandbox(command{words: inv.words})
}

// nestedShell runs the real shell.
func nestedShell(inv Invocation, _ *engine.Manifest) (*Run, error) {
	h, err := host.Detect()
	if err != nil {
		return nil, err
	}
	c := &Context{Caller: Caller{Inv: inv, Host: h}, Settings: config.Defaults(nil)}
	cmd, err := shellCommand(c)
	if err != nil {
		return nil, err
	}
	return c.withoutSandbox(cmd)
}

// widerThan refuses what was asked for by name and the outer sandbox does not give.
func (c *Context) widerThan(outer *engine.Manifest) error {
	flags := c.Inv.Flags
	switch asked := len(flags.Profile) > 0 || flags.Net; {
	case asked && c.Policy.Network && outer.Network != "true":
		return wide(outer, "the network")
	case flags.SharePID && outer.SharePID != "true":
		return wide(outer, "the processes of the host")
	case flags.NoSandbox:
		return wide(outer, "--no-sandbox")
	}
	for _, r := range c.Policy.Rules {
		if r.Must && r.Access == policy.Write && !c.writes(r.Path) {
			return wide(outer, "writing "+text.Plain(r.Path))
		}
		if r.Must && r.Access == policy.Read && !c.Host.FS.Access(r.Path, 'r') {
			return wide(outer, "reading "+text.Plain(r.Path))
		}
	}
	return nil
}

// writes reports whether a path can be written, or made if it does not exist.
func (c *Context) writes(path string) bool {
	info, err := c.Host.FS.Lstat(path)
	for ; err == nil && info.Kind == host.Absent && path != "/"; info, err = c.Host.FS.Lstat(path) {
		path = policy.Dir(path)
	}
	return err == nil && c.Host.FS.Access(path, 'w')
}

// Already is the error for what an existing sandbox cannot add.
func Already(what string) error {
	return Failed("this runs inside a sandbox already"+what, "ask for it where the outer sandbox is started")
}

const tighter = ", and a tighter one cannot be put into it"

func names(m *engine.Manifest) string { return strings.Join(m.Profiles, "+") }

func wide(m *engine.Manifest, what string) error {
	return Already(" (" + names(m) + "), which does not allow " + what)
}

// Refuses is the error for a command that is for the user alone, outside.
func Refuses(m *engine.Manifest, command, hint string) error {
	return Failed("sbx "+command+" does not work inside a sandbox ("+names(m)+")", hint)
}

// differs refuses flags that ask for something else than what is in force. What
// a profile says of these is no question: the outer one's stays.
func (f *Flags) differs(outer *engine.Manifest) error {
	if f.named() && f.Engine != outer.Engine {
		return Already(", and its engine is " + outer.Engine + ", not " + f.Engine)
	}
	if f.MinTier == host.TierFull && outer.Tier != host.TierFull {
		return Already(", and its tier is " + outer.Tier)
	}
	for _, f := range []struct{ key, value, has string }{
		{"seccomp", f.Seccomp, outer.Seccomp}, {"git", f.Git, outer.Git},
		{"new_session", f.NewSession, outer.NewSession}, {"protect", f.Protect, outer.Protect},
	} {
		switch {
		case f.value == "" || f.value == f.has || f.value == "auto":
		case f.key == "protect" && outer.Engine != host.EngineLandlock: // enforced, whatever it says
		// Of a filter from a file no more is known than what it comes on top of.
		case f.has == "" || policy.Tighter(f.key, policy.SeccompLevel(f.has), f.value):
			return Already(tighter)
		default:
			return wide(outer, "--"+strings.ReplaceAll(f.key, "_", "-")+" "+f.value)
		}
	}
	return nil
}
