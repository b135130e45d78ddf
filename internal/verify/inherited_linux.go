// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// environment proves that what is dropped does not arrive.
func (s *prover) environment() {
	if s.Inside {
		s.known("variables", "", NotApplicable, "the dropped variables are not known inside")
		return
	}
	const control = "it was in the environment of the run"
	s.prove("variables", "", "they were in the environment of the run", ofSelf(s.variables), askSelf)
	for _, name := range slices.Sorted(maps.Keys(s.Env.Planted)) {
		why := s.Env.Planted[name]
		if !slices.Contains(s.Env.Dropped, name) {
			s.known("planted", name, Allowed, "passes by "+why)
			continue
		}
		s.prove("planted", name, control, ofSelf(func(self *selfInfo) (Verdict, string) {
			if slices.Contains(self.Env, name) {
				return Hole, "it is set inside"
			}
			return Proved, "dropped (" + why + ")"
		}), askSelf)
	}
	none := notFound("no planted value is in /proc",
		func(paths []string) string { return "a planted value is in " + some(paths) })
	c := s.prove("values", "in any process", control, none, question{Act: actSearch, Text: s.Env.Mark})
	if s.Env.MayShow != "" {
		c.Allowed = "passes by " + s.Env.MayShow
	}
}

func (s *target) variables(self *selfInfo) (Verdict, string) {
	arrived := slices.DeleteFunc(slices.Clone(self.Env),
		func(n string) bool { return !slices.Contains(s.Env.Dropped, n) })
	more := without(self.Env, append(slices.Clone(s.Env.Kept), "PWD")) // bwrap sets it
	switch {
	case !slices.Contains(self.Env, "SBX_TIER"):
		return Unchecked, "the variables that sbx sets are missing, so missing others prove nothing"
	case len(arrived) > 0:
		return Hole, "set inside, though dropped: " + some(arrived)
	case len(more) > 0:
		return Hole, "set inside, but not outside: " + some(more)
	}
	return Proved, "nothing that was dropped is set"
}

// descriptors proves that only those are there which were asked for; from inside,
// that none leads out.
func (s *prover) descriptors() {
	s.prove("open", "", "a directory, a socket and two files were left open in the run", ofSelf(s.open), askSelf)
	for _, n := range s.Pass {
		if n > 2 && !s.Inside {
			s.known("passes", "fd "+strconv.Itoa(n), Allowed,
				"pipes, unnamed socket pairs and files that the policy gives pass, and what --keep-fd names")
		}
	}
}

func (s *target) open(self *selfInfo) (Verdict, string) {
	var more, outside []string
	for _, fd := range self.FDs {
		name := fmt.Sprintf("%d (%s %s)", fd.Num, fd.Kind, fd.Target)
		if fd.Num > 2 && !slices.Contains(s.Pass, fd.Num) {
			more = append(more, name)
		}
		if fd.Foreign && fd.Kind == kindDir {
			outside = append(outside, name)
		}
	}
	switch {
	case s.Inside && outside != nil:
		return Hole, "a directory outside is open: " + some(outside[:1])
	case s.Inside:
		return Proved, "no directory outside of the sandbox is open"
	case more != nil:
		return Hole, "open inside: " + some(more)
	}
	return Proved, "nothing but what was asked for"
}
