// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"sort"
	"strings"
)

// Access is what a rule does to a path and everything below it. The order is
// the precedence at one and the same path: a larger value wins, of what profiles
// that extend others leave (see layers.overruled).
type Access uint8

const (
	// Unseen is the access of a path no rule names: it does not exist inside.
	Unseen Access = iota
	// Private is an empty writable directory of the sandbox's own, gone when
	// the command ends.
	Private
	// Write is the host's file, writable.
	Write
	// Read is the host's file, read-only.
	Read
	// Protect is read-only where the path would be writable; it never makes
	// anything visible.
	Protect
	// Block hides the path: a directory is empty, a file has no content.
	Block
)

var accessNames = [...]string{"unseen", "private", "write", "read", "protect", "block"}

// String returns the lower-case name.
func (a Access) String() string { return accessNames[a] }

// reach orders accesses by how much of the host they give, for [Diff]. A
// private directory gives nothing of it.
func (a Access) reach() int {
	switch a {
	case Read, Protect:
		return 1
	case Write:
		return 2
	}
	return 0
}

// Layer is where a setting was written; a later layer wins over an earlier.
type Layer uint8

const (
	Builtin Layer = iota // shipped with sbx
	System               // /etc/sbx
	User                 // $XDG_CONFIG_HOME/sbx
	Project              // .sbx.toml or .sbx.hcl
	Env                  // SBX_* variables
	Flag                 // the command line
)

var layerNames = [...]string{"built-in", "system", "user", "project", "environment", "flag"}

// String returns the layer's name as explain shows it.
func (l Layer) String() string { return layerNames[l] }

// Rule is one path with what may be done to it.
type Rule struct {
	Path    string // absolute and cleaned, symlinks kept
	Access  Access
	Layer   Layer
	Source  string // "moderate", "/etc/sbx/config.toml:3:5", "--allow-write"
	Pattern bool   // the last element of Path is a pattern, see [Match]
	Except  bool   // takes what it matches out of patterns; such rules grant nothing
	Must    bool   // an absent path is an error, since the user named it
	OfCWD   bool   // written as $CWD or $PROJECT: about any working directory, not this one
	Offline bool   // counts while the network is off: a cache that the tool would have to write otherwise
	Lent    uint16 // which of the policy's directories of variables it is about, see [Lent]; 0 for all other rules
}

// beats reports whether r decides when r and o stand at the same path and
// neither is a Protect: that one only takes writing away from what the others
// give.
func (r *Rule) beats(o *Rule) bool {
	if (r.Layer == Flag) != (o.Layer == Flag) {
		return r.Layer == Flag
	}
	if r.Pattern != o.Pattern {
		return o.Pattern
	}
	return r.Access > o.Access
}

// RuleSet adds up the rules at one path. Give is the strongest of those that
// give or hide, Guard one that takes writing away all the same, which a flag
// that makes the path writable prevents. Either may be nil.
type RuleSet struct{ Give, Guard *Rule }

// Add lays one more rule on. The rule is kept, not copied.
func (s *RuleSet) Add(r *Rule) {
	switch {
	case r.Access != Protect:
		if s.Give == nil || r.beats(s.Give) {
			s.Give = r
		}
	case s.Guard == nil || r.Layer > s.Guard.Layer || r.Layer == s.Guard.Layer && s.Guard.Pattern && !r.Pattern:
		s.Guard = r
	}
}

// Rule is the one that decides, nil when there is none.
func (s *RuleSet) Rule() *Rule {
	if s.Guard != nil && (s.Give == nil || (s.Give.Access == Write || s.Give.Access == Read) && s.Give.Layer != Flag) {
		return s.Guard
	}
	return s.Give
}

// Access is what the rules amount to where the directory above gives over.
func (s *RuleSet) Access(over Access) Access {
	r := s.Rule()
	switch {
	case s.Give == nil && over != Write:
		return over // nothing to protect
	case r.Access == Block && (over == Unseen || over == Private):
		return over // nothing to hide
	case r.Access == Protect && s.Give != nil && s.Give.Access == Read:
		return Read // as it is without the protection
	}
	return r.Access
}

// Within reports whether path is dir or lies below it; both are absolute and
// cleaned.
func Within(path, dir string) bool {
	if dir == "/" {
		return strings.HasPrefix(path, "/")
	}
	return strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == '/')
}

// WithinAny reports whether path is one of some directories or lies below one.
func WithinAny(path string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return Within(path, dir) })
}

// Dir is the parent of an absolute, cleaned path; "/" is its own parent.
func Dir(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// Decide returns the rule that decides for an absolute, cleaned path, or
// false when none names it. Patterns are matched by name, not by what exists.
func (p *Policy) Decide(path string) (Rule, bool) {
	for dir := path; ; dir = Dir(dir) {
		s := p.ruleSet(dir)
		if r := s.Rule(); r != nil {
			return *r, true
		}
		if dir == "/" {
			return Rule{}, false
		}
	}
}

// Access returns what may be done with an absolute, cleaned path: the deciding
// rule's access, except that protecting or hiding what is not visible anyway
// changes nothing.
func (p *Policy) Access(path string) Access {
	over := Unseen
	if path != "/" {
		over = p.Access(Dir(path))
	}
	s := p.ruleSet(path)
	if s.Rule() == nil {
		return over
	}
	return s.Access(over)
}

// ruleSet adds up the rules at path itself. They are sorted by path, so the
// literal ones are found by halving, and only those below the same directory
// can be patterns for the name. For many paths there is [atlas].
func (p *Policy) ruleSet(path string) RuleSet {
	s := p.literal(path)
	below := path[:strings.LastIndexByte(path, '/')+1]
	rules := p.Rules[p.from(below):]
	n := sort.Search(len(rules), func(i int) bool { return !strings.HasPrefix(rules[i].Path, below) })
	s.match(rules[:n], p.Rules, path)
	return s
}

// literal adds up the rules that name path itself.
func (p *Policy) literal(path string) (s RuleSet) {
	for i := p.from(path); i < len(p.Rules); i++ {
		r := &p.Rules[i]
		if r.Path != path {
			break
		}
		if !r.Except && !r.Pattern {
			s.Add(r)
		}
	}
	return s
}

// Names reports whether a rule of some layer gives a path, by its name, some access.
func (p *Policy) Names(path string, a Access, l Layer) bool {
	for i := p.from(path); i < len(p.Rules) && p.Rules[i].Path == path; i++ {
		if r := &p.Rules[i]; r.Access == a && r.Layer == l {
			return true
		}
	}
	return false
}

// match adds the patterns among rules that are for path, unless an exception
// takes it out.
func (s *RuleSet) match(rules, excepts []Rule, path string) {
	for i := range rules {
		if r := &rules[i]; r.Pattern && !r.Except && r.matches(path) && !excepted(excepts, path) {
			s.Add(r)
		}
	}
}

// from is the index of the first rule whose path is not before path.
func (p *Policy) from(path string) int {
	return sort.Search(len(p.Rules), func(i int) bool { return p.Rules[i].Path >= path })
}

// Excepted reports whether an exception takes path out of all patterns.
func (p *Policy) Excepted(path string) bool {
	return excepted(p.Rules, path)
}

func excepted(rules []Rule, path string) bool {
	for i := range rules {
		if r := &rules[i]; r.Except && r.matches(path) {
			return true
		}
	}
	return false
}

func (r *Rule) matches(path string) bool {
	if r.Path == path {
		return true
	}
	return r.Pattern && Dir(r.Path) == Dir(path) &&
		Match(r.Path[strings.LastIndexByte(r.Path, '/')+1:], path[strings.LastIndexByte(path, '/')+1:])
}

// At is the path that a rule matched on the way to one that it decides about.
func (r *Rule) At(path string) string {
	for path != r.Path && Dir(path) != Dir(r.Path) {
		path = Dir(path)
	}
	return path
}

// Match reports whether name matches a pattern in which * stands for any run
// of bytes and ? for any one byte. There are no classes and no escapes.
func Match(pattern, name string) bool {
	star, mark := -1, 0
	i, j := 0, 0
	for i < len(name) {
		switch {
		case j < len(pattern) && pattern[j] == '*':
			star, mark = j, i
			j++
		case j < len(pattern) && (pattern[j] == '?' || pattern[j] == name[i]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = mark, star+1
		default:
			return false
		}
	}
	for j < len(pattern) && pattern[j] == '*' {
		j++
	}
	return j == len(pattern)
}
