// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/session"
	"github.com/sbx-sandbox/sbx/internal/view"
	"github.com/sbx-sandbox/sbx/shims"
)

// Invocation is how sbx was called, and what of that is believed. [ForRun],
// [ForTool] and [ForShell] make one; no step of a run changes it.
type Invocation struct {
	Flags Flags
	Tool  string // the name of a tool that sbx was called by; "" for none

	words   []string // the command; of a tool or a shell its arguments
	profile string   // SBX_PROFILE, which is as good as a flag; see floor for a client's

	// Client says that a program called sbx as its shell, and has no idea. What the
	// command may do is up to the files that the user and the administrator wrote and
	// to the session that sbx agent made. The words, the working directory and the
	// variables come from the client, and with it perhaps from the project: none of
	// them can loosen anything.
	Client  bool
	shell   *shellCall
	session *session.Session // that the client is of; nil for none
	dir     string           // of the session
	path    string           // PATH that toolchains are lent from, when the caller's is not believed
	floor   Floor            // what the client's variables ask for: no more than the policy gives without them

	person bool         // someone sits before the run
	hints  engine.Hints // how a remedy is worded

	root    func(Caller) (*Caller, error)                              // which tree may be written
	command func(*Context) (command, error)                            // what will run
	nested  func(inv Invocation, outer *engine.Manifest) (*Run, error) // in a sandbox
}

// command is what will run.
type command struct {
	words []string
	self  []string // in place of a command: words for sbx itself
	argv0 string   // by which it is called; "" is the first word
	shell string   // what SHELL is inside; "" for the caller's
}

// ForRun is sbx by its own name: the variables are the user's.
func ForRun(flags Flags, words []string) Invocation {
	return Invocation{
		Flags: flags, words: words, profile: os.Getenv("SBX_PROFILE"), person: true,
		root: workingDirectory, command: givenCommand, nested: nested,
	}
}

// ForTool is sbx under the name of a tool: it runs the program of that name in
// the sandbox, with the words as they are. A shim has no options of its own; SBX_FLAGS,
// SBX_PROFILE and SBX_ENGINE count as for sbx --, and [tools.NAME] stands in place
// of the default profile. The tool is called by its bare name, as a shell would,
// however the shim was called. Flags are nil when no variable says any.
func ForTool(name string, words []string, flags *Flags) Invocation {
	inv := ForRun(Flags{}, append([]string{name}, words...))
	inv.Tool, inv.hints.Tool = name, name
	inv.root, inv.nested = toolDirectory, nestedTool
	if flags != nil {
		inv.Flags, inv.nested = *flags, nested
	}
	return inv
}

// ForShell is sbx under the name of a shell, executed by a file (absolute; "" when
// it is not known). The words go to the real shell byte for byte. The floor is
// asked for only outside of a sandbox.
func ForShell(name shims.Name, file string, words []string, floor func() (Floor, error)) (inv Invocation, err error) {
	if name.Line {
		words = append([]string{"-c"}, words...)
	}
	call := shims.Classify(words)
	inv = Invocation{
		Client: true, shell: &shellCall{Call: call, name: name, file: file}, words: words,
		person: call.Mode == shims.Stdin && IsTerminal(0) && IsTerminal(2), hints: engine.Hints{Config: true},
		root: clientRoot, command: shellCommand, nested: nestedShell,
	}
	if err := tooDeep(); err != nil {
		return inv, err
	}
	if _, ok := inv.outer(); ok {
		return inv, nil
	}
	if inv.floor, err = floor(); err != nil {
		return inv, err
	}
	dir := os.Getenv(session.Var)
	if name.Line {
		dir = filepath.Dir(file)
	}
	if dir == "" {
		return inv, nil
	}
	ses, err := session.Open(dir, os.Geteuid())
	if err != nil {
		return inv, Failed(err.Error(), "start the client with sbx agent, or unset "+session.Var)
	}
	inv.session, inv.dir, inv.path, inv.hints.Agent = ses, dir, ses.Path, ses.Client
	inv.Flags = Flags{
		Profile: ses.Profile, AllowRead: ses.AllowRead, AllowWrite: ses.AllowWrite, Block: ses.Block,
		Device: ses.Device, Env: ses.Env, Net: ses.Net, NoNet: ses.NoNet,
	}
	for _, l := range []struct {
		flag   string
		values []string
	}{{"-p", ses.Profile}, {"-r", ses.AllowRead}, {"-w", ses.AllowWrite}, {"--block", ses.Block}, {"--device", ses.Device}, {"--env", ses.Env}} {
		for _, value := range l.values {
			inv.hints.Typed = append(inv.hints.Typed, l.flag, value)
		}
	}
	for flag, on := range map[string]bool{"--net": ses.Net, "--no-net": ses.NoNet} { // one at most
		if on {
			inv.hints.Typed = append(inv.hints.Typed, flag)
		}
	}
	return inv, nil
}

// outer is what is known of the sandbox that this process runs in. A shell takes any
// for what it needs.
func (inv *Invocation) outer() (*engine.Manifest, bool) {
	if inv.Client {
		return nil, host.Inside() != ""
	}
	return engine.Inside()
}

// tmp is the directory for temporary files of the session, "" without one.
func (inv *Invocation) tmp() string {
	if inv.session == nil {
		return ""
	}
	return session.Tmp(inv.dir)
}

// believed are the user's own directories as far as they are known without the
// variables of a client: in the user database, or where sbx agent found them.
func (inv *Invocation) believed(h *host.Host, said policy.Vars) policy.Vars {
	own := policy.Vars{CWD: said.CWD}
	if ses := inv.session; ses != nil {
		own.Home, own.Config, own.Cache, own.Data, own.State = ses.Home, ses.Config, ses.Cache, ses.Data, ses.State
		own.TmpDir = inv.tmp()
	} else if own.Home = host.Home(h.UID); own.Home == "" {
		own.Home = h.Homes[0]
	}
	return own
}

// needs is what the call itself is about: the directory for temporary files of
// the session, the name that the client uses for its shell, which it may use inside
// again, and that no one changes the links that PATH leads to.
func (c *Caller) needs() *policy.Profile {
	p := &policy.Profile{Name: "sbx-sh"}
	add := func(l *policy.List, path, source string, layer policy.Layer) {
		// One with a pattern's signs is left out: the plan is refused where it could be written.
		if strings.HasPrefix(path, "/") && !strings.ContainsAny(path, "*?") {
			text := strings.ReplaceAll(filepath.Clean(path), "$", "$$")
			l.Items = append(l.Items, policy.Item{Text: text, Source: source, Layer: layer})
		}
	}
	// No project is there, whose names would have to be protected.
	add(&p.Write, c.Inv.tmp(), view.SourceSession, policy.Builtin)
	if sh := c.Inv.shell; sh != nil &&
		IsSelf(sh.file) { // by a link of the user's, which a built-in rule does not follow
		add(&p.Read, sh.file, "sbx-sh", policy.User)
	}
	for _, dir := range c.named {
		add(&p.Protect, dir, "PATH", policy.Builtin)
	}
	return p
}
