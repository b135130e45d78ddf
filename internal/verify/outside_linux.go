// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// outside proves that nothing appears on the host but where the policy lets the
// command write: a file that can be made at all is looked for outside, while it
// is there.
func (s *prover) outside() {
	for i := range s.Places {
		p := &s.Places[i]
		if p.Opened != "" {
			s.known("create", p.Path, Allowed, "writable by "+p.Opened)
			continue
		}
		control := "outside this user cannot either"
		if p.Able {
			control = "outside a file can be made there"
		}
		s.prove("create", p.Path, control, s.nothingMade(p), ask(actCreate, s.free(p.Path, "here")))
	}
	if !s.Walls {
		if len(s.Plan) > 0 {
			s.prove("mounts", "", "compared with the plan", ofSelf(s.mounted), askSelf)
		}
		return
	}
	if len(s.Closed) > 0 {
		s.closed()
	}
	if s.Mode != "" {
		s.prove("change the mode", s.spoken(s.Mode), "outside it can be changed",
			refused("what belongs to the command's user can get another mode, owner or time"),
			ask(actMode, s.Mode)).Gap = engine.GapModes
	}
	s.known("mounts", "", NotApplicable, "the engine mounts nothing")
}

// nothingMade judges an attempt to make a file in a place. One that could be made
// is on the host when it was found there.
func (s *target) nothingMade(p *place) judge {
	return func(answers []answer) (Verdict, string) {
		a := &answers[0]
		cause := s.refusal(a, actCreate)
		switch {
		case a.Errno == 0 && (s.Walls || len(a.Found) > 0):
			return Hole, "a file can be made there, on the host"
		case a.Errno == 0 && !p.Private:
			return Hole, "a file can be made there, where the policy gives no private place"
		case a.Errno == 0:
			return Proved, "what is made there is the sandbox's own"
		case a.is(unix.EROFS, unix.ENOENT, unix.ENOTDIR), cause == held, p.Private && cause == byMode,
			p.Private && s.Walls && a.is(unix.EPERM, unix.EACCES):
			return Proved, a.why()
		case cause == byMode && s.Walls:
			return Unchecked, modeInTheWay
		case cause == byMode:
			return Hole, "a file can be made there once its owner, the command, changes the mode"
		}
		return Unchecked, a.why()
	}
}

// closed states what with Landlock becomes of directories that are private in
// tier full.
func (s *prover) closed() {
	var acts []question
	for _, dir := range s.Closed {
		acts = append(acts, ask(actCreate, s.free(dir, "own")))
	}
	s.prove("use", "private directories", "in tier full a file can be made there",
		func(answers []answer) (Verdict, string) {
			if i := slices.IndexFunc(answers, func(a answer) bool { return a.Errno == 0 }); i >= 0 {
				return Hole, "a file can be made in " + text.Plain(s.Closed[i]) + ", on the host"
			}
			return s.owned(engine.GapPlaces, "closed in their place: "+some(s.Closed))
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
	switch {
	case len(self.Mounts) == 0:
		return Unchecked, "the mounts cannot be listed inside"
	case len(more) > 0:
		return Hole, "mounted, and not by the plan: " + some(more)
	case len(open) > 0:
		return Hole, "mounted writable, against the plan: " + some(open)
	}
	return Proved, "only what was planned is mounted, and writable only where it was"
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
