// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"errors"
	"os"
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/risk"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/wrap"
)

// disabled runs the command without a sandbox because the user said so.
func (c *Context) disabled(cmd command, why string) (*Run, error) {
	flags := c.Inv.Flags
	if flags.MinTier != "" {
		return nil, Failed("--min-tier "+flags.MinTier+" is not available without a sandbox ("+why+")", "")
	}
	if flag := flags.limited(); flag != "" {
		return nil, Failed(flag+" cannot be enforced without a sandbox ("+why+")", "")
	}
	Say("warning", "running without a sandbox ("+why+")")
	c.warn(cmd)
	return c.withoutSandbox(cmd)
}

// unavailable does what fallback_on_unavailable says. A tier asked for by name
// is never given up.
func (c *Context) unavailable(cmd command, err error) (*Run, error) {
	fallback, login, unlocked := c.Settings.FallsBack()
	err = hinted(err, unlocked)
	var none *host.Unavailable
	if !errors.As(err, &none) {
		return nil, err
	}
	if login && c.Inv.login() {
		Say("WARNING", "Sandbox unavailable: "+none.Reason+". This shell runs WITHOUT a sandbox, since "+c.Settings.Where["login_fallback"]+" says so.")
		return c.withoutSandbox(cmd)
	}
	flags := c.Inv.Flags
	if fallback == "block" || c.Policy.MinTier == host.TierFull || flags.MinTier != "" || flags.named() ||
		flags.limited() != "" {
		return nil, err
	}
	Say("warning", "Sandbox unavailable: "+none.Reason+". Execution proceeding without sandbox.")
	if fallback == "warn" {
		for _, h := range none.Hints {
			Say("hint", h)
		}
		c.warn(cmd)
	}
	return c.withoutSandbox(cmd)
}

// warn says, before a command runs without a sandbox, what it looks like it
// would do to the machine.
func (c *Context) warn(cmd command) {
	if what := risk.Destructive(cmd.words, c.Host.Homes...); what != "" {
		Say("WARNING", "this command looks destructive: "+what)
	}
}

// withoutSandbox is a command that gets no sandbox of its own: the program that the
// caller's PATH has for it, and for a shim the one behind it.
func (c *Context) withoutSandbox(cmd command) (*Run, error) {
	h, tool := c.Host, c.Inv.Tool
	var err error
	if h.Modelled { // it is this machine that counts
		if h, err = host.Detect(); err != nil {
			return nil, err
		}
	}
	words := cmd.words
	if tool != "" {
		if depth() >= maxDepth {
			return nil, &host.Error{Status: host.StatusNoExec, Text: text.Plain(tool) +
				": shims lead to each other in a circle",
				Hint: "another version of sbx by that name is in PATH: sbx shim doctor " + text.Plain(tool)}
		}
		program, err := h.Tool(tool, h.Path())
		if err != nil {
			return nil, err
		}
		words, cmd.argv0 = append([]string{program}, words[1:]...), cmp.Or(cmd.argv0, tool)
	}
	plan, err := wrap.Bare(words, h)
	if err != nil {
		return nil, err
	}
	if c.Policy != nil { // none inside a sandbox, whose limits stay
		plan.Limit = c.Policy.TimeoutSeconds
		if engine.Wanted(c.Policy).Any() {
			Say("warning", "without a sandbox no limit on memory, processors, processes or files holds")
		}
	}
	if cmd.argv0 != "" {
		plan.Argv = append([]string{cmd.argv0}, plan.Argv[1:]...)
	}
	if c.Inv.Client {
		plan.Env = setEnv(plan.Env, "SHELL", cmd.shell)
	}
	if c.Inv.Client || tool != "" {
		plan.Env = setEnv(plan.Env, depthVar, strconv.Itoa(depth()+1))
	}
	return &Run{Plan: plan}, nil
}

// Reworded is the error of a run, which for a tool that does not exist says how to be
// rid of its shim.
func (inv *Invocation) Reworded(err error) error {
	var e *host.Error
	name := inv.Tool
	if name == "" || !errors.As(err, &e) || e.Status != host.StatusNotFound || e.Hint != "" {
		return err
	}
	hint := "the name leads to sbx, and no program of that name comes after it in PATH"
	if c, herr := Here(""); herr == nil {
		if dir, derr := c.ShimsDir(); derr == nil {
			if _, lerr := os.Lstat(string(dir) + "/" + name); lerr == nil {
				hint = "it is not installed; sbx shim remove " + text.Plain(name) + " takes the shim away"
			}
		}
	}
	return &host.Error{Status: e.Status, Text: e.Text, Hint: hint}
}
