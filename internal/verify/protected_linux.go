// SPDX-License-Identifier: Apache-2.0

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
func (s *prover) protected() {
	begin := len(s.out)
	if s.Scratch != "" && (len(s.Guarded) > 0 || len(s.Moves) > 0) {
		s.able()
	}
	for i := range s.Guarded {
		s.guarded(&s.Guarded[i])
	}
	for _, dir := range s.Moves {
		s.unchanged("move", dir, "a directory of its own the probe can move", s.move(s.at(dir)))
	}
	for _, dir := range s.Frozen { // open only for what is in it
		s.unchanged("make", dir, "outside and in $TMPDIR all of it can be made", s.makes(dir)...)
	}
	if n := len(s.Unborn); n > 0 {
		s.known("make", strconv.Itoa(n)+" protected names that do not exist yet", Allowed,
			"the command can make them, and the host would run them: "+some(s.Unborn))
	}
	for i := begin; i < len(s.out) && s.Scratch == ""; i++ {
		c := &s.out[i]
		if c.Control != "" {
			c.Control += "; "
		}
		c.Control += "there is no private directory to try the acts in"
	}
}

// unchanged is a check of acts that would change something protected.
func (s *prover) unchanged(name, subject, control string, acts ...question) *check {
	return s.prove(name, subject, control, s.changes(acts), acts...)
}

// able is the control inside: with files of its own the probe can do all of it.
func (s *prover) able() {
	dir := s.free(s.Scratch, "able")
	file := dir + "/f"
	acts := []question{askMake(dir, "directory"), askMake(file, "file"), ask(actOpen, file), s.move(file),
		{Act: actLink, Path: []byte(file), To: []byte(dir + "/l")}, askMake(dir+"/s", "link"), s.move(dir)}
	if s.Walls {
		acts = append(acts, s.makes(s.Scratch)...)
	}
	s.prove("control", s.spoken(s.Scratch), controlInside, func(answers []answer) (Verdict, string) {
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

func (s *prover) guarded(g *guardedPath) {
	switch {
	case g.Opened != "":
		s.known("write", g.Path, Allowed, "writable by "+g.Opened)
		return
	case g.Loose:
		s.loose(g)
		return
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
	s.unchanged("write, move, link", g.Path, control, acts...)
}

// loose is a link in a writable directory: no mount can keep it. With Landlock
// the directory may be closed for another reason, so it is tried.
func (s *prover) loose(g *guardedPath) {
	const link = "it is a link in a writable directory"
	v, text := Hole, link+", which the command can replace"
	if g.Hidden {
		v, text = Allowed, link+": its target is hidden, but the command can replace the link"
	}
	if !s.Walls {
		s.known("replace", g.Path, v, text)
		return
	}
	c := s.unchanged("replace", g.Path, "outside the link can be replaced", s.move(g.Path))
	judge := c.Judge
	c.Judge = func(a []answer) (Verdict, string) {
		if a[0].Errno == 0 {
			return v, text
		}
		return judge(a)
	}
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
func (s *prover) own() {
	o := &s.Own
	if o.Manifest == "" {
		s.known("manifest", "", NotApplicable, "the policy shows the host's /run, so there is none")
	} else {
		s.prove("manifest", s.spoken(o.Manifest), "compared with the plan", o.asPlanned, ask(actLook, o.Manifest))
		acts := []question{ask(actOpen, o.Manifest), ask(actCreate, s.free(o.Dir, "in")), s.move(o.Manifest),
			s.move(o.Dir)}
		if s.Walls {
			beside := o.Dir + "-" + s.Nonce // beside the directory of the run
			acts[0].Text = textOwn
			acts[3].To = []byte(beside)
			acts = append(acts, ask(actCreate, beside))
		}
		s.unchanged("write, move", s.spoken(o.Manifest), "the acts succeed where they may", acts...)
	}
	for _, path := range slices.Sorted(maps.Keys(o.Programs)) {
		s.program(path, o.Programs[path])
	}
}

func (s *prover) program(path, rule string) {
	const control = "its owner can, outside"
	if rule != "" {
		s.known("write", path, Allowed, "it lies where the command may write ("+rule+")")
		return
	}
	if s.Walls {
		s.unchanged("move", path, control, s.move(path))
	}
	c := s.unchanged("write", path, control, ask(actOpen, path))
	judge := c.Judge
	c.Judge = func(a []answer) (Verdict, string) {
		if s.Walls && a[0].is(unix.ETXTBSY) {
			return NotApplicable, running
		}
		return judge(a)
	}
}

// asPlanned judges a look at the manifest.
func (o *ownFiles) asPlanned(a []answer) (Verdict, string) {
	f := a[0].File
	switch {
	case f == nil || !f.Read:
		return Unchecked, "it cannot be read"
	case o.Sum == "":
		return Proved, "it is there"
	case f.Sum != o.Sum:
		return Unchecked, "it is not that of the plan: the sandbox is another than the one that was looked at"
	}
	return Proved, "as planned"
}
