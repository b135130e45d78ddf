package engine

import "github.com/sbx-sandbox/sbx/internal/access"

// Ask answers for an absolute path of the host, which need not be cleaned: a
// ".." is taken as the kernel takes it, after the link before it.
func (r *Report) Ask(path string) access.Answer {
	if r.Sight == nil {
		r.Sight = r.look()
	}
	return r.Sight.Ask(r.View.Inside(path))
}

func (r *Report) look() *access.Sight {
	v := r.View
	s := &access.Sight{Host: v.Host, Wall: r.Wall, Belt: v.Ahead, Network: r.Policy.Network, Beyond: v, Later: r.Policy, Keep: r.Keep}
	if v.Bare {
		s.FS = access.NewBareFS(v, r.Made)
	} else {
		f := access.NewInner(v, r.Staged)
		f.Files, s.FS = r.Files, f
	}
	for i := range v.Mounts {
		if m := &v.Mounts[i]; v.InForce(m) {
			s.Marks = append(s.Marks, v.MarkOf(m))
		}
	}
	s.Marks = append(s.Marks, v.BeltMarks()...)
	return s
}
