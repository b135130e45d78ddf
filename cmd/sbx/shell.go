package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/config"
	"github.com/sbx-sandbox/sbx/policy"
	"github.com/sbx-sandbox/sbx/profiles"
	"github.com/sbx-sandbox/sbx/session"
	"github.com/sbx-sandbox/sbx/shims"
	"github.com/sbx-sandbox/sbx/wrap"
)

// shellCall is a run as sbx-sh: a client called its shell, and has no idea.
// What the command may do is up to the files that the user and the
// administrator wrote and to the session that sbx agent made. The words, the
// working directory and the variables come from the client, and with it perhaps
// from the project: none of them can loosen anything.
type shellCall struct {
	shims.Call
	name    shims.Name
	file    string // by which sbx was executed, absolute; "" when it is not known
	session *session.Session
	dir     string // of the session
	real    string // the shell that does the work
}

// runShell runs the words with the shell that a name stands for. They go to it
// byte for byte.
func runShell(name shims.Name, file string, words []string) error {
	c := &shellCall{Call: shims.Classify(words), name: name, file: file}
	if err := tooDeep(); err != nil {
		return err
	}
	if wrap.Inside() || wrap.InLandlock() {
		return c.within(words)
	}
	opts := &options{shell: c}
	if err := c.join(opts); err != nil {
		return err
	}
	s, err := load(opts)
	if err != nil {
		return err
	}
	command, err := s.shellCommand(words)
	if err != nil {
		return err
	}
	return s.run(command)
}

// within runs the real shell where a sandbox is around it already.
func (c *shellCall) within(words []string) error {
	host, err := wrap.Look()
	if err != nil {
		return err
	}
	s := &state{opts: &options{shell: c}, host: host, settings: config.Defaults(nil)}
	command, err := s.shellCommand(words)
	if err != nil {
		return err
	}
	return s.execBare(command)
}

// shellCommand is the real shell with the words.
func (s *state) shellCommand(words []string) ([]string, error) {
	c := s.opts.shell
	real, err := shims.Real(c.name, c.Call, shims.Choice{
		Asked: os.Getenv("SBX_SHELL"), Shell: s.settings.Shell, Shells: s.settings.Shells,
		Passwd: wrap.PasswdShell(s.host.UID), Terminal: isTerminal(0) && isTerminal(2),
		Runs: runs, Ourselves: ourselves,
	})
	var missing *shims.NotFoundError
	switch {
	case errors.Is(err, shims.ErrOurselves):
		return nil, &wrap.Error{Status: wrap.StatusNoExec, Text: err.Error(), Hint: "name the shell that is to do the work"}
	case errors.As(err, &missing):
		return nil, &wrap.Error{Status: wrap.StatusNotFound, Text: err.Error(), Hint: "install it, or say where it is: shells." + missing.Name + " in the config file"}
	case err != nil:
		return nil, &wrap.Error{Status: wrap.StatusNotFound, Text: err.Error()}
	}
	c.real, s.host.Shell = real, real
	if c.name.Login {
		s.opts.Argv0 = rawText("-" + filepath.Base(real))
	}
	return append([]string{real}, words...), nil
}

// tooDeep ends a circle of shells outside of any sandbox: a copy of sbx under
// the name of a shell is one that nothing else recognizes.
func tooDeep() error {
	n, _ := strconv.Atoi(os.Getenv(depthVar))
	if n < maxShims {
		return nil
	}
	return &wrap.Error{Status: wrap.StatusNoExec, Text: "sbx started itself " + strconv.Itoa(n) + " times in a row: the shell that it is to run is sbx by another name", Hint: "set shell in the config file to the real one"}
}

// deeper is the environment for a program that is executed without a sandbox of
// its own.
func (c *shellCall) deeper(env []string) []string {
	n, _ := strconv.Atoi(os.Getenv(depthVar))
	return setEnv(setEnv(env, "SHELL", c.real), depthVar, strconv.Itoa(max(n, 0)+1))
}

// runs reports whether a file is there that can be executed.
func runs(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// ourselves reports whether a file is sbx, by a link, a hard link, or its name.
func ourselves(path string) bool { return shims.Own(filepath.Base(path)) || isSelf(path) }

// isSelf reports whether a path leads to the program that runs.
func isSelf(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		exe, _ := os.Executable()
		if self, err = os.Stat(exe); err != nil {
			return false
		}
	}
	return os.SameFile(info, self)
}

// join takes what holds for the session that the client is of.
func (c *shellCall) join(opts *options) error {
	dir := os.Getenv(session.Var)
	if dir == "" {
		return nil
	}
	ses, err := session.Open(dir, os.Geteuid())
	if err != nil {
		return &wrap.Error{Status: wrap.StatusFailed, Text: err.Error(), Hint: "start the client with sbx agent, or unset " + session.Var}
	}
	c.session, c.dir = ses, dir
	opts.Profile, opts.AllowRead, opts.AllowWrite, opts.Block, opts.Env = ses.Profile, ses.AllowRead, ses.AllowWrite, ses.Block, ses.Env
	opts.Net, opts.NoNet = ses.Net, ses.NoNet
	opts.given = true
	return nil
}

// distrust looks for the user's own directories where no variable can have
// moved them: in the user database, or where sbx agent found them. The
// variables are the client's, and may be the project's. What they name is
// hidden and protected as well, and grants nothing.
func (s *state) distrust() {
	said, c, host := s.vars, s.opts.shell, s.host
	host.Client = true
	own := policy.Vars{CWD: said.CWD, Root: said.Root, Home: host.Homes[0]}
	if ses := c.session; ses == nil {
		own.Home = cmp.Or(wrap.Home(host.UID), own.Home)
	} else {
		own.Home, own.Config, own.Cache, own.Data, own.State = ses.Home, ses.Config, ses.Cache, ses.Data, ses.State
		own.TmpDir = session.Tmp(c.dir)
	}
	if !slices.Contains(host.Homes, own.Home) {
		host.Homes = append(host.Homes, own.Home)
	}
	if run := "/run/user/" + strconv.Itoa(host.UID); said.Run == run {
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

// settle decides which tree the commands may write: $CWD of the profiles. The
// directory that a command is started in is up to the client, and the last
// command may have chosen it: where a root is pinned, it grants nothing.
func (s *state) settle() error {
	c, here := s.opts.shell, s.host.CWD
	if here == "" {
		return nil // refused when the plan is made
	}
	root, by := "", ""
	if c.session != nil {
		root, by = c.session.Root, "the session"
	} else {
		var err error
		if root, by, err = s.pinned(here); err != nil {
			return err
		}
	}
	s.host.Dir = here
	if root == "" {
		s.vars.CWD, s.vars.Root = "", ""
		return nil
	}
	if info, err := s.host.FS.Lstat(root); err != nil || info.Kind != wrap.Dir {
		return &wrap.Error{Status: wrap.StatusFailed, Text: policy.Plain(root) + ", the root of what may be written (" + by + "), is not a directory"}
	}
	if err := s.host.WritableRoot(root); err != nil {
		return &wrap.Error{Status: wrap.StatusFailed, Text: "the root of what may be written (" + by + ") " + err.Error()}
	}
	s.host.CWD, s.vars.CWD = root, root
	s.vars.Root = wrap.WorkTree(s.host.FS, root, s.host.UID, s.host.Homes)
	return nil
}

// pinned is the writable root of a run without a session: one of those that the
// configuration names, SBX_ROOT, or the working directory, if that can be one.
func (s *state) pinned(here string) (root, by string, err error) {
	asked, of := os.Getenv("SBX_ROOT"), here
	if asked != "" {
		if asked, err = filepath.EvalSymlinks(asked); err != nil || !filepath.IsAbs(asked) {
			return "", "", &wrap.Error{Status: wrap.StatusFailed, Text: "SBX_ROOT is " + policy.Quote(os.Getenv("SBX_ROOT")) + ", which is not the absolute path of a directory"}
		}
		of = asked
	}
	roots, err := s.roots(of)
	if err != nil {
		return "", "", err
	}
	if roots == nil {
		if asked != "" {
			return asked, "SBX_ROOT", nil
		}
		if s.host.WritableRoot(here) != nil {
			return "", "", nil
		}
		return here, "the working directory", nil
	}
	for _, r := range roots {
		if asked == "" && policy.Within(here, r) && len(r) > len(root) {
			root = r
		}
		if asked != "" && policy.Within(asked, r) {
			root = asked
		}
	}
	if asked != "" && root == "" {
		return "", "", &wrap.Error{Status: wrap.StatusFailed, Text: "SBX_ROOT is " + policy.Plain(asked) + ", which is in none of the roots of the config file"}
	}
	return root, "roots", nil
}

// roots are the trees that the configuration names, canonical, and of a pattern
// the one that holds a path; nil when it names none at all. Files of the project have no say.
func (s *state) roots(of string) ([]string, error) {
	places, err := s.places()
	if err != nil {
		return nil, err
	}
	places.CWD, places.Root = "", ""
	files, err := config.Find(places)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	vars := s.vars
	settings, err := config.Load(profiles.Builtin(), files, vars)
	if err != nil || settings.Roots == nil {
		return nil, err
	}
	roots := []string{}
	for _, text := range settings.Roots {
		top, all := strings.CutSuffix(text, "/*")
		path, ok, err := vars.Expand(top)
		if err != nil || !ok {
			continue
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			continue
		}
		if all {
			rest, in := strings.CutPrefix(of, strings.TrimSuffix(path, "/")+"/")
			if !in {
				continue
			}
			child, _, _ := strings.Cut(rest, "/")
			path = strings.TrimSuffix(path, "/") + "/" + child
		}
		roots = append(roots, path)
	}
	return roots, nil
}

// person reports whether somebody sits before this run: not when a client
// called its shell to run something. A run by sbx's own name always counts.
func (c *shellCall) person() bool {
	return c == nil || c.Mode == shims.Stdin && isTerminal(0) && isTerminal(2)
}

// needs adds what the call itself is about: the directory for temporary files
// of the session, the name that the client uses for its shell, which it may use
// inside again, and the variable that says which shell is the real one.
func (c *shellCall) needs(p *policy.Profile) {
	plain := strings.NewReplacer("$", "$$")
	grant := func(l *policy.List, path, source string) {
		if strings.HasPrefix(path, "/") && !strings.ContainsAny(path, "*?") {
			l.Items = append(l.Items, policy.Item{Text: plain.Replace(policy.Clean(path)), Source: source})
		}
	}
	if c.dir != "" {
		grant(&p.Write, c.tmp(), wrap.SourceSession)
	}
	if isSelf(c.file) {
		grant(&p.Read, c.file, "sbx-sh")
	}
}

// tmp is the directory for temporary files of the session, "" without one.
func (c *shellCall) tmp() string {
	if c == nil || c.dir == "" {
		return ""
	}
	return session.Tmp(c.dir)
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
			return f, &wrap.Error{Status: wrap.StatusFailed, Text: "the variables say that the config file is " + policy.Plain(path) + ", and a project can set those for the shell of its tools",
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
	if engine := os.Getenv("SBX_ENGINE"); engine != "" && engine != "auto" && engine != wrap.EngineBwrap {
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
	return &wrap.Error{Status: wrap.StatusFailed, Text: "the environment of a shell can only tighten, and " + name + " asks for more: " + strings.TrimSpace(what),
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

// realShell is the user's own where SHELL names sbx: programs inside start it
// without a detour.
func (s *state) realShell() string {
	login := wrap.PasswdShell(s.host.UID)
	if login == "" || !runs(login) || ourselves(login) {
		return s.shell("/bin/sh")
	}
	return s.shell(login)
}
