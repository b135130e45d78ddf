package engine

import "github.com/sbx-sandbox/sbx/internal/access"

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
	s := &access.Checker{Host: v.Host, Ruleset: r.Ruleset, Seatbelt: v.DenyAbsent, Network: r.Policy.Network, Beyond: v, Later: r.Policy, Keep: r.Keep}
	if v.NoMounts {
		s.FS = access.NewHostFS(v, r.Made)
	} else {
		f := access.NewSandboxFS(v, r.SelfInside)
		f.Files, s.FS = r.Files, f
	}
	for i := range v.Entries {
		if m := &v.Entries[i]; v.InForce(m) {
			s.Rules = append(s.Rules, v.RuleOf(m))
		}
	}
	s.Rules = append(s.Rules, v.HeldLinkRules()...)
	return s
}
