// SPDX-License-Identifier: Apache-2.0

package landlock

import (
	"slices"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// ruleBuilder turns a view into rules of Landlock. A rule about a directory is about
// all that lies below it, so a directory with something in it that has fewer
// rights gets only what all of that has, and what is around that is named entry
// by entry: it is there when the plan is made or does not exist at all. Nothing
// is ever given that the view does not give.
type ruleBuilder struct {
	v       *view.View
	rulesOf []policy.Rule // of the policy
	rules   []landlock.Rule
	gaps    []string
	err     error

	frozen   []string          // writable directories in which nothing new can be made
	brief    map[string]string // as in [engine.Report]
	unlisted []string          // readable directories whose names cannot be read
	exposed  []string          // protected paths that can be changed, and are looked at afterwards
	copied   []string          // of these, and of names that do not exist, those that are put back
	moved    []string          // the directories that these lie in
	git      map[string]bool   // see ofGit
	links    []string          // that lead there, and can be changed
	hidden   []string          // paths whose directories are closed in any case
}

// region is a place with rights of its own.
type region struct {
	path  string
	allow landlock.FS
	info  host.Info
	dir   bool
	src   string // where the content is; "" is path
}

// maxCarved bounds the rules of a plan: each takes the kernel some microseconds.
const maxCarved = 16 << 10

// buildRules returns the rules for the files of a view.
func buildRules(v *view.View, pol *policy.Policy) (*ruleBuilder, error) {
	c := &ruleBuilder{v: v, rulesOf: pol.Rules}
	c.grant(region{path: "/", dir: true}, c.regions(), 0)
	return c, c.err
}

// regions are the places of the view that have a say, parents first. /dev and
// /proc are no matter of the policy's.
func (c *ruleBuilder) regions() []region {
	out := []region{{path: "/dev", dir: true}, {path: "/proc", dir: true}}
	for i := range c.v.Entries {
		if m := &c.v.Entries[i]; m.Access == policy.Block && !m.Redundant && !c.closed(m.Info, m.Path) {
			c.hidden = append(c.hidden, m.Path)
		}
	}
	for i := range c.v.Entries {
		m := &c.v.Entries[i]
		if m.Redundant || m.Pinned || policy.Within(m.Path, "/dev") || policy.Within(m.Path, "/proc") {
			continue
		}
		s := region{path: m.Path, info: m.Info, dir: m.Info.Kind == host.Dir, src: m.Src}
		switch m.Access {
		case policy.Write:
			s.allow = landlock.Write
		case policy.Protect, policy.Read:
			if c.v.Watched && c.expose(m) {
				continue
			}
			s.allow = landlock.Read
		case policy.Block:
			if c.closed(m.Info, m.Path) {
				continue
			}
		case policy.Private:
			if m.Info.Kind == host.Absent {
				continue
			}
		}
		if s.allow != 0 && (m.Info.Kind == host.Socket || c.v.Intended(host.Join(m.Path, "s"))) {
			s.allow |= landlock.ResolveUnix // elsewhere a socket is a service that no one named
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b region) int { return view.ComparePaths(a.path, b.path) })
	return out
}

// expose notes what the command can change in a writable directory, and the directories
// that could be taken away with it: built-in protected paths, and what the user shows
// that would be hidden. What git runs, and what is shown, is put back after the run; that
// a copy can be kept of it is the condition. The rest is looked at.
func (c *ruleBuilder) expose(m *view.Entry) bool {
	path, dir, git := m.Path, policy.Dir(m.Path), c.ofGit()
	shown := m.Access == policy.Read && c.unhidden(m)
	builtin := m.Access == policy.Protect && m.Rule.Layer == policy.Builtin && m.Rule.Source != "secrets"
	if !shown && !(builtin && (git[path] || policy.Within(path, c.v.Root))) {
		return false // the user's own word, sbx's own directories, and trees that were opened besides
	}
	covers := func(outer string) bool { return policy.Within(path, outer) }
	if c.v.Access(dir) != policy.Write && !slices.ContainsFunc(c.exposed, covers) ||
		slices.ContainsFunc(c.hidden, func(h string) bool { return policy.Within(h, dir) }) {
		return false // closing the directory costs nothing
	}
	keep := shown
	for at := range git { // husky's hooks lie in .husky/_, and run what is in .husky
		keep = keep || policy.Within(at, path)
	}
	if nodes, bytes := 512, int64(1<<20); keep && !slices.ContainsFunc(c.copied, covers) {
		if c.fits(path, m.Info, &nodes, &bytes) {
			c.copied = append(c.copied, path)
		} else if shown || git[path] {
			return false
		}
	}
	c.exposed = append(c.exposed, path)
	c.movable(path)
	return true
}

// unhidden reports whether an entry is shown that a built-in profile hides: by the user, or
// since git tracks it.
func (c *ruleBuilder) unhidden(m *view.Entry) bool {
	return m.Rule.Source == view.SourceTracked || m.Rule.Layer != policy.Builtin && slices.ContainsFunc(c.rulesOf, func(r policy.Rule) bool {
		return r.Access == policy.Block && r.Layer == policy.Builtin && (r.Path == m.Path ||
			r.Pattern && policy.Dir(r.Path) == policy.Dir(m.Path) && policy.Match(host.Base(r.Path), host.Base(m.Path)))
	})
}

// ofGit are the places that the policy protects because git obeys them, wherever links
// lead. The links on the way can be changed as well, so copies are kept of them too.
func (c *ruleBuilder) ofGit() map[string]bool {
	if c.git != nil {
		return c.git
	}
	c.git = map[string]bool{}
	for i := range c.rulesOf {
		r := &c.rulesOf[i]
		if r.Access != policy.Protect || !view.FromGit(r) {
			continue
		}
		to, err := c.v.Res.Resolve(r.Path)
		if c.git[r.Path] = true; err != nil {
			continue
		}
		c.git[to.Path] = true
		for _, l := range to.Links {
			if c.v.Access(policy.Dir(l.Path)) == policy.Write && !slices.Contains(c.links, l.Path) {
				c.links = append(c.links, l.Path)
			}
		}
	}
	return c.git
}

// movable notes the directories above a path that the command can move away or make.
func (c *ruleBuilder) movable(path string) {
	for dir := policy.Dir(path); c.v.Access(policy.Dir(dir)) == policy.Write &&
		!slices.Contains(c.moved, dir); dir = policy.Dir(dir) {
		c.moved = append(c.moved, dir)
	}
}

// fits reports whether a copy of a file or directory is small enough to be kept.
func (c *ruleBuilder) fits(path string, info host.Info, nodes *int, bytes *int64) bool {
	*nodes--
	if info.Kind == host.File {
		*bytes -= info.Size
	}
	if info.Kind != host.Dir || *nodes < 0 {
		return *nodes >= 0 && *bytes >= 0
	}
	entries, err := c.v.Res.Entries(path)
	for _, e := range entries {
		below := host.Join(path, e.Name)
		info, err := c.v.Host.FS.Lstat(below)
		if err != nil || !c.fits(below, info, nodes, bytes) {
			return false
		}
	}
	return err == nil
}

// closed reports whether the caller cannot use what is hidden, and neither can
// the command then. What is the caller's own he could open to himself.
func (c *ruleBuilder) closed(info host.Info, path string) bool {
	h := c.v.Host
	return h.UID != 0 && info.UID != h.UID && !h.FS.Access(path, 'r') && !h.FS.Access(path, 'w') &&
		(info.Kind != host.Dir || !h.FS.Access(path, 'x'))
}

// grant gives s its rights, of which have exists already, and the spots below
// it theirs.
func (c *ruleBuilder) grant(s region, below []region, have landlock.FS) {
	if c.err != nil {
		return
	}
	// What all of it may have. A hidden file does not keep its directory from
	// being listed; a hidden directory would be listed as well.
	all := s.allow
	for _, b := range below {
		lack := s.allow &^ b.allow
		if !b.dir {
			lack &^= landlock.ReadDir
		}
		all &^= lack
	}
	if all&^have != 0 {
		c.rule(s, all)
	}
	if s.allow == all {
		each(below, func(b region, deeper []region) { c.grant(b, deeper, have|all) })
		return
	}
	if s.allow&landlock.MakeReg != 0 && all&landlock.MakeReg == 0 {
		c.frozen = append(c.frozen, s.path)
	}
	if s.allow&landlock.ReadDir != 0 && all&landlock.ReadDir == 0 {
		c.unlisted = append(c.unlisted, s.path)
	}
	entries, err := c.v.Res.Entries(s.path)
	if err != nil {
		c.gaps = append(c.gaps, text.Plain(s.path)+" cannot be listed by you, so only what the policy names in it is open")
	}
	named := func(path string) bool {
		return slices.ContainsFunc(below, func(b region) bool { return policy.Within(b.path, path) })
	}
	for _, e := range entries {
		path := host.Join(s.path, e.Name)
		if e.Kind == host.Link || named(path) || c.silent(path) {
			continue
		}
		c.rule(region{path: path}, s.allow)
	}
	for i := 0; i < len(below); {
		top := host.Child(s.path, below[i].path)
		n := i + 1
		for n < len(below) && policy.Within(below[n].path, top) {
			n++
		}
		if below[i].path == top {
			c.grant(below[i], below[i+1:n], have|all)
		} else { // on the way to a spot
			c.grant(region{path: top, allow: s.allow, dir: true}, below[i:n], have|all)
		}
		i = n
	}
}

// silent leaves out an entry on a file system that gives no answer: not even a
// rule can be made about it.
func (c *ruleBuilder) silent(path string) bool {
	err := c.v.Host.Reach(path)
	if err != nil {
		c.gaps = append(c.gaps, err.Error()+": it is closed in this run")
	}
	return err != nil
}

// each calls do for the topmost spots, with those below each.
func each(spots []region, do func(s region, below []region)) {
	for i := 0; i < len(spots); {
		n := i + 1
		for n < len(spots) && policy.Within(spots[n].path, spots[i].path) {
			n++
		}
		do(spots[i], spots[i+1:n])
		i = n
	}
}

func (c *ruleBuilder) rule(s region, allow landlock.FS) {
	if len(c.rules) == maxCarved {
		c.err = engine.Fail("Landlock cannot take anything out of a directory, and the entries around what is hidden or protected are too many to be named ("+text.Plain(policy.Dir(s.path))+")", "move what is hidden or protected into a directory of its own")
		return
	}
	r := landlock.Rule{Path: s.path, Allow: allow, Fleeting: s.info.Ino == 0 && s.src == ""}
	if s.src != "" {
		r.Path = s.src
	} else if s.info.Ino != 0 && host.Replaceable(s.path) {
		r.Dev, r.Ino = s.info.Dev, s.info.Ino
	}
	c.rules = append(c.rules, r)
}
