// SPDX-License-Identifier: Apache-2.0

package policy

// atlas answers for many paths of one policy. The rules are sorted, but patterns
// stand among all that lies below their directory, and looking through that for
// each path made the comparison of two policies quadratic.
type atlas struct {
	p        *Policy
	patterns map[string][]Rule // by directory
	excepts  map[string][]Rule // likewise, and those that are no patterns
	known    map[string]Access
}

func newAtlas(p *Policy) *atlas {
	a := &atlas{p, make(map[string][]Rule), make(map[string][]Rule), make(map[string]Access, 2*len(p.Rules))}
	for i := range p.Rules {
		switch r := &p.Rules[i]; {
		case r.Except:
			a.excepts[Dir(r.Path)] = append(a.excepts[Dir(r.Path)], *r)
		case r.Pattern:
			a.patterns[Dir(r.Path)] = append(a.patterns[Dir(r.Path)], *r)
		}
	}
	return a
}

// access is [Policy.Access].
func (a *atlas) access(path string) Access {
	if is, ok := a.known[path]; ok {
		return is
	}
	over := Unseen
	if path != "/" {
		over = a.access(Dir(path))
	}
	s := a.p.literal(path)
	s.match(a.patterns[Dir(path)], a.excepts[Dir(path)], path)
	is := over
	if s.Rule() != nil {
		is = s.Access(over)
	}
	a.known[path] = is
	return is
}
