package access

import (
	"errors"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/policy"
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

	// Seatbelt says that sandbox-exec decides, by the marks, Network what it was told.
	Seatbelt, Network bool

	res    *host.Resolver
	Beyond *view.View // the host, when it can be looked at; nil inside
	Later  *policy.Policy
	ruled  map[inode]landlock.FS  // of Wall
	unmade map[string]landlock.FS // of Wall, about what the run makes first
	Keep   []int                  // with Belt: descriptors that the command keeps
	shut   map[string]bool        // with Belt, inside: what may not be looked at
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

// Ask answers for an absolute path by its name inside.
func (s *Checker) Ask(path string) Verdict {
	if s.res == nil {
		if s.Seatbelt && s.Beyond == nil {
			s.shut = make(map[string]bool)
			s.FS = deniedFS{s.FS, s.shut}
		}
		s.res = host.NewResolver(s.FS)
	}
	a := Verdict{Path: policy.Clean(path)}
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
		a.Why = policy.Plain(a.To) + " is not a directory"
		return a
	}
	if s.Seatbelt {
		s.checkSeatbelt(&a)
		a.Why = s.explainSeatbelt(&a)
		s.addSeatbeltRemedies(&a)
		return a
	}
	if s.Ruleset != nil {
		s.checkLandlock(&a)
		a.Why = s.explainLandlock(&a)
		s.addLandlockRemedies(&a)
		return a
	}
	s.checkMounts(&a)
	a.Why = s.explainMounts(&a)
	s.addRemedies(&a)
	return a
}

// missingError is a directory before a ".." that is not there.
type missingError struct{ path string }

func (e missingError) Error() string {
	return policy.Plain(e.path) + " is no directory inside, so nothing can be reached through it"
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
		return "you may not search " + policy.Plain(denied.Dir) + ", so the command cannot look into it either", OwnUser
	}
	return host.OneLine(err.Error()), ""
}

const OwnUser = "a sandbox gives no more than your own user has"

// ruleFor is the deepest mark at or above a path.
func (s *Checker) ruleFor(path string) *view.Rule {
	var best *view.Rule
	for i := range s.Rules {
		if m := &s.Rules[i]; !m.Pinned && s.contains(m.Path, path) {
			best = m // parents come before children
		}
	}
	if s.Seatbelt {
		return s.seatbeltRuleFor(path, best)
	}
	return best
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

// zone is a kind of place, by whose files they are.
type zone uint8

const (
	nowhere zone = iota // no rule opens it
	theirs              // the host's, as far as a rule opens it
	private             // the sandbox's own, gone after the run
	masked              // in the place of what is hidden
	kernel              // /proc
	devices             // /dev
	sbx                 // ManifestDir
)

func (s *Checker) zone(path string, m *view.Rule) zone {
	switch {
	case s.Seatbelt:
		return s.seatbeltZone(path, m)
	case policy.Within(path, "/proc"):
		return kernel
	case policy.Within(path, "/dev") && (m == nil || !policy.Within(m.Path, "/dev")):
		return devices
	case s.Ruleset == nil && policy.Within(path, host.ManifestDir) && (m == nil || m.Access == policy.Private):
		return sbx
	case m == nil:
		return nowhere
	case m.Access == policy.Private && m.Closed && s.Ruleset == nil:
		return nowhere
	case m.Access == policy.Private:
		return private
	case m.Access == policy.Block:
		return masked
	}
	return theirs
}

// writable reports whether rules let the command change what is at a place,
// permissions aside.
func (s *Checker) writable(path string, m *view.Rule) bool {
	switch s.zone(path, m) {
	case theirs:
		return m.Access == policy.Write
	case private:
		return true
	case kernel:
		// Read-only for root, but for what was open before.
		return s.Host.UID != 0 && path != "/proc" || strings.HasPrefix(path, "/proc/self/fd/")
	}
	return false
}

// checkMounts works out what may be done with what is there.
func (s *Checker) checkMounts(a *Verdict) {
	z := s.zone(a.To, a.Rule)
	if z == masked && a.To == a.Rule.Path {
		return
	}
	may := func(rwx byte) bool { return s.FS.Access(a.To, rwx) }
	switch a.Kind {
	case host.Absent:
		a.Write = s.canCreate(a.To)
	case host.Dir:
		a.Read = may('r')
		a.Write = z != kernel && s.writable(a.To, a.Rule) && may('w') && may('x')
	case host.File:
		a.Read = may('r')
		a.Write = s.writable(a.To, a.Rule) && may('w')
	case host.Fifo:
		// It holds nothing of the file system, so a read-only mount does not
		// keep anyone from writing to it.
		a.Read, a.Write = may('r'), may('w')
	case host.Socket:
		a.Connect = may('w')
	case host.Device:
		// bwrap mounts the host's files so that devices cannot be opened.
		a.Read, a.Write = z == devices && may('r'), z == devices && may('w')
	}
}

// canCreate reports whether something can be made at a path where nothing is,
// with the directories above it.
func (s *Checker) canCreate(path string) bool {
	dir, kind := s.Nearest(path)
	m := s.ruleFor(dir)
	z := s.zone(dir, m)
	return kind == host.Dir && z != kernel && s.writable(dir, m) && s.FS.Access(dir, 'w') && s.FS.Access(dir, 'x')
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
