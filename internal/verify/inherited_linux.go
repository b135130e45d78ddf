package verify

import (
	"maps"
	"slices"
	"strconv"
)

// environment proves that what is dropped does not arrive.
func (s *Site) environment() []Check {
	if s.Inside {
		return []Check{known(secEnv, "variables", "", NotApplicable, "what was dropped is not known inside")}
	}
	out := []Check{{Section: secEnv, Name: "variables", Control: "they were in the environment of the run", Ask: askSelf(), Judge: ofSelf(s.variables)}}
	for _, name := range slices.Sorted(maps.Keys(s.Env.Planted)) {
		why := s.Env.Planted[name]
		if !slices.Contains(s.Env.Dropped, name) {
			out = append(out, known(secEnv, "planted", name, Allowed, "passes by "+why))
			continue
		}
		out = append(out, Check{Section: secEnv, Name: "planted", Subject: name, Control: "it was in the environment of the run", Ask: askSelf(),
			Judge: ofSelf(func(self *Self) (Verdict, string) {
				if slices.Contains(self.Env, name) {
					return Hole, "it is set inside"
				}
				return Proved, "dropped (" + why + ")"
			})})
	}
	values := Check{Section: secEnv, Name: "values", Subject: "in any process", Control: "it was in the environment of the run",
		Ask: []Question{{Act: actSearch, Text: s.Env.Mark}}, Judge: func(a []Answer) (Verdict, string) {
			switch {
			case a[0].Errno != 0:
				return Unchecked, a[0].why()
			case a[0].Read == 0:
				return Unchecked, noProcess
			case len(a[0].Found) > 0:
				return Hole, "a planted value is in " + some(a[0].Found)
			}
			return Proved, "no planted value is in /proc"
		}}
	if s.Env.MayShow != "" {
		values.Allowed = "passes by " + s.Env.MayShow
	}
	return append(out, values)
}

func (s *Site) variables(self *Self) (Verdict, string) {
	arrived := slices.DeleteFunc(slices.Clone(self.Env), func(n string) bool { return !slices.Contains(s.Env.Dropped, n) })
	more := without(self.Env, append(slices.Clone(s.Env.Kept), "PWD")) // bwrap sets it
	switch {
	case !slices.Contains(self.Env, "SBX_TIER"):
		return Unchecked, "what sbx sets is not there, so that others are not proves nothing"
	case len(arrived) > 0:
		return Hole, "set inside, though dropped: " + some(arrived)
	case len(more) > 0:
		return Hole, "set inside, and by nobody outside: " + some(more)
	}
	return Proved, "nothing that was dropped is set"
}

// descriptors proves that only those are there which were asked for; from inside,
// that none leads out.
func (s *Site) descriptors() []Check {
	out := []Check{{Section: secFDs, Name: "open", Control: "a directory, a socket and two files were left open in the run", Ask: askSelf(),
		Judge: ofSelf(s.open)}}
	for _, n := range s.Pass {
		if n > 2 && !s.Inside {
			out = append(out, known(secFDs, "passes", "fd "+strconv.Itoa(n), Allowed,
				"pipes, unnamed socket pairs and files that the policy gives pass, and what --keep-fd names"))
		}
	}
	return out
}

func (s *Site) open(self *Self) (Verdict, string) {
	bad, foreign := "", ""
	var names []string
	for _, fd := range self.FDs {
		name := strconv.Itoa(fd.Num) + " (" + fd.Kind + " " + fd.Target + ")"
		if fd.Num > 2 && !slices.Contains(s.Pass, fd.Num) {
			names = append(names, name)
		}
		if fd.Foreign && fd.Kind == kindDir && foreign == "" {
			foreign = some([]string{name})
		}
	}
	bad = some(names)
	switch {
	case s.Inside && foreign != "":
		return Hole, "a directory outside is open: " + foreign
	case s.Inside:
		return Proved, "no directory outside of the sandbox is open"
	case bad != "":
		return Hole, "open inside: " + bad
	}
	return Proved, "nothing but what was asked for"
}
