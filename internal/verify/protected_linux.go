// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// protected proves that what is read-only in a writable tree cannot be changed,
// and that neither it nor a directory above it can be moved away to make room
// for another. Swapping a directory for a link begins with moving it, so that is
// where it has to fail.
func (p *prover) protected() {
	begin := len(p.out)
	if p.Scratch != "" && (len(p.Guarded) > 0 || len(p.Moves) > 0) {
		p.able()
	}
	for i := range p.Guarded {
		p.guarded(&p.Guarded[i])
	}
	for _, dir := range p.Moves {
		p.unchanged("move", dir, "a directory of its own the probe can move", p.move(p.at(dir)))
	}
	for _, dir := range p.Frozen { // open only for what is in it
		p.unchanged("make", dir, "outside and in $TMPDIR all of it can be made", p.makes(dir)...)
	}
	if n := len(p.Unborn); n > 0 {
		p.known("make", strconv.Itoa(n)+" protected names that do not exist yet", allowed,
			"the command can make them, and the host would run them: "+some(p.Unborn))
	}
	for _, c := range p.out[begin:] {
		if p.Scratch != "" {
			break
		}
		if c.Control != "" {
			c.Control += "; "
		}
		c.Control += "there is no private directory to try the acts in"
	}
}

// able is the control inside: with files of its own the probe can do all of it.
func (p *prover) able() {
	dir := p.free(p.Scratch, "able")
	file := dir + "/f"
	acts := []question{askMake(dir, "directory"), askMake(file, "file"), ask(actOpen, file), p.move(file),
		{Act: actLink, Path: []byte(file), To: []byte(dir + "/l")}, askMake(dir+"/s", "link"), p.move(dir)}
	if p.Walls {
		acts = append(acts, p.makes(p.Scratch)...)
	}
	p.prove("control", spoken(p.Scratch), controlInside, func(answers []answer) (Verdict, string) {
		for i := range answers {
			if a := &answers[i]; a.Errno != 0 {
				return unchecked, "the probe could not do it where it is allowed (" + a.why() + ")"
			}
		}
		return proved, "create, write, rename, link and symlink work where they may"
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

func (p *prover) guarded(g *guardedPath) {
	path := p.at(g.Path)
	var acts []question
	switch {
	case g.Opened != "":
		p.known("write", g.Path, allowed, "writable by "+g.Opened)
		return
	case g.Loose:
		p.loose(g)
		return
	case g.Kind == kindDir:
		acts = append(acts, ask(actCreate, p.free(path, "in")))
	case g.Kind == kindFile:
		acts = append(acts, ask(actOpen, path))
		for _, top := range g.Tops {
			acts = append(acts, question{Act: actLink, Path: []byte(path), To: []byte(p.free(p.at(top), "link"))})
		}
	}
	acts = append(acts, p.move(path))
	if p.Walls && (g.Kind == kindDir || g.Kind == kindFile) {
		acts = append(acts, ask(actRemove, path))
	}
	control := "outside this user cannot write it either"
	if g.Able {
		control = "outside it can be written"
	}
	p.unchanged("write, move, link", g.Path, control, acts...)
}

// loose is a link in a writable directory: no mount can keep it. With Landlock
// the directory may be closed for another reason, so it is tried.
func (p *prover) loose(g *guardedPath) {
	const link = "it is a link in a writable directory"
	v, text := hole, link+", which the command can replace"
	if g.Hidden {
		v, text = allowed, link+": its target is hidden, but the command can replace the link"
	}
	if !p.Walls {
		p.known("replace", g.Path, v, text)
		return
	}
	p.unchanged("replace", g.Path, "outside the link can be replaced", p.move(g.Path)).except(0, v, text)
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
func (p *prover) own() {
	o := &p.Own
	if o.Manifest == "" {
		p.known("manifest", "", notApplicable, "the policy shows the host's /run, so there is none")
	} else {
		p.prove("manifest", spoken(o.Manifest), "compared with the plan", o.asPlanned, ask(actLook, o.Manifest))
		acts := []question{ask(actOpen, o.Manifest), ask(actCreate, p.free(o.Dir, "in")), p.move(o.Manifest),
			p.move(o.Dir)}
		if p.Walls {
			beside := o.Dir + "-" + p.Nonce // beside the directory of the run
			acts[0].Text = textOwn
			acts[3].To = []byte(beside)
			acts = append(acts, ask(actCreate, beside))
		}
		p.unchanged("write, move", spoken(o.Manifest), "the acts succeed where they may", acts...)
	}
	for _, path := range slices.Sorted(maps.Keys(o.Programs)) {
		p.program(path, o.Programs[path])
	}
}

func (p *prover) program(path, rule string) {
	const control = "its owner can, outside"
	if rule != "" {
		p.known("write", path, allowed, "it lies where the command may write ("+rule+")")
		return
	}
	if p.Walls {
		p.unchanged("move", path, control, p.move(path))
	}
	c := p.unchanged("write", path, control, ask(actOpen, path))
	if p.Walls {
		c.except(unix.ETXTBSY, notApplicable, running)
	}
}

// asPlanned judges a look at the manifest.
func (o *ownFiles) asPlanned(a []answer) (Verdict, string) {
	const another = "it is not that of the plan: the sandbox is another than the one that was looked at"
	f := a[0].File
	if f == nil || !f.Read {
		return unchecked, "it cannot be read"
	}
	return table{
		{o.Sum == "", proved, "it is there"}, {f.Sum != o.Sum, unchecked, another}, {true, proved, "as planned"},
	}.decide()
}

// outside proves that nothing appears on the host but where the policy lets the
// command write: a file that can be made at all is looked for outside, while it
// is there.
func (p *prover) outside() {
	for i := range p.Places {
		dir := &p.Places[i]
		if dir.Opened != "" {
			p.known("create", dir.Path, allowed, "writable by "+dir.Opened)
			continue
		}
		control := "outside this user cannot either"
		if dir.Able {
			control = "outside a file can be made there"
		}
		p.prove("create", dir.Path, control, p.nothingMade(dir), ask(actCreate, p.free(dir.Path, "here")))
	}
	if !p.Walls {
		if len(p.Plan) > 0 {
			p.self("mounts", "", "compared with the plan", p.mounted)
		}
		return
	}
	if len(p.Closed) > 0 {
		p.closed()
	}
	if p.Mode != "" {
		p.prove("change the mode", spoken(p.Mode), "outside it can be changed",
			refused("what belongs to the command's user can get another mode, owner or time"),
			ask(actMode, p.Mode)).Gap = engine.GapModes
	}
	p.known("mounts", "", notApplicable, "the engine mounts nothing")
}

// nothingMade judges an attempt to make a file in a place. One that could be made
// is on the host when it was found there.
func (s *target) nothingMade(p *place) judge {
	return func(answers []answer) (Verdict, string) {
		a := &answers[0]
		done := a.Errno == 0
		held, byMode := s.cause(a, actCreate)
		return table{
			{done && (s.Walls || len(a.Found) > 0), hole, "a file can be made there, on the host"},
			{done && !p.Private, hole, "a file can be made there, where the policy gives no private place"},
			{done, proved, "what is made there is the sandbox's own"},
			{held || a.is(unix.EROFS, unix.ENOENT, unix.ENOTDIR), proved, a.why()},
			{p.Private && (byMode || s.Walls && a.is(unix.EPERM, unix.EACCES)), proved, a.why()},
			{byMode && s.Walls, unchecked, modeInTheWay},
			{byMode, hole, "a file can be made there once its owner, the command, changes the mode"},
			{true, unchecked, a.why()},
		}.decide()
	}
}

// closed states what with Landlock becomes of directories that are private in
// tier full.
func (p *prover) closed() {
	var acts []question
	for _, dir := range p.Closed {
		acts = append(acts, ask(actCreate, p.free(dir, "own")))
	}
	p.prove("use", "private directories", "in tier full a file can be made there",
		func(answers []answer) (Verdict, string) {
			if i := slices.IndexFunc(answers, func(a answer) bool { return a.Errno == 0 }); i >= 0 {
				return hole, "a file can be made in " + text.Plain(p.Closed[i]) + ", on the host"
			}
			return p.owned(engine.GapPlaces), "closed in their place: " + some(p.Closed)
		}, acts...)
}

// mounted judges that nothing is mounted but what the plan names, and nothing
// writable but where it says so. What lies below a mount that covers it, as the
// host's mounts below the private /run do, no process can reach.
func (s *target) mounted(self *selfInfo) (Verdict, string) {
	var more, open []string
	for _, m := range self.Mounts {
		path := s.outsidePath(string(m.Path))
		access, named := s.planned(path)
		switch {
		case m.Covered:
		case !named:
			more = append(more, path)
		case !m.ReadOnly && access != policy.Write && access != policy.Private:
			open = append(open, path)
		}
	}
	return table{
		{len(self.Mounts) == 0, unchecked, "the mounts cannot be listed inside"},
		{len(more) > 0, hole, "mounted, and not by the plan: " + some(more)},
		{len(open) > 0, hole, "mounted writable, against the plan: " + some(open)},
		{true, proved, "only what was planned is mounted, and writable only where it was"},
	}.decide()
}

// planned returns what the plan gives at a mount point, and whether it has a
// mount there. /proc and /dev are the sandbox's own.
func (s *target) planned(path string) (a policy.Access, named bool) {
	if policy.Within(path, "/proc") || policy.Within(path, "/dev") && path != "/dev" {
		return policy.Private, true
	}
	m := s.Plan.at(path)
	named = path == "/" || path == "/dev" || s.Own.Dir != "" && policy.Within(path, s.Own.Dir) || m.Path == path
	return m.Access, named || m.shows() && slices.Contains(s.Host, path)
}
