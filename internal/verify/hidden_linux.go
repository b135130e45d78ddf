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
func (p *prover) hidden() {
	for i := range p.Hidden {
		p.secret(&p.Hidden[i])
	}
	if p.Walls && len(p.Hidden) > 0 {
		p.visible()
	}
}

func (p *prover) secret(h *secret) {
	path := p.at(h.Path)
	switch {
	case h.Opened != "":
		p.known("read", h.Path, allowed, "shown by "+h.Opened)
	case h.Out.Kind == kindSocket:
		p.compared("connect", h.Path, refused(connected), ask(actConnect, path))
	case p.Walls && h.Out.Kind == kindOther:
		p.prove("read", h.Path, h.control(), p.unopened, ask(actRead, h.Path))
	default:
		acts := []question{ask(actLook, path)}
		if path != h.Path {
			acts = append(acts, ask(actLook, h.Path))
		}
		for _, inner := range h.Inner {
			acts = append(acts, ask(actLook, inner))
		}
		p.prove("read", h.Path, h.control(), p.unread(h), acts...)
	}
}

// control says what outside shows of the same path.
func (h *secret) control() string {
	switch o := &h.Out; {
	case o.Kind == "":
		return ""
	case o.Kind == kindOther:
		return "outside it exists"
	case !o.Read:
		return "this user cannot read it outside either (" + errnoName(o.Errno) + ")"
	case o.Kind == kindDir:
		return "outside it can be listed"
	}
	return "outside it can be read"
}

// unopened judges a pipe or a device, which is only opened.
func (s *target) unopened(a []answer) (Verdict, string) {
	held, _ := s.cause(&a[0], actRead)
	return table{
		{a[0].Errno == 0, hole, a[0].why()}, {held, proved, a[0].why()}, {true, unchecked, a[0].why()},
	}.decide()
}

// unread judges looks at a path: there may be two ways to it, and with Landlock
// some of what is in a directory is looked at by itself.
func (s *target) unread(h *secret) judge {
	return func(answers []answer) (Verdict, string) {
		verdict, detail := proved, ""
		for i := range answers {
			v, d := s.judgeLook(h, &answers[i])
			if n := i - len(answers) + len(h.Inner); n >= 0 {
				d = "in it " + text.Plain(base(h.Inner[n])) + ": " + d
			}
			if v == hole {
				return v, d
			}
			if i == 0 || v == unchecked {
				verdict, detail = v, d
			}
		}
		return verdict, detail
	}
}

func (s *target) judgeLook(h *secret, a *answer) (Verdict, string) {
	f := a.File
	if f == nil {
		return unchecked, "the probe could not look: " + a.why()
	}
	rows := table{
		{f.Kind == kindAbsent, proved, "not there"},
		// A directory above may not be searched.
		{f.Kind == "" && a.is(unix.EACCES, unix.ELOOP, unix.ENOTDIR), proved, "out of reach (" + a.why() + ")"},
		{f.Kind == "", unchecked, a.why()},
		{f.Kind == kindSocket, unchecked, "a socket is there, and it was none outside"},
	}
	// The file inside is the one outside. Then whose it is, is asked outside: in a user
	// namespace the files of every user that it does not map, as root, look like nobody's.
	same := h.Out.Ino != 0 && f.Dev == h.Out.Dev && f.Ino == h.Out.Ino
	switch {
	case s.Walls:
		rows = append(rows, f.closed()...)
	case f.Kind == kindDir:
		rows = append(rows, h.directory(f, same)...)
	case f.Kind == kindFile:
		rows = append(rows, h.file(f, same)...)
	default:
		rows = append(rows, table{{same, hole, "it exists as it does outside"},
			{true, proved, "something else is there"}}...)
	}
	return rows.decide()
}

// closed judges a file that is there, and that Landlock has to keep closed.
func (f *fileInfo) closed() table {
	return table{
		{f.Read && f.Kind == kindDir, hole, "it can be listed"},
		{f.Read, hole, "its content can be read"},
		{f.May, proved, "it exists, but cannot be opened (" + errnoName(f.Errno) + ")"},
		{f.Own, unchecked, modeInTheWay},
		{true, proved, "not readable, as outside"},
	}
}

func (h *secret) file(f *fileInfo, same bool) table {
	return table{
		{f.Read && f.Size > 0 && h.Out.Sum != "" && f.Sum == h.Out.Sum, hole, "its content can be read"},
		{same && f.Read, hole, "the file itself can be read"},
		{same && h.Out.Read, hole, "the file itself is there, kept back only by its mode"},
		{same && h.Out.Own, hole, "the file itself is there, and its owner can change the mode"},
		{same, proved, "not readable, as outside"},
		{!f.Read, proved, "not readable (" + errnoName(f.Errno) + ")"},
		{f.Size > 0 && !h.Private, hole, "a file with content is there, which is not the host's"},
		{f.Size > 0, proved, "another file, the sandbox's own"},
		{true, proved, "empty"},
	}
}

func (h *secret) directory(f *fileInfo, same bool) table {
	names, outside := f.names(), h.Out.names()
	left := without(names, h.Shown)
	all := len(without(left, outside)) == 0 && len(left) == len(outside)
	return table{
		{!f.Read && same && (h.Out.Read || h.Out.Own), hole,
			"the directory itself is there, kept back only by its mode"},
		{!f.Read, proved, "cannot be listed (" + errnoName(f.Errno) + ")"},
		{same, hole, "the directory itself can be listed"},
		{len(left) > 0 && !h.Private, hole, "there are names in it: " + some(left)},
		{len(left) > 0 && all, hole, "there are the names of the host's in it: " + some(left)},
		{len(left) > 0, proved, "another directory, the sandbox's own"},
		{len(names) > 0, proved, "empty but for what another rule shows"},
		{true, proved, "empty"},
	}
}

// visible states that with Landlock what is hidden is there to be seen.
func (p *prover) visible() {
	var acts []question
	for i := range p.Hidden {
		if h := &p.Hidden[i]; h.Opened == "" {
			acts = append(acts, ask(actLook, h.Path))
		}
	}
	p.prove("see", "names, sizes and times", "outside they can be seen", seen, acts...).Gap = engine.GapNames
}

func seen(answers []answer) (Verdict, string) {
	n := 0
	for i := range answers {
		if f := answers[i].File; f != nil && f.Kind != kindAbsent && f.Kind != "" {
			n++
		}
	}
	if n == 0 {
		return proved, "nothing that is hidden can be seen"
	}
	return hole, fmt.Sprintf("of %d hidden names %d can be seen, with size and time", len(answers), n)
}
