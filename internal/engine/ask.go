// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/sbx-sandbox/sbx/internal/access"
)

// Ask answers for an absolute path of the host, which need not be cleaned: a
// ".." is taken as the kernel takes it, after the link before it.
func (r *Report) Ask(path string) access.Verdict {
	if r.Checker == nil {
		r.Checker = r.checker()
	}
	return r.Checker.Ask(r.View.Inside(path))
}

func (r *Report) checker() *access.Checker {
	v := r.View
	c := &access.Checker{Rules: v.Rules(), Host: v.Host, Ruleset: r.Ruleset, Seatbelt: v.DenyAbsent,
		Network: r.Policy.Network, Beyond: v, Later: r.Policy, Keep: r.Keep}
	if v.NoMounts {
		c.FS = access.NewHostFS(v, r.Made)
	} else {
		c.FS = access.NewSandboxFS(v, r.SelfInside, r.Files)
	}
	return c
}
