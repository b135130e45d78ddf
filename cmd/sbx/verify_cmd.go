// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"runtime"

	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/verify"
	"github.com/sbx-sandbox/sbx/wrap"
)

// verifyCmd runs probes inside a sandbox of a run's policy. It exits 1 when
// one of them finds a hole or could not be made.
type verifyCmd struct {
	options `embed:""`
	Child   bool `name:"run-probe" hidden:""` // be the run that is verified
}

func (c *verifyCmd) Run() error {
	if err := c.complete(); err != nil {
		return err
	}
	if err := c.refuse(); err != nil {
		return err
	}
	system := runtime.GOOS
	if c.Engine == host.EngineSeatbelt {
		system = "darwin"
	}
	if err := verifiable(system); err != nil {
		return err
	}
	p := showProgress(c.Quiet)
	r, err := c.report(p.say)
	p.end()
	var stopped *verify.InterruptedError
	if errors.As(err, &stopped) {
		return exitError(128 + int(stopped.Signal))
	}
	if err != nil {
		return err
	}
	err = show(c.JSON, r.Document(), func() error { return r.Table(stdout, c.Verbose, colour) })
	if err == nil && !r.OK() {
		return exitError(1)
	}
	return err
}

// verifiable refuses a system that the probes are not made for.
func verifiable(system string) error {
	switch system {
	case "linux":
		return nil
	case "darwin":
		return app.Failed("sbx verify does not support macOS yet: its probes are for Linux",
			"the conformance workflow of the sources (.github/workflows) tries each restriction on macOS; sbx doctor says whether sandbox-exec works here")
	}
	return app.Failed("sbx verify is not available on "+system, "")
}

// refuse says no to flags that have no meaning here, lest anyone think that
// they took effect.
func (c *verifyCmd) refuse() error {
	switch {
	case c.NoSandbox:
		return app.Failed("--no-sandbox: there would be no sandbox to verify", "")
	case c.DryRun:
		return app.Failed("--dry-run does not go with verify, which runs probes", "for a plan: sbx -n -- true")
	case len(c.Command) > 0:
		return app.Failed("verify takes no command: it runs its own probes", "")
	}
	return nil
}

func (c *verifyCmd) report(step func(string)) (*verify.Report, error) {
	if outer, ok := engine.Inside(); ok {
		return c.here(outer)
	}
	step("reading the configuration")
	s, err := app.Load(app.ForRun(c.Flags, nil))
	if err != nil {
		return nil, err
	}
	if off := s.DisabledBy(); off != "" {
		return nil, app.Failed("there is no sandbox to verify: "+off, "")
	}
	step("looking for an engine")
	by, err := s.Engine()
	if err != nil {
		return nil, err
	}
	plan := func() (*engine.Plan, error) { return s.PlanSelf(by, verify.ProbeWords()) }
	if c.Child {
		p, err := plan()
		if err != nil {
			return nil, err
		}
		return nil, wrap.Exec(p, s.Host)
	}
	h := s.Host
	if err := h.CheckMounts(); err != nil {
		return nil, err
	}
	if by.Name == host.EngineBwrap {
		h.RefreshSockets(s.CacheDir(), by.Bwrap)
	}
	s.TellNotices()
	// The child's first three descriptors are pipes, and so it is in no group that
	// has the terminal to itself.
	h.Front = false
	for len(h.FDs) > 0 && h.FDs[0].Num <= 2 {
		h.FDs = h.FDs[1:]
	}
	return verify.Outside(&verify.Subject{
		Host: h, Bwrap: by.Bwrap.Path, Plan: plan, Flags: append([]string{"verify", "--run-probe"}, os.Args[2:]...),
		Root: s.Vars.Root, Remap: s.Policy.Workspace, Cache: s.CacheDir(), OwnDirs: s.OwnDirs(), Step: step,
	})
}

// here verifies the sandbox that this process is in. Flags say nothing about
// that one, so none is taken for granted.
func (c *verifyCmd) here(outer *engine.Manifest) (*verify.Report, error) {
	if c.Child {
		return nil, app.Failed("--run-probe is for sbx itself", "")
	}
	m := verify.Manifest{
		Profiles: outer.Profiles, Network: outer.Network == "true", SharePID: outer.SharePID == "true",
		Seccomp: outer.Seccomp, Scoped: outer.Scoped, Gaps: outer.Gaps, Landlock: outer.Engine == host.EngineLandlock,
		Rules: outer.Rules(),
	}
	m.Restored = m.Landlock && outer.Protect == "auto"
	var homes []string
	h, err := host.Detect()
	if err == nil {
		homes = h.Homes
	}
	if m.Landlock {
		if err != nil {
			return nil, err
		}
		sight, err := outer.Sight(h, engine.ManifestFile())
		if err != nil {
			return nil, err
		}
		m.Writable = func(dir string) bool { return sight.Ask(dir).Write }
	}
	if !c.Quiet {
		app.Say("notice", "this runs inside a sandbox: flags are ignored, and nothing can be compared with outside")
	}
	return verify.Here(&m, homes)
}
