// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// hidden proves that what the policy hides cannot be read: neither the content
// of a file, nor the names in a directory, nor an answer from a socket.
func (s *prover) hidden() {
	for i := range s.Hidden {
		s.secret(&s.Hidden[i])
	}
	if s.Walls && len(s.Hidden) > 0 {
		s.visible()
	}
}

func (s *prover) secret(h *secret) {
	if h.Opened != "" {
		s.known("read", h.Path, Allowed, "shown by "+h.Opened)
		return
	}
	c := s.prove("read", h.Path, h.control(), s.unread(h))
	switch {
	case h.Out.Kind == kindSocket:
		c.Name, c.Judge = "connect", refused(connected)
		c.Ask = []question{ask(actConnect, s.at(h.Path))}
	case s.Walls && h.Out.Kind == kindOther:
		c.Ask, c.Judge = []question{ask(actRead, h.Path)}, s.unopened
	default:
		c.Ask = []question{ask(actLook, s.at(h.Path))}
		if s.at(h.Path) != h.Path {
			c.Ask = append(c.Ask, ask(actLook, h.Path))
		}
		for _, path := range h.Inner {
			c.Ask = append(c.Ask, ask(actLook, path))
		}
	}
}

// The kinds of files, as in [fileInfo].
const (
	kindAbsent = "absent"
	kindFile   = "file"
	kindDir    = "dir"
	kindLink   = "link"
	kindSocket = "socket"
	kindOther  = "other"
)

// control says what outside shows of the same path.
func (h *secret) control() string {
	switch o := &h.Out; {
	case o.Kind == "":
		return ""
	case o.Kind == kindSocket:
		return answers(o.Errno)
	case o.Kind == kindOther:
		return "outside it exists"
	case !o.Read:
		return "this user cannot read it outside either (" + errnoName(o.Errno) + ")"
	case o.Kind == kindDir:
		return "outside it can be listed"
	}
	return "outside it can be read"
}

// answers is the control of a socket.
func answers(errno int) string {
	if errno != 0 {
		return "outside it refuses, too (" + errnoName(errno) + ")"
	}
	return "outside it answers"
}

// unopened judges a pipe or a device, which is only opened.
func (s *target) unopened(a []answer) (Verdict, string) {
	switch {
	case a[0].Errno == 0:
		return Hole, a[0].why()
	case s.refusal(&a[0], actRead) == held:
		return Proved, a[0].why()
	}
	return Unchecked, a[0].why()
}

// unread judges looks at a path: there may be two ways to it, and with Landlock
// some of what is in a directory is looked at by itself.
func (s *target) unread(h *secret) judge {
	return func(answers []answer) (Verdict, string) {
		verdict, detail := Proved, ""
		for i := range answers {
			v, d := s.judgeLook(h, &answers[i])
			if n := i - len(answers) + len(h.Inner); n >= 0 {
				d = "in it " + text.Plain(base(h.Inner[n])) + ": " + d
			}
			if v == Hole {
				return v, d
			}
			if i == 0 || v == Unchecked {
				verdict, detail = v, d
			}
		}
		return verdict, detail
	}
}

func (s *target) judgeLook(h *secret, a *answer) (Verdict, string) {
	f := a.File
	switch {
	case f == nil:
		return Unchecked, "the probe could not look: " + a.why()
	case f.Kind == kindAbsent:
		return Proved, "not there"
	case f.Kind == "" && a.is(unix.EACCES, unix.ELOOP, unix.ENOTDIR): // a directory above may not be searched
		return Proved, "out of reach (" + a.why() + ")"
	case f.Kind == "":
		return Unchecked, a.why()
	case f.Kind == kindSocket:
		return Unchecked, "a socket is there, and it was none outside"
	case s.Walls:
		return f.judgeClosed()
	case f.Kind == kindDir:
		return h.judgeDir(f)
	case f.Kind == kindFile:
		return h.judgeFile(f)
	case h.same(f):
		return Hole, "it exists as it does outside"
	}
	return Proved, "something else is there"
}

// same reports whether a file inside is the one outside.
func (h *secret) same(f *fileInfo) bool {
	return h.Out.Ino != 0 && f.Dev == h.Out.Dev && f.Ino == h.Out.Ino
}

// judgeClosed judges a file that is there, and that Landlock has to keep closed.
func (f *fileInfo) judgeClosed() (Verdict, string) {
	switch {
	case f.Read && f.Kind == kindDir:
		return Hole, "it can be listed"
	case f.Read:
		return Hole, "its content can be read"
	case f.May:
		return Proved, "it exists, but cannot be opened (" + errnoName(f.Errno) + ")"
	case f.Own:
		return Unchecked, modeInTheWay
	}
	return Proved, "not readable, as outside"
}

func (h *secret) judgeFile(f *fileInfo) (Verdict, string) {
	same := h.same(f)
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
		return Proved, "another file, the sandbox's own"
	}
	return Proved, "empty"
}

func (h *secret) judgeDir(f *fileInfo) (Verdict, string) {
	same, names := h.same(f), f.names()
	left := without(names, h.Shown)
	outside := h.Out.names()
	switch {
	case !f.Read && same && (h.Out.Read || f.Own):
		return Hole, "the directory itself is there, kept back only by its mode"
	case !f.Read:
		return Proved, "cannot be listed (" + errnoName(f.Errno) + ")"
	case same:
		return Hole, "the directory itself can be listed"
	case len(left) > 0 && !h.Private:
		return Hole, "there are names in it: " + some(left)
	case len(left) > 0 && len(without(left, outside)) == 0 && len(left) == len(outside):
		return Hole, "there are the names of the host's in it: " + some(left)
	case len(left) > 0:
		return Proved, "another directory, the sandbox's own"
	case len(names) > 0:
		return Proved, "empty but for what another rule shows"
	}
	return Proved, "empty"
}

func (f *fileInfo) names() []string {
	out := make([]string, len(f.Names))
	for i, n := range f.Names {
		out[i] = string(n)
	}
	return out
}

// visible states that with Landlock what is hidden is there to be seen.
func (s *prover) visible() {
	var acts []question
	for i := range s.Hidden {
		if h := &s.Hidden[i]; h.Opened == "" {
			acts = append(acts, ask(actLook, h.Path))
		}
	}
	s.prove("see", "names, sizes and times", "outside they can be seen", seen, acts...).Gap = engine.GapNames
}

func seen(answers []answer) (Verdict, string) {
	n := 0
	for i := range answers {
		if f := answers[i].File; f != nil && f.Kind != kindAbsent && f.Kind != "" {
			n++
		}
	}
	if n == 0 {
		return Proved, "nothing that is hidden can be seen"
	}
	return Hole, fmt.Sprintf("of %d hidden names %d can be seen, with size and time", len(answers), n)
}
