package wrap

import (
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/engine/bwrap"
	"github.com/sbx-sandbox/sbx/internal/engine/landlock"
	"github.com/sbx-sandbox/sbx/internal/engine/seatbelt"
	"github.com/sbx-sandbox/sbx/internal/host"
)

// New computes the plan for the engine of the host. The error is an [*Error].
func New(req engine.Request, h *host.Host) (*engine.Plan, error) {
	switch req.Engine.Name {
	case host.EngineLandlock:
		return landlock.Plan(req, h)
	case host.EngineSeatbelt:
		return seatbelt.Plan(req, h)
	}
	return bwrap.Plan(req, h)
}
