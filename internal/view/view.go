package view

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// View is what the files look like inside: the rules of a policy, laid on the
// paths of a host.
type View struct {
	Res      *host.Resolver
	Host     *host.Host
	Mounts   []Mount    // parents before children; no two with one path
	Links    []host.Hop // to be made inside, since the directory they lie in is not the host's
	Gaps     []string
	Loose    []string   // gaps that somebody may have made on purpose
	loosened []host.Hop // the links that those are about, at protected names
	listed   string     // the directory that list looked at last
	vacant   []string   // where protected names would be
	family   []family   // patterns of protected names
	table    *host.MountTable
	remap    string     // where the working directory is seen; "" is where it is
	Watched  bool       // protected paths are watched in the place of being made read-only
	Bare     bool       // there are no mounts: what is there is what the host has
	Ahead    bool       // what is not there can be hidden and protected all the same, and so can links: rules go by paths
	Root     string     // of the work tree
	let      []string   // what variables name that a person lets through
	Project  string     // with ahead: the work tree, or the working directory
	Nailed   []host.Hop // with ahead: links at hidden and protected names, where the command could replace them

	Refused map[string]string // grants that were not opened, by name, with the reason
	kept    []kept            // what no variable opens, canonical; see lendable
	homes   []string          // canonical; see lendable
	vetted  map[string]error  // what sources said
	stores  []string          // where sbx remembers runs; see ran
	muted   []muted

	// Files of the project, see conceal.
	Hidden  []string
	Tracked []string // shown, since git tracks them unchanged
	Notes   []string // what a person should hear of, and is no gap
	Once    []string // the same, of what is so in each run
}

// Mount is what the rules say at one canonical path.
type Mount struct {
	Path  string
	Info  host.Info
	rules policy.Stand
	Rule  *policy.Rule  // the one that decides
	Src   string        // where the content comes from; "" is path itself
	Pin   bool          // bound onto itself so that it cannot be renamed away
	Over  int           // index of the mount it lies in, -1 for none
	Eff   policy.Access // see weigh
	Idle  bool          // it changes nothing where it stands
	Blank bool          // hidden, and an empty file in the place of one that cannot be opened

	Copied bool   // a file that is shown as a copy
	Copy   []byte // its content
}

// muted is a rule about a path on a file system that gives no answer.
type muted struct {
	rule *policy.Rule
	at   *host.SilentError
}

// mute notes a rule that nothing comes of, since no answer comes: what it hides
// or protects must not be visible at all then, and what it opens nobody named.
func (v *View) mute(r *policy.Rule, err error) bool {
	var e *host.SilentError
	if !errors.As(err, &e) || r.Must || IsGrant(r) && r.Layer != policy.Builtin {
		return false
	}
	if IsGrant(r) {
		v.Gaps = append(v.Gaps, r.Source+": not opened: "+e.Error())
	} else {
		v.muted = append(v.muted, muted{r, e})
	}
	return true
}

// look lays the rules of pol over the host. With ahead they go by paths, see
// [View.Ahead].
func look(pol *policy.Policy, h *host.Host, res *host.Resolver, ahead bool) (*View, error) {
	v := &View{Res: res, Host: h, Ahead: ahead}
	found, err := v.locate(pol)
	if err == nil {
		found, err = v.elsewhere(found)
	}
	if err != nil {
		return nil, err
	}
	if err := v.vet(found); err != nil {
		return nil, err
	}
	for _, m := range v.muted {
		// What is hidden or protected there cannot be found.
		if Shows(v.Access(m.at.Point)) {
			return nil, host.Silent(m.at, m.rule.Path, m.rule.Source)
		}
		if note := m.at.Error() + "; it stays hidden"; !slices.Contains(v.Notes, note) {
			v.Notes = append(v.Notes, note)
		}
	}
	v.pin()
	v.keepLinks(found)
	v.looseLinks(found)
	return v, nil
}

// RemapTo shows the working directory at another path, which has to be one
// that no rule says anything about.
func (v *View) RemapTo(path string) error {
	if path == "" || path == v.Host.CWD {
		return nil
	}
	if over, ok := v.above(v.Host.CWD); ok && Shows(over.Eff) {
		return &host.Error{Status: host.StatusFailed, Text: "--workspace: the working directory lies in " + policy.Plain(over.Path) + ", which is visible at its own place", Hint: "run from the root of the work tree, with a profile that does not show what is above"}
	}
	_, under := v.above(path)
	_, taken := v.Find(path)
	for _, own := range []string{"/proc", "/dev", "/run"} {
		taken = taken || policy.Within(path, own)
	}
	if path[0] != '/' || path == "/" || under || taken {
		return &host.Error{Status: host.StatusFailed, Text: "--workspace: " + policy.Plain(path) + " is not a free place in the sandbox", Hint: "use a new name at the top, like /workspace"}
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

// looseLinks reports the protected and hidden names that are links in a
// writable directory: where they lead is safe, the name itself can be replaced.
func (v *View) looseLinks(found []place) {
	for _, p := range found {
		if p.rule.Access != policy.Protect && p.rule.Access != policy.Block || len(p.to.Links) == 0 {
			continue
		}
		for _, l := range p.to.Links {
			if v.Access(policy.Dir(l.Path)) != policy.Write {
				continue
			}
			if v.Ahead {
				v.Nailed = append(v.Nailed, l)
				continue
			}
			if p.rule.Access == policy.Protect && !p.rule.Pattern { // those of patterns are watched as such
				v.loosened = append(v.loosened, l)
			}
			v.Loose = append(v.Loose, policy.Plain(l.Path)+" is a link in a writable directory: what it leads to is "+p.rule.Access.String()+"ed now, but the command can replace the link")
		}
	}
}

// place is a rule with where it leads.
type place struct {
	rule *policy.Rule
	name string // as named; of a pattern, what it matched
	to   host.Resolved
	skip bool

	lent    string // the directory that a variable named, see lend
	planted bool   // a command could have made a link on its way, but for other such grants
}

// locate resolves every rule, patterns replaced by what they match.
func (v *View) locate(pol *policy.Policy) ([]place, error) {
	out := make([]place, 0, 64)
	for i := range pol.Rules {
		r := &pol.Rules[i]
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
		to, err := v.Res.Resolve(r.Path)
		if v.nowhere(r, err) || err != nil && (r.Lent != 0 || v.mute(r, err)) {
			continue
		}
		if err != nil {
			return nil, RuleError(r, err)
		}
		if to.Info.Kind == host.Absent && r.Must {
			return nil, RuleError(r, absent(r))
		}
		if to.Info.Kind == host.Absent && r.Access == policy.Protect {
			v.vacant = append(v.vacant, to.Path)
		}
		if to.Info.Kind == host.Absent && r.Access != policy.Private && len(to.Links) == 0 && (IsGrant(r) || !v.Ahead) {
			continue // most secrets are not there
		}
		if v.Astray(r, to) {
			continue
		}
		at := place{rule: r, name: r.Path, to: to}
		if r.Lent != 0 {
			at.lent = pol.Lent[r.Lent-1]
		}
		out = append(out, at)
		if r.Access == policy.Block && to.Info.Kind == host.Dir {
			out = v.farm(out, r, to)
		}
	}
	return out, nil
}

// Astray reports whether a hidden name is a link to something that
// is no secret and that everything needs: ~/.bash_history to /dev/null, or
// what a command left so that nothing works any more.
func (v *View) Astray(r *policy.Rule, to host.Resolved) bool {
	if r.Access != policy.Block || r.Layer == policy.Flag || len(to.Links) == 0 || to.Path == r.Path {
		return false
	}
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/dev", "/proc", "/sys", "/nix/store", "/gnu/store"} {
		if policy.Within(to.Path, dir) && !policy.Within(to.Links[len(to.Links)-1].Path, dir) {
			return true
		}
	}
	return false
}

// farm hides what the links in a hidden directory lead to: a link farm makes
// links of the files when the directory is there already.
func (v *View) farm(out []place, r *policy.Rule, dir host.Resolved) []place {
	const large = 8 << 10
	if r.Layer != policy.Builtin || dir.Info.Size > large || !slices.ContainsFunc(v.Host.Homes, func(home string) bool { return policy.Within(dir.Path, home) }) {
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
		if err == nil && to.Info.Kind != host.Absent && to.Path != name && !policy.Within(to.Path, dir.Path) && v.inHomes(to.Path) && !v.Astray(r, to) {
			out = append(out, place{rule: r, name: to.Path, to: host.Resolved{Path: to.Path, Info: to.Info}})
		}
	}
	return out
}

func (v *View) inHomes(path string) bool {
	return slices.ContainsFunc(v.Host.Homes, func(home string) bool { return policy.Within(path, home) }) || policy.Within(path, v.Host.CWD)
}

// nowhere reports whether a rule's path cannot be reached in a way that no
// command can change: links in a circle, or a directory of somebody else's
// that may not be searched. One of the caller's own hides nothing, since the
// command can open it.
func (v *View) nowhere(r *policy.Rule, err error) bool {
	var denied host.DeniedError
	switch {
	case errors.As(err, &denied):
		return !r.Must && (denied.UID != v.Host.UID || IsGrant(r) && r.Layer == policy.Builtin)
	case errors.As(err, new(host.LoopError)):
		return r.Layer == policy.Builtin
	}
	return false
}

// list reads a directory of which many rules name an entry, most of them
// absent: one look in place of one for each. Rules are sorted, so those about
// one directory begin together. A large directory costs more than that.
func (v *View) list(rules []policy.Rule) {
	const many, large = 12, 8 << 10
	dir := policy.Dir(rules[0].Path)
	if dir == v.listed || len(rules) < many {
		return
	}
	v.listed = dir
	if last := rules[many-1].Path; !policy.Within(last, dir) {
		return
	}
	if to, err := v.Res.Resolve(dir); err == nil && to.Info.Kind == host.Dir && to.Info.Size <= large {
		v.Res.List(to.Path)
	}
}

func absent(r *policy.Rule) error {
	return errors.New(policy.Plain(r.Path) + ": no such file or directory")
}

func RuleError(r *policy.Rule, err error) error {
	var e *host.SilentError
	if errors.As(err, &e) {
		return host.Silent(e, r.Path, r.Source)
	}
	return &host.Error{Status: host.StatusFailed, Text: r.Source + ": " + err.Error()}
}

func (v *View) expand(pol *policy.Policy, r *policy.Rule) ([]place, error) {
	dir, err := v.Res.Resolve(policy.Dir(r.Path))
	if v.nowhere(r, err) || err != nil && v.mute(r, err) {
		return nil, nil
	}
	if err != nil {
		return nil, RuleError(r, err)
	}
	if dir.Info.Kind != host.Dir {
		return nil, nil
	}
	names, err := v.Res.Entries(dir.Path)
	if err != nil {
		if dir.Info.UID != v.Host.UID && !v.Host.FS.Access(dir.Path, 'r') {
			return nil, nil // it stays so for the command
		}
		return nil, RuleError(r, err)
	}
	var out []place
	pattern := host.Base(r.Path)
	if r.Access == policy.Protect {
		defer func() { v.family = append(v.family, family{host.Join(dir.Path, pattern), out}) }()
	}
	for _, n := range names {
		if !policy.Match(pattern, n.Name) {
			continue
		}
		path := host.Join(policy.Dir(r.Path), n.Name)
		if pol.Excepted(path) {
			continue
		}
		to, err := v.Res.Resolve(path)
		if err != nil {
			if v.nowhere(r, err) || errors.As(err, new(host.LoopError)) {
				continue
			}
			return nil, RuleError(r, err)
		}
		if v.Astray(r, to) {
			continue
		}
		if len(out) == MaxMatches {
			return nil, RuleError(r, errors.New("more than "+strconv.Itoa(MaxMatches)+" names match "+policy.Plain(r.Path)+", too many to "+r.Access.String()+" one by one: move them into a directory, and "+r.Access.String()+" that"))
		}
		out = append(out, place{rule: r, name: path, to: to})
	}
	return out, nil
}

// MaxMatches bounds what one pattern may match: each is a mount, and mounts cost
// quadratically.
const MaxMatches = 512

// vet drops or refuses grants that a link leads somewhere they were not meant
// to go, and settles the others. A link is data of whoever could write the
// directory it lies in: grants on whose way no such link lies count first, and
// each of the rest is held against what those give.
func (v *View) vet(found []place) error {
	var linked []*place
	for i := range found {
		p := &found[i]
		if p.skip = p.rule.Lent != 0; p.skip {
			continue // see lend
		}
		err := v.vetPlace(p)
		if err == nil {
			err = vetHidden(found, p)
		}
		if err != nil {
			if p.rule.Layer != policy.Builtin {
				return RuleError(p.rule, err)
			}
			v.skip(p, err)
		}
		if p.skip {
			continue
		}
		if IsGrant(p.rule) && p.to.Info.Kind != host.Absent && v.doubtful(p.to.Links) {
			linked = append(linked, p)
			p.skip = true
		}
	}
	v.settle(found)
	// A link of the system's counts as any other where it can be replaced.
	for again := true; again; {
		again = false
		for i := range found {
			if p := &found[i]; !p.skip && IsGrant(p.rule) && v.plantable(p.to.Links) {
				linked = append(linked, p)
				p.skip, again = true, true
			}
		}
		if again {
			v.settle(found)
		}
	}
	// Writable ones first: each may make another's link one that a command
	// could have made.
	slices.SortStableFunc(linked, func(a, b *place) int { return int(a.rule.Access) - int(b.rule.Access) })
	for _, p := range linked {
		p.planted = v.plantable(p.to.Links)
	}
	// Twice: the second time each is held against all the others.
	for range 2 {
		for _, p := range linked {
			p.skip = true
			v.settle(found)
			err := v.vetLinks(p)
			if err != nil && p.rule.Layer != policy.Builtin {
				return RuleError(p.rule, err)
			}
			p.skip = err != nil
		}
		v.settle(found)
	}
	for _, p := range linked {
		if p.skip {
			v.skip(p, v.vetLinks(p))
		}
	}
	v.lend(found)
	return nil
}

func (v *View) skip(p *place, why error) {
	p.skip = true
	if why == nil {
		why = errors.New(policy.Plain(p.name) + " leads through a link that a command could have made")
	}
	v.Gaps = append(v.Gaps, p.rule.Source+": not opened: "+why.Error())
	if v.Refused == nil {
		v.Refused = make(map[string]string, 4)
	}
	v.Refused[p.name] = "not opened: " + why.Error()
}

func IsGrant(r *policy.Rule) bool { return r.Access == policy.Read || r.Access == policy.Write }

func (v *View) doubtful(links []host.Hop) bool {
	return slices.ContainsFunc(links, func(l host.Hop) bool { return !v.Host.TrustedLink(l) })
}

// plantable reports whether one of the links lies in a writable directory.
func (v *View) plantable(links []host.Hop) bool {
	return slices.ContainsFunc(links, func(l host.Hop) bool { return v.Access(policy.Dir(l.Path)) == policy.Write })
}

// vetPlace refuses what is not a place for binds (/proc and /dev belong to the
// sandbox, and a bind of the host's would undo that) or not for writing.
func (v *View) vetPlace(p *place) error {
	if !IsGrant(p.rule) || p.to.Info.Kind == host.Absent {
		return nil
	}
	for _, dir := range []string{"/proc", "/dev"} {
		if policy.Within(p.to.Path, dir) {
			return fmt.Errorf("%s: %s is the sandbox's own and cannot be opened", policy.Plain(p.to.Path), dir)
		}
	}
	if p.rule.Access == policy.Write && !p.rule.OfCWD {
		return v.Host.Writable(p.to.Path)
	}
	if p.rule.OfCWD && len(p.to.Links) > 0 { // it was canonical: another sandbox, above, has put a link in its way
		return fmt.Errorf("%s leads to %s now", policy.Plain(p.name), policy.Plain(p.to.Path))
	}
	return nil
}

// vetHidden refuses a grant through a link to something hidden that the grant
// does not name.
func vetHidden(found []place, p *place) error {
	if !IsGrant(p.rule) || len(p.to.Links) == 0 || p.to.Info.Kind == host.Absent {
		return nil
	}
	for i := range found {
		b := &found[i]
		if b.rule.Access != policy.Block || b.to.Info.Kind == host.Absent || !policy.Within(p.to.Path, b.to.Path) {
			continue
		}
		if policy.Within(p.name, b.name) && b.to.Path+p.name[len(b.name):] == p.to.Path {
			continue // the same way leads to both, and the grant goes further on it
		}
		return fmt.Errorf("%s leads to %s, which is hidden (%s); to open it, name it", policy.Plain(p.name), policy.Plain(p.to.Path), b.rule.Source)
	}
	return nil
}

// vetLinks refuses a grant through a link that a command could have made and
// that gives more than the command has anyway.
func (v *View) vetLinks(p *place) error {
	to := policy.Plain(p.to.Path)
	for _, l := range p.to.Links {
		if (p.planted || v.Access(policy.Dir(l.Path)) == policy.Write) && wider(p.rule.Access, v.Access(p.to.Path)) {
			return fmt.Errorf("%s is a link to %s in a directory the sandbox can write; to open the target, name it", policy.Plain(l.Path), to)
		}
		if p.rule.Layer == policy.Builtin && v.Host.Shared(l) {
			return fmt.Errorf("%s is a link in a directory that sandboxes may have written", policy.Plain(l.Path))
		}
		if p.rule.Access == policy.Write && p.rule.Layer != policy.Builtin && !v.Host.TrustedLink(l) {
			return fmt.Errorf("%s is a link to %s; to make the target writable, name it", policy.Plain(l.Path), to)
		}
	}
	return nil
}

// wider reports whether a grant gives more of the host than there is already.
func wider(grant, has policy.Access) bool {
	if grant == policy.Write {
		return has != policy.Write
	}
	return !Shows(has)
}

// settle adds up the rules at each canonical path, parents first.
func (v *View) settle(found []place) {
	at := make(map[string]int, len(found))
	v.Mounts = v.Mounts[:0]
	for i := range found {
		p := &found[i]
		absent := p.to.Info.Kind == host.Absent
		if p.skip || absent && p.rule.Access != policy.Private && (IsGrant(p.rule) || !v.Ahead) {
			continue
		}
		n, ok := at[p.to.Path]
		if !ok {
			n = len(v.Mounts)
			at[p.to.Path] = n
			v.Mounts = append(v.Mounts, Mount{Path: p.to.Path, Info: p.to.Info})
		}
		m := &v.Mounts[n]
		m.rules.Add(p.rule)
		m.Rule = m.rules.Rule()
	}
	v.Sort()
}

// Sort puts parents before children and works out what each mount amounts to.
func (v *View) Sort() {
	slices.SortFunc(v.Mounts, func(a, b Mount) int { return ComparePaths(a.Path, b.Path) })
	over := -1
	for i := range v.Mounts {
		m := &v.Mounts[i]
		for over >= 0 && !policy.Within(m.Path, v.Mounts[over].Path) {
			over = v.Mounts[over].Over
		}
		m.Over = over
		m.Eff = v.weigh(m)
		over = i
	}
}

// weigh is a mount's access where it stands. One that protects or hides what
// nobody can see changes nothing, nor does a private directory for which there
// is no place.
func (v *View) weigh(m *Mount) policy.Access {
	over := v.around(m)
	m.Idle = false
	if m.Pin || m.Src != "" || m.Copied {
		return m.Rule.Access
	}
	a := m.rules.Access(over)
	switch {
	case a == policy.Private && m.Rule.Access == policy.Private && (Shows(over) || over == policy.Block):
		switch m.Info.Kind {
		case host.Dir:
		case host.Absent:
			m.Idle = true
			return over
		default:
			return policy.Block // a file in the place of the directory
		}
	case m.Rule.Access != a && !(a == policy.Protect || a == policy.Read):
		m.Idle = true
	}
	if m.Rule.Access == policy.Protect && m.rules.Give == nil && a != policy.Protect {
		m.Idle = true
	}
	return a
}

// around is the access of what a mount lies in.
func (v *View) around(m *Mount) policy.Access {
	if m.Over < 0 {
		return policy.Unseen
	}
	return v.Mounts[m.Over].Eff
}

// ComparePaths orders by elements, so that everything below a directory comes
// right after it.
func ComparePaths(a, b string) int {
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

// pin adds the directories between a rule and the top of the writable area it
// lies in: without, `mv .git x` would take the protected files away and leave
// room for others.
func (v *View) pin() {
	var pins []Mount
	have := make(map[string]bool)
	for i := range v.Mounts {
		m := &v.Mounts[i]
		if m.Idle || m.Eff == policy.Write || v.around(m) != policy.Write {
			continue
		}
		top := &v.Mounts[m.Over]
		for top.Over >= 0 && v.around(top) == policy.Write {
			top = &v.Mounts[top.Over]
		}
		for dir := policy.Dir(m.Path); dir != top.Path && !have[dir]; dir = policy.Dir(dir) {
			have[dir] = true
			if _, ok := v.Find(dir); ok {
				continue
			}
			r := &policy.Rule{Path: dir, Access: policy.Write, Layer: m.Rule.Layer, Source: m.Rule.Source}
			info := host.Info{Kind: host.Dir}
			if to, err := v.Res.Resolve(dir); err == nil {
				info = to.Info
			}
			pins = append(pins, Mount{Path: dir, Info: info, Rule: r, Pin: true})
		}
	}
	if len(pins) > 0 {
		v.Mounts = append(v.Mounts, pins...)
		v.Sort()
	}
}

// above returns the mount with the nearest path strictly above.
func (v *View) above(path string) (Mount, bool) {
	if path != "/" {
		if i, ok := v.over(policy.Dir(path)); ok {
			return v.Mounts[i], true
		}
	}
	return Mount{}, false
}

// over is the index of the mount at a path or nearest above.
func (v *View) over(path string) (int, bool) {
	for {
		if i, ok := v.Find(path); ok {
			return i, true
		}
		if path == "/" {
			return 0, false
		}
		path = policy.Dir(path)
	}
}

func (v *View) Find(path string) (int, bool) {
	return slices.BinarySearchFunc(v.Mounts, path, func(m Mount, p string) int { return ComparePaths(m.Path, p) })
}

// Has reports whether a rule is in force at a canonical path that exists.
func (v *View) Has(path string) bool {
	i, ok := v.Find(path)
	return ok && !v.Mounts[i].Idle
}

// Access returns what may be done with a canonical path.
func (v *View) Access(path string) policy.Access {
	if i, ok := v.Find(path); ok {
		return v.Mounts[i].Eff
	}
	if m, ok := v.above(path); ok {
		return m.Eff
	}
	return policy.Unseen
}

// Shows reports whether the host's own file at a canonical path can be seen.
func Shows(a policy.Access) bool {
	return a == policy.Read || a == policy.Write || a == policy.Protect
}

// keepLinks remembers the links that lead to something visible and that no
// bind brings along, for instance /bin -> usr/bin.
func (v *View) keepLinks(found []place) {
	for _, p := range found {
		a := p.rule.Access
		if a == policy.Block || a == policy.Protect || p.skip || !Shows(v.Access(p.to.Path)) && a != policy.Private {
			continue
		}
		v.addLinks(p.to.Links)
	}
}

func (v *View) addLinks(links []host.Hop) {
	for _, l := range links {
		if v.carries(l) {
			continue
		}
		switch v.Access(policy.Dir(l.Path)) {
		case policy.Unseen, policy.Private:
			v.Links = append(v.Links, l)
		case policy.Block:
			if v.Ahead { // where it is hidden it can be walked through
				v.Links = append(v.Links, l)
			}
		}
	}
}

// carries reports whether a link exists inside.
func (v *View) carries(l host.Hop) bool {
	if v.Bare || Shows(v.Access(policy.Dir(l.Path))) {
		return true
	}
	return slices.ContainsFunc(v.Links, func(o host.Hop) bool { return o.Path == l.Path })
}

// Visible resolves a path as the sandbox will see it. ok is false when it or
// a link on the way is not there inside.
func (v *View) Visible(path string) (host.Resolved, bool) {
	to, err := v.Res.Resolve(policy.Clean(path))
	if err != nil || to.Info.Kind == host.Absent || !Shows(v.Access(to.Path)) {
		return to, false
	}
	if v.Ahead { // any link can be opened
		v.addLinks(to.Links)
	}
	return to, v.CarriesAll(to.Links)
}

func (v *View) CarriesAll(links []host.Hop) bool {
	return !slices.ContainsFunc(links, func(l host.Hop) bool { return !v.carries(l) })
}

// Needed reports whether a mount gives its path anything that what lies above does
// not give already.
func (v *View) Needed(m *Mount) bool {
	over := v.around(m)
	if m.Path == "/" || m.Idle {
		return false
	}
	switch m.Eff {
	case policy.Private:
		return true
	case policy.Write:
		// A writable directory in a writable tree is bound all the same: a
		// mount point cannot be renamed.
		return over != policy.Write || m.Info.Kind == host.Dir
	case policy.Read, policy.Protect:
		return m.Copied || over != policy.Read && over != policy.Protect
	case policy.Block:
		return v.masked(m)
	}
	return false
}

// masked reports whether hiding a path takes a mount: what the caller cannot
// read, the command cannot either.
func (v *View) masked(m *Mount) bool {
	return m.Info.Kind == host.Dir || v.Host.UID == 0 || m.Info.UID == v.Host.UID || v.Host.FS.Access(m.Path, 'r') || v.Host.FS.Access(m.Path, 'w')
}

// StrictWalls reports whether two walls are wanted where one would do.
func StrictWalls(pol *policy.Policy) bool { return pol.Seccomp == "strict" }
