// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Floor is what the variables of a client ask for: who sets those of a client's
// shell need not be the user. They count as far as they do not loosen.
type Floor struct {
	Flags   Flags  // SBX_FLAGS
	Given   bool   // there are any
	Profile string // SBX_PROFILE, names with commas between them
	Engine  string // SBX_ENGINE
}

// tightened is the context with the floor on top, which must not give more.
func (c *Context) tightened() (*Context, error) {
	f := c.Inv.floor
	if f.Engine != "" && f.Engine != "auto" && f.Engine != host.EngineBwrap && f.Engine != host.EngineSeatbelt {
		return nil, notFromHere("SBX_ENGINE", f.Engine)
	}
	if !f.Given && f.Profile == "" {
		return c, nil
	}
	if flag := f.Flags.beyondPolicy(); flag != "" {
		return nil, notFromHere("SBX_FLAGS", flag)
	}
	flags, from := f.Flags, "SBX_FLAGS"
	if f.Profile != "" && len(flags.Profile) == 0 {
		flags.Profile = strings.Split(f.Profile, ",")
	}
	if !f.Given {
		from = "SBX_PROFILE"
	}
	out, err := c.Resolved(flags.over(c.Inv.Flags))
	if err != nil {
		return nil, err
	}
	for _, change := range policy.WiderOnly(policy.Diff(c.Policy, out.Policy)) {
		return nil, notFromHere(from, change.Key+" "+change.What)
	}
	return out, nil
}

func notFromHere(name, what string) error {
	return Failed("the environment of a shell can only tighten, and "+name+" asks for more: "+strings.TrimSpace(what),
		"say it in the config file, or to sbx agent")
}

// over are flags with those of a session below them.
func (f Flags) over(session Flags) Flags {
	if len(f.Profile) == 0 {
		f.Profile = session.Profile
	}
	f.AllowRead = slices.Concat(session.AllowRead, f.AllowRead)
	f.AllowWrite = slices.Concat(session.AllowWrite, f.AllowWrite)
	f.Block = slices.Concat(session.Block, f.Block)
	f.Device = slices.Concat(session.Device, f.Device)
	f.Env = slices.Concat(session.Env, f.Env)
	f.Net = !f.NoNet && (f.Net || session.Net)
	f.NoNet = f.NoNet || session.NoNet && !f.Net
	return f
}

// misled refuses a user's file that only the variables lead to: it is not
// followed, and one that tightens must not be passed over without a word.
func (c *Caller) misled() error {
	said := c.Vars.Also
	if !c.Inv.Client || said == nil || c.Inv.session != nil {
		return nil
	}
	dir, ok, err := said.Expand("$XDG_CONFIG_HOME/sbx")
	if err != nil || !ok || dir == c.Host.Config {
		return nil
	}
	for _, path := range []string{dir + "/config.toml", dir + "/config.hcl"} {
		if _, err := os.Lstat(path); err == nil {
			return Failed("the variables say that the config file is "+text.Plain(path)+", and a project can set those for the shell of its tools",
				"put it at "+text.Plain(c.Host.Config+"/config.toml")+", or start the tool with sbx agent")
		}
	}
	return nil
}

// agrees refuses a command of a session that began with other files: the client's
// own tools run outside, and what a model writes with them into a config file is
// not to count for its next command. A new file of a project's can only tighten,
// and does.
func (inv *Invocation) agrees(read []config.File) error {
	ses := inv.session
	if ses == nil {
		return nil
	}
	files := config.Digests(read)
	missing := slices.ContainsFunc(ses.Files, func(f string) bool { return !slices.Contains(files, f) })
	looser := slices.ContainsFunc(files, func(f string) bool { return f[0] == '+' && !slices.Contains(ses.Files, f) })
	if !missing && !looser {
		return nil
	}
	return Failed("the config files, or what of them is trusted, have changed since "+text.Plain(ses.Client)+" was started",
		"look at them, then start it again with sbx agent")
}
