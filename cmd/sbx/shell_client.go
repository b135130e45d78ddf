package main

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/session"
)

// distrust looks for the user's own directories where no variable can have
// moved them: in the user database, or where sbx agent found them. The
// variables are the client's, and may be the project's. What they name is
// hidden and protected as well, and grants nothing.
func (s *state) distrust() {
	said, c, h := s.vars, s.opts.shell, s.host
	h.Client = true
	own := policy.Vars{CWD: said.CWD, Root: said.Root, Home: h.Homes[0]}
	if ses := c.session; ses == nil {
		own.Home = cmp.Or(host.Home(h.UID), own.Home)
	} else {
		own.Home, own.Config, own.Cache, own.Data, own.State = ses.Home, ses.Config, ses.Cache, ses.Data, ses.State
		own.TmpDir = session.Tmp(c.dir)
	}
	if !slices.Contains(h.Homes, own.Home) {
		h.Homes = append(h.Homes, own.Home)
	}
	if run := "/run/user/" + strconv.Itoa(h.UID); said.Run == run {
		own.Run = run
	}
	dirs := func(v *policy.Vars) [8]string {
		return [...]string{v.Home, v.Home2, v.TmpDir, v.Config, v.Cache, v.Data, v.State, v.Run}
	}
	if dirs(&own) != dirs(&said) {
		own.Also = &said
	}
	s.vars, s.cacheDir = own, cacheOf(&own)
}

// lends is the environment that toolchains are looked for in. PATH opens parts
// of any directory it names: of a shell that is the one that the session began
// with.
func (c *shellCall) lends(environ []string) []string {
	if c == nil {
		return environ
	}
	path := ""
	if c.session != nil {
		path = c.session.Path
	}
	return setEnv(environ, "PATH", path)
}

// believed refuses a user's file that only the variables lead to: it is not
// followed, and one that tightens must not be passed over without a word.
func (s *state) believed(f config.Files) (config.Files, error) {
	said := s.vars.Also
	if said == nil || s.opts.shell.session != nil {
		return f, nil
	}
	dir, ok, err := said.Expand("$XDG_CONFIG_HOME/sbx")
	if err != nil || !ok || dir == s.host.Config {
		return f, nil
	}
	for _, path := range []string{dir + "/config.toml", dir + "/config.hcl"} {
		if _, err := os.Lstat(path); err == nil {
			return f, &host.Error{Status: host.StatusFailed, Text: "the variables say that the config file is " + policy.Plain(path) + ", and a project can set those for the shell of its tools",
				Hint: "put it at " + policy.Plain(s.host.Config+"/config.toml") + ", or start the tool with sbx agent"}
		}
	}
	return f, nil
}

// narrow applies SBX_PROFILE and SBX_FLAGS as far as they do not loosen: who
// sets the variables of a client's shell need not be the user.
func (s *state) narrow() error {
	env, err := envFlags()
	if err != nil {
		return err
	}
	profile := os.Getenv("SBX_PROFILE")
	if engine := os.Getenv("SBX_ENGINE"); engine != "" && engine != "auto" && engine != host.EngineBwrap && engine != host.EngineSeatbelt {
		return notFromHere("SBX_ENGINE", engine)
	}
	if len(env) == 0 && profile == "" {
		return nil
	}
	base, c := s.policy, s.opts.shell
	opts, err := parseFlags(env)
	if err != nil {
		return err
	}
	if flag := opts.beyondPolicy(); flag != "" {
		return notFromHere("SBX_FLAGS", flag)
	}
	if profile != "" && len(opts.Profile) == 0 {
		opts.Profile = strings.Split(profile, ",")
	}
	opts.shell, opts.given = c, true
	if err := s.retry(opts); err != nil {
		return err
	}
	from := "SBX_FLAGS"
	if len(env) == 0 {
		from = "SBX_PROFILE"
	}
	for _, change := range policy.WiderOnly(policy.Diff(base, s.policy)) {
		return notFromHere(from, change.Key+" "+change.What)
	}
	return nil
}

// retry resolves the policy anew with the flags of a session and more.
func (s *state) retry(more *options) error {
	was := s.opts
	if len(more.Profile) == 0 {
		more.Profile = was.Profile
	}
	more.AllowRead = append(slices.Clone(was.AllowRead), more.AllowRead...)
	more.AllowWrite = append(slices.Clone(was.AllowWrite), more.AllowWrite...)
	more.Block = append(slices.Clone(was.Block), more.Block...)
	more.Env = append(slices.Clone(was.Env), more.Env...)
	more.Net = !more.NoNet && (more.Net || was.Net)
	more.NoNet = more.NoNet || was.NoNet && !more.Net
	s.opts = more
	return s.resolve()
}

func notFromHere(name, what string) error {
	return &host.Error{Status: host.StatusFailed, Text: "the environment of a shell can only tighten, and " + name + " asks for more: " + strings.TrimSpace(what),
		Hint: "say it in the config file, or to sbx agent"}
}

// beyondPolicy is the first flag that decides about more than the policy.
func (o *options) beyondPolicy() string {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"--no-sandbox", o.NoSandbox}, {"--keep-fd", len(o.KeepFD) > 0}, {"--workspace", o.Workspace != ""}, {"--engine", o.Engine != ""}, {"--direct", o.Direct},
		{"--argv0", o.Argv0 != ""}, {"--dry-run", o.DryRun}, {"--config", o.Config != ""}, {"--protect", o.Protect != ""}, {"--log-level", o.LogLevel != ""},
	} {
		if f.set {
			return f.name
		}
	}
	return ""
}

// asAgreed notes what the files say, and refuses a command of a session that
// began with other ones: the client's own tools run outside, and what a model
// writes with them into a config file is not to count for its next command. A
// new file of a project's can only tighten, and does.
func (s *state) asAgreed(files []config.File) error {
	s.agreed = config.Digests(files)
	c := s.opts.shell
	if c == nil || c.session == nil {
		return nil
	}
	same := !slices.ContainsFunc(c.session.Files, func(f string) bool { return !slices.Contains(s.agreed, f) }) &&
		!slices.ContainsFunc(s.agreed, func(f string) bool { return f[0] == '+' && !slices.Contains(c.session.Files, f) })
	if same {
		return nil
	}
	return &host.Error{Status: host.StatusFailed, Text: "the config files, or what of them is trusted, have changed since " + policy.Plain(c.session.Client) + " was started",
		Hint: "look at them, then start it again with sbx agent"}
}
