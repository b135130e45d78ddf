// SPDX-License-Identifier: Apache-2.0

package app

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// selected are the profiles of a run, and those of them that the user named: a
// project's file does not decide what tier is needed.
func (c *Context) selected(flags Flags) (names, asked []string) {
	names = flags.Profile
	if env := c.Inv.profile; len(names) == 0 && env != "" {
		names = strings.Split(env, ",")
	}
	asked = names
	if len(names) == 0 {
		names, asked = c.toolProfile()
	}
	if len(names) == 0 {
		names = []string{c.Settings.DefaultProfile}
	}
	return names, asked
}

// toolProfile is the profile that files give the tool of a shim, and what of
// that the user said.
func (c *Context) toolProfile() (names, asked []string) {
	tool := c.Inv.Tool
	if p := c.Settings.Tools[tool]; tool != "" && p != "" {
		names, asked = []string{p}, []string{p}
	}
	if out := c.Settings.Outside; tool != "" && out != nil {
		asked = nil
		if p := out.Tools[tool]; p != "" {
			asked = []string{p}
		}
	}
	return names, asked
}

// base puts the default profile in front where only modules are selected:
// they add to one, and are none by themselves.
func (c *Context) base(names []string) ([]string, error) {
	set := c.Settings.Profiles
	if slices.ContainsFunc(names, func(name string) bool { return !set.Module(name) }) {
		return names, nil
	}
	if base := c.Settings.DefaultProfile; !set.Module(base) {
		return append([]string{base}, names...), nil
	}
	return nil, Failed("default_profile: "+strconv.Quote(c.Settings.DefaultProfile)+" is a module, which only adds to a profile",
		"write default_profile = \"moderate\", or a profile of yours that extends both")
}

// locked refuses what is looser than the administrator allows. A descriptor that
// is passed on leads past files and the network both.
func (c *Context) locked() error {
	flags := c.Inv.Flags
	for _, key := range c.Settings.Locked {
		switch key {
		case "allow_network", "readonly_paths", "writable_paths", "blocked_paths", "protected_paths", "private_paths",
			"default_profile", "enabled":
			if len(flags.KeepFD) > 0 {
				return &config.LockedError{Key: key, By: c.Settings.Where["locked."+key],
					What: "a descriptor passed on", Source: "--keep-fd"}
			}
		}
	}
	if len(c.Settings.Locked) == 0 {
		return nil
	}
	return c.Settings.CheckLocked(c.throughLinks(c.Policy), c.Vars, flags.NoSandbox)
}

// throughLinks adds what the paths of the user's own rules lead to: a lock is on the
// file, by whatever name it is opened.
func (c *Context) throughLinks(pol *policy.Policy) *policy.Policy {
	out, res := *pol, host.NewResolver(c.Host.FS)
	for _, r := range pol.Rules {
		if to, err := res.Resolve(r.Path); r.Layer > policy.System && !r.Pattern && err == nil && to.Path != r.Path {
			r.Path = to.Path
			out.Add(r)
		}
	}
	return &out
}

// gitLocked refuses what opens a part of what a lock on git guards.
func (c *Context) gitLocked(pol *policy.Policy) error {
	if pol.Git == "full" || !slices.Contains(c.Settings.Locked, "git") {
		return nil
	}
	for _, r := range c.throughLinks(pol).Rules {
		if r.Access == policy.Write && r.Layer > policy.System && slices.ContainsFunc(pol.Rules, func(g policy.Rule) bool {
			return view.FromGit(&g) && policy.Within(r.Path, g.Path) && (g.Access == policy.Protect || r.Path != g.Path)
		}) {
			return &config.LockedError{Key: "git", By: c.Settings.Where["locked.git"],
				What: r.Path + " -> write", Source: r.Source}
		}
	}
	return nil
}

// Locked says why the administrator refuses a flag with a value, or "".
func (c *Context) Locked(flag, value string) string {
	if len(c.Settings.Locked) == 0 {
		return ""
	}
	inv := c.Inv
	f := &inv.Flags
	switch flag {
	case "-r":
		f.AllowRead = append(slices.Clip(f.AllowRead), value)
	case "-w":
		f.AllowWrite = append(slices.Clip(f.AllowWrite), value)
	case "--env":
		f.Env = append(slices.Clip(f.Env), value)
	case "--git":
		f.Git = value
	case "--net":
		f.Net, f.NoNet = true, false
	}
	if _, err := Load(inv); err != nil {
		return err.Error()
	}
	return ""
}

// DisabledBy says who switched the sandbox off, and is "" where it is on.
func (c *Context) DisabledBy() string {
	switch {
	case c.Inv.Flags.NoSandbox:
		return "--no-sandbox"
	case !c.Settings.Enabled:
		return "enabled = false in " + c.Settings.Where["enabled"]
	}
	return ""
}
