package access

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// Checker answers what a command may do with a path, from the files as the
// command finds them and the rules in force. Outside a sandbox both are worked
// out from a plan ([Report.Ask]); inside, the files are there to be looked at
// and the rules stand in the manifest. The way from there to an answer is one.
type Checker struct {
	FS    host.FS     // the files as the command finds them, by their names inside
	Rules []view.Rule // parents before children
	Host  *host.Host  // UID, homes and config directory; the rest is not looked at

	// Ruleset is what the kernel lets through, with Landlock; nil where mounts decide.
	Ruleset *landlock.Ruleset

	// Seatbelt says that sandbox-exec decides, by the rules, Network what it was told.
	Seatbelt, Network bool

	Beyond *view.View // the host, when it can be looked at; nil inside
	Later  *policy.Policy
	Keep   []int // with sandbox-exec: descriptors that the command keeps

	engine engine
	res    *host.Resolver
}

// Verdict is what a command may do with a path, and why.
type Verdict struct {
	Path string    // absolute; "." and ".." are gone, links are kept
	To   string    // canonical; where Path leads when links are followed
	Kind host.Kind // of what the command finds at To

	Seen    bool // the name is there
	Read    bool // the content, of a directory the list of names; what stands for something hidden is no content
	Write   bool // it can be changed, or made when it is not there
	Connect bool // of a socket

	Rule     *view.Rule // the rule that decides; nil when none does
	Why      string
	Remedies []Remedy
	Fixed    string // why nothing more can be had; "" when a remedy gives it
}

// Remedy is how to get another answer.
type Remedy struct {
	To    string   // read, write, keep, hide
	Flags []string // of a run; nil when Text says it
	Text  string   // beside Flags a remark on them
}

// engine is what differs between the engines.
type engine interface {
	// rule returns the rule that decides about a path, given the deepest one at or
	// above it: that one, or nil where it says nothing about the path.
	rule(path string, deepest *view.Rule) *view.Rule
	// place says what kind of place a path is in.
	place(path string, r *view.Rule) place
	// allow sets what may be done at a path, permissions included.
	allow(v *Verdict, p place)

	// texts are the sentences on what is usual.
	texts() *texts
	// blocked says why the path cannot be followed, "" where it can.
	blocked(v *Verdict) string
	// explain is a sentence on what only this engine has, "" for what is usual.
	explain(v *Verdict, p place) string
	// immovable says, after a sentence on something the host has, that it stays.
	immovable(v *Verdict) string
	// remedy adds the remedies for what only this engine has; done ends the search.
	remedy(v *Verdict, p place, path string, exists bool) (done bool)
	// writeRemedy adds what makes a path writable, where only this engine has it.
	writeRemedy(v *Verdict, p place, path string) (done bool)
	// remark changes the remedies that were found.
	remark(v *Verdict, p place)
}

// start chooses the engine, at the first question.
func (s *Checker) start() {
	switch {
	case s.Seatbelt:
		e := &seatbelt{Checker: s}
		if s.Beyond == nil {
			e.denied = make(map[string]bool)
			s.FS = deniedFS{s.FS, e.denied}
		}
		s.engine = e
	case s.Ruleset != nil:
		s.engine = &rules{Checker: s}
	default:
		s.engine = &mounts{s}
	}
	s.res = host.NewResolver(s.FS)
}

// Ask answers for an absolute path by its name inside.
func (s *Checker) Ask(path string) Verdict {
	if s.engine == nil {
		s.start()
	}
	a := Verdict{Path: filepath.Clean(path)}
	a.To = a.Path
	plain, err := s.plain(path)
	if err == nil {
		a.Path = plain
		err = s.follow(&a)
	}
	if err != nil {
		a.To = a.Path
		a.Rule = s.ruleFor(a.To)
		a.Why, a.Fixed = s.unreachable(err)
		return a
	}
	a.Rule = s.ruleFor(a.To)
	if a.Kind != host.Dir && a.Kind != host.Absent && wantsDir(path) {
		a.Why = text.Plain(a.To) + " is not a directory"
		return a
	}
	p := s.place(a.To, a.Rule)
	s.engine.allow(&a, p)
	a.Why = s.explain(&a, p)
	s.addRemedies(&a, p)
	return a
}

// missingError is a directory before a ".." that is not there.
type missingError struct{ path string }

func (e missingError) Error() string {
	return text.Plain(e.path) + " is no directory inside, so nothing can be reached through it"
}

// plain takes "." and ".." out of a path, as the kernel does: what is before a
// ".." has to be there, and may be a link.
func (s *Checker) plain(path string) (string, error) {
	at := "/"
	if len(path) >= host.MaxPath {
		return "", errors.New("a path of more than " + strconv.Itoa(host.MaxPath-1) + " bytes, which the kernel does not take")
	}
	for elem, rest := host.Cut(path); elem != "" || rest != ""; elem, rest = host.Cut(rest) {
		switch {
		case elem == "" || elem == ".":
		case len(elem) > host.MaxName:
			return "", errors.New("a name of more than " + strconv.Itoa(host.MaxName) + " bytes, which no file has")
		case elem == "..":
			to, err := s.res.Resolve(at)
			if err != nil {
				return "", err
			}
			if to.Info.Kind != host.Dir {
				return "", missingError{at}
			}
			at = policy.Dir(to.Path)
		default:
			at = host.Join(at, elem)
		}
	}
	return at, nil
}

func wantsDir(path string) bool {
	return strings.HasSuffix(path, "/") || strings.HasSuffix(path, "/.")
}

// follow finds where a path leads, and whether its name is there.
func (s *Checker) follow(a *Verdict) error {
	up, err := s.res.Resolve(policy.Dir(a.Path))
	if err != nil {
		return err
	}
	if up.Info.Kind == host.Dir {
		name, err := s.FS.Lstat(host.Join(up.Path, host.Base(a.Path)))
		if err == host.ErrDenied {
			return host.DeniedError{Dir: up.Path, UID: up.Info.UID}
		}
		if err != nil {
			return err
		}
		a.Seen = a.Path == "/" || name.Kind != host.Absent
	}
	to, err := s.res.Resolve(a.Path)
	if err == nil {
		a.To, a.Kind = to.Path, to.Info.Kind
	}
	return err
}

func (s *Checker) unreachable(err error) (why, fixed string) {
	var denied host.DeniedError
	switch {
	case errors.As(err, new(host.LoopError)):
		return "links lead in a circle", "it leads nowhere"
	case errors.As(err, &denied):
		return "you may not search " + text.Plain(denied.Dir) + ", so the command cannot look into it either", OwnUser
	}
	return host.OneLine(err.Error()), ""
}

const OwnUser = "a sandbox gives no more than your own user has"

// ruleFor is the rule that decides about a path, nil for none.
func (s *Checker) ruleFor(path string) *view.Rule {
	var best *view.Rule
	for i := range s.Rules {
		if m := &s.Rules[i]; !m.Pinned && s.contains(m.Path, path) {
			best = m // parents come before children
		}
	}
	return s.engine.rule(path, best)
}

// contains reports whether a path is at or below another. A Mac's volumes fold case.
func (s *Checker) contains(dir, path string) bool {
	if s.Seatbelt && len(path) >= len(dir) && strings.EqualFold(path[:len(dir)], dir) {
		path = dir + path[len(dir):]
	}
	return policy.Within(path, dir)
}

// Pinned reports whether a directory is held in place for what lies in it.
func (s *Checker) Pinned(path string) bool {
	for i := range s.Rules {
		if s.Rules[i].Pinned && s.Rules[i].Path == path {
			return true
		}
	}
	return false
}

// place is a kind of place, by whose files they are.
type place uint8

const (
	unopened place = iota // no rule opens it
	shown                 // the host's, as far as a rule opens it
	private               // the sandbox's own, gone after the run; or closed
	hidden                // what the host has is hidden
	proc                  // /proc
	devices               // /dev
	sbx                   // ManifestDir
)

// place is where a path lies that rule r decides about.
func (s *Checker) place(path string, r *view.Rule) place { return s.engine.place(path, r) }

// ruledPlace goes by the rule alone.
func ruledPlace(r *view.Rule) place {
	switch {
	case r == nil:
		return unopened
	case r.Access == policy.Private:
		return private
	case r.Access == policy.Block:
		return hidden
	}
	return shown
}

// Nearest is the nearest thing at or above a canonical path that is there.
func (s *Checker) Nearest(path string) (string, host.Kind) {
	for {
		info, err := s.FS.Lstat(path)
		if path == "/" {
			return path, host.Dir
		}
		if err == nil && info.Kind != host.Absent {
			return path, info.Kind
		}
		path = policy.Dir(path)
	}
}
