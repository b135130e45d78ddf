// SPDX-License-Identifier: Apache-2.0

// Package wrap turns a policy into the execution of one program.
//
// A [host.Host] is what is known of the machine and the caller. [Choose] finds an
// engine, [New] computes an [engine.Plan] from a policy, a host and a command, and
// [Exec] replaces the process by it. Start with New.
//
// New is a pure function of its arguments: all it learns of files it asks of
// the [host.FS], so that tests plan for machines that do not exist and a dry
// run prints what a run would execute.
//
// The plan for bwrap is whole: a path that no rule names does not exist inside,
// the environment is filtered before bwrap starts, and descriptors that could
// lead out are closed. What this package does not protect against: bugs of the
// kernel or of bwrap, hard links made before the run, what is done over a
// network that the policy allows, and files that another program of the same
// user swaps while the sandbox starts.
package wrap

import (
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/engine/bwrap"
	"github.com/sbx-sandbox/sbx/internal/engine/landlock"
	"github.com/sbx-sandbox/sbx/internal/engine/seatbelt"
	"github.com/sbx-sandbox/sbx/internal/host"
)

// New computes the plan for the engine that was chosen. The error is a
// [*host.Error].
func New(req engine.Request, h *host.Host) (*engine.Plan, error) {
	e, err := engineOf(req.Engine)
	if err != nil {
		return nil, err
	}
	return engine.New(e, req, h)
}

func engineOf(c engine.Chosen) (engine.Engine, error) {
	switch c.Name {
	case host.EngineBwrap:
		return bwrap.Engine{Program: c.Bwrap}, nil
	case host.EngineLandlock:
		return landlock.Engine{Chosen: c}, nil
	case host.EngineSeatbelt:
		return seatbelt.Engine{Chosen: c}, nil
	}
	return nil, engine.Fail("there is no engine "+c.Name, "")
}
