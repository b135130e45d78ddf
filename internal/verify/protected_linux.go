package verify

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// protected proves that what is read-only in a writable tree cannot be changed,
// and that neither it nor a directory above it can be moved away to make room
// for another. Swapping a directory for a link begins with moving it, so that is
// where it has to fail.
func (s *target) protected() []check {
	var out []check
	for i := range s.Guarded {
		out = append(out, s.guarded(&s.Guarded[i]))
	}
	for _, dir := range s.Moves {
		out = append(out, s.unchanged("move", dir, "a directory of its own the probe can move", s.move(s.at(dir))))
	}
	for _, dir := range s.Frozen { // open only for what is in it
		out = append(out, s.unchanged("make", dir, "outside and in $TMPDIR all of it can be made", s.makes(dir)...))
	}
	if n := len(s.Unborn); n > 0 {
		out = append(out, known("make", strconv.Itoa(n)+" protected names that do not exist yet", Allowed,
			"the command can make them, and the host would run them: "+some(s.Unborn)))
	}
	if s.Scratch != "" && (len(s.Guarded) > 0 || len(s.Moves) > 0) {
		return slices.Insert(out, 0, s.able())
	}
	for i := range out {
		if c := &out[i]; s.Scratch == "" && c.Control != "" {
			c.Control += "; "
		}
		if s.Scratch == "" {
			out[i].Control += "there is no private directory to try the acts in"
		}
	}
	return out
}

// unchanged is a check of acts that would change something protected.
func (s *target) unchanged(name, subject, control string, acts ...question) check {
	return prove(name, subject, control, s.changes(acts), acts...)
}

// able is the control inside: with files of its own the probe can do all of it.
func (s *target) able() check {
	dir := s.free(s.Scratch, "able")
	file := dir + "/f"
	acts := []question{askMake(dir, "directory"), askMake(file, "file"), ask(actOpen, file), s.move(file),
		{Act: actLink, Path: []byte(file), To: []byte(dir + "/l")}, askMake(dir+"/s", "link"), s.move(dir)}
	if s.Walls {
		acts = append(acts, s.makes(s.Scratch)...)
	}
	return prove("control", s.spoken(s.Scratch), controlInside, func(answers []answer) (Verdict, string) {
		for i := range answers {
			if a := &answers[i]; a.Errno != 0 {
				return Unchecked, "the probe could not do it where it is allowed (" + a.why() + ")"
			}
		}
		return Proved, "create, write, rename, link and symlink work where they may"
	}, acts...)
}

// makes are attempts to make one of each kind in a directory.
func (s *target) makes(dir string) []question {
	var acts []question
	for _, kind := range []string{"file", "directory", "link", "fifo", "socket"} {
		acts = append(acts, askMake(s.free(dir, "make-"+kind), kind))
	}
	return acts
}

func askMake(path, kind string) question {
	return question{Act: actCreate, Path: []byte(path), Text: kind}
}

func (s *target) guarded(g *guardedPath) check {
	switch {
	case g.Opened != "":
		return known("write", g.Path, Allowed, "writable by "+g.Opened)
	case g.Loose:
		return s.loose(g)
	}
	path := s.at(g.Path)
	var acts []question
	switch g.Kind {
	case kindDir:
		acts = append(acts, ask(actCreate, s.free(path, "in")))
	case kindFile:
		acts = append(acts, ask(actOpen, path))
		for _, top := range g.Tops {
			acts = append(acts, question{Act: actLink, Path: []byte(path), To: []byte(s.free(s.at(top), "link"))})
		}
	}
	acts = append(acts, s.move(path))
	if s.Walls && (g.Kind == kindDir || g.Kind == kindFile) {
		acts = append(acts, ask(actRemove, path))
	}
	control := "outside this user cannot write it either"
	if g.Able {
		control = "outside it can be written"
	}
	return s.unchanged("write, move, link", g.Path, control, acts...)
}

// loose is a link in a writable directory: no mount can keep it. With Landlock
// the directory may be closed for another reason, so it is tried.
func (s *target) loose(g *guardedPath) check {
	v, text := Hole, "it is a link in a writable directory, which the command can replace"
	if g.Hidden {
		v, text = Allowed, "it is a link in a writable directory: what it leads to is hidden, the command can replace the link"
	}
	if !s.Walls {
		return known("replace", g.Path, v, text)
	}
	c := s.unchanged("replace", g.Path, "outside the link can be replaced", s.move(g.Path))
	judge := c.Judge
	c.Judge = func(a []answer) (Verdict, string) {
		if a[0].Errno == 0 {
			return v, text
		}
		return judge(a)
	}
	return c
}

func (s *target) move(path string) question {
	return question{Act: actRename, Path: []byte(path), To: []byte(s.free(policy.Dir(path), "was-"+short(path)))}
}

// short tells apart the free names for several paths of one directory.
func short(path string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(path))
	return fmt.Sprintf("%08x", h.Sum32())
}

// own proves that the command can change nothing of sbx's, nor of its run's.
func (s *target) own() []check {
	o := &s.Own
	var out []check
	if o.Manifest == "" {
		out = append(out, known("manifest", "", NotApplicable, "the policy shows the host's /run, so there is none"))
	} else {
		acts := []question{ask(actOpen, o.Manifest), ask(actCreate, s.free(o.Dir, "in")), s.move(o.Manifest), s.move(o.Dir)}
		if s.Walls {
			beside := o.Dir + "-" + s.Nonce // beside the directory of the run
			acts[0].Text = textOwn
			acts[3].To = []byte(beside)
			acts = append(acts, ask(actCreate, beside))
		}
		out = append(out, s.manifest(), s.unchanged("write, move", s.spoken(o.Manifest), "the acts succeed where they may", acts...))
	}
	for _, path := range slices.Sorted(maps.Keys(o.Programs)) {
		out = append(out, s.program(path, o.Programs[path])...)
	}
	return out
}

func (s *target) program(path, rule string) []check {
	if rule != "" {
		return []check{known("write", path, Allowed, "it lies where the command may write ("+rule+")")}
	}
	const control = "its owner can, outside"
	write := s.unchanged("write", path, control, ask(actOpen, path))
	if !s.Walls {
		return []check{write}
	}
	judge := write.Judge
	write.Judge = func(a []answer) (Verdict, string) {
		if a[0].is(unix.ETXTBSY) {
			return NotApplicable, running
		}
		return judge(a)
	}
	return []check{s.unchanged("move", path, control, s.move(path)), write}
}

func (s *target) manifest() check {
	return prove("manifest", s.spoken(s.Own.Manifest), "compared with the plan", func(a []answer) (Verdict, string) {
		f := a[0].File
		switch {
		case f == nil || !f.Read:
			return Unchecked, "it cannot be read"
		case s.Own.Sum == "":
			return Proved, "it is there"
		case f.Sum != s.Own.Sum:
			return Unchecked, "it is not that of the plan: the sandbox is another than the one that was looked at"
		}
		return Proved, "as planned"
	}, ask(actLook, s.Own.Manifest))
}
