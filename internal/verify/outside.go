package verify

import (
	"slices"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// outside proves that nothing appears on the host but where the policy lets
// the command write: a file that can be made at all is looked for outside by
// [Session], while it is there.
func (s *Site) outside() []Check {
	var out []Check
	for i := range s.Places {
		p := &s.Places[i]
		if p.Opened != "" {
			out = append(out, known(secOutside, "create", p.Path, Allowed, "writable by "+p.Opened))
			continue
		}
		c := Check{Section: secOutside, Name: "create", Subject: p.Path, Judge: p.judge,
			Ask: []Question{{Act: actCreate, Path: []byte(s.free(p.Path, "here"))}}}
		if s.Walls {
			c.Judge = p.judgeBehind
		}
		if !s.Inside {
			c.Control = "outside this user cannot either"
			if p.Able {
				c.Control = "outside a file can be made there"
			}
		}
		out = append(out, c)
	}
	if s.Walls {
		return append(out, s.beyond()...)
	}
	if len(s.Plan) > 0 {
		out = append(out, s.mounted())
	}
	return out
}

// judge goes by what [Session] found: a file that could be made is on the host
// when it can be seen there.
func (p *Place) judge(answers []Answer) (Verdict, string) {
	a := &answers[0]
	switch {
	case a.Errno == 0 && len(a.Found) > 0:
		return Hole, "a file can be made there, on the host"
	case a.Errno == 0 && !p.Private:
		return Hole, "a file can be made there, where the policy gives no place of the sandbox's own"
	case a.Errno == 0:
		return Proved, "what is made there is the sandbox's own"
	case a.is(erofs, enoent, enotdir):
		return Proved, a.why()
	case a.is(eacces, eperm) && a.Guard != nil && (a.Guard.ReadOnly || !a.Guard.Own || p.Private):
		return Proved, a.why()
	case a.is(eacces, eperm) && a.Guard != nil:
		return Hole, "a file can be made there once its owner, the command, changes the mode"
	}
	return Unchecked, a.why()
}

// mounted proves that nothing is mounted but what the plan names, and nothing
// writable but where it says so. What lies below a mount that covers it, as the
// host's mounts below the private /run do, nobody can reach.
func (s *Site) mounted() Check {
	return Check{Section: secOutside, Name: "mounts", Control: "compared with the plan", Ask: []Question{{Act: actSelf}}, Judge: ofSelf(func(self *Self) (Verdict, string) {
		var more, open []string
		for _, m := range self.Mounts {
			if m.Covered {
				continue
			}
			path := s.outsidePath(string(m.Path))
			access, named := s.planned(path)
			if !named {
				more = append(more, path)
			} else if !m.ReadOnly && access != policy.Write && access != policy.Private {
				open = append(open, path)
			}
		}
		switch {
		case len(self.Mounts) == 0:
			return Unchecked, "the mounts cannot be listed inside"
		case len(more) > 0:
			return Hole, "mounted, and not by the plan: " + some(more)
		case len(open) > 0:
			return Hole, "mounted writable, against the plan: " + some(open)
		}
		return Proved, "only what was planned is mounted, and writable only where it was"
	})}
}

// planned returns what the plan gives at a mount point, and whether it has a
// mount there. /proc and /dev are the sandbox's own.
func (s *Site) planned(path string) (a policy.Access, named bool) {
	if policy.Within(path, "/proc") || policy.Within(path, "/dev") && path != "/dev" {
		return policy.Private, true
	}
	named = path == "/" || path == "/dev" || path == s.Own.Dir || s.Own.Dir != "" && policy.Within(path, s.Own.Dir)
	for _, p := range s.Plan {
		if policy.Within(path, p.Path) {
			a = p.Access
		}
		named = named || p.Path == path
	}
	shows := a == policy.Read || a == policy.Write || a == policy.Protect
	return a, named || shows && slices.Contains(s.Host, path)
}
