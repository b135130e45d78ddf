// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// oracle says what a policy means for the canonical paths of a host, written
// down a second time and without regard to how a sandbox is built.
type oracle struct {
	fs    *fakeFS
	rules []oracleRule
	led   *oracle // with the grants that do not count
}

type oracleRule struct {
	policy.Rule
	name  string   // as named, or matched by a pattern
	at    string   // canonical
	links []string // canonical paths of the links on the way
}

// newOracle lays the rules on the host. A grant does not count when someone
// who can write in the sandbox could have made a link on its way, or when a
// link leads it into something hidden.
func newOracle(fs *fakeFS, pol *policy.Policy) *oracle {
	o := &oracle{fs: fs}
	for _, r := range pol.Rules {
		if r.Except {
			continue
		}
		names := []string{r.Path}
		if r.Pattern {
			names = matches(fs, pol, r)
		}
		for _, name := range names {
			at, n, links, err := fs.namei(name, true)
			if err == errFakeLoop || n == nil && r.Access != policy.Private {
				continue
			}
			o.rules = append(o.rules, oracleRule{r, name, at, links})
			if r.Access == policy.Block && r.Layer == policy.Builtin && !r.Pattern && n != nil && n.Kind == host.Dir && policy.Within(at, "/h") {
				o.farm(r, at)
			}
		}
	}
	o.led = &oracle{fs: fs, rules: slices.Clone(o.rules)}
	o.dropLed()
	return o
}

// farm hides what links in a hidden directory of the home lead to.
func (o *oracle) farm(r policy.Rule, dir string) {
	for path, n := range o.fs.nodes {
		if n.Kind != host.Link || policy.Dir(path) != dir || path == "/" {
			continue
		}
		at, to, _, err := o.fs.namei(path, true)
		if err == nil && to != nil && !policy.Within(at, dir) && (policy.Within(at, "/h") || policy.Within(at, "/w/p")) {
			o.rules = append(o.rules, oracleRule{r, at, at, nil})
		}
	}
}

func matches(fs *fakeFS, pol *policy.Policy, r policy.Rule) (out []string) {
	names, _ := fs.ReadDir(policy.Dir(r.Path))
	for _, e := range names {
		n := e.Name
		full := host.Join(policy.Dir(r.Path), n)
		except := slices.ContainsFunc(pol.Rules, func(e policy.Rule) bool {
			return e.Except && (e.Path == full || e.Pattern && policy.Dir(e.Path) == policy.Dir(full) && policy.Match(host.Base(e.Path), n))
		})
		if policy.Match(host.Base(r.Path), n) && !except {
			out = append(out, full)
		}
	}
	return out
}

func (o *oracle) dropLed() {
	all := o.rules
	var held []oracleRule
	o.rules = nil
	for _, r := range all {
		if len(r.links) == 0 || r.Access != policy.Read && r.Access != policy.Write {
			o.rules = append(o.rules, r)
		} else {
			held = append(held, r)
		}
	}
	good := func(r oracleRule) bool {
		others := &oracle{fs: o.fs, rules: slices.DeleteFunc(slices.Clone(o.rules), func(x oracleRule) bool { return x.Path == r.Path && x.Access == r.Access })}
		for _, l := range r.links {
			// What a person names on the command line may lead about in the tree.
			named := r.Layer == policy.Flag && r.Access == policy.Read && policy.Within(r.at, others.tree(l))
			if others.access(policy.Dir(l)) == policy.Write && !named {
				return false
			}
		}
		return !slices.ContainsFunc(all, func(b oracleRule) bool {
			named := policy.Within(r.name, b.name) && r.at == b.at+strings.TrimPrefix(r.name, b.name)
			return b.Access == policy.Block && policy.Within(r.at, b.at) && !named
		})
	}
	for _, r := range held {
		if good(r) {
			o.rules = append(o.rules, r)
		}
	}
	var kept []oracleRule
	for _, r := range o.rules {
		if len(r.links) == 0 || r.Access != policy.Read && r.Access != policy.Write || good(r) {
			kept = append(kept, r)
		}
	}
	o.rules = kept
}

// access decides: the deepest path, and there the strongest rule. Protecting
// takes writing away and gives nothing.
func (o *oracle) access(path string) policy.Access {
	a := policy.Unseen
	if path != "/" {
		a = o.access(policy.Dir(path))
	}
	var best *oracleRule
	protect := false
	for i := range o.rules {
		if r := &o.rules[i]; r.at == path && r.Access != policy.Protect && (best == nil || stronger(r.Rule, best.Rule)) {
			best = r
		}
	}
	for i := range o.rules {
		r := &o.rules[i]
		protect = protect || r.at == path && r.Access == policy.Protect && (best == nil || best.Layer != policy.Flag)
	}
	if best != nil && (best.Access != policy.Block || view.Shows(a)) {
		a = best.Access
	}
	if protect && a == policy.Write {
		a = policy.Protect
	}
	return a
}

// stronger reports whether r decides over e at one path: a flag, then what
// names the path itself, then the tighter access.
func stronger(r, e policy.Rule) bool {
	if rf, ef := r.Layer == policy.Flag, e.Layer == policy.Flag; rf != ef {
		return rf
	}
	if r.Pattern != e.Pattern {
		return e.Pattern
	}
	return r.Access > e.Access
}

// tree is the writable tree that a path lies in.
func (o *oracle) tree(path string) string {
	for ; path != "/"; path = policy.Dir(path) {
		if slices.ContainsFunc(o.rules, func(r oracleRule) bool { return r.at == path && r.Access == policy.Write }) {
			break
		}
	}
	return path
}

// judge compares what a command finds with what the policy says.
func judge(o *oracle, p *engine.Plan) []string {
	s, err := simulate(o.fs, p)
	if err != nil {
		return []string{err.Error()}
	}
	bad := s.bad
	complain := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	found := map[string]seen{}
	for _, f := range s.all() {
		if f.path == p.CacheDst || p.CacheDst != "" && policy.Within(f.path, p.CacheDst) {
			continue // sbx's own directory under another name
		}
		if policy.Within(f.path, pid1.ReopenDir) {
			if f.write {
				complain("%s is writable", f.path)
			}
			continue // what the caller gave
		}
		if f.host == "" {
			private := slices.ContainsFunc(o.rules, func(r oracleRule) bool { return r.Access == policy.Private && policy.Within(f.path, r.at) })
			if f.write && f.kind == host.Dir && !private && !policy.Within(f.path, "/proc") {
				complain("%s is writable, and no rule says so", f.path)
			}
			continue
		}
		found[f.host] = f
		switch a, n := o.access(f.host), o.fs.nodes[f.host]; {
		case a == policy.Block && n.Kind != host.Dir && n.UID != o.fs.uid && !o.fs.may(n, 'r') && !o.fs.may(n, 'w'):
			// Not checked: the caller cannot open it either.
		case !view.Shows(a):
			complain("%s is visible, as %s; the policy says %s", f.host, f.path, a)
		case f.write && a != policy.Write:
			complain("%s is writable, as %s; the policy says %s", f.host, f.path, a)
		}
	}
	complete := !slices.ContainsFunc(p.Gaps, func(g string) bool { return strings.Contains(g, "not opened") })
	for _, path := range o.fs.paths() {
		a := o.access(path)
		f, ok := found[path]
		switch {
		case !complete || a != o.led.access(path) || o.fs.nodes[path].Kind == host.Link || policy.Within(path, "/proc") || policy.Within(path, "/dev"):
		case view.Shows(a) && !ok:
			complain("%s is not visible; the policy says %s", path, a)
		case a == policy.Write && !f.write:
			complain("%s is not writable; the policy says so", path)
		}
		// What is fixed inside a writable tree must stay at its place.
		if path != "/" && a != policy.Write && o.access(policy.Dir(path)) == policy.Write && o.fs.nodes[path].Kind != host.Link {
			bad = append(bad, loose(o, s, path)...)
		}
	}
	return bad
}

// loose reports the elements of a path that could be renamed.
func loose(o *oracle, s *sim, path string) (bad []string) {
	for p := path; p != "/"; p = policy.Dir(p) {
		at, kind, _ := s.walk(p, false)
		up, _, _ := s.walk(policy.Dir(p), false)
		if kind != host.Absent && at.rel != "" && up.hostPath() != "" && !up.m.ro {
			bad = append(bad, p+" can be renamed, and "+path+" with it")
		}
	}
	return bad
}
