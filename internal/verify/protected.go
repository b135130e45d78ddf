package verify

import (
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// protected proves that what is read-only in a writable tree cannot be
// changed, and that neither it nor a directory above it can be moved away to
// make room for another. Swapping a directory for a link begins with moving
// it, so that is where it has to fail.
func (s *Site) protected() []Check {
	var out []Check
	able := len(out)
	if s.Scratch != "" && (len(s.Guarded) > 0 || len(s.Moves) > 0) {
		// The control inside: with files of its own the probe can do all of it.
		acts := []Question{{Act: actAble, Path: []byte(s.free(s.Scratch, "able"))}}
		if s.Walls {
			acts = append(acts, s.makes(s.Scratch)...)
		}
		out = append(out, Check{Section: secProtected, Name: "control", Subject: s.spoken(s.Scratch),
			Control: "the same acts succeed with files of the sandbox's own",
			Ask:     acts,
			Judge: func(answers []Answer) (Verdict, string) {
				for i := range answers {
					if a := &answers[i]; a.Errno != 0 {
						return Unchecked, "the probe could not do it where it is allowed (" + a.why() + ")"
					}
				}
				return Proved, "create, write, rename, link and symlink work where they may"
			}})
		able = len(out)
	}
	for i := range s.Guarded {
		out = append(out, s.guarded(&s.Guarded[i]))
	}
	for _, dir := range s.Moves {
		out = append(out, s.fixed(dir))
	}
	for _, dir := range s.Frozen {
		out = append(out, s.still(dir))
	}
	if n := len(s.Unborn); n > 0 {
		out = append(out, known(secProtected, "make", strconv.Itoa(n)+" protected names that do not exist yet", Allowed, "the command can make them, and the host would run them: "+some(s.Unborn)))
	}
	if s.Scratch == "" && !s.Inside {
		for i := able; i < len(out); i++ {
			out[i].Control = join(out[i].Control, "there is no private directory to try the acts in")
		}
	}
	return out
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

func (s *Site) guarded(g *Guarded) Check {
	switch {
	case g.Opened != "":
		return known(secProtected, "write", g.Path, Allowed, "writable by "+g.Opened)
	case g.Loose && s.Walls:
		return s.loose(g)
	case g.Loose && g.Hidden:
		return known(secProtected, "replace", g.Path, Allowed, looseHidden)
	case g.Loose:
		return known(secProtected, "replace", g.Path, Hole, looseProtected)
	}
	path := s.at(g.Path)
	c := Check{Section: secProtected, Name: "write, move, link", Subject: g.Path}
	if !s.Inside {
		c.Control = "outside this user cannot write it either"
		if g.Able {
			c.Control = "outside it can be written"
		}
	}
	switch g.Kind {
	case kindDir:
		c.Ask = append(c.Ask, Question{Act: actCreate, Path: []byte(s.free(path, "in"))})
	case kindFile:
		c.Ask = append(c.Ask, Question{Act: actOpen, Path: []byte(path)})
		for _, top := range g.Tops {
			c.Ask = append(c.Ask, Question{Act: actLink, Path: []byte(path), To: []byte(s.free(s.at(top), "link"))})
		}
	}
	c.Ask = append(c.Ask, s.move(path))
	if s.Walls && (g.Kind == kindDir || g.Kind == kindFile) {
		c.Ask = append(c.Ask, Question{Act: actRemove, Path: []byte(path)})
	}
	c.Judge = s.changes(c.Ask)
	return c
}

const (
	looseHidden    = "it is a link in a writable directory: what it leads to is hidden, the command can replace the link"
	looseProtected = "it is a link in a writable directory, which the command can replace"
)

// loose tries what the directory of a link lets be done: Landlock may have closed
// it for another reason.
func (s *Site) loose(g *Guarded) Check {
	acts := []Question{s.move(g.Path)}
	return Check{Section: secProtected, Name: "replace", Subject: g.Path, Ask: acts, Control: s.known("outside the link can be replaced"),
		Judge: func(a []Answer) (Verdict, string) {
			switch {
			case a[0].Errno == 0 && g.Hidden:
				return Allowed, looseHidden
			case a[0].Errno == 0:
				return Hole, looseProtected
			}
			return judgeBehind(acts, a)
		}}
}

// fixed proves that a directory above something protected stays where it is.
func (s *Site) fixed(dir string) Check {
	acts := []Question{s.move(s.at(dir))}
	return Check{Section: secProtected, Name: "move", Subject: dir, Ask: acts, Control: s.known("a directory of its own the probe can move"),
		Judge: s.changes(acts)}
}

func (s *Site) move(path string) Question {
	return Question{Act: actRename, Path: []byte(path), To: []byte(s.free(policy.Dir(path), "was-"+short(path)))}
}

// short tells apart the free names for several paths of one directory.
func short(path string) string {
	h := uint32(2166136261)
	for i := range len(path) {
		h = (h ^ uint32(path[i])) * 16777619
	}
	const digits = "0123456789abcdef"
	b := make([]byte, 8)
	for i := range b {
		b[i] = digits[h>>(4*i)&15]
	}
	return string(b)
}

func couldBe(act string) string {
	switch act {
	case actCreate:
		return "a file can be made in it"
	case actOpen:
		return "it can be opened for writing"
	case actLink:
		return "a hard link of it can be opened for writing"
	case actMake:
		return "something can be made in it"
	case actRemove:
		return "it can be removed"
	}
	return "it can be moved away"
}

// judgeChanges wants every act refused by something that the command cannot
// change: a read-only mount, a mount point, another file system. A mode alone
// is no wall to its owner.
func judgeChanges(acts []Question, answers []Answer) (Verdict, string) {
	detail := ""
	for i := range answers {
		a := &answers[i]
		switch {
		case a.Errno == 0:
			return Hole, couldBe(acts[i].Act)
		case a.is(etxtbsy) && a.Guard != nil && a.Guard.ReadOnly: // the kernel looks at that first
		case a.is(etxtbsy):
			return Hole, "it could be opened for writing, were it not running now"
		case a.is(erofs, ebusy, exdev, enoent, enotdir):
		case a.is(eperm, eacces) && a.Guard != nil && a.held(acts[i].Act):
		case a.is(eperm, eacces) && a.Guard != nil:
			return Hole, couldBe(acts[i].Act) + " once its owner, the command, changes a mode (" + a.why() + ")"
		default:
			return Unchecked, a.why()
		}
		if i > 0 {
			detail += ", "
		}
		detail += acts[i].Act + " " + errnoName(a.Errno)
	}
	return Proved, detail
}

// held reports whether more than a mode of the command's own keeps a path as
// it is.
func (a *Answer) held(act string) bool {
	g := a.Guard
	return g.ReadOnly || !g.Own || act == actRename && g.Mount
}
