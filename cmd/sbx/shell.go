package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/session"
	"github.com/sbx-sandbox/sbx/internal/view"
	"github.com/sbx-sandbox/sbx/shims"
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
	if name.Line {
		words = append([]string{"-c"}, words...)
	}
	c := &shellCall{Call: shims.Classify(words), name: name, file: file}
	if err := tooDeep(); err != nil {
		return err
	}
	if host.Inside() || host.InLandlock() || host.InSeatbelt() {
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
	host, err := host.Look()
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
	choice := shims.Choice{
		Asked: os.Getenv("SBX_SHELL"), Shell: s.settings.Shell, Shells: s.settings.Shells,
		Terminal: isTerminal(0) && isTerminal(2), Runs: runs, Ourselves: ourselves,
	}
	if c.Mode == shims.Stdin && c.name.Text == "" { // else it is not asked for, and on macOS it takes a program to learn it
		choice.Passwd = host.PasswdShell(s.host.UID)
	}
	real, err := shims.Real(c.name, c.Call, choice)
	var missing *shims.NotFoundError
	switch {
	case errors.Is(err, shims.ErrOurselves):
		return nil, &host.Error{Status: host.StatusNoExec, Text: err.Error(), Hint: "name the shell that is to do the work"}
	case errors.As(err, &missing):
		return nil, &host.Error{Status: host.StatusNotFound, Text: err.Error(), Hint: "install it, or say where it is: shells." + missing.Name + " in the config file"}
	case err != nil:
		return nil, &host.Error{Status: host.StatusNotFound, Text: err.Error()}
	}
	c.real, s.host.Shell = real, real
	if c.name.Login && s.host.OS == "darwin" {
		if words, err = shims.LoginWords(real, words); err != nil {
			return nil, &host.Error{Status: host.StatusFailed, Text: err.Error(), Hint: "name another shell: shell in the config file"}
		}
	} else if c.name.Login {
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
	return &host.Error{Status: host.StatusNoExec, Text: "sbx started itself " + strconv.Itoa(n) + " times in a row: the shell that it is to run is sbx by another name", Hint: "set shell in the config file to the real one"}
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
	self, err := os.Stat(selfFile())
	return err == nil && os.SameFile(info, self)
}

// selfFile leads to the program that runs.
func selfFile() string {
	const exe = "/proc/self/exe"
	if _, err := os.Lstat(exe); err == nil {
		return exe
	}
	path, _ := os.Executable()
	return path
}

// join takes what holds for the session that the client is of.
func (c *shellCall) join(opts *options) error {
	dir := os.Getenv(session.Var)
	if c.name.Line {
		dir = filepath.Dir(c.file)
	}
	if dir == "" {
		return nil
	}
	ses, err := session.Open(dir, os.Geteuid())
	if err != nil {
		return &host.Error{Status: host.StatusFailed, Text: err.Error(), Hint: "start the client with sbx agent, or unset " + session.Var}
	}
	c.session, c.dir = ses, dir
	opts.Profile, opts.AllowRead, opts.AllowWrite, opts.Block, opts.Env = ses.Profile, ses.AllowRead, ses.AllowWrite, ses.Block, ses.Env
	opts.Net, opts.NoNet = ses.Net, ses.NoNet
	opts.given = true
	return nil
}

// person reports whether somebody sits before this run: not when a client
// called its shell to run something. A run by sbx's own name always counts.
func (c *shellCall) person() bool {
	return c == nil || c.Mode == shims.Stdin && isTerminal(0) && isTerminal(2)
}

// needs is what the call itself is about: the directory for temporary files of
// the session, and the name that the client uses for its shell, which it may use
// inside again.
func (c *shellCall) needs() *policy.Profile {
	p := &policy.Profile{Name: "sbx-sh"}
	if c == nil {
		return p
	}
	plain := strings.NewReplacer("$", "$$")
	grant := func(l *policy.List, path, source string, layer policy.Layer) {
		if strings.HasPrefix(path, "/") && !strings.ContainsAny(path, "*?") {
			l.Items = append(l.Items, policy.Item{Text: plain.Replace(policy.Clean(path)), Source: source, Layer: layer})
		}
	}
	// No project is there, whose names would have to be protected.
	grant(&p.Write, c.tmp(), view.SourceSession, policy.Builtin)
	if isSelf(c.file) { // by a link of the user's, which a built-in rule does not follow
		grant(&p.Read, c.file, "sbx-sh", policy.User)
	}
	return p
}

// tmp is the directory for temporary files of the session, "" without one.
func (c *shellCall) tmp() string {
	if c == nil || c.dir == "" {
		return ""
	}
	return session.Tmp(c.dir)
}

// realShell is the user's own where SHELL names sbx: programs inside start it
// without a detour.
func (s *state) realShell() string {
	login := host.PasswdShell(s.host.UID)
	if login == "" || !runs(login) || ourselves(login) {
		return s.shell("/bin/sh")
	}
	return s.shell(login)
}
