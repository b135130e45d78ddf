package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
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
	c.given = true
	c.aliases()
	if err := c.check(); err != nil {
		return err
	}
	flags, err := envFlags()
	if err != nil {
		return err
	}
	if len(flags) > 0 {
		// The child gets the words that stand there.
		os.Unsetenv("SBX_FLAGS")
		os.Args = append(append([]string{os.Args[0], "verify"}, flags...), os.Args[2:]...)
		return runCommand(os.Args[1:])
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
	r, err := c.report()
	var stopped *verify.InterruptedError
	if errors.As(err, &stopped) {
		return exitError(128 + int(stopped.Signal))
	}
	if err != nil {
		return err
	}
	if err := c.print(r); err != nil {
		return err
	}
	if !r.OK() {
		return exitError(1)
	}
	return nil
}

// verifiable refuses a system that the probes are not made for.
func verifiable(system string) error {
	switch system {
	case "linux":
		return nil
	case "darwin":
		return &host.Error{Status: host.StatusFailed, Text: "sbx verify is not there on macOS yet: its probes are Linux's",
			Hint: "the conformance workflow of the sources (.github/workflows) tries each wall on macOS; sbx doctor says whether sandbox-exec works here"}
	}
	return &host.Error{Status: host.StatusFailed, Text: "sbx verify is not there on " + system}
}

// refuse says no to flags that have no meaning here, lest anyone think that
// they took effect.
func (c *verifyCmd) refuse() error {
	switch {
	case c.NoSandbox:
		return &usageError{text: "--no-sandbox: there would be no sandbox to verify"}
	case c.DryRun:
		return &usageError{"--dry-run does not go with verify, which runs something", "sbx -n -- CMD prints the plan"}
	case len(c.Command) > 0:
		return &usageError{text: "verify takes no command: it runs its own probes"}
	}
	return nil
}

func (c *verifyCmd) report() (*verify.Report, error) {
	if _, ok := insideSandbox(); ok {
		return c.here()
	}
	s, err := load(&c.options)
	if err != nil {
		return nil, err
	}
	if !s.settings.Enabled {
		return nil, &host.Error{Status: host.StatusFailed, Text: "there is no sandbox to verify: " + s.disabledBy()}
	}
	if err := s.engine(); err != nil {
		return nil, err
	}
	if c.Child {
		plan, err := s.planProbe()
		if err != nil {
			return nil, err
		}
		return nil, wrap.Exec(plan, s.host)
	}
	if err := s.host.Answering(); err != nil {
		return nil, err
	}
	if s.chosen.Name == host.EngineBwrap {
		s.host.LookForSockets(s.cacheDir, s.chosen.Bwrap)
	}
	for _, n := range s.settings.Notices {
		s.notice(n)
	}
	// The child's first three descriptors are pipes, and so it is in no group that
	// has the terminal to itself.
	s.host.Front = false
	for len(s.host.FDs) > 0 && s.host.FDs[0].Num <= 2 {
		s.host.FDs = s.host.FDs[1:]
	}
	return verify.Outside(&verify.Subject{
		Host: s.host, Bwrap: s.chosen.Bwrap.Path, Plan: s.planProbe, Flags: append([]string{"verify", "--run-probe"}, os.Args[2:]...),
		Root: s.vars.Root, Remap: string(s.opts.Workspace), Cache: s.cacheDir, OwnDirs: s.ownDirs(),
	})
}

// planProbe plans a run in which the probe is the command: all else is as in
// any run with these flags.
func (s *state) planProbe() (*engine.Plan, error) {
	req, err := s.request(nil)
	if err != nil {
		return nil, err
	}
	req.Self = verify.ProbeWords()
	return wrap.New(req, s.host)
}

// ownDirs are where sbx keeps its configuration and state.
func (s *state) ownDirs() []string {
	dirs := []string{"/etc/sbx"}
	for _, name := range []string{"$XDG_CONFIG_HOME/sbx", "$XDG_STATE_HOME/sbx", "$XDG_CACHE_HOME/sbx"} {
		if dir, ok, err := s.vars.Expand(name); ok && err == nil {
			dirs = append(dirs, filepath.Clean(dir))
		}
	}
	return dirs
}

// here verifies the sandbox that this process is in. Flags say nothing about
// that one, so none is taken for granted.
func (c *verifyCmd) here() (*verify.Report, error) {
	if c.Child {
		return nil, &usageError{text: "--run-probe is for sbx itself"}
	}
	path := manifestFile()
	var homes []string
	var writable func(string) bool
	h, err := host.Look()
	if err == nil {
		homes = h.Homes
	}
	if outer, _ := insideSandbox(); outer != nil && outer.Engine == host.EngineLandlock {
		if err != nil {
			return nil, err
		}
		sight, err := outer.sight(h, path)
		if err != nil {
			return nil, err
		}
		writable = func(dir string) bool { return sight.Ask(dir).Write }
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := verify.Manifest{Writable: writable}
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, &host.Error{Status: host.StatusFailed, Text: policy.Plain(path) + ": " + err.Error()}
	}
	if !c.Quiet {
		say("notice", "this runs inside a sandbox: flags are not looked at, and nothing can be compared with outside")
	}
	return verify.Here(&m, homes)
}

func (c *verifyCmd) print(r *verify.Report) error {
	if c.JSON {
		return r.JSON(stdout)
	}
	return r.Table(stdout, c.Verbose, colour)
}
