// SPDX-License-Identifier: Apache-2.0

// Package engine holds what the engines share: the [Request] for a plan, the
// [Plan] itself with its [Report], the manifest that the command finds, the limits,
// and which descriptors pass. Packages bwrap, landlock and seatbelt below it make
// plans; package wrap chooses one and executes its plan.
//
// A plan names its gaps, the promises that its engine cannot keep. Start with
// [New].
package engine

import (
	"slices"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// Engine is a way to hold a command to a policy. What is the same for all of
// them is in [New].
type Engine interface {
	Traits() Traits
	// Refuse is the error of what the engine cannot do at all.
	Refuse(Request, *policy.Policy, *host.Host) error
	// Arrange changes the view: what only this engine shows or hides.
	Arrange(*Run) error
	// Own adds the directories of the run's own, and returns the variables that say
	// where they are.
	Own(*Run) ([]policy.Var, error)
	// Plan adds what is executed, and the rules or mounts around it.
	Plan(*Run) error
	// Unenforced are the gaps of every run with this policy, the most general last.
	Unenforced(*Run) []string
}

// Traits are what tells engines apart.
type Traits struct {
	Name string // host.EngineBwrap and so on
	Tier string
	Path string // of the program that is executed in front of the command; "" for none

	NoMounts   bool // every path keeps its place
	DenyAbsent bool // what does not exist is named in rules, too
}

// Run is a plan in the making, with what it is made of.
type Run struct {
	*Plan
	Request Request
	Host    *host.Host
	View    *view.View
	Policy  *policy.Policy

	cacheSrc string // the private cache as it is on the host; "" where none is kept
}

// New makes the plan. The error is a [*host.Error].
func New(e Engine, req Request, h *host.Host) (*Plan, error) {
	if at := req.Policy.Project; at != "" && at != h.CWD { // which is what the run is about
		in := *h
		in.Dir, in.CWD, h = h.StartDir(), at, &in
	}
	pol, err := view.Prepare(req.Policy, h)
	if err != nil {
		return nil, err
	}
	if err := e.Refuse(req, pol, h); err != nil {
		return nil, err
	}
	t := e.Traits()
	res := host.NewResolver(h.FS)
	pol, git := view.GuardGit(view.BlockPointedFiles(pol, h), h, req.Root, res)
	v, own, err := view.New(pol, h, res, t.DenyAbsent)
	if err != nil {
		return nil, err
	}
	if err := v.OpenDevices(pol); err != nil {
		return nil, err
	}
	v.Root, v.NoMounts, v.AbsentGit = req.Root, t.NoMounts, append(v.AbsentGit, git.NoHooks...)
	p := &Plan{Engine: t.Name, Tier: t.Tier, Path: t.Path, Dirs: own}
	p.Report.Policy, p.Report.View = pol, v
	r := &Run{Plan: p, Request: req, Host: h, View: v, Policy: pol}
	if err := e.Arrange(r); err != nil {
		return nil, err
	}
	v.HideProjectFiles(req.Root, git)
	if err := v.RemoveCredentials(req.Root, git); err != nil {
		return nil, err
	}
	if err := r.descriptors(); err != nil {
		return nil, err
	}
	if t.NoMounts {
		if err := r.refuseLooseSockets(); err != nil {
			return nil, err
		}
	} else {
		v.HideWholeDirs()
	}
	vars, err := e.Own(r)
	if err != nil {
		return nil, err
	}
	if err := r.applyLimits(); err != nil {
		return nil, err
	}
	if err := v.CheckWorkingDir(h.StartDir()); err != nil {
		return nil, err
	}
	if err := v.CheckHome(pol); err != nil {
		return nil, err
	}
	p.Pwd = v.KeepPWD()
	vars, tools := append(p.variables(pol), vars...), append(r.toolVariables(), r.keepLinked(git.Linked)...)
	for _, t := range tools {
		vars = append(vars, t.Var)
	}
	p.Env, p.LateEnv, p.Report.Env = v.Environment(pol, p.Pwd, vars)
	describe(p.Report.Env, tools)
	v.Loose = append(v.Loose, git.Notes...)
	p.Report.Watch = v.WatchList(git.Watch, req.Tmp)
	if err := e.Plan(r); err != nil {
		return nil, err
	}
	p.Report.Notes, p.Report.Once = slices.Concat(p.Closed, p.Report.Notes, v.Loose, v.Notes), v.Once
	p.Gaps = slices.Concat(v.Loose, v.Gaps, git.Gaps, p.Gaps, p.Limits.Gaps, e.Unenforced(r))
	if p.Session != "" { // elsewhere it is a mount
		p.Files = []OwnFile{{Path: p.Session + "/" + ManifestName, Data: r.Manifest()}}
	}
	return p, nil
}

// Fail is the error of a run that cannot be planned, and what to do.
func Fail(text, hint string) error {
	return &host.Error{Status: host.StatusFailed, Text: text, Hint: hint}
}

// Chosen is the engine that runs the command.
type Chosen struct {
	Name  string            // host.EngineBwrap and so on; "" while there is none
	Bwrap host.Bwrap        // with bwrap
	Lack  *host.Unavailable // why it is not one of tier full; nil when it is

	// With Landlock and sandbox-exec.
	Runtime  string // where the directories of runs are; "" for nowhere
	Instance string // the name of this run's
}
