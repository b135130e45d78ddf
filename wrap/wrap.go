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
	return engine.New(chosen(req.Engine), req, h)
}

func chosen(c engine.Chosen) engine.Engine {
	switch c.Name {
	case host.EngineLandlock:
		return landlock.Engine{Chosen: c}
	case host.EngineSeatbelt:
		return seatbelt.Engine{Chosen: c}
	}
	return bwrap.Engine{Program: c.Bwrap}
}
