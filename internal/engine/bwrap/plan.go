package bwrap

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/seccomp"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// maxArgs is what bwrap accepts in all, options from --args included.
const maxArgs = 9000

// arguments writes the command line of bwrap.
func arguments(p *engine.Plan, req engine.Request, h *host.Host, v *view.View, pol *policy.Policy) error {
	a := bwrapargs.Args{
		Version:  req.Engine.Bwrap.Version,
		ShareNet: pol.Network,
		SharePID: pol.SharePID,
		Ops:      Ops(v, pol, h),
		Chdir:    v.Inside(p.Pwd),
	}
	for _, e := range p.LateEnv {
		a.Setenv = append(a.Setenv, bwrapargs.Var(e))
	}
	prefixed(p, &a)
	own, err := p.CommandFilter(req, h)
	if err != nil {
		return err
	}
	next := numbers(p, h)
	command, self, err := command(p, req, h, v, pol, next)
	if err != nil {
		return err
	}
	if err := giveFilter(p, &a, own, req.Engine.Bwrap); err != nil {
		return err
	}
	a.Init = p.Init != nil && p.Init.Group != pid1.NoInit
	a.Session = !a.Init && ownSession(pol, h)
	if !a.Init {
		p.Setup = &pid1.SetupFDs{Setup: next(), Alive: -1, Info: -1}
		if pol.SharePID { // there is no process 1 that could hold a pipe
			p.Setup.Info = next()
			a.Info = p.Setup.Info
		} else {
			p.Setup.Alive = next()
			a.Sync = p.Setup.Alive
		}
		a.Block = p.Setup.Setup
	}
	a.Ops = append(a.Ops, manifest(p, v, pol, self)...)
	a.Ops = append(a.Ops, remountReadOnly(v)...)
	for i := range a.Ops {
		a.Ops[i].Dst = v.Inside(a.Ops[i].Dst)
	}
	if watched := masks(a.Ops, pol); a.Init {
		p.Init.Masks = watched
	} else if len(watched) > 0 {
		p.Gaps = append(p.Gaps, Unwatched)
	}
	if pol.Seccomp != "off" {
		filter, err := seccomp.Filter(seccomp.Options{Arch: h.Arch, Level: policy.SeccompLevel(pol.Seccomp), Root: h.UID == 0, Net: pol.Network})
		if err != nil {
			return engine.Fail("seccomp: "+err.Error(), "")
		}
		a.Seccomp = filter
	} else if req.Engine.Bwrap.Version.Less(bwrapargs.HasUserns) {
		return engine.Fail("bwrap "+req.Engine.Bwrap.Version.String()+" cannot refuse nested user namespaces without seccomp", `install bubblewrap 0.8 or newer, or leave seccomp = "default"`)
	}
	// The options go through a descriptor: nothing of the policy shows in ps.
	argsFD := next()
	options, fds := a.Words(next)
	command, err = fit(p, command, len(options))
	if err != nil {
		return err
	}
	if p.Init != nil {
		fds = append(fds, bwrapargs.FD{Num: p.InitFD, Name: "order for the stage", Data: p.Init.Encode()})
	}
	p.FDs = slices.Concat([]bwrapargs.FD{{Num: argsFD, Name: "bwrap options", Data: joinNUL(options)}}, p.FDs, fds)
	p.Argv = append([]string{"bwrap", "--args", strconv.Itoa(argsFD), "--"}, command...)
	return prefix(p)
}

// SelfInside is where sbx itself is, in the runs that need it.
const SelfInside = host.ManifestDir + "/sbx"

// command returns the words for bwrap to execute and, when sbx itself is among
// them, the mount that shows it: as the stage in front of the command, with an
// order that says all the rest. A command that shares the processes of the host
// has no stage to stay with it; there the stage looks at what bwrap before 0.10
// mounted by name, and becomes the command.
func command(p *engine.Plan, req engine.Request, h *host.Host, v *view.View, pol *policy.Policy, next func() int) ([]string, []bwrapargs.Op, error) {
	words, path := req.Command, ""
	if len(req.Self) > 0 {
		words = append([]string{SelfInside}, req.Self...)
	}
	if len(words) > 0 {
		if path = words[0]; !strings.Contains(path, "/") {
			path = v.Inside(p.Report.Command)
		}
	}
	if req.Argv0 != "" {
		words = append([]string{req.Argv0}, words[min(1, len(words)):]...)
	}
	p.Limit = pol.TimeoutSeconds
	look := req.Engine.Bwrap.Version.Less(bwrapargs.HasBindFD)
	wall := Ruleset(p, v, pol, h)
	const unseen = ": what is replaced on the host while the sandbox is being set up is noticed by no one"
	switch {
	case req.Direct && look:
		p.Gaps = append(p.Gaps, "bwrap "+req.Engine.Bwrap.Version.String()+" binds by name and there is no stage (--direct)"+unseen)
	case pol.SharePID && !look && wall == nil && len(p.Reopen) == 0 && req.Filter == nil:
		req.Direct = true // the stage would have nothing to do
	}
	if req.Direct && req.Argv0 != "" {
		return nil, nil, engine.Fail("--argv0 needs the stage", "leave out --direct and --share-pid")
	}
	if req.Direct && len(req.Self) == 0 {
		return words, nil, nil
	}
	self, ok := v.SelfPath(h)
	if !ok {
		if p.Limit > 0 || len(req.Self) > 0 || req.Argv0 != "" {
			return nil, nil, needsSelf(pol)
		}
		p.Gaps = append(p.Gaps, "sbx itself cannot be put inside, so signals and the terminal are bwrap's business")
		if look {
			p.Gaps = append(p.Gaps, "bwrap "+req.Engine.Bwrap.Version.String()+" binds by name and there is no stage"+unseen)
		}
		return words, nil, nil
	}
	show := []bwrapargs.Op{{Kind: bwrapargs.ROBind, Src: self, Dst: SelfInside}}
	p.Report.SelfInside = true
	if req.Direct {
		return words, show, nil
	}
	o := &pid1.InitConfig{Path: path, Group: processGroup(pol, h), Limit: p.Limit, OOM: -1, Parent: pid1.NoParentFDs, Reopen: p.Reopen, Ruleset: wall}
	show = append(show, reopenedBinds(p, h)...)
	if p.Limits.Staged {
		o.Rlimits, o.Memory = p.Limits.Rlimits, p.Limits.Memory
	}
	if look {
		o.Expected = expected(v)
	}
	if wall != nil && wall.FS != 0 {
		o.Expected, o.Keep = expectPrivate(v, o.Expected), p.Keep
	}
	p.InitFD = next()
	if o.Group != pid1.NoInit {
		o.Parent = pid1.ParentFDs{Status: next(), Stat: -1, Epoll: next(), Signal: next(), Read: next(), Write: next(), WatchdogRead: next(), WatchdogWrite: next(), Stderr: next()}
		if o.Group == pid1.Foreground {
			o.Parent.Stat = next()
		}
		if p.Limits.Counts() {
			o.OOM = next()
		}
	}
	if req.Argv0 != "" {
		o.Argv = words
	}
	if o.Group != pid1.NoInit {
		o.Hints = p.HintWords(req, h, v)
	}
	p.Init = o
	return append([]string{SelfInside, pid1.InitName, strconv.Itoa(p.InitFD)}, words...), show, nil
}

// processGroup is how the command stands to the caller's process group. In front of
// a terminal, where nothing else of a pipeline can be waiting for it, it gets a
// group of its own that has the terminal, as a shell would give it one: what is
// typed reaches it alone, and it can signal nobody outside. In a script or
// pipeline the terminal belongs to the whole group, and nobody inside could
// give it back.
func processGroup(pol *policy.Policy, h *host.Host) pid1.Group {
	switch {
	case pol.SharePID:
		return pid1.NoInit
	case ownSession(pol, h):
		return pid1.NewSession
	case h.Front:
		return pid1.Foreground
	}
	return pid1.Shared
}

// sharesGroup reports whether the command can signal the caller's group:
// kill(0, …) knows no namespaces.
func sharesGroup(p *engine.Plan, pol *policy.Policy, h *host.Host) bool {
	return !ownSession(pol, h) && (p.Init == nil || p.Init.Group == pid1.Shared || p.Init.Group == pid1.NoInit)
}

// fit gives the command's words to the stage by the order when they are more
// than bwrap takes, or a program in front of bwrap might change them. The first
// stays, for those who read ps.
func fit(p *engine.Plan, command []string, options int) ([]string, error) {
	n := options + len(command) + 4
	const before = 3 // the stage's own words
	inOrder := len(p.Limits.Prefix) > 0 && p.Init != nil && len(command) > before
	if n <= maxArgs && !inOrder {
		return command, nil
	}
	if p.Init == nil || len(command) <= before {
		return nil, engine.Fail("bwrap takes no more than "+strconv.Itoa(maxArgs)+" arguments, and this run needs "+strconv.Itoa(n), "pass the arguments through a file or xargs; without --direct and --share-pid there is no such limit")
	}
	if p.Init.Argv == nil {
		p.Init.Argv = command[before:]
	}
	return command[:before+1], nil
}

func needsSelf(pol *policy.Policy) error {
	what := "a time limit"
	if pol.TimeoutSeconds == 0 {
		what = "this"
	}
	return engine.Fail(what+" needs sbx itself inside, and it cannot be put there", "leave /run to the sandbox, and sbx in a file")
}

// ownSession reports whether the command gets a session of its own, and with it
// no terminal.
func ownSession(pol *policy.Policy, h *host.Host) bool {
	return pol.NewSession == "yes" || pol.NewSession == "auto" && (pol.Seccomp == "off" || !h.TTY)
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
func numbers(p *engine.Plan, h *host.Host) func() int {
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

// giveFilter hands the program to whoever loads it: the stage, as the last thing
// before the command, or bwrap, whose own process in the sandbox it holds, too.
func giveFilter(p *engine.Plan, a *bwrapargs.Args, code []byte, b host.Bwrap) error {
	switch {
	case code == nil:
	case p.Init != nil:
		p.Init.Filter = code
	case b.Version.Less(bwrapargs.HasTwoFilters):
		return engine.Fail("bwrap "+b.Version.String()+" takes no second system call filter, and without the stage nobody else loads the one from "+text.Plain(p.Report.Policy.Seccomp), "leave out --direct, or install bubblewrap 0.6 or newer")
	default:
		a.Filter = code
	}
	return nil
}

// manifest shows the command its policy in /run/sbx/policy.json: no values of
// variables, and of hidden things only those that a mount of their own gives
// away in /proc/self/mountinfo. The directory is a mount of its own, so that it
// cannot be moved away and forged.
func manifest(p *engine.Plan, v *view.View, pol *policy.Policy, more []bwrapargs.Op) []bwrapargs.Op {
	if !v.OwnsRun() {
		p.Gaps = append(p.Gaps, "/run is the host's, so there is no "+host.ManifestDir)
		return nil
	}
	ops := []bwrapargs.Op{
		{Kind: bwrapargs.Tmpfs, Dst: host.ManifestDir, Size: 1 << 20, Perm: 0o755},
		{Kind: bwrapargs.ROData, Dst: host.ManifestDir + "/policy.json", Data: engine.Manifest(p, v, pol), Perm: 0o444},
	}
	return append(append(ops, more...), bwrapargs.Op{Kind: bwrapargs.RemountRO, Dst: host.ManifestDir})
}

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
	return r.View.RemapTo(r.Request.Remap)
}

func (Engine) Own(r *engine.Run) ([]policy.Var, error) {
	if err := cache(r.Plan, r.Request, r.View, r.Policy); err != nil {
		return nil, err
	}
	r.View.ShareTmp(r.Request.Tmp)
	return nil, nil
}

func (Engine) Plan(r *engine.Run) (err error) {
	path, _ := host.LookupEnv(r.Env, "PATH")
	switch {
	case len(r.Request.Self) > 0:
		r.Report.Command = SelfInside
	case len(r.Request.Command) > 0:
		if r.Report.Command, err = view.LookCommand(r.View, r.Host, r.Request.Command[0], path); err != nil {
			return err
		}
	}
	odd := host.Join(host.Join(r.Request.Root, ".git"), "commondir")
	if r.Policy.Git == "commit" && r.View.Has(odd) {
		r.Report.Notes = append(r.Report.Notes, text.Plain(odd)+
			" exists, and no repository of its own has one: look what it says before you run git outside")
	}
	return arguments(r.Plan, r.Request, r.Host, r.View, r.Policy)
}

func (e Engine) Unenforced(r *engine.Run) []string {
	out := slices.Concat(RulesetGaps(r.Plan, r.Policy, r.Host), gaps(e.Program), []string{engine.GapSockets})
	r.Report.Usual = 1
	r.Report.OwnSession = !sharesGroup(r.Plan, r.Policy, r.Host)
	if !r.Report.OwnSession && !r.Restricts(landlock.Signal) {
		r.Report.Usual++
		out = append(out, "in a script or pipeline on a terminal the command is in the caller's process group: it can signal "+
			"what runs beside it (new_session = \"yes\" prevents it and takes the terminal away)")
	}
	return out
}

// gaps are the promises that this engine on this host cannot keep whole.
func gaps(b host.Bwrap) []string {
	var out []string
	if b.Version.Less(bwrapargs.HasSize) {
		out = append(out, "bwrap "+b.Version.String()+" cannot bound the size of private directories")
	}
	return out
}
