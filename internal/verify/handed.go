package verify

import (
	"slices"
	"strconv"
	"strings"
)

// environment proves that what is dropped does not arrive.
func (s *Site) environment() []Check {
	if s.Inside {
		return []Check{known(secEnv, "variables", "", NotApplicable, "what was dropped is not known inside")}
	}
	kept := append(slices.Clone(s.Env.Kept), "PWD") // bwrap sets it
	names := Check{Section: secEnv, Name: "variables", Control: "they were in the environment of the run", Ask: []Question{{Act: actSelf}},
		Judge: ofSelf(func(self *Self) (Verdict, string) {
			if !slices.Contains(self.Env, "SBX_TIER") {
				return Unchecked, "what sbx sets is not there, so that others are not proves nothing"
			}
			var bad []string
			for _, n := range self.Env {
				if slices.Contains(s.Env.Dropped, n) {
					bad = append(bad, n)
				}
			}
			if len(bad) > 0 {
				return Hole, "set inside, though dropped: " + some(bad)
			}
			if more := without(self.Env, kept); len(more) > 0 {
				return Hole, "set inside, and by nobody outside: " + some(more)
			}
			return Proved, "nothing that was dropped is set"
		})}
	out := []Check{names}
	for name, why := range s.Env.Planted {
		v := known(secEnv, "planted", name, Allowed, "passes by "+why)
		if slices.Contains(s.Env.Dropped, name) {
			v = Check{Section: secEnv, Name: "planted", Subject: name, Control: "it was in the environment of the run", Ask: []Question{{Act: actSelf}},
				Judge: ofSelf(func(self *Self) (Verdict, string) {
					if slices.Contains(self.Env, name) {
						return Hole, "it is set inside"
					}
					return Proved, "dropped (" + why + ")"
				})}
		}
		out = append(out, v)
	}
	slices.SortFunc(out[1:], func(a, b Check) int { return strings.Compare(a.Subject, b.Subject) })
	return append(out, Check{Section: secEnv, Name: "values", Subject: "in any process", Control: "it was in the environment of the run",
		Ask: []Question{{Act: actSearch, Text: s.Env.Mark}}, Judge: func(a []Answer) (Verdict, string) {
			switch {
			case a[0].Errno != 0:
				return Unchecked, a[0].why()
			case a[0].Read == 0:
				return Unchecked, "no process can be read inside, not even the probe"
			case len(a[0].Found) > 0 && s.Env.MayShow != "":
				return Allowed, "passes by " + s.Env.MayShow
			case len(a[0].Found) > 0:
				return Hole, "a planted value is in " + some(a[0].Found)
			}
			return Proved, "no planted value is in /proc"
		}})
}

// descriptors proves that only those are there which were asked for.
func (s *Site) descriptors() []Check {
	if s.Inside {
		return []Check{{Section: secFDs, Name: "open", Ask: []Question{{Act: actSelf}}, Judge: ofSelf(func(self *Self) (Verdict, string) {
			for _, fd := range self.FDs {
				if fd.Foreign && fd.Kind == kindDir {
					return Hole, "a directory outside is open: " + fdNames([]FD{fd})
				}
			}
			return Proved, "no directory outside of the sandbox is open"
		})}}
	}
	out := []Check{{Section: secFDs, Name: "open", Control: "a directory, a socket and two files were left open in the run", Ask: []Question{{Act: actSelf}},
		Judge: ofSelf(func(self *Self) (Verdict, string) {
			var bad []FD
			for _, fd := range self.FDs {
				if fd.Num > 2 && !slices.Contains(s.Pass, fd.Num) {
					bad = append(bad, fd)
				}
			}
			if len(bad) > 0 {
				return Hole, "open inside: " + fdNames(bad)
			}
			return Proved, "nothing but what was asked for"
		})}}
	for _, n := range s.Pass {
		if n > 2 {
			out = append(out, known(secFDs, "passes", "fd "+strconv.Itoa(n), Allowed, "pipes, unnamed socket pairs and files that the policy gives pass, and what --keep-fd names"))
		}
	}
	return out
}

func fdNames(fds []FD) string {
	var names []string
	for _, fd := range fds {
		names = append(names, strconv.Itoa(fd.Num)+" ("+fd.Kind+" "+fd.Target+")")
	}
	return some(names)
}
