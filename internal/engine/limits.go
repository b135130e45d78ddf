// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/sbx-sandbox/sbx/internal/limits"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Wanted are the limits that a policy sets, but for time. Where they are for
// all processes together, the host has to be asked before a plan is made.
func Wanted(pol *policy.Policy) limits.Wanted {
	return limits.Wanted{MemoryMB: pol.MemoryLimitMB, CPUs: pol.CPUs, Procs: pol.Procs, FileSizeMB: pol.FileSizeMB}
}

// applyLimits finds what puts the limits into force.
func (r *Run) applyLimits() error {
	pol, v := r.Policy, r.View
	want := Wanted(pol)
	options := limits.Options{BestEffort: pol.Limits == "best-effort", Staged: v.HasInit(r.Request.Direct, pol)}
	if want.Procs == 0 {
		defer func() { r.Limits.Usual(r.Host.Limits, options) }()
	}
	if !want.Any() {
		return nil
	}
	means, err := limits.Choose(want, r.Host.Limits, options)
	if err == nil {
		r.Limits = *means
		return nil
	}
	text, hint := err.Error(), ""
	if refused, ok := err.(*limits.Refusal); ok {
		if where := pol.Where[refused.Key]; where != "" {
			text = where + ": " + text
		}
		switch hint = refused.Hint; {
		case v.DenyAbsent:
			hint = "macOS has no control groups: leave the limit out, or set limits = \"best-effort\" in a config file"
		case v.NoMounts && refused.Key == "procs":
			hint = "it needs tier full, or a control group that you may use: sbx doctor says how to get there"
		}
	}
	return Fail(text, hint)
}
