// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"errors"
	"slices"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Choose finds the engine for a run: the one that is named, or of "auto" (or "")
// the first that works and has the tier. bwrap gives tier
// full, Landlock reduced. Whether bwrap works is found as in [Find]: a verdict
// that is kept says only that it does, so one that is wrong can make a run fail
// and never makes it weaker. The error is an [*Unavailable].
func Choose(h *host.Host, dir, name, tier string) (c engine.Chosen, err error) {
	switch name {
	case "", "auto", host.EngineBwrap, host.EngineLandlock:
	default:
		return c, &host.Unavailable{Cause: host.CauseSystem,
			Reason: "there is no engine " + text.Plain(name) + " on this system"}
	}
	if name != host.EngineLandlock {
		c.Bwrap, err = host.Find(h, dir)
		if err == nil {
			c.Name = host.EngineBwrap
			return c, nil
		}
		if name == host.EngineBwrap || !errors.As(err, &c.Lack) {
			return c, err
		}
		// What may be over in a moment, or was brought about by a command that uses up
		// what the user may have, must not make a run weaker.
		if c.Lack.Cause == host.CauseHangs || c.Lack.Cause == host.CauseBusy {
			return c, c.Lack
		}
		if tier == host.TierFull {
			return c, c.Lack
		}
	}
	if u := h.NoLandlock(); u != nil {
		if c.Lack == nil {
			return c, u
		}
		both := *c.Lack
		both.Reason += ", and " + u.Reason
		both.Hints = append(slices.Clone(both.Hints), u.Hints...)
		return c, &both
	}
	c.Name = host.EngineLandlock
	c.Runtime, c.Instance = runDir(h, dir)
	return c, nil
}
