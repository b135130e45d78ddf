// SPDX-License-Identifier: Apache-2.0

package bwrap

import (
	"slices"
	"strconv"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
)

// SelfInside is where sbx itself is, in the runs that need it.
const SelfInside = host.ManifestDir + "/sbx"

// command returns the words for bwrap to execute and, when sbx itself is among them,
// the mounts that it needs: as process 1 in front of the command, with an
// [pid1.InitConfig] that says all the rest. A command that shares the processes of
// the host has no process 1 to stay with it; there sbx looks at what bwrap before
// 0.10 mounted by name, and becomes the command.
func (e Engine) command(r *engine.Run, path string, words []string, next func() int) ([]string, []bwrapargs.Op, error) {
	req := &r.Request
	r.Limit = r.Policy.TimeoutSeconds
	byName := e.Program.Version.Less(bwrapargs.HasBindFD)
	ruleset := Ruleset(r.View, r.Policy, r.Host)
	unseen := func(direct string) {
		r.Gaps = append(r.Gaps, "bwrap "+e.Program.Version.String()+" binds by name and sbx is not process 1 of the sandbox"+direct+
			": a file replaced on the host while the sandbox is being set up goes unnoticed")
	}
	// With shared processes there may be nothing to do for process 1.
	direct := req.Direct || r.Policy.SharePID && !byName && ruleset == nil && len(r.Reopen) == 0 && req.Filter == nil
	if req.Direct && byName {
		unseen(" (--direct)")
	}
	if direct && req.Argv0 != "" {
		return nil, nil, engine.Fail("--argv0 needs sbx as process 1 of the sandbox",
			"leave out --direct and --share-pid")
	}
	if direct && len(req.Self) == 0 {
		return words, nil, nil
	}
	self, ok := r.View.SelfPath()
	if !ok {
		if r.Limit > 0 || len(req.Self) > 0 || req.Argv0 != "" {
			return nil, nil, needsSelf(r.Limit)
		}
		r.Gaps = append(r.Gaps, "sbx itself cannot be put inside, so bwrap handles signals and the terminal")
		if byName {
			unseen("")
		}
		return words, nil, nil
	}
	show := []bwrapargs.Op{{Kind: bwrapargs.ROBind, Src: self, Dst: SelfInside}}
	r.Report.SelfInside = true
	if direct {
		return words, show, nil
	}
	r.Init = &pid1.InitConfig{Path: path, Group: processGroup(r), Limit: r.Limit, OOM: -1, Parent: pid1.NoParentFDs,
		Reopen: r.Reopen, Keep: r.Keep, Ruleset: ruleset}
	if r.Limits.Staged {
		r.Init.Rlimits, r.Init.Memory = r.Limits.Rlimits, r.Limits.Memory
	}
	if byName {
		r.Init.Expected = expected(r.View)
	}
	if ruleset != nil && ruleset.FS != 0 {
		r.Init.Expected = expectPrivate(r.View, r.Init.Expected)
	}
	r.InitFD = next()
	if req.Argv0 != "" {
		r.Init.Argv = words
	}
	if r.Init.Group != pid1.NoInit {
		addParent(r, next)
		vanishing := r.Vanishing()
		if r.Init.Hints = r.HintWords(vanishing); r.Init.Hints != nil {
			r.Init.Private, r.Init.Ports = vanishing, r.PortsHint()
		}
	}
	command := append([]string{SelfInside, pid1.InitName, strconv.Itoa(r.InitFD)}, words...)
	return command, append(show, reopenedBinds(r)...), nil
}

// addParent gives process 1 what connects it to the parent process.
func addParent(r *engine.Run, next func() int) {
	o := r.Init
	o.Parent = pid1.ParentFDs{Status: next(), Stat: -1, Epoll: next(), Signal: next(), Read: next(), Write: next(),
		WatchdogRead: next(), WatchdogWrite: next(), Stderr: next()}
	if o.Group == pid1.Foreground {
		o.Parent.Stat = next()
	}
	if r.Limits.Counts() {
		o.OOM = next()
	}
}

func needsSelf(limit float64) error {
	what := "a time limit"
	if limit == 0 {
		what = "this"
	}
	return engine.Fail(what+" needs sbx itself inside, and it cannot be put there",
		"leave /run to the sandbox, and sbx in a file")
}

// processGroup is how the command stands to the caller's process group. In front of
// a terminal, where nothing else of a pipeline can be waiting for it, it gets a
// group of its own that has the terminal, as a shell would give it one: what is
// typed reaches it alone, and it can signal no process outside. In a script or
// pipeline the terminal belongs to the whole group, and no process inside could
// give it back.
func processGroup(r *engine.Run) pid1.Group {
	switch {
	case r.Policy.SharePID:
		return pid1.NoInit
	case ownSession(r):
		return pid1.NewSession
	case r.Host.Front:
		return pid1.Foreground
	}
	return pid1.Shared
}

// sharesGroup reports whether the command can signal the caller's group:
// kill(0, …) knows no namespaces.
func sharesGroup(r *engine.Run) bool {
	return !ownSession(r) && (r.Init == nil || r.Init.Group == pid1.Shared || r.Init.Group == pid1.NoInit)
}

// ownSession reports whether the command gets a session of its own, and with it
// no terminal.
func ownSession(r *engine.Run) bool {
	pol := r.Policy
	return pol.NewSession == "yes" || pol.NewSession == "auto" && (pol.Seccomp == "off" || !r.Host.TTY)
}

// reopenedBinds are the read-only mounts of the files that process 1 reopens.
func reopenedBinds(r *engine.Run) []bwrapargs.Op {
	var ops []bwrapargs.Op
	for _, fd := range r.Host.FDs {
		if !slices.Contains(r.Reopen, fd.Num) {
			continue
		}
		at := pid1.ReopenDir + "/" + strconv.Itoa(fd.Num)
		held := &bwrapargs.Identity{Dev: fd.Dev, Ino: fd.Ino}
		ops = append(ops, bwrapargs.Op{Kind: bwrapargs.ROBind, Src: fd.Path, Dst: at, Held: held})
		if r.Report.Files == nil {
			r.Report.Files = make(map[string]string, len(r.Reopen))
		}
		r.Report.Files[at] = fd.Path
	}
	return ops
}
