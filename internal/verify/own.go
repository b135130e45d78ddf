package verify

import (
	"slices"
	"strings"
)

// own proves that the command can change nothing of sbx's.
func (s *Site) own() []Check {
	if s.Walls {
		return s.runOwn()
	}
	var out []Check
	if s.Own.Manifest == "" {
		out = append(out, known(secOwn, "manifest", "", NotApplicable, "the policy shows the host's /run, so there is none"))
	} else {
		out = append(out, s.manifest())
		acts := []Question{{Act: actOpen, Path: []byte(s.Own.Manifest)}, {Act: actCreate, Path: []byte(s.free(s.Own.Dir, "in"))}, s.move(s.Own.Manifest), s.move(s.Own.Dir)}
		out = append(out, Check{Section: secOwn, Name: "write, move", Subject: s.Own.Manifest, Ask: acts, Control: s.known("the acts succeed where they may"),
			Judge: func(a []Answer) (Verdict, string) { return judgeChanges(acts, a) }})
	}
	n := len(out)
	for path, rule := range s.Own.Programs {
		if rule != "" {
			out = append(out, known(secOwn, "write", path, Allowed, "it lies where the command may write ("+rule+")"))
			continue
		}
		acts := []Question{{Act: actOpen, Path: []byte(path)}}
		out = append(out, Check{Section: secOwn, Name: "write", Subject: path, Ask: acts, Control: s.known("its owner can, outside"),
			Judge: func(a []Answer) (Verdict, string) { return judgeChanges(acts, a) }})
	}
	slices.SortFunc(out[n:], func(a, b Check) int { return strings.Compare(a.Subject, b.Subject) })
	return out
}

func (s *Site) manifest() Check {
	return Check{Section: secOwn, Name: "manifest", Subject: s.spoken(s.Own.Manifest), Ask: []Question{{Act: actLook, Path: []byte(s.Own.Manifest)}}, Control: s.known("compared with the plan"),
		Judge: func(a []Answer) (Verdict, string) {
			f := a[0].File
			switch {
			case f == nil || !f.Read:
				return Unchecked, "it cannot be read"
			case s.Own.Sum != "" && f.Sum != s.Own.Sum:
				return Unchecked, "it is not that of the plan: the sandbox is another than the one that was looked at"
			}
			if s.Own.Sum == "" {
				return Proved, "it is there"
			}
			return Proved, "as planned"
		}}
}
