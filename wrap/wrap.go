// SPDX-License-Identifier: Apache-2.0

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
