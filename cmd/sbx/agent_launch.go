// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/agents"
	"github.com/sbx-sandbox/sbx/internal/app"
	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/lookpath"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/session"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/shims"
)

// launch is a client about to be started.
type launch struct {
	client  *agents.Client
	dir     string   // of the session
	drop    []string // variables that the client does not get
	run     *app.Context
	place   agents.Place
	argv    []string // the first word is the path
	set     []agents.Var
	choice  agents.Choice
	session session.Session
	sample  *engine.Plan // of a command
}

// prepare checks that the client is there, that its commands can be sandboxed
// here, and that they will be. Without all of these there is no session.
func (c *agentCmd) prepare(client *agents.Client) (*launch, error) {
	l := &launch{client: client}
	if os.Getenv("SBX_FLAGS") != "" {
		return nil, app.Failed("SBX_FLAGS does not apply to the commands of an agent",
			"give its flags to sbx agent, and unset it: env -u SBX_FLAGS sbx "+text.ShellLine(os.Args[1:]))
	}
	program, err := installed(client)
	if err != nil {
		return nil, err
	}
	if err := l.policy(c); err != nil {
		return nil, err
	}
	if err := l.trusts(program); err != nil {
		return nil, err
	}
	l.argv = []string{program}
	if client.Path {
		l.argv = starter(program)
	}
	l.argv = append(l.argv, c.words...)
	make := session.Create
	if c.DryRun {
		make = func(int, session.Session) (string, error) { return "SESSION", nil }
	}
	if err := l.open(make); err != nil {
		return nil, err
	}
	if why, fix := lands(client, l.choice, l.place, l.writable); why != "" {
		l.close()
		return nil, app.Failed(client.Title+" is not started, since its commands would not be sandboxed: "+why, fix)
	}
	return l, nil
}

// policy resolves what the commands may do, as every one of them will do it
// again, and makes sure that a sandbox is available for it.
func (l *launch) policy(c *agentCmd) error {
	flags := app.Flags{Profile: splitNames(c.Profile), AllowWrite: c.AllowWrite, AllowRead: c.AllowRead, Block: c.Block,
		Device: c.Device, Net: c.Net, NoNet: c.NoNet, Env: c.Env, Quiet: c.Quiet}
	s, err := app.Load(app.ForRun(flags, nil))
	if err != nil {
		return err
	}
	l.run = s
	switch off := s.DisabledBy(); {
	case off != "":
		return app.Failed("commands would not be sandboxed: "+off,
			"take it out, or start "+l.client.Programs[0]+" without sbx")
	case s.Host.CWD == "":
		return app.Gone()
	}
	if err := s.Host.Writable(s.Host.CWD); err != nil {
		return app.Failed("the working directory "+err.Error(), "cd to a project first")
	}
	names := slices.Clone(s.Policy.Profiles)
	if l.client.Module != "" {
		names = append(names, l.client.Module)
	}
	l.session = session.Session{
		Client: l.client.Name, Root: s.Policy.Project, CWD: s.Host.CWD,
		Home: s.Vars.Home, Config: s.Vars.Config, Cache: s.Vars.Cache, Data: s.Vars.Data, State: s.Vars.State,
		Path: os.Getenv("PATH"), Files: config.Digests(s.Read),
		Profile: names, Device: c.Device, Env: c.Env, Net: c.Net, NoNet: c.NoNet,
	}
	for _, p := range []struct {
		flag string
		from []string
		to   *[]string
	}{{"--allow-read", c.AllowRead, &l.session.AllowRead}, {"--allow-write", c.AllowWrite, &l.session.AllowWrite},
		{"--block", c.Block, &l.session.Block}} {
		for _, path := range p.from {
			full, err := s.FlagPath(p.flag, path)
			if err != nil {
				return err
			}
			*p.to = append(*p.to, full)
		}
	}
	if l.client.Reads != nil {
		l.session.AllowRead = append(l.session.AllowRead,
			shared(l.client.Reads(worldOf(s.Host, os.Environ())), s.Vars.Home, l.session.Root)...)
	}
	flags.Profile, flags.AllowRead = names, l.session.AllowRead
	if s, err = s.Resolved(flags); err != nil {
		return err
	}
	l.run = s
	by, err := s.Engine()
	if err != nil {
		return err
	}
	l.sample, err = s.Plan(by, "/bin/sh", "-c", ":")
	return err
}

// shared is what of a client's own directory its commands may read: directories
// in it, if it is the user's own place for that. Nothing is followed: a link there
// would open what it leads to, a directory of keys for one.
func shared(names []string, home, root string) (out []string) {
	if len(names) == 0 {
		return nil
	}
	dir := filepath.Clean(names[0])
	rel, err := filepath.Rel(home, dir)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return nil
	}
	realHome, err := filepath.EvalSymlinks(home)
	if err != nil {
		return nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real != filepath.Join(realHome, rel) || policy.Within(real, root) || policy.Within(root, real) {
		return nil
	}
	for _, n := range names[1:] {
		path := filepath.Join(real, n)
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			out = append(out, path)
		}
	}
	return out
}

// writable reports whether commands may write a path, or where it leads.
func (l *launch) writable(path string) bool {
	if l.run == nil {
		return false
	}
	is := func(p string) bool {
		return l.session.Root != "" && policy.Within(p, l.session.Root) || l.run.Policy.Access(p) == policy.Write
	}
	if is(filepath.Clean(path)) {
		return true
	}
	for p := filepath.Clean(path); ; p = filepath.Dir(p) { // a file that does not exist yet counts by its directory
		real, err := filepath.EvalSymlinks(p)
		if err == nil {
			return is(real)
		}
		if p == "/" || p == "." {
			return false
		}
	}
}

// trusts makes sure that nothing of the start runs a file that commands may
// write: the client, what interprets it, what its loader and shell run first.
func (l *launch) trusts(program string) error {
	refuse := func(text, hint string) error {
		return app.Failed(l.client.Title+" is not started: "+text, hint)
	}
	for _, file := range append(interpreters(program), program) {
		if l.writable(file) {
			return refuse(text.Plain(file)+" lies where its commands may write, and would run outside",
				"put the one that is meant first on PATH, outside of the project")
		}
	}
	drop, bad, value := agents.First(l.world(os.Environ()))
	if bad != "" {
		return refuse(bad+"="+text.Plain(value)+" leads to where its commands may write, and programs outside would load it", "unset "+bad)
	}
	l.drop = drop
	return nil
}

// interpreters are what the first line of a script starts.
func interpreters(program string) []string {
	words := shebang(program)
	if len(words) == 0 || filepath.Base(words[0]) != "env" {
		return words[:min(1, len(words))]
	}
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "-") || strings.Contains(w, "=") {
			continue
		}
		if file := lookpath.First(os.Getenv("PATH"), w, app.Runs); file != "" {
			return []string{words[0], file}
		}
	}
	return words[:1]
}

// shebang are the words of the first line of a script, none of other files.
func shebang(program string) []string {
	const most = 256 // bytes that the kernel looks at
	head, _ := host.OS{}.Head(program, most)
	line, _, _ := bytes.Cut(head, []byte("\n"))
	rest, is := strings.CutPrefix(string(line), "#!")
	if !is {
		return nil
	}
	return strings.Fields(rest)
}

// open makes the session and settles what is set for the client.
func (l *launch) open(make func(int, session.Session) (string, error)) error {
	shells, err := shellsDir(&l.run.Caller)
	if err != nil {
		return err
	}
	if l.dir, err = make(l.run.Host.UID, l.session); err != nil {
		return app.Failed("no session can be made: "+err.Error(), "")
	}
	made := filepath.IsAbs(l.dir)
	if made && l.client.Makes != nil {
		if err := os.Mkdir(filepath.Join(session.Tmp(l.dir), l.client.Makes(l.run.Host.UID)), 0o700); err != nil {
			return err
		}
	}
	l.place = agents.Place{Shells: shells, Tmp: session.Tmp(l.dir)}
	before := l.world(os.Environ())
	if l.client.Line != nil {
		// A link by which the client hands a line to a shell of sbx's. It is sbx itself,
		// and no script: what a project's settings put into the environment of a program
		// (LD_PRELOAD) is nothing to it.
		l.place.Target = filepath.Join(shells, l.client.Line(before))
		if file := l.dir + "/" + session.Line; !made || os.Symlink(l.place.Target, file) == nil {
			l.place.Line = file
		}
	}
	l.set = []agents.Var{{Name: session.Var, Value: l.dir}, {Name: "SBX_ROOT", Value: l.session.Root},
		{Name: "TMPDIR", Value: session.Private(l.dir)}}
	if l.client.Path {
		l.set = append(l.set, agents.Var{Name: "PATH", Value: strings.TrimSuffix(shells+":"+before.Get("PATH"), ":")})
	}
	if l.client.Vars != nil {
		l.set = append(l.set, l.client.Vars(before, l.place)...)
	}
	l.choice = l.client.Choose(l.world(l.environ()))
	return nil
}

// close forgets the session of a client that is not started.
func (l *launch) close() {
	if filepath.IsAbs(l.dir) { // not that of a dry run
		_ = os.RemoveAll(l.dir)
	}
}

// settled are the variables that the session stands for: a command would take one
// for an attempt to change what it says.
var settled = []string{"SBX_PROFILE", "SBX_ENGINE"}

// environ is the client's environment: the caller's without what is dropped,
// and what is set.
func (l *launch) environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(l.drop, name) || slices.Contains(settled, name) ||
			slices.ContainsFunc(l.set, func(v agents.Var) bool { return v.Name == name })
	})
	for _, v := range l.set {
		env = append(env, v.Name+"="+v.Value)
	}
	return env
}

func (l *launch) world(env []string) *agents.World {
	w := worldOf(l.run.Host, env)
	w.Writable = l.writable
	return w
}

// worldOf is what a client sees that is started here with an environment.
func worldOf(h *host.Host, env []string) *agents.World {
	home := os.Getenv("HOME")
	return &agents.World{
		Env: env, Passwd: host.PasswdShell(h.UID), Home: home, CWD: h.CWD, TTY: app.IsTerminal(0) && onTerminal(),
		Exec: executable,
		Read: func(path string) (string, error) {
			info, err := os.Stat(path)
			switch {
			case err != nil:
				if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&os.ModeSymlink != 0 && os.IsNotExist(err) {
					return "", errors.New("it is a link to a file that does not exist")
				}
				return "", err
			case !info.Mode().IsRegular():
				return "", errors.New("it is not a regular file")
			case info.Size() > maxSettings:
				return "", errors.New("it is too large")
			}
			data, err := os.ReadFile(path)
			return string(data), err
		},
	}
}

// maxSettings is more than any settings file has.
const maxSettings = 32 << 20

// lands says why the client's commands would not land inside, and what helps;
// why is empty when they would.
func lands(client *agents.Client, c agents.Choice, p agents.Place, writable func(string) bool) (why, fix string) {
	fix = strings.ReplaceAll(c.Fix, "SHELLS", p.Shells)
	if fix == "" {
		fix = whole(client)
	}
	if c.Why != "" {
		return c.Why, fix
	}
	shell := c.Shell
	if len(c.Prefix) > 0 {
		switch {
		case p.Line != "" && len(c.Prefix) == 1 && c.Prefix[0] == p.Line:
			shell = p.Target
		case len(c.Prefix) == 2 && c.Prefix[1] == "-c":
			shell = c.Prefix[0]
		default:
			shell = ""
		}
		if !shellOfOurs(shell) {
			return "it hands its commands to " + text.Plain(strings.Join(c.Prefix, " ")) + " (" + c.By +
				"), which is not one of sbx's shells", fix
		}
		if c.Shell != "" && writable(c.Shell) {
			return "the shell around them, " + text.Plain(c.Shell) + ", lies where commands may write",
				"set SHELL to a shell of the system"
		}
	}
	switch {
	case shell == "":
		return "it finds no shell", fix
	case !shellOfOurs(shell):
		return "it takes " + text.Plain(shell) + " as its shell (" + c.By + "), which is not one of sbx's", fix
	}
	for _, file := range []string{shell, app.SelfFile()} {
		if real, err := filepath.EvalSymlinks(file); err != nil || writable(file) || writable(real) {
			return text.Plain(real) + ", which is sbx, lies where commands may write",
				"start it in another directory, or make less writable with -w"
		}
	}
	return "", ""
}

// shellOfOurs reports whether a file is this very program under the name of a
// shell. A name alone shows nothing: a project can have a file of any.
func shellOfOurs(path string) bool {
	return filepath.IsAbs(path) && shims.Parse("", path).Kind == shims.Shell && app.IsSelf(path)
}

// installed is the path of the client's program.
func installed(c *agents.Client) (string, error) {
	for _, name := range c.Programs {
		own := func(path string) bool { return executable(path) && !app.Ourselves(path) }
		if path := lookpath.First(os.Getenv("PATH"), name, own); path != "" {
			return path, nil
		}
	}
	return "", &host.Error{Status: host.StatusNotFound, Text: c.Title + " is not installed: there is no " +
		strings.Join(c.Programs, " or ") + " on PATH",
		Hint: "to install it: " + c.Install + "; sbx doctor " + c.Name + " says what would be inside"}
}

// executable reports whether this user can execute a file.
func executable(path string) bool { return app.Runs(path) && unix.Access(path, unix.X_OK) == nil }

// starter is how a program is started. One that is a script for "env bash"
// would find sbx's bash on the PATH that is made for it, and run inside as a
// whole: it gets the shell that it would have got.
func starter(program string) []string {
	words := shebang(program)
	if len(words) > 1 && filepath.Base(words[0]) == "env" && slices.Contains(shims.Dialects, words[len(words)-1]) {
		own := func(path string) bool { return app.Runs(path) && !app.Ourselves(path) }
		if shell := lookpath.First(os.Getenv("PATH"), words[len(words)-1], own); shell != "" {
			return []string{shell, program}
		}
	}
	return []string{program}
}
