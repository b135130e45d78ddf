package wrap

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sbx-sandbox/sbx/policy"
)

// view is what the files look like inside: the rules of a policy, laid on the
// paths of a host.
type view struct {
	res    *resolver
	host   *Host
	mounts []mount // parents before children; no two with one path
	links  []link  // to be made inside, since the directory they lie in is not the host's
	gaps   []string
	listed string // the directory that list looked at last
	remap  string // where the working directory is seen; "" is where it is
}

// mount is one rule at its canonical path.
type mount struct {
	path string
	info Info
	rule policy.Rule
	src  string        // where the content comes from; "" is path itself
	pin  bool          // bound onto itself so that it cannot be renamed away
	over int           // index of the mount it lies in, -1 for none
	eff  policy.Access // see weigh
}

// look lays the rules of pol over the host.
func look(pol *policy.Policy, host *Host, res *resolver) (*view, error) {
	v := &view{res: res, host: host}
	found, err := v.locate(pol)
	if err != nil {
		return nil, err
	}
	if err := v.vet(pol, found); err != nil {
		return nil, err
	}
	v.settle(found)
	v.pin()
	v.keepLinks(found)
	v.looseLinks(found)
	return v, nil
}

// remapTo shows the working directory at another path, which has to be one
// that no rule says anything about.
func (v *view) remapTo(path string) error {
	if path == "" || path == v.host.CWD {
		return nil
	}
	_, under := v.above(path)
	_, taken := v.find(path)
	for _, own := range []string{"/proc", "/dev", "/run"} {
		taken = taken || policy.Within(path, own)
	}
	if path[0] != '/' || path == "/" || under || taken {
		return &Error{StatusFailed, "--workspace: " + policy.Plain(path) + " is not a free place in the sandbox", "use a new name at the top, like /workspace"}
	}
	v.remap = path
	return nil
}

// inside is where a path of the host is seen in the sandbox.
func (v *view) inside(path string) string {
	if v.remap == "" || !policy.Within(path, v.host.CWD) {
		return path
	}
	return v.remap + path[len(v.host.CWD):]
}

// looseLinks reports the protected and hidden names that are links in a
// writable directory: where they lead is safe, the name itself can be replaced.
func (v *view) looseLinks(found []place) {
	for _, p := range found {
		if p.rule.Access != policy.Protect && p.rule.Access != policy.Block || len(p.to.Links) == 0 {
			continue
		}
		if l := p.to.Links[len(p.to.Links)-1]; v.access(policy.Dir(l.Path)) == policy.Write {
			v.gaps = append(v.gaps, policy.Plain(l.Path)+" is a link in a writable directory: what it leads to is protected, the link can be replaced")
		}
	}
}

// place is a rule with where it leads.
type place struct {
	rule policy.Rule
	to   resolved
	skip bool
}

// locate resolves every rule, patterns replaced by what they match.
func (v *view) locate(pol *policy.Policy) ([]place, error) {
	out := make([]place, 0, 64)
	for i, r := range pol.Rules {
		v.list(pol.Rules[i:])
		if r.Except {
			continue
		}
		if r.Pattern {
			matches, err := v.expand(pol, r)
			if err != nil {
				return nil, err
			}
			out = append(out, matches...)
			continue
		}
		to, err := v.res.resolve(r.Path)
		if err != nil {
			return nil, ruleError(r, err)
		}
		if to.Info.Kind == Absent && r.Must {
			return nil, ruleError(r, v.absent(r))
		}
		if to.Info.Kind == Absent && r.Access != policy.Private && len(to.Links) == 0 {
			continue // most secrets are not there
		}
		out = append(out, place{rule: r, to: to})
	}
	return out, nil
}

// list reads a directory of which many rules name an entry, most of them
// absent: one look in place of one for each. Rules are sorted, so those about
// one directory begin together.
func (v *view) list(rules []policy.Rule) {
	const many = 12
	dir := policy.Dir(rules[0].Path)
	if dir == v.listed || len(rules) < many {
		return
	}
	v.listed = dir
	if last := rules[many-1].Path; !policy.Within(last, dir) {
		return
	}
	if to, err := v.res.resolve(dir); err == nil && to.Info.Kind == Dir {
		v.res.list(to.Path)
	}
}

func (v *view) absent(r policy.Rule) error {
	return errors.New(policy.Plain(r.Path) + ": no such file or directory")
}

func ruleError(r policy.Rule, err error) error {
	return &Error{Status: StatusFailed, Text: r.Source + ": " + err.Error()}
}

func (v *view) expand(pol *policy.Policy, r policy.Rule) ([]place, error) {
	dir, err := v.res.resolve(policy.Dir(r.Path))
	if err != nil || dir.Info.Kind != Dir {
		return nil, err
	}
	names, err := v.res.names(dir.Path)
	if err != nil {
		if !v.host.FS.Access(dir.Path, 'r') {
			return nil, nil // the sandbox cannot list it either, but may guess names: see docs
		}
		return nil, ruleError(r, err)
	}
	var out []place
	pattern := base(r.Path)
	for _, n := range names {
		if !policy.Match(pattern, n) {
			continue
		}
		path := join(policy.Dir(r.Path), n)
		if d, _ := pol.Decide(path); d.Path != r.Path || d.Access != r.Access {
			continue // an exception, or a stronger rule at this very path
		}
		to, err := v.res.resolve(path)
		if err != nil {
			// A link that leads in circles hides nothing.
			if errors.As(err, new(loopError)) {
				continue
			}
			return nil, ruleError(r, err)
		}
		out = append(out, place{rule: r, to: to})
	}
	return out, nil
}

// vet drops or refuses grants that a link leads somewhere they were not meant
// to go. A link is data of whoever could write the directory it lies in.
func (v *view) vet(pol *policy.Policy, found []place) error {
	for i := range found {
		p := &found[i]
		if p.rule.Access != policy.Read && p.rule.Access != policy.Write || p.to.Info.Kind == Absent {
			continue
		}
		if err := v.vetPlace(p.to.Path); err != nil {
			return ruleError(p.rule, err)
		}
		if p.rule.Access == policy.Write && p.rule.Layer != policy.Builtin {
			if err := v.host.writable(p.to.Path); err != nil {
				return ruleError(p.rule, err)
			}
		}
		if len(p.to.Links) == 0 {
			continue
		}
		if err := v.vetLinks(pol, found, p); err != nil {
			if p.rule.Layer != policy.Builtin {
				return ruleError(p.rule, err)
			}
			p.skip = true
			v.gaps = append(v.gaps, p.rule.Source+": not opened: "+err.Error())
		}
	}
	return nil
}

// vetPlace refuses what is not a place for binds: /proc and /dev belong to the
// sandbox, and a bind of the host's would undo that.
func (v *view) vetPlace(path string) error {
	for _, dir := range []string{"/proc", "/dev"} {
		if policy.Within(path, dir) {
			return fmt.Errorf("%s: %s is the sandbox's own and cannot be opened", policy.Plain(path), dir)
		}
	}
	return nil
}

func (v *view) vetLinks(pol *policy.Policy, found []place, p *place) error {
	named, to := policy.Plain(p.rule.Path), policy.Plain(p.to.Path)
	for i := range found {
		b := &found[i]
		if b.rule.Access != policy.Block || b.to.Info.Kind == Absent || !policy.Within(p.to.Path, b.to.Path) {
			continue
		}
		if !policy.Within(p.rule.Path, b.rule.Path) {
			return fmt.Errorf("%s leads to %s, which is hidden (%s); to open it, name it", named, to, b.rule.Source)
		}
	}
	for _, l := range p.to.Links {
		d, ok := pol.Decide(policy.Dir(l.Path))
		if ok && d.Access == policy.Write && !policy.Within(p.to.Path, d.Path) {
			return fmt.Errorf("%s is a link to %s in a directory the sandbox can write; to open the target, name it", policy.Plain(l.Path), to)
		}
		if p.rule.Access == policy.Write && p.rule.Layer != policy.Builtin && !v.host.trustedLink(l) {
			return fmt.Errorf("%s is a link to %s; to make the target writable, name it", policy.Plain(l.Path), to)
		}
	}
	return nil
}

// settle keeps one rule for each canonical path and sorts parents first.
func (v *view) settle(found []place) {
	at := make(map[string]int, len(found))
	for _, p := range found {
		absent := p.to.Info.Kind == Absent
		if p.skip || absent && p.rule.Access != policy.Private {
			continue
		}
		if i, ok := at[p.to.Path]; ok {
			if p.rule.Beats(v.mounts[i].rule) {
				v.mounts[i].rule = p.rule
			}
			continue
		}
		at[p.to.Path] = len(v.mounts)
		v.mounts = append(v.mounts, mount{path: p.to.Path, info: p.to.Info, rule: p.rule})
	}
	v.sort()
}

// sort puts parents before children and works out what each mount amounts to.
func (v *view) sort() {
	slices.SortFunc(v.mounts, func(a, b mount) int { return comparePaths(a.path, b.path) })
	over := -1
	for i := range v.mounts {
		m := &v.mounts[i]
		for over >= 0 && !policy.Within(m.path, v.mounts[over].path) {
			over = v.mounts[over].over
		}
		m.over = over
		m.eff = v.weigh(m)
		over = i
	}
}

// weigh is a mount's access where it stands: protecting or hiding what nobody
// can see leaves it unseen.
func (v *view) weigh(m *mount) policy.Access {
	a := m.rule.Access
	if a != policy.Protect && a != policy.Block {
		return a
	}
	switch v.around(m) {
	case policy.Write:
		return a
	case policy.Read, policy.Protect:
		if a == policy.Protect {
			return policy.Read
		}
		return a
	}
	return policy.Unseen
}

// around is the access of what a mount lies in.
func (v *view) around(m *mount) policy.Access {
	if m.over < 0 {
		return policy.Unseen
	}
	return v.mounts[m.over].eff
}

// comparePaths orders by elements, so that everything below a directory comes
// right after it.
func comparePaths(a, b string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] == b[i] {
			continue
		}
		if a[i] == '/' {
			return -1
		}
		if b[i] == '/' {
			return 1
		}
		return int(a[i]) - int(b[i])
	}
	return len(a) - len(b)
}

// pin adds the directories between a writable tree and each rule inside it:
// without, `mv .git x` would take the protected files away and leave room for
// others.
func (v *view) pin() {
	var pins []mount
	have := make(map[string]bool)
	for i := range v.mounts {
		m := &v.mounts[i]
		if m.rule.Access == policy.Write || m.rule.Access == policy.Private || v.around(m) != policy.Write {
			continue
		}
		over := v.mounts[m.over]
		for dir := policy.Dir(m.path); dir != over.path && dir != "/"; dir = policy.Dir(dir) {
			if have[dir] {
				break
			}
			have[dir] = true
			r := policy.Rule{Path: dir, Access: policy.Write, Layer: m.rule.Layer, Source: m.rule.Source}
			pins = append(pins, mount{path: dir, info: Info{Kind: Dir}, rule: r, pin: true})
		}
	}
	if len(pins) > 0 {
		v.mounts = append(v.mounts, pins...)
		v.sort()
	}
}

// above returns the mount with the nearest path strictly above.
func (v *view) above(path string) (mount, bool) {
	for path != "/" {
		path = policy.Dir(path)
		if i, ok := v.find(path); ok {
			return v.mounts[i], true
		}
	}
	return mount{}, false
}

func (v *view) find(path string) (int, bool) {
	return slices.BinarySearchFunc(v.mounts, path, func(m mount, p string) int { return comparePaths(m.path, p) })
}

// access returns what may be done with a canonical path.
func (v *view) access(path string) policy.Access {
	if i, ok := v.find(path); ok {
		return v.mounts[i].eff
	}
	if m, ok := v.above(path); ok {
		return m.eff
	}
	return policy.Unseen
}

// shows reports whether the host's own file at a canonical path can be seen.
func shows(a policy.Access) bool {
	return a == policy.Read || a == policy.Write || a == policy.Protect
}

// keepLinks remembers the links that lead to something visible and that no
// bind brings along, for instance /bin -> usr/bin.
func (v *view) keepLinks(found []place) {
	for _, p := range found {
		a := p.rule.Access
		if a == policy.Block || a == policy.Protect || p.skip || !shows(v.access(p.to.Path)) && a != policy.Private {
			continue
		}
		v.addLinks(p.to.Links)
	}
}

func (v *view) addLinks(links []link) {
	for _, l := range links {
		if v.carries(l) {
			continue
		}
		switch v.access(policy.Dir(l.Path)) {
		case policy.Unseen, policy.Private:
			v.links = append(v.links, l)
		}
	}
}

// carries reports whether a link exists inside.
func (v *view) carries(l link) bool {
	if shows(v.access(policy.Dir(l.Path))) {
		return true
	}
	return slices.ContainsFunc(v.links, func(o link) bool { return o.Path == l.Path })
}

// visible resolves a path as the sandbox will see it. ok is false when it or
// a link on the way is not there inside.
func (v *view) visible(path string) (resolved, bool) {
	to, err := v.res.resolve(policy.Clean(path))
	if err != nil || to.Info.Kind == Absent || !shows(v.access(to.Path)) {
		return to, false
	}
	for _, l := range to.Links {
		if !v.carries(l) {
			return to, false
		}
	}
	return to, true
}
