// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/engine/seatbelt"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/limits"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/seccomp"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/wrap"
)

// Engine is what will hold the command.
func (c *Context) Engine() (engine.Chosen, error) {
	chosen, err := c.choose()
	if err == nil {
		logger(c.Inv.Flags.LogLevel).Info("engine", "name", chosen.Name, "bwrap", chosen.Bwrap.Path, "version",
			chosen.Bwrap.Version, "landlock", c.Host.Landlock)
	}
	return chosen, err
}

func (c *Context) choose() (engine.Chosen, error) {
	flags, h := c.Inv.Flags, c.Host
	if h.Modelled && !flags.DryRun {
		return engine.Chosen{}, Failed("--engine sandbox-exec: sandbox-exec is macOS's own, and this is "+runtime.GOOS,
			"with --dry-run it prints what a Mac would get; so do explain and why")
	}
	if h.Modelled {
		return seatbelt.Modelled(), nil // there is no other
	}
	lock := c.Settings.NeedsFull
	if lock == nil {
		return wrap.Choose(h, c.CacheDir(), c.Settings.Engine, c.Policy.MinTier)
	}
	if c.Settings.Engine == host.EngineLandlock {
		named := *lock
		named.Source = "--engine landlock"
		hint := "leave --engine landlock out"
		if flags.Engine == "" {
			named.Source = "engine in " + c.Settings.Where["engine"]
			hint = "take engine = \"landlock\" out of that file"
		} else if os.Getenv("SBX_ENGINE") == flags.Engine {
			named.Source, hint = "SBX_ENGINE", "unset SBX_ENGINE"
		}
		return engine.Chosen{}, Failed(named.Error(), hint)
	}
	chosen, err := wrap.Choose(h, c.CacheDir(), c.Settings.Engine, host.TierFull)
	return chosen, hinted(err, lock.Key+" is locked by "+lock.By+", and takes tier full: "+lock.What)
}

// hinted is the error of an engine that is not available, with one more hint.
func hinted(err error, hint string) error {
	var none *host.Unavailable
	if hint == "" || !errors.As(err, &none) {
		return err
	}
	more := *none
	more.Hints = append([]string{hint}, none.Hints...)
	return &more
}

// Plan is the plan of a command, or with none of a run that is only looked at.
func (c *Context) Plan(by engine.Chosen, words ...string) (*engine.Plan, error) {
	return c.plan(command{words: words, argv0: c.Inv.Flags.Argv0, shell: c.userShell()}, by)
}

// PlanSelf is the plan of sbx itself with some words: all else is as in any run.
func (c *Context) PlanSelf(by engine.Chosen, words []string) (*engine.Plan, error) {
	return c.plan(command{self: words, argv0: c.Inv.Flags.Argv0, shell: c.userShell()}, by)
}

func (c *Context) plan(cmd command, by engine.Chosen) (*engine.Plan, error) {
	way, err := c.checkWay()
	if err != nil {
		return nil, err
	}
	filter, agreed, err := c.readFilter()
	if err != nil {
		return nil, err
	}
	flags, h := c.Inv.Flags, *c.Host
	h.Shell = cmd.shell
	switch { // a Mac has no control groups
	case h.Modelled:
	case engine.Wanted(c.Policy).Tree():
		h.Limits = limits.Look(h.UID)
	default:
		h.Limits = limits.LookOwn(h.UID)
	}
	plan, err := wrap.New(engine.Request{
		Policy: c.Policy, Engine: by, Root: cmp.Or(c.Vars.Root, h.CWD), Command: cmd.words, Self: cmd.self,
		KeepFDs: flags.KeepFD, Cache: c.CacheDir(), Remap: c.Policy.Workspace, Direct: c.Settings.Direct,
		Argv0: cmd.argv0, Filter: filter, Agreed: agreed, Tmp: c.Inv.tmp(), Hints: c.hints(),
	}, &h)
	if err == nil {
		err = c.gitLocked(plan.Report.Policy)
	}
	if err == nil {
		plan.Report.Once = append(plan.Report.Once, way...)
		logger(flags.LogLevel).Debug("plan", "argv", plan.Argv, "descriptors", len(plan.FDs), "command",
			plan.Report.Command)
	}
	return plan, err
}

// hints are for who runs a command: a person, or a model that reads what is
// written.
func (c *Context) hints() engine.Hints {
	h := c.Inv.hints
	h.On, h.Locked = c.Settings.Hints && !c.Inv.Flags.Quiet, c.Settings.Locked
	if h.On {
		h.Screen = Screen(2)
	}
	switch words := len(os.Args) - len(c.Inv.words); {
	case c.Inv.Tool != "" || c.Inv.Client:
	case c.Inv.Flags.Argv0 != "" || words < 1 || !slices.Equal(os.Args[words:], c.Inv.words):
		h.Skip = -1
	default:
		h.Typed = os.Args[1:words]
		if n := len(h.Typed); n > 0 && h.Typed[n-1] == "--" {
			h.Typed = h.Typed[:n-1]
		}
		if c.Inv.Flags.DryRun { // the plan is that of the run
			h.Typed = slices.DeleteFunc(slices.Clone(h.Typed), func(w string) bool {
				return slices.Contains([]string{"-n", "--dry-run", "--sandbox-dry-run", "--json"}, w)
			})
		}
		if len(c.Inv.Flags.Command) > 0 {
			h.Skip = 3 // the shell, -c and the string
		}
	}
	return h
}

// readFilter reads the file that the policy's seccomp names, and says
// whether the user agreed to its content together with a project file. Most runs name none.
func (c *Context) readFilter() (_ *seccomp.File, agreed bool, err error) {
	path := c.Policy.Seccomp
	if !policy.SeccompFile(path) {
		return nil, false, nil
	}
	data, err := config.ReadFilter(path)
	if err != nil {
		return nil, false, err
	}
	f, err := seccomp.ParseFile(text.Plain(path), data)
	if err != nil {
		return nil, false, filterError(err)
	}
	// A file that does not depend on it does without.
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	f.Kernel, _ = seccomp.ParseKernel(strings.TrimSpace(string(release)))
	logger(c.Inv.Flags.LogLevel).Info("read seccomp filter", "file", path, "rules", f.Rules(), "bytes", len(data))
	state, _, _ := c.TrustStore().Check(path, data)
	return f, state == config.Trusted, nil
}

// filterError adds to an error what was probably meant.
func filterError(err error) error {
	var fe *seccomp.FileError
	if !errors.As(err, &fe) {
		return err
	}
	const few = 20 // fit into a hint
	out := &policy.Error{Source: fe.Place, Text: fe.Text, Near: text.Nearest(fe.Word, fe.Known)}
	if len(fe.Known) <= few {
		out.Known = fe.Known
	}
	return out
}

// PlanAnywhere plans a run of whatever command on any host, one without an
// engine that could do it included: the policy is the same.
func (c *Context) PlanAnywhere() (*engine.Plan, error) {
	at := *c.Host
	groups, err := os.Getgroups()
	if err != nil {
		return nil, err
	}
	at.Groups = append(groups, os.Getegid())
	on := *c
	on.Host = &at
	if at.Modelled {
		return on.Plan(seatbelt.Modelled())
	}
	by, why := on.Engine()
	if why == nil {
		plan, err := on.Plan(by)
		var refused *host.Error
		if by.Name != host.EngineLandlock || !errors.As(err, &refused) {
			return plan, err
		}
		why = refused
	}
	Say("warning", "Sandbox unavailable: "+why.Error()+"; this is what it would be")
	return on.Plan(Supposed(&at, by))
}

// Supposed is the engine of tier full that a system can have, in place of what
// was chosen.
func Supposed(h *host.Host, c engine.Chosen) engine.Chosen {
	if h.OS == "darwin" {
		c.Name = host.EngineSeatbelt
		return c
	}
	c.Name, c.Bwrap = host.EngineBwrap, host.Bwrap{Path: "bwrap", Version: bwrapargs.Version{Major: 0, Minor: 11}}
	return c
}
