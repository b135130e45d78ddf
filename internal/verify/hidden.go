package verify

// hidden proves that what the policy hides cannot be read: neither the content
// of a file, nor the names in a directory, nor an answer from a socket.
func (s *Site) hidden() []Check {
	var out []Check
	for i := range s.Hidden {
		h := &s.Hidden[i]
		if h.Opened != "" {
			out = append(out, known(secHidden, "read", h.Path, Allowed, "shown by "+h.Opened))
			continue
		}
		c := Check{Section: secHidden, Name: "read", Subject: h.Path, Control: h.control()}
		if h.Out.Kind == kindSocket {
			c.Name = "connect"
			c.Ask = []Question{{Act: actConnect, Path: []byte(s.at(h.Path))}}
			c.Judge = func(a []Answer) (Verdict, string) { return judgeConnect(&a[0]) }
		} else {
			c.Ask = []Question{{Act: actLook, Path: []byte(s.at(h.Path))}}
			if s.at(h.Path) != h.Path {
				c.Ask = append(c.Ask, Question{Act: actLook, Path: []byte(h.Path)})
			}
			c.Judge = h.judge
			if s.Walls {
				for _, path := range h.Inner {
					c.Ask = append(c.Ask, Question{Act: actLook, Path: []byte(path)})
				}
				c.Judge = h.judgeBehind
			}
			if s.Walls && h.Out.Kind == kindOther {
				c.Ask, c.Judge = []Question{{Act: actRead, Path: []byte(h.Path)}}, func(a []Answer) (Verdict, string) {
					if kept, _ := a[0].behind(); kept || a[0].Errno == 0 {
						return map[bool]Verdict{true: Proved, false: Hole}[kept], a[0].why()
					}
					return Unchecked, a[0].why()
				}
			}
		}
		out = append(out, c)
	}
	if s.Walls && len(out) > 0 {
		out = append(out, s.visible())
	}
	return out
}

const (
	kindAbsent = "absent"
	kindFile   = "file"
	kindDir    = "dir"
	kindLink   = "link"
	kindSocket = "socket"
	kindOther  = "other"
)

// control says what outside shows of the same path.
func (h *Secret) control() string {
	switch o := &h.Out; {
	case o.Kind == "":
		return ""
	case o.Kind == kindSocket && o.Errno != 0:
		return "outside it refuses, too (" + errnoName(o.Errno) + ")"
	case o.Kind == kindSocket:
		return "outside it answers"
	case o.Kind == kindOther:
		return "outside it is there"
	case !o.Read:
		return "this user cannot read it outside either (" + errnoName(o.Errno) + ")"
	case o.Kind == kindDir:
		return "outside it can be listed"
	}
	return "outside it can be read"
}

func (h *Secret) judge(answers []Answer) (Verdict, string) {
	verdict, detail := Proved, ""
	for i := range answers {
		v, d := h.judgeOne(&answers[i])
		if v == Hole {
			return v, d
		}
		if i == 0 || v == Unchecked {
			verdict, detail = v, d
		}
	}
	return verdict, detail
}

func (h *Secret) judgeOne(a *Answer) (Verdict, string) {
	f := a.File
	if f == nil {
		return Unchecked, "the probe could not look: " + a.why()
	}
	same := h.Out.Ino != 0 && f.Dev == h.Out.Dev && f.Ino == h.Out.Ino
	switch f.Kind {
	case kindAbsent:
		return Proved, "not there"
	case "":
		return h.unseen(a)
	case kindDir:
		return h.judgeDir(f, same)
	case kindFile:
		return h.judgeFile(f, same)
	case kindSocket:
		return Unchecked, "a socket is there, and it was none outside"
	}
	if same {
		return Hole, "it is there as it is outside"
	}
	return Proved, "something else is there"
}

// unseen is a path below a directory that may not be searched inside.
func (h *Secret) unseen(a *Answer) (Verdict, string) {
	if a.is(eacces, eloop, enotdir) {
		return Proved, "out of reach (" + a.why() + ")"
	}
	return Unchecked, a.why()
}

func (h *Secret) judgeFile(f *File, same bool) (Verdict, string) {
	switch {
	case f.Read && f.Size > 0 && h.Out.Sum != "" && f.Sum == h.Out.Sum:
		return Hole, "its content can be read"
	case same && f.Read:
		return Hole, "the file itself can be read"
	case same && h.Out.Read:
		return Hole, "the file itself is there, kept back only by its mode"
	case same && f.Own:
		return Hole, "the file itself is there, and its owner can change the mode"
	case same:
		return Proved, "not readable, as outside"
	case !f.Read:
		return Proved, "not readable (" + errnoName(f.Errno) + ")"
	case f.Size > 0 && !h.Private:
		return Hole, "a file with content is there, which is not the host's"
	case f.Size > 0:
		return Proved, "another file, of the sandbox's own"
	}
	return Proved, "empty"
}

func (h *Secret) judgeDir(f *File, same bool) (Verdict, string) {
	if !f.Read {
		if same && (h.Out.Read || f.Own) {
			return Hole, "the directory itself is there, kept back only by its mode"
		}
		return Proved, "cannot be listed (" + errnoName(f.Errno) + ")"
	}
	names := make([]string, len(f.Names))
	for i, n := range f.Names {
		names[i] = string(n)
	}
	left := without(names, h.Shown)
	switch {
	case same:
		return Hole, "the directory itself can be listed"
	case len(left) > 0 && !h.Private:
		return Hole, "there are names in it: " + some(left)
	case len(left) > 0 && h.shares(left):
		return Hole, "there are the names of the host's in it: " + some(left)
	case len(left) > 0:
		return Proved, "another directory, of the sandbox's own"
	case len(names) > 0:
		return Proved, "empty but for what another rule shows"
	}
	return Proved, "empty"
}

// shares reports whether all names are those of the directory outside.
func (h *Secret) shares(names []string) bool {
	out := make([]string, len(h.Out.Names))
	for i, n := range h.Out.Names {
		out[i] = string(n)
	}
	return len(without(names, out)) == 0 && len(names) == len(out)
}
