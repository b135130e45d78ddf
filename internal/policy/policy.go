// SPDX-License-Identifier: Apache-2.0

// Package policy is what a sandboxed command may do, as a value.
//
// A [Profile] is what a person wrote: one TOML or HCL table, with variables
// and parents still in it. [Resolve] turns a selection of profiles into a
// [Policy]: absolute paths, environment rules, and switches, each with the
// layer it came from. A Policy says nothing of how it is enforced; package
// wrap does that.
//
// Which path rule decides: the deepest rule whose path is the file or one of
// its ancestors. At the same path a command line flag beats a file, a literal
// path beats a pattern, and otherwise block beats protect beats read-only
// beats write beats private (see [Access]).
//
// Everything here is a pure function of its arguments: no file is opened and
// no environment is read. A zero Policy grants nothing.
package policy

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/text"
)

// Policy is what one run may do: paths are absolute, every switch has a value.
type Policy struct {
	Profiles []string // as selected, parents not included
	Rules    []Rule   // sorted by path, then by access, the tightest first
	Lent     []string // directories that [Rule.Lent] counts from 1
	Project  string   // the tree that the run is about: what $PROJECT grants, else the working directory
	Dirs     []string // the working directory and [Vars.Dirs]
	Members  []Member // [Vars.Members]

	Network     bool
	SharePID    bool
	CWDReadOnly bool   // no rule of a file makes anything in the working directory writable
	Workspace   string // where the working directory is shown; "" for where it is
	NewSession  string // yes, no, auto
	Seccomp     string // default, strict, dev, off, or the absolute path of a file
	Git         string // none, commit, full
	Cache       string // none, private
	Scope       string // cwd, project: what $PROJECT is
	Protected   string // enforce, auto: what becomes of protected paths where they cannot be made read-only
	Environment string // inherit, list
	Limits      string // enforce, best-effort
	MinTier     string // full, reduced
	OnUnmasked  string // end, warn: what follows when the host replaces a hidden file while the command runs

	TimeoutSeconds float64 // 0: none
	MemoryLimitMB  int     // 0: none
	CPUs           float64 // 0: none
	Procs          int     // 0: none
	FileSizeMB     float64 // of each file; 0: none
	TmpfsLimitMB   int     // for each private directory

	Devices          []Item // gpu, kvm, or paths in /dev
	EnvPass, EnvDrop []Item // names or patterns
	EnvSet           []Var  // sorted by name

	Where map[string]string // scalar key to the source of its value
}

// Set is the profiles that can be named. A name stands for a stack: a later
// layer's profile of the same name extends the earlier ones.
type Set map[string][]*Profile

// Names returns the names in order.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s)) }

// Module reports whether the profile called name only adds to others: a
// built-in module, and what files add to it under its name unless they make it
// extend a profile that is none.
func (s Set) Module(name string) bool {
	err := s.Walk(name, func(p *Profile, _ int) error {
		if !s.adds(p.Name) {
			return &Error{Source: p.Source, Text: "no module"}
		}
		return nil
	}, nil)
	return err == nil
}

// adds reports whether a name is a built-in module's.
func (s Set) adds(name string) bool { return len(s[name]) > 0 && s[name][0].Module }

// Holds reports whether a profile is among those that name stands for.
func (s Set) Holds(name, profile string) bool {
	found := false
	_ = s.Walk(name, func(p *Profile, _ int) error {
		found = found || p.Name == profile
		return nil
	}, nil)
	return found
}

// Flatten returns the profile called name with all its parents laid under it.
// It fails with a [*Error] for an unknown name or a cycle.
func (s Set) Flatten(name string) (*Profile, error) {
	out := &Profile{Name: name}
	if err := s.Walk(name, nil, out.add); err != nil {
		return nil, err
	}
	return out, nil
}

// maxDepth bounds a chain of extends; longer ones are a mistake.
const maxDepth = 32

// Walk visits the profiles that name stands for. It enters each with the number
// of names that lead to it, an error ends the walk then, and leaves it after its
// parents. Either may be nil.
func (s Set) Walk(name string, enter func(p *Profile, depth int) error, leave func(*Profile)) error {
	if _, ok := s[name]; !ok {
		return s.unknown(Error{Text: "no profile is called " + strconv.Quote(name)}, name)
	}
	return s.walk(name, nil, enter, leave)
}

func (s Set) walk(name string, path []string, enter func(*Profile, int) error, leave func(*Profile)) error {
	stack := s[name]
	if len(path) > maxDepth {
		return &Error{Source: stack[0].Source, Text: "extends is nested too deep"}
	}
	path = append(path, name)
	for _, p := range stack {
		if enter != nil {
			if err := enter(p, len(path)); err != nil {
				return err
			}
		}
		for _, parent := range p.Extends {
			// "moderate" in a file may extend the built-in of its own name,
			// which it does anyway.
			if parent == name && len(stack) > 1 {
				continue
			}
			if s.asBuiltIn(p, parent) {
				continue // genprofiles has put it into p
			}
			place := p.Where["extends."+parent]
			if _, ok := s[parent]; !ok {
				return s.unknown(Error{Source: cmp.Or(place, stack[0].Source), Text: "profile " +
					strconv.Quote(name) + ": extends " + strconv.Quote(parent) + ": no such profile"}, parent)
			}
			if at := slices.Index(path, parent); at >= 0 {
				return &Error{Source: cmp.Or(place, s[parent][0].Source), Text: "extends goes in a circle: " +
					strings.Join(append(path[at:], parent), " -> ")}
			}
			if err := s.walk(parent, path, enter, leave); err != nil {
				return err
			}
		}
		if leave != nil {
			leave(p)
		}
	}
	return nil
}

// asBuiltIn reports whether p takes its parent as it was shipped: what files
// say under the name of a module is about runs that name it, not about the
// built-in profiles. These names were free once, and a [profiles.node] with
// the network must not open it for everything.
func (s Set) asBuiltIn(p *Profile, parent string) bool {
	stack := s[parent]
	return p.Layer == Builtin && len(stack) > 0 && stack[0].Module
}

// unknown completes an error about a name that no profile has.
func (s Set) unknown(e Error, name string) error {
	if Bare(name) {
		e.Text += "; to run without a sandbox, use --no-sandbox"
		return &e
	}
	e.Known = s.Names()
	switch e.Near = text.Nearest(name, e.Known); {
	case name == "net" || name == "network":
		e.Near, e.Hint = "", "--net shares the network"
	case e.Near == "":
		e.Hint = "there are " + strings.Join(slices.DeleteFunc(s.Names(), s.adds), ", ") + "; sbx profiles lists modules, too"
	}
	return &e
}

// Bare reports whether a word asks, where an engine or a profile is named, for no sandbox.
func Bare(word string) bool {
	return slices.Contains([]string{"none", "passthrough", "noop", "off"}, word)
}

// Resolve adds up the selected profiles, then over (the settings of the
// environment and the command line), expands variables, and gives every
// switch a value.
func Resolve(set Set, selected []string, vars Vars, over ...*Profile) (*Policy, error) {
	sum, err := set.sum(selected, over)
	if err != nil {
		return nil, err
	}
	return sum.resolve(selected, vars)
}

// Values returns what Resolve adds up, less all that is about paths.
func (s Set) Values(selected []string, over ...*Profile) (*Profile, error) {
	sum, err := s.sum(selected, over)
	return &sum.Profile, err
}

func (s Set) sum(selected []string, over []*Profile) (sum layers, err error) {
	for _, name := range selected {
		var selected layers
		if err := s.Walk(name, selected.enter, selected.leave); err != nil {
			return sum, err
		}
		sum.addSelection(&selected)
	}
	for _, p := range over {
		sum.add(p)
	}
	return sum, nil
}

// Blocked is a policy that hides what any profile of the set hides, without the exceptions.
func (s Set) Blocked(vars Vars) (*Policy, error) {
	all := layers{blocks: true}
	for _, stack := range s {
		for _, p := range stack {
			all.parts = append(all.parts, part{Profile: p, first: len(all.parts)})
		}
	}
	return all.resolve(nil, vars)
}

func (p *layers) resolve(selected []string, vars Vars) (*Policy, error) {
	pol := &Policy{
		Profiles: selected, Devices: p.Devices.Items, EnvPass: p.EnvPass.Items, EnvDrop: p.EnvDrop.Items, EnvSet: slices.Clone(p.EnvSet),
		Where: p.Where,
	}
	pol.setScalars(&p.Profile)
	for i := range pol.EnvSet {
		v, _, err := vars.expand(pol.EnvSet[i].Value) // it need not be a path
		if err != nil {
			return nil, &Error{Source: p.Where["env_set."+pol.EnvSet[i].Name], Text: err.Error()}
		}
		pol.EnvSet[i].Value = v
	}
	slices.SortFunc(pol.EnvSet, func(a, b Var) int { return strings.Compare(a.Name, b.Name) })
	if err := pol.expandSeccomp(vars); err != nil {
		return nil, err
	}
	vars.Dirs = slices.DeleteFunc(append([]string{vars.CWD}, vars.Dirs...), func(dir string) bool { return dir == "" })
	vars.Dirs = slices.Compact(vars.Dirs) // the project may be the working directory
	pol.Dirs, pol.Members = vars.Dirs, vars.Members
	if pol.Scope == "cwd" {
		vars.Project = ""
	}
	err := pol.addRules(p, vars)
	if err == nil && !p.blocks && pol.closesProject(p, &vars) {
		pol.Rules, pol.Lent, vars.Project = nil, nil, ""
		err = pol.addRules(p, vars)
	}
	if pol.Project = vars.project(); pol.Project != vars.CWD && pol.Access(pol.Project) != Write {
		pol.Project = vars.CWD
	}
	pol.addHome()
	if err != nil || !pol.CWDReadOnly {
		return pol, err
	}
	return pol.ReadOnly(pol.Project), nil
}

// closesProject reports whether a profile makes the project writable, and what a
// person wrote takes that away from it or from the working directory: only the
// latter is meant then.
func (pol *Policy) closesProject(p *layers, vars *Vars) bool {
	granted := slices.ContainsFunc(p.parts, func(l part) bool {
		return slices.ContainsFunc(l.Write.Items, func(it Item) bool { return it.Text == "$PROJECT" })
	})
	if !granted || vars.project() == vars.CWD {
		return false
	}
	r, _ := pol.Decide(vars.CWD)
	return pol.Access(vars.Project) != Write || pol.Access(vars.CWD) != Write && r.Layer > Builtin
}

// defaultTmpfsMB bounds each private directory: memory is what it takes.
const defaultTmpfsMB = 2048

func (pol *Policy) addRules(p *layers, vars Vars) (err error) {
	p.findGrants(vars)
	n := 0
	for _, part := range p.parts {
		n += len(part.order())
	}
	// Twice as many leave room for what is added below: of memory, only what is written to counts.
	if pol.Rules, err = p.rules(make([]Rule, 0, 2*n), vars, nil); err != nil {
		return err
	}
	for _, other := range vars.others() {
		pol.Rules, _ = p.rules(pol.Rules, other, (*element).elsewhere)
	}
	pol.addAround(p, vars)
	pol.addDirs(p, vars)
	sortRules(pol.Rules)
	pol.unhide()
	pol.yield()
	pol.anchor(p, vars)
	pol.addLent(p, vars)
	pol.Rules = slices.CompactFunc(pol.Rules, func(a, b Rule) bool {
		return a.Path == b.Path && a.Access == b.Access && a.Except == b.Except && a.OfCWD == b.OfCWD &&
			(a.Layer == Flag) == (b.Layer == Flag)
	})
	return nil
}

// yield leaves out what built-in profiles open read-only in a directory that a
// flag makes writable: -w ~/go is about ~/go/pkg/mod, too. What they hide or
// protect there stays, and what they show in something hidden.
func (pol *Policy) yield() {
	writable := func(path string) bool {
		for dir := Dir(path); dir != "/"; dir = Dir(dir) {
			s := pol.literal(dir)
			switch r := s.Rule(); {
			case r == nil || r.Access == Read && r.Layer == Builtin:
			default:
				return r.Access == Write && r.Layer == Flag
			}
		}
		return false
	}
	flagged := func(r Rule) bool { return r.Access == Write && r.Layer == Flag }
	if !slices.ContainsFunc(pol.Rules, flagged) {
		return
	}
	var kept []Rule
	for _, r := range pol.Rules {
		if r.Access != Read || r.Layer != Builtin || r.Except || !writable(r.Path) {
			kept = append(kept, r)
		}
	}
	pol.Rules = kept
}

// unhide takes back what a built-in profile hides where another built-in one
// says "!" and the same path: the profile of a program shows that program's own
// login. Nothing that a person or an administrator hid is shown, and no file of
// theirs can do the same.
func (pol *Policy) unhide() {
	plain := func(r *Rule) bool { return r.Access == Block && r.Layer == Builtin && !r.Pattern }
	for i := 0; i < len(pol.Rules); i++ {
		if r := &pol.Rules[i]; !r.Except || !plain(r) {
			continue
		}
		first := i // an exception is sorted behind what it is about
		for first > 0 && pol.Rules[first-1].Path == pol.Rules[i].Path && !pol.Rules[first-1].Except &&
			plain(&pol.Rules[first-1]) {
			first--
		}
		pol.Rules = slices.Delete(pol.Rules, first, i)
		i = first
	}
}

// addDirs hides and protects in the other directories of the project what is hidden
// and protected in the working directory.
func (pol *Policy) addDirs(p *layers, vars Vars) {
	if len(vars.Dirs) < 2 && len(vars.Members) == 0 {
		return // the working directory alone
	}
	rules, _ := p.rules(nil, vars, func(it *element) bool {
		return (it.access == Block || it.access == Protect) && it.below("$CWD/")
	})
	add := func(dir string, m *Member) {
		for _, r := range rules {
			rest := strings.TrimPrefix(r.Path[len(vars.CWD):], "/")
			if first, _, _ := strings.Cut(rest, "/"); m == nil || m.Has(first) {
				r.Path = dir + "/" + rest
				pol.Rules = append(pol.Rules, r)
			}
		}
	}
	for _, dir := range vars.Dirs {
		if dir != vars.CWD {
			add(dir, nil)
		}
	}
	for i := range vars.Members {
		if m := &vars.Members[i]; !slices.Contains(vars.Dirs, m.Dir) {
			add(m.Dir, m)
		}
	}
}

// addAround hides in the outermost work tree what is hidden at the root of the
// work tree: a command can make a repository of the directory it works in, and
// that is the root then.
func (pol *Policy) addAround(p *layers, vars Vars) {
	if vars.Around == "" || vars.Around == vars.Root {
		return
	}
	vars.Root = vars.Around
	pol.Rules, _ = p.rules(pol.Rules, vars, func(it *element) bool { return it.access == Block && it.below("$ROOT/") })
}

// anchor hides and protects in the other trees that a person opened what is
// hidden and protected in the working directory: their .env is a secret and
// their .envrc is run later, too. What a built-in profile hides was opened by
// its name, as it is.
func (pol *Policy) anchor(p *layers, vars Vars) {
	var more []Rule
	for _, g := range pol.Rules {
		project := g.Access == Write && g.Layer > Builtin && !vars.cache(g.Path) || g.Access == Read && g.Layer == Flag
		if !project || g.Path == vars.CWD || slices.Contains(vars.Dirs, g.Path) || pol.underSecret(g.Path) {
			continue
		}
		there := vars
		there.CWD = g.Path
		more, _ = p.rules(more, there, func(it *element) bool {
			return it.below("$CWD/") && (it.access == Block || it.access == Protect && g.Access == Write)
		})
	}
	pol.insert(more...)
}

// underSecret reports whether path is or lies in what a built-in profile hides.
// A block of a later layer does not count: adding one must open nothing.
func (pol *Policy) underSecret(path string) bool {
	for dir := path; ; dir = Dir(dir) {
		for i := pol.from(dir); i < len(pol.Rules) && pol.Rules[i].Path == dir; i++ {
			if r := &pol.Rules[i]; r.Access == Block && r.Layer == Builtin && !r.Except && !r.Pattern {
				return true
			}
		}
		if dir == "/" {
			return false
		}
	}
}

// ReadOnly returns the policy with the working directory read-only: no rule
// of a file makes anything in it writable. What a flag names stays writable.
func (pol *Policy) ReadOnly(cwd string) *Policy {
	out := *pol
	out.Rules = slices.Clone(pol.Rules)
	for i, r := range out.Rules {
		if r.Access == Write && r.Layer != Flag && Within(r.Path, cwd) {
			out.Rules[i].Access, out.Rules[i].Source = Read, cmp.Or(pol.Where["read_only"], "--read-only")
		}
	}
	sortRules(out.Rules)
	return &out
}

// Error is a mistake in what a person wrote.
type Error struct {
	Source string   // file:line:col, a flag, or "" when there is none
	Text   string   // one line
	Near   string   // what was probably meant, or ""
	Known  []string // what could have been written, or nil
	Hint   string   // what to do about it, or ""
}

func (e *Error) Error() string {
	s := e.Text
	if e.Source != "" {
		s = e.Source + ": " + s
	}
	if e.Near != "" {
		s += " (did you mean " + strconv.Quote(e.Near) + "?)"
	}
	return s
}
