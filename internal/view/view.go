// SPDX-License-Identifier: Apache-2.0

// Package view lays the rules of a policy on the paths of a host. The result, a
// view, is what the command sees: for each canonical path the access that the
// rules add up to, with the rule that decides.
//
// It refuses or drops grants that a link leads somewhere else, holds the
// directories above protected files in place, guards what git runs, hides secrets
// and sockets, filters the environment, and lists what has to be watched since it
// does not exist yet. It knows no engine's options: packages below engine turn a
// view into mounts, into rules of Landlock or into a profile of sandbox-exec.
//
// A view is about the files as they were when it was made; what another program
// of the same user swaps afterwards is for the engines to notice. Start with [New]
// in own.go.
package view

import (
	"errors"
	"slices"
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// View is what the files look like inside: the rules of a policy, laid on the
// paths of a host.
type View struct {
	Res              *host.Resolver
	Host             *host.Host
	Entries          []Entry    // parents before children; no two with one path
	Links            []host.Hop // to be made inside, since the directory they lie in is not the host's
	Gaps             []string
	Loose            []string      // gaps that someone may have made on purpose
	order            []int         // see sortFound
	replaceableLinks []host.Hop    // the links that those are about, at protected names
	listed           string        // the directory that list looked at last
	absentNames      []string      // where protected names would be
	AbsentGit        []string      // of these, what git would run or obey in a git directory
	patterns         []namePattern // patterns of protected names
	table            *host.MountTable
	remap            string     // where the working directory is seen; "" is where it is
	Watched          bool       // protected paths are watched in place of being made read-only
	NoMounts         bool       // there are no mounts: what is there is what the host has
	DenyAbsent       bool       // absent names and links can be hidden and protected: rules go by paths
	Root             string     // of the work tree
	passed           []string   // what variables name that a person lets through
	Project          string     // with ahead: the work tree, or the working directory
	HeldLinks        []host.Hop // with ahead: links at hidden and protected names, where the command could replace them

	Refused     map[string]string // grants that were not opened, by name, with the reason
	reserved    []reserved        // see isToolDir
	vetted      map[string]error  // what sources said
	stores      []string          // where sbx remembers runs; see ran
	silentRules []silentRule
	missing     []resolvedRule // what flags make writable and does not exist

	// Files of the project, see conceal.
	Hidden  []string
	Tracked []string // shown, since git tracks them unchanged
	Notes   []string // what a person should hear of, and is no gap
	Once    []string // the same, of what is so in each run
}

// silentRule is a rule about a path on a file system that gives no answer.
type silentRule struct {
	rule *policy.Rule
	at   *host.SilentError
}

// ignoreSilent notes a rule that nothing comes of, since no answer comes: what it hides
// or protects must not be visible at all then, and what it opens no one named.
func (v *View) ignoreSilent(r *policy.Rule, err error) bool {
	var e *host.SilentError
	if !errors.As(err, &e) || r.Must || IsGrant(r) && r.Layer != policy.Builtin {
		return false
	}
	if IsGrant(r) {
		v.Gaps = append(v.Gaps, r.Source+": not opened: "+e.Error())
	} else {
		v.silentRules = append(v.silentRules, silentRule{r, e})
	}
	return true
}

// build lays the rules of pol over the host. With ahead they go by paths, see
// [View.Ahead].
func build(pol *policy.Policy, h *host.Host, res *host.Resolver, ahead bool) (*View, error) {
	v := &View{Res: res, Host: h, DenyAbsent: ahead}
	found, err := v.resolveRules(pol)
	if err == nil {
		found, err = v.addAliases(found)
	}
	if err != nil {
		return nil, err
	}
	v.sortFound(found)
	if err := v.validateGrants(found); err != nil {
		return nil, err
	}
	for _, m := range v.missing {
		if !v.canMake(m.to) {
			return nil, failed(m.rule.Source+": "+text.Plain(m.name)+": no such file or directory",
				"for a directory, make it first: mkdir -p "+text.ShellWord(m.name))
		}
	}
	for _, m := range v.silentRules {
		// What is hidden or protected there cannot be found.
		if Shows(v.Access(m.at.Point)) {
			return nil, host.Silent(m.at, m.rule.Path, m.rule.Source)
		}
		if note := m.at.Error() + "; it stays hidden"; !slices.Contains(v.Notes, note) {
			v.Notes = append(v.Notes, note)
		}
	}
	v.pinParents()
	v.keepLinks(found)
	v.looseLinks(found)
	return v, nil
}

// canMake reports whether the command can make what does not exist.
func (v *View) canMake(at host.Resolved) bool {
	for _, l := range at.Links {
		if !v.Host.TrustedLink(l) && !v.Host.OwnLink(l) {
			return false
		}
	}
	dir, err := at, error(nil)
	for ; err == nil && dir.Info.Kind == host.Absent; dir, err = v.Res.Resolve(policy.Dir(dir.Path)) {
	}
	return err == nil && dir.Info.Kind == host.Dir && v.Access(at.Path) == policy.Write
}

// RemapTo shows the working directory at another path, which has to be one
// that no rule says anything about.
func (v *View) RemapTo(path, setting string) error {
	if path == "" || path == v.Host.CWD {
		return nil
	}
	if over := v.nearest(policy.Dir(v.Host.CWD)); v.Host.CWD != "/" && over != nil && Shows(over.Access) {
		return failed(setting+": the working directory lies in "+text.Plain(over.Path)+", which is visible at "+
			"its own place", "run from the root of the work tree, with a profile that does not show what is above")
	}
	taken := v.nearest(path) != nil || policy.WithinAny(path, "/proc", "/dev", "/run")
	if path[0] != '/' || path == "/" || taken {
		return failed(setting+": "+text.Plain(path)+" is not a free place in the sandbox",
			"use a new name at the top, like /workspace")
	}
	v.remap = path
	return nil
}

// Inside is where a path of the host is seen in the sandbox.
func (v *View) Inside(path string) string {
	if v.remap == "" || !policy.Within(path, v.Host.CWD) {
		return path
	}
	return v.remap + path[len(v.Host.CWD):]
}

// resolvedRule is a rule with where it leads.
type resolvedRule struct {
	rule *policy.Rule
	name string // as named; of a pattern, what it matched
	to   host.Resolved
	skip bool

	toolDir string // the directory that a variable named, see lend
	planted bool   // a command could have made a link on its way, but for other such grants
}

// resolveRules resolves every rule, patterns replaced by what they match.
func (v *View) resolveRules(pol *policy.Policy) (out []resolvedRule, err error) {
	out = make([]resolvedRule, 0, 64)
	for i := range pol.Rules {
		r := &pol.Rules[i]
		v.preloadDir(pol.Rules[i:])
		switch {
		case r.Except:
		case r.Pattern:
			out, err = v.expandPattern(out, pol, r)
		default:
			out, err = v.resolve(out, pol, r, r.Path)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// resolve adds a rule at a path that it names or matches.
func (v *View) resolve(out []resolvedRule, pol *policy.Policy, r *policy.Rule, name string) ([]resolvedRule, error) {
	to, err := v.Res.Resolve(name)
	absent := to.Info.Kind == host.Absent && !r.Pattern
	switch {
	case err == nil && !absent:
	case v.unreachable(r, err), r.Pattern && errors.As(err, new(host.LoopError)):
		return out, nil
	case err != nil && (r.Lent != 0 || v.ignoreSilent(r, err)):
		return out, nil
	case err != nil:
		return nil, RuleError(r, err)
	case absent && r.Must && r.Access == policy.Write:
		v.missing = append(v.missing, resolvedRule{rule: r, name: name, to: to})
		return out, nil
	case absent && r.Must:
		return nil, RuleError(r, errors.New(text.Plain(name)+": no such file or directory"))
	}
	if absent && r.Access == policy.Protect {
		v.absentNames = append(v.absentNames, to.Path)
		if FromGit(r) && gitdir.Obeyed(to.Path) {
			v.AbsentGit = append(v.AbsentGit, to.Path)
		}
	}
	if absent && r.Access != policy.Private && len(to.Links) == 0 && (IsGrant(r) || !v.DenyAbsent) ||
		v.PointsToSystem(r, to) {
		return out, nil // most secrets do not exist
	}
	at := resolvedRule{rule: r, name: name, to: to}
	if r.Lent != 0 {
		at.toolDir = pol.Lent[r.Lent-1]
	}
	out = append(out, at)
	if r.Access == policy.Block && to.Info.Kind == host.Dir {
		out = v.linkTargets(out, r, to)
	}
	return out, nil
}

// PointsToSystem reports whether a hidden name is a link to something that
// is no secret and that everything needs: ~/.bash_history to /dev/null, or
// what a command left so that nothing works any more.
func (v *View) PointsToSystem(r *policy.Rule, to host.Resolved) bool {
	if r.Access != policy.Block || r.Layer == policy.Flag || len(to.Links) == 0 || to.Path == r.Path {
		return false
	}
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/dev", "/proc", "/sys",
		"/nix/store", "/gnu/store"} {
		if policy.Within(to.Path, dir) && !policy.Within(to.Links[len(to.Links)-1].Path, dir) {
			return true
		}
	}
	return false
}

// linkTargets hides what the links in a hidden directory lead to: a link farm makes
// links of the files when the directory exists already.
func (v *View) linkTargets(out []resolvedRule, r *policy.Rule, dir host.Resolved) []resolvedRule {
	const large = 8 << 10
	if r.Layer != policy.Builtin || dir.Info.Size > large || !v.inHomes(dir.Path) {
		return out
	}
	entries, err := v.Res.Entries(dir.Path)
	if err != nil {
		return out // not the caller's to read
	}
	for _, e := range entries {
		if e.Kind != host.Link && e.Kind != host.Absent {
			continue
		}
		name := host.Join(dir.Path, e.Name)
		to, err := v.Res.Resolve(name)
		if err != nil || to.Info.Kind == host.Absent || to.Path == name || policy.Within(to.Path, dir.Path) ||
			v.PointsToSystem(r, to) {
			continue
		}
		if v.inHomes(to.Path) || policy.Within(to.Path, v.Host.CWD) {
			out = append(out, resolvedRule{rule: r, name: to.Path, to: host.Resolved{Path: to.Path, Info: to.Info}})
		}
	}
	return out
}

func (v *View) inHomes(path string) bool { return policy.WithinAny(path, v.Host.Homes...) }

// unreachable reports whether a rule's path cannot be reached in a way that no
// command can change: links in a circle, or a directory of another user's
// that may not be searched. One of the caller's own hides nothing, since the
// command can open it.
func (v *View) unreachable(r *policy.Rule, err error) bool {
	if err == nil {
		return false
	}
	var denied host.DeniedError
	switch {
	case errors.As(err, &denied):
		return !r.Must && (denied.UID != v.Host.UID || IsGrant(r) && r.Layer == policy.Builtin)
	case errors.As(err, new(host.LoopError)):
		return r.Layer == policy.Builtin
	}
	return false
}

// preloadDir reads a directory of which many rules name an entry, most of them
// absent: one look in place of one for each. Rules are sorted, so those about
// one directory begin together.
func (v *View) preloadDir(rules []policy.Rule) {
	const many = 12
	dir := policy.Dir(rules[0].Path)
	if dir == v.listed || len(rules) < many {
		return
	}
	v.listed = dir
	if policy.Within(rules[many-1].Path, dir) {
		v.Res.List(dir)
	}
}

// failed is an error of sbx's own, with what to do about it.
func failed(text, hint string) error {
	return &host.Error{Status: host.StatusFailed, Text: text, Hint: hint}
}

func RuleError(r *policy.Rule, err error) error {
	var e *host.SilentError
	if errors.As(err, &e) {
		return host.Silent(e, r.Path, r.Source)
	}
	return failed(r.Source+": "+err.Error(), "")
}

// expandPattern adds a rule at each path that it matches.
func (v *View) expandPattern(out []resolvedRule, pol *policy.Policy, r *policy.Rule) ([]resolvedRule, error) {
	dir, err := v.Res.Resolve(policy.Dir(r.Path))
	switch {
	case v.unreachable(r, err), err != nil && v.ignoreSilent(r, err), err == nil && dir.Info.Kind != host.Dir:
		return out, nil
	case err != nil:
		return nil, RuleError(r, err)
	}
	if IsGrant(r) && dir.Path != "/" && host.Replaceable(dir.Path) {
		return nil, RuleError(r, errors.New(text.Plain(r.Path)+": patterns open only what lies in / or in a directory "+
			"of the system, where no command can make another name"))
	}
	names, err := v.Res.Entries(dir.Path)
	if err != nil {
		if dir.Info.UID != v.Host.UID && !v.Host.FS.Access(dir.Path, 'r') {
			return out, nil // it stays so for the command
		}
		return nil, RuleError(r, err)
	}
	first, pattern := len(out), host.Base(r.Path)
	for _, n := range names {
		if !policy.Match(pattern, n.Name) {
			continue
		}
		path := host.Join(policy.Dir(r.Path), n.Name)
		if pol.Excepted(path) {
			continue
		}
		if out, err = v.resolve(out, pol, r, path); err != nil {
			return nil, err
		}
		if len(out)-first > maxMatches {
			return nil, RuleError(r, errors.New("more than "+strconv.Itoa(maxMatches)+" names match "+
				text.Plain(r.Path)+", too many to "+r.Access.String()+" one by one: move them into a "+
				"directory, and "+r.Access.String()+" that"))
		}
	}
	if r.Access == policy.Protect {
		v.patterns = append(v.patterns, namePattern{host.Join(dir.Path, pattern), out[first:]})
	}
	return out, nil
}

// maxMatches bounds what one pattern may match: each is a mount, and mounts cost
// quadratically.
const maxMatches = 512

// StrictWalls reports whether two walls are wanted where one would do.
func StrictWalls(pol *policy.Policy) bool { return pol.Seccomp == "strict" }
