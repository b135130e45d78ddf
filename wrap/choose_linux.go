package wrap

import (
	"errors"
	"slices"
)

// Choose finds the engine for a run and notes it in h: the one that is named, or
// of "auto" (or "") the first that works and has the tier. bwrap gives tier
// full, Landlock reduced. Whether bwrap works is found as in [Find]: a verdict
// that is kept says only that it does, so one that is wrong can make a run fail
// and never makes it weaker. The error is an [*Unavailable].
func Choose(h *Host, dir, name, tier string) error {
	if name != EngineLandlock {
		var err error
		h.Bwrap, err = Find(h, dir)
		if err == nil {
			h.Engine = EngineBwrap
			return nil
		}
		if name == EngineBwrap || !errors.As(err, &h.Lack) {
			return err
		}
		// What may be over in a moment, or was brought about by a command that uses up
		// what the user may have, must not make a run weaker.
		if h.Lack.Cause == CauseHangs || h.Lack.Cause == CauseBusy {
			return h.Lack
		}
		if tier == TierFull {
			return h.Lack
		}
	}
	if u := h.noLandlock(); u != nil {
		if h.Lack == nil {
			return u
		}
		both := *h.Lack
		both.Reason += ", and " + u.Reason
		both.Hints = append(slices.Clone(both.Hints), u.Hints...)
		return &both
	}
	h.Engine = EngineLandlock
	h.settle(dir)
	return nil
}

// noLandlock says why the engine that needs nothing installed cannot be had,
// nil when it can.
func (h *Host) noLandlock() *Unavailable {
	if h.Landlock < 1 {
		return &Unavailable{CauseLandlock, "the kernel has no Landlock", []string{"Landlock came with Linux 5.13; lsm= on the kernel's command line, or a container's filter, may leave it out"}}
	}
	if !filters() {
		return &Unavailable{CauseLandlock, "system call filters cannot be set here", []string{"CONFIG_SECCOMP_FILTER in the kernel, and no filter of a container's that refuses seccomp(2)"}}
	}
	return nil
}
