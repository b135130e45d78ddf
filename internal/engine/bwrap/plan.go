// SPDX-License-Identifier: Apache-2.0

// Package bwrap makes plans for bubblewrap: the view as mounts in namespaces,
// the system call filter, and sbx itself as process 1 in front of the command. A
// path that no rule names does not exist inside.
//
// It does not protect against bugs of the kernel or of bwrap. Start with
// [Engine.Plan].
package bwrap

import (
	"slices"
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/text"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/seccomp"
)

// Engine is bwrap: namespaces and mounts, so that what a command may not see does
// not exist.
type Engine struct{ Program host.Bwrap }

func (e Engine) Traits() engine.Traits {
	return engine.Traits{Name: host.EngineBwrap, Tier: host.TierFull, Path: e.Program.Path}
}

func (Engine) Refuse(engine.Request, *policy.Policy, *host.Host) error { return nil }

func (Engine) Arrange(r *engine.Run) error {
	if err := r.View.HideSockets(r.Policy); err != nil {
		return err
	}
	return r.View.RemapTo(r.Request.Remap, engine.Workspace(r.Policy))
}

func (e Engine) Own(r *engine.Run) ([]policy.Var, error) {
	if err := addCache(r); err != nil {
		return nil, err
	}
	if e.Program.Overlay {
		r.Overlay()
	}
	r.View.ShareTmp(r.Request.Tmp)
	return nil, nil
}

// Plan writes the command line of bwrap.
func (e Engine) Plan(r *engine.Run) error {
	path, words, err := r.Words(SelfInside)
	if err != nil {
		return err
	}
	odd := host.Join(host.Join(r.Request.Root, ".git"), "commondir")
	if r.Policy.Git == "commit" && r.View.Has(odd) {
		r.Report.Notes = append(r.Report.Notes, text.Plain(odd)+
			" exists, and no repository of its own has one: look what it says before you run git outside")
	}
	a := bwrapargs.Args{
		Version:  e.Program.Version,
		ShareNet: r.Policy.Network,
		SharePID: r.Policy.SharePID,
		Ops:      Ops(r.View, r.Policy, r.Host),
		Chdir:    r.View.Inside(r.Pwd),
	}
	for _, v := range r.LateEnv {
		a.Setenv = append(a.Setenv, bwrapargs.Var(v))
	}
	prefixed(r.Plan, &a)
	filter, err := r.CommandFilter()
	if err != nil {
		return err
	}
	next := numbers(r.Host)
	command, self, err := e.command(r, path, words, next)
	if err != nil {
		return err
	}
	if err := e.addFilters(r, &a, filter); err != nil {
		return err
	}
	a.Init = r.Init != nil && r.Init.Group != pid1.NoInit
	a.Session = !a.Init && ownSession(r)
	if !a.Init {
		addSetup(r, &a, next)
	}
	a.Ops = slices.Concat(a.Ops, manifest(r, self), remountReadOnly(r.View))
	for i := range a.Ops {
		a.Ops[i].Dst = r.View.Inside(a.Ops[i].Dst)
	}
	watched := masks(a.Ops, r.Policy)
	for i := range watched { // one that is protected hides nothing, though it is a copy
		path, _ := r.View.Outside(watched[i].Path)
		if m := r.View.At(path); m != nil && m.Copied && m.Access == policy.Protect {
			watched[i].Kind = pid1.Protects
		}
	}
	if a.Init {
		r.Init.Masks = watched
	} else if len(watched) > 0 {
		r.Gaps = append(r.Gaps, Unwatched)
	}
	// The options go through a descriptor: nothing of the policy shows in ps.
	argsFD := next()
	options, fds := a.Words(next)
	if command, err = fit(r.Plan, command, len(options)); err != nil {
		return err
	}
	if r.Init != nil {
		fds = append(fds, bwrapargs.FD{Num: r.InitFD, Name: "configuration of process 1", Data: r.Init.Encode()})
	}
	r.FDs = slices.Concat([]bwrapargs.FD{{Num: argsFD, Name: "bwrap options", Data: joinNUL(options)}}, r.FDs, fds)
	r.Argv = append([]string{"bwrap", "--args", strconv.Itoa(argsFD), "--"}, command...)
	return prefix(r.Plan)
}

// addSetup adds the pipes to the set-up watchdog, where no process 1 stays.
func addSetup(r *engine.Run, a *bwrapargs.Args, next func() int) {
	r.Setup = &pid1.SetupFDs{Setup: next(), Alive: -1, Info: -1}
	if r.Policy.SharePID { // there is no process 1 that could hold a pipe
		r.Setup.Info = next()
		a.Info = r.Setup.Info
	} else {
		r.Setup.Alive = next()
		a.Sync = r.Setup.Alive
	}
	a.Block = r.Setup.Setup
}

// addFilters hands the programs of system calls to whoever loads them. The
// command's own is for process 1, as the last thing before the command, or for
// bwrap, whose own process in the sandbox it holds, too.
func (e Engine) addFilters(r *engine.Run, a *bwrapargs.Args, own []byte) error {
	version := e.Program.Version
	switch {
	case own == nil:
	case r.Init != nil:
		r.Init.Filter = own
	case version.Less(bwrapargs.HasTwoFilters):
		return engine.Fail("bwrap "+version.String()+" takes no second system call filter, and without sbx as process 1 nothing else loads the one from "+
			text.Plain(r.Policy.Seccomp), "leave out --direct, or install bubblewrap 0.6 or newer")
	default:
		a.Filter = own
	}
	if r.Policy.Seccomp == "off" {
		if version.Less(bwrapargs.HasUserns) {
			return engine.Fail("bwrap "+version.String()+" cannot refuse nested user namespaces without seccomp",
				`install bubblewrap 0.8 or newer, or leave seccomp = "default"`)
		}
		return nil
	}
	level := policy.SeccompLevel(r.Policy.Seccomp)
	code, err := seccomp.Filter(seccomp.Options{Arch: r.Host.Arch, Level: level, Root: r.Host.UID == 0})
	if err != nil {
		return engine.Fail("seccomp: "+err.Error(), "")
	}
	a.Seccomp = code
	return nil
}

// maxArgs is what bwrap accepts in all, options from --args included.
const maxArgs = 9000

// fit gives the command's words to process 1 by its configuration when they are
// more than bwrap takes, or a program in front of bwrap might change them. The first
// stays, for those who read ps.
func fit(p *engine.Plan, command []string, options int) ([]string, error) {
	n := options + len(command) + 4
	const before = 3 // the words of process 1 itself
	hand := len(p.Limits.Prefix) > 0 && p.Init != nil && len(command) > before
	if n <= maxArgs && !hand {
		return command, nil
	}
	if p.Init == nil || len(command) <= before {
		return nil, engine.Fail("bwrap takes no more than "+strconv.Itoa(maxArgs)+" arguments, and this run needs "+strconv.Itoa(n),
			"pass the arguments through a file or xargs; without --direct and --share-pid there is no such limit")
	}
	if p.Init.Argv == nil {
		p.Init.Argv = command[before:]
	}
	return command[:before+1], nil
}

func joinNUL(words []string) []byte {
	n := 0
	for _, w := range words {
		n += len(w) + 1
	}
	out := make([]byte, 0, n)
	for _, w := range words {
		out = append(append(out, w...), 0)
	}
	return out
}

// FirstFD is where the numbers of sbx's own descriptors begin; below are the
// ones that scripts use by hand.
const FirstFD = 20

// numbers gives out descriptor numbers that nothing of the caller's uses.
func numbers(h *host.Host) func() int {
	used := make(map[int]bool, len(h.FDs))
	for _, fd := range h.FDs {
		used[fd.Num] = true
	}
	n := FirstFD - 1
	return func() int {
		for n++; used[n]; n++ {
		}
		return n
	}
}

// manifest shows the command its policy in /run/sbx/policy.json: no values of
// variables, and of hidden things only those that a mount of their own gives
// away in /proc/self/mountinfo. The directory is a mount of its own, so that it
// cannot be moved away and forged.
func manifest(r *engine.Run, more []bwrapargs.Op) []bwrapargs.Op {
	if !r.View.OwnsRun() {
		r.Gaps = append(r.Gaps, "/run is the host's, so there is no "+host.ManifestDir)
		return nil
	}
	return slices.Concat([]bwrapargs.Op{
		{Kind: bwrapargs.Tmpfs, Dst: host.ManifestDir, Size: 1 << 20, Perm: 0o755},
		{Kind: bwrapargs.ROData, Dst: host.ManifestDir + "/policy.json", Data: r.Manifest(), Perm: 0o444},
	}, more, []bwrapargs.Op{{Kind: bwrapargs.RemountRO, Dst: host.ManifestDir}})
}

// Unenforced are the promises that bwrap on this host cannot keep whole.
func (e Engine) Unenforced(r *engine.Run) []string {
	out := RulesetGaps(r.Plan, r.Policy, r.Host)
	if e.Program.Version.Less(bwrapargs.HasSize) {
		out = append(out, "bwrap "+e.Program.Version.String()+" cannot bound the size of private directories")
	}
	out = append(out, engine.GapSockets)
	r.Report.Usual = 1
	r.Report.OwnSession = !sharesGroup(r)
	if !r.Report.OwnSession && !r.Restricts(landlock.Signal) {
		r.Report.Usual++
		out = append(out, "in a script or pipeline on a terminal the command is in the caller's process group: it can signal "+
			"what runs beside it (new_session = \"yes\" prevents it and takes the terminal away)")
	}
	return out
}
