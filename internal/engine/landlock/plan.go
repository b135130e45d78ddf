// SPDX-License-Identifier: Apache-2.0

// Package landlock makes plans for Landlock: this process limits itself and
// becomes the command, with nothing installed and no other process. Landlock can
// only allow, for whole directories, so rules name the entries around what is
// hidden or protected.
//
// What Landlock cannot do is a gap of the plan, or a refusal where a promise
// depends on it. Start with [Engine.Plan]; rules.go turns a view into rules.
package landlock

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/seccomp"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// Engine is Landlock: this process limits itself and becomes the command, so
// there is no other process, and nothing that would have to be installed. What
// Landlock cannot do is a gap, or a refusal where a promise depends on it.
type Engine struct{ Chosen engine.Chosen }

func (Engine) Traits() engine.Traits {
	return engine.Traits{Name: host.EngineLandlock, Tier: host.TierReduced, NoMounts: true}
}

func (Engine) Arrange(r *engine.Run) error {
	r.View.Watched = r.Policy.Protected != "enforce"
	r.Confined = &engine.Confined{}
	return nil
}

func (e Engine) Own(r *engine.Run) ([]policy.Var, error) { return r.OwnDir(e.Chosen) }

func (e Engine) Plan(r *engine.Run) error {
	p, v, h := r.Plan, r.View, r.Host
	if len(p.Limits.Prefix) > 0 {
		return engine.Fail("limits for all processes together are not available here: systemd-run would have to start a sandbox that is up already",
			"use limits = \"best-effort\", or install bubblewrap")
	}
	for _, e := range p.LateEnv { // nothing but the command is loaded with them
		p.Env = append(p.Env, e.Name+"="+e.Value)
	}
	p.LateEnv = nil
	var err error
	if p.Path, p.Argv, err = r.Words(h.Self); err != nil {
		return err
	}
	c, err := buildRules(v, r.Policy)
	if err != nil {
		return err
	}
	if err := checkSockets(v, h); err != nil {
		return err
	}
	notes := c.notes(h, e.Chosen.Lack)
	p.Report.Notes, p.Report.Exposed, p.Report.Movable, p.Report.Frozen = notes, c.exposed, c.moved, c.frozen
	p.Report.Brief, p.Report.Reveal = c.brief, c.reveal(h.StartDir())
	addRules(r, c)
	if err := addFilters(r); err != nil {
		return err
	}
	if len(c.copied) > 0 {
		more := append(c.links, v.AbsentGit...)
		for _, path := range more {
			c.movable(path)
		}
		p.Report.Copied, p.Report.Above = append(c.copied, more...), c.moved
	}
	if p.Limit = r.Policy.TimeoutSeconds; p.Limit > 0 || len(c.copied) > 0 {
		p.Init = &pid1.InitConfig{Group: pid1.Beside, Limit: p.Limit, OOM: -1, Parent: pid1.NoParentFDs,
			Hints: r.HintWords(nil)}
	}
	p.Gaps = slices.Concat(c.gaps, notes, c.unguarded(), p.Gaps)
	p.Report.Ruleset, p.Report.Made = &p.Confined.Ruleset, p.Dirs
	if e.Chosen.Lack != nil {
		p.Lack, p.Lift = e.Chosen.Lack.Reason, e.Chosen.Lack.Lift()
	}
	return nil
}

// checkSockets refuses to open a socket by name where the kernel cannot tell that one
// from others.
func checkSockets(v *view.View, h *host.Host) error {
	for i := range v.Entries {
		if m := &v.Entries[i]; h.Landlock < engine.ABIUnix && m.Info.Kind == host.Socket && view.Shows(m.Access) &&
			m.Rule.Layer != policy.Builtin {
			return engine.Fail(m.Rule.Source+": "+text.Plain(m.Path)+" is a socket, and before version 9 (Linux 7.1) Landlock cannot open one and not all", "it needs tier full: sbx doctor says how to get there")
		}
	}
	return nil
}

// Refuse is the error of what Landlock cannot do at all.
func (Engine) Refuse(req engine.Request, pol *policy.Policy, h *host.Host) error {
	no := engine.Fail
	full := req.Engine.Lack.Lift()
	switch {
	case h.Landlock < 1:
		return no("Landlock is not available: the kernel is older than 5.13 or was started without it", full)
	case pol.MinTier == host.TierFull:
		return no("the policy asks for tier full ("+engine.Whence(pol,
			"min_tier")+"), and Landlock has tier reduced", full)
	case pol.Seccomp == "off":
		return no("seccomp = \"off\" is not available with Landlock, which leaves UDP and sockets to the filter",
			"leave it out")
	case pol.NewSession == "yes":
		return no("new_session = \"yes\" is not available with Landlock ("+engine.Whence(pol, "new_session")+")",
			"use setsid(1) in front of sbx")
	case req.Remap != "":
		return no(engine.Workspace(pol)+" is not available with Landlock, which shows every path where it is", full)
	}
	return nil
}

// addRules adds to the rules for the policy's files what every command needs:
// its own /proc, of which Landlock keeps what belongs to other processes'
// memory, files and environment, the harmless devices, the terminal and the
// files that it was given, and the directory for temporary files.
func addRules(r *engine.Run, c *ruleBuilder) {
	p, h, tmp := r.Plan, r.Host, r.Session+"/tmp"
	all, _, _ := landlock.Known(h.Landlock)
	w := landlock.Ruleset{FS: all, Rules: c.rules, Scope: landlock.AbstractUnix | landlock.Signal}
	if !r.Policy.Network {
		w.Net = landlock.BindTCP | landlock.ConnectTCP | landlock.BindUDP | landlock.ConnectUDP
	}
	if r.Policy.SharePID {
		w.Scope &^= landlock.Signal
	}
	add := func(path string, allow landlock.FS) {
		w.Rules = append(w.Rules, landlock.Rule{Path: path, Allow: allow, Fleeting: true})
	}
	add("/proc", landlock.Read)
	const device = landlock.ReadFile | landlock.WriteFile | landlock.Truncate | landlock.IoctlDev
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		add("/dev/"+name, device)
	}
	for _, path := range r.View.Devices() {
		add(path, device)
		if dir := policy.Dir(path); dir != "/dev" {
			add(dir, landlock.ReadDir)
		}
	}
	w.Rules = append(w.Rules, landlock.Rule{Path: tmp, Allow: landlock.Write},
		landlock.Rule{Path: policy.Dir(tmp), Allow: landlock.ReadFile})
	if len(p.Argv) > 0 && p.Path == h.Self {
		add(h.Self, landlock.Execute|landlock.ReadFile)
	}
	// /dev/stdout and the like open the file itself once more, as it was opened.
	for _, fd := range r.Passed() {
		switch fd.Kind {
		case host.FDFile:
			allow := landlock.FS(0)
			if fd.Reads {
				allow |= landlock.ReadFile
			}
			if fd.Writes {
				allow |= landlock.WriteFile | landlock.Truncate
			}
			w.Rules = append(w.Rules, landlock.Rule{FD: fd.Num, Allow: allow})
		case host.FDDevice:
			w.Rules = append(w.Rules, landlock.Rule{FD: fd.Num, Allow: device})
		}
	}
	p.Confined.Ruleset = w.For(h.Landlock)
}

// addFilters adds the system call filters.
func addFilters(r *engine.Run) error {
	pol, h := r.Policy, r.Host
	unix := h.Landlock >= engine.ABIUnix
	code, err := seccomp.Filter(seccomp.Options{Arch: h.Arch, Level: policy.SeccompLevel(pol.Seccomp), Root: h.UID == 0,
		Host: true, NoInet: !pol.Network, NoUnix: !unix, NoTruncate: h.Landlock < engine.ABITruncate})
	if err != nil {
		return engine.Fail("seccomp: "+err.Error(), "")
	}
	r.Confined.Filters = append(r.Confined.Filters, engine.Program{Name: "seccomp filter", Code: code})
	if code, err = r.CommandFilter(); code != nil {
		r.Confined.Filters = append(r.Confined.Filters, engine.Program{Name: "seccomp filter from a file", Code: code})
	}
	return err
}

// Unenforced are the promises that Landlock cannot keep whole.
func (Engine) Unenforced(r *engine.Run) []string {
	pol, h := r.Policy, r.Host
	gaps := []string{
		engine.GapNames,
		engine.GapModes,
		engine.GapProcesses,
		engine.GapPlaces,
	}
	if r.Init == nil {
		gaps = append(gaps, "background processes of the command go on when it ends")
	}
	if h.UID == 0 {
		gaps = append(gaps, "for root that is nearly every file of this machine")
	}
	if !pol.Network {
		gaps = append(gaps, engine.GapLoopback)
	}
	if r.Init != nil && (h.Landlock < engine.ABIScope || pol.SharePID) {
		gaps = append(gaps, "the command can end sbx, its parent: no time limit holds then, and what it changed is put back by the next run")
	}
	if h.Landlock < engine.ABIScope && !pol.SharePID {
		gaps = append(gaps, engine.GapSignals+" (Landlock here is version "+strconv.Itoa(h.Landlock)+"; 6 and Linux 6.12 prevent it)")
	}
	if h.Landlock < engine.ABIUnix {
		gaps = append(gaps, engine.GapUnix+": Landlock here is version "+strconv.Itoa(h.Landlock)+" and cannot tell those of the host from others (9 and Linux 7.1 can)")
	}
	if h.Landlock < engine.ABIRefer {
		gaps = append(gaps, "nothing can be renamed or linked from one directory to another (Landlock here is version 1)")
	}
	return gaps
}

// inTheWay is why the first directory is closed.
func (c *ruleBuilder) inTheWay() string {
	for _, path := range c.hidden {
		if policy.Within(path, c.frozen[0]) {
			return text.Plain(path[len(c.frozen[0])+1:]) + " there is hidden"
		}
	}
	return "something there is protected"
}

// reveal are the flags that show what closes the project's directories, "" where showing
// it does not open them.
func (c *ruleBuilder) reveal(cwd string) string {
	var flags []string
	for _, path := range c.hidden {
		if policy.Within(path, c.v.Root) {
			name := strings.TrimPrefix(path, cwd+"/")
			flags = append(flags, "-r "+text.ShellWord(name))
		}
	}
	if !c.v.Watched || len(flags) == 0 || len(flags) > 4 {
		return ""
	}
	return strings.Join(flags, " ")
}

// unguarded says what can be changed while the command runs.
func (c *ruleBuilder) unguarded() (out []string) {
	if n := len(c.copied); n > 0 {
		out = append(out, "what git runs and other protected paths ("+strconv.Itoa(n)+
			") can be changed while the command runs: sbx stays as its parent, and puts them back when all of it has ended")
	}
	if n := len(c.exposed) - len(c.copied); n > 0 {
		out = append(out, "names that tools obey by themselves ("+strconv.Itoa(n)+
			") can be changed: what changed is said after the run, and by sbx status (protect = \"enforce\" closes the directory instead)")
	}
	return out
}

// notes are the gaps in what a command would expect to be able to do where the
// policy lets it write.
func (c *ruleBuilder) notes(h *host.Host, lack *host.Unavailable) []string {
	var out []string
	if len(c.frozen) > 0 {
		var names []string
		for _, dir := range c.frozen {
			names = append(names, text.Plain(dir))
		}
		opens := c.reveal(h.StartDir())
		if opens != "" {
			opens += " shows it and opens the directory of the project; "
		}
		closed := "nothing can be made, removed or renamed directly in " + text.FirstOf(names, 4)
		out = append(out, closed+": "+c.inTheWay()+", and Landlock opens a directory only with all that is in it; "+opens+lack.Lift())
		c.brief = map[string]string{out[0]: closed + " (tier reduced; sbx explain says why)"}
	}
	for _, dir := range c.unlisted {
		if dir == h.CWD {
			out = append(out, text.Plain(dir)+" cannot be listed: there is a hidden directory in it")
		}
	}
	return out
}
