package wrap

import (
	"errors"
	"slices"

	"github.com/sbx-sandbox/sbx/internal/host"
)

// Choose finds the engine for a run and notes it in h: the one that is named, or
// of "auto" (or "") the first that works and has the tier. bwrap gives tier
// full, Landlock reduced. Whether bwrap works is found as in [Find]: a verdict
// that is kept says only that it does, so one that is wrong can make a run fail
// and never makes it weaker. The error is an [*Unavailable].
func Choose(h *host.Host, dir, name, tier string) error {
	if name != host.EngineLandlock {
		var err error
		h.Bwrap, err = host.Find(h, dir)
		if err == nil {
			h.Engine = host.EngineBwrap
			return nil
		}
		if name == host.EngineBwrap || !errors.As(err, &h.Lack) {
			return err
		}
		// What may be over in a moment, or was brought about by a command that uses up
		// what the user may have, must not make a run weaker.
		if h.Lack.Cause == host.CauseHangs || h.Lack.Cause == host.CauseBusy {
			return h.Lack
		}
		if tier == host.TierFull {
			return h.Lack
		}
	}
	if u := h.NoLandlock(); u != nil {
		if h.Lack == nil {
			return u
		}
		both := *h.Lack
		both.Reason += ", and " + u.Reason
		both.Hints = append(slices.Clone(both.Hints), u.Hints...)
		return &both
	}
	h.Engine = host.EngineLandlock
	settle(h, dir)
	return nil
}
