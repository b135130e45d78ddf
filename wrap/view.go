package wrap

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// view is what the files look like inside: the rules of a policy, laid on the
// paths of a host.
type view struct {
	res      *resolver
	host     *Host
	mounts   []mount // parents before children; no two with one path
	links    []link  // to be made inside, since the directory they lie in is not the host's
	gaps     []string
	loose    []string // gaps that somebody may have made on purpose
	loosened []link   // the links that those are about, at protected names
	listed   string   // the directory that list looked at last
	vacant   []string // where protected names would be
	family   []family // patterns of protected names
	table    *mountTable
	remap    string   // where the working directory is seen; "" is where it is
	watched  bool     // protected paths are watched in the place of being made read-only
	bare     bool     // there are no mounts: what is there is what the host has
	ahead    bool     // what is not there can be hidden and protected all the same, and so can links: rules go by paths
	root     string   // of the work tree
	let      []string // what variables name that a person lets through
	project  string   // with ahead: the work tree, or the working directory
	nailed   []link   // with ahead: links at hidden and protected names, where the command could replace them

	refused map[string]string // grants that were not opened, by name, with the reason
	kept    []kept            // what no variable opens, canonical; see lendable
	homes   []string          // canonical; see lendable
	vetted  map[string]error  // what sources said
	stores  []string          // where sbx remembers runs; see ran
	muted   []muted

	// Files of the project, see conceal.
	hidden  []string
	tracked []string // shown, since git tracks them unchanged
	notes   []string // what a person should hear of, and is no gap
	once    []string // the same, of what is so in each run
}

// mount is what the rules say at one canonical path.
type mount struct {
	path  string
	info  Info
	rules policy.Stand
	rule  *policy.Rule  // the one that decides
	src   string        // where the content comes from; "" is path itself
	pin   bool          // bound onto itself so that it cannot be renamed away
	over  int           // index of the mount it lies in, -1 for none
	eff   policy.Access // see weigh
	idle  bool          // it changes nothing where it stands
	blank bool          // hidden, and an empty file in the place of one that cannot be opened

	copied bool   // a file that is shown as a copy
	copy   []byte // its content
}

// muted is a rule about a path on a file system that gives no answer.
type muted struct {
	rule *policy.Rule
	at   *SilentError
}

// mute notes a rule that nothing comes of, since no answer comes: what it hides
// or protects must not be visible at all then, and what it opens nobody named.
func (v *view) mute(r *policy.Rule, err error) bool {
	var e *SilentError
	if !errors.As(err, &e) || r.Must || isGrant(r) && r.Layer != policy.Builtin {
		return false
	}
	if isGrant(r) {
		v.gaps = append(v.gaps, r.Source+": not opened: "+e.Error())
	} else {
		v.muted = append(v.muted, muted{r, e})
	}
	return true
}

// look lays the rules of pol over the host.
func look(pol *policy.Policy, host *Host, res *resolver) (*view, error) {
	v := &view{res: res, host: host, ahead: host.Engine == EngineSeatbelt}
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
		if shows(v.access(m.at.Point)) {
			return nil, silent(m.at, m.rule.Path, m.rule.Source)
		}
		if note := m.at.Error() + "; it stays hidden"; !slices.Contains(v.notes, note) {
			v.notes = append(v.notes, note)
		}
	}
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
	if over, ok := v.above(v.host.CWD); ok && shows(over.eff) {
		return &Error{StatusFailed, "--workspace: the working directory lies in " + policy.Plain(over.path) + ", which is visible at its own place", "run from the root of the work tree, with a profile that does not show what is above"}
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
		for _, l := range p.to.Links {
			if v.access(policy.Dir(l.Path)) != policy.Write {
				continue
			}
			if v.ahead {
				v.nailed = append(v.nailed, l)
				continue
			}
			if p.rule.Access == policy.Protect && !p.rule.Pattern { // those of patterns are watched as such
				v.loosened = append(v.loosened, l)
			}
			v.loose = append(v.loose, policy.Plain(l.Path)+" is a link in a writable directory: what it leads to is "+p.rule.Access.String()+"ed now, but the command can replace the link")
		}
	}
}

// place is a rule with where it leads.
type place struct {
	rule *policy.Rule
	name string // as named; of a pattern, what it matched
	to   resolved
	skip bool

	lent    string // the directory that a variable named, see lend
	planted bool   // a command could have made a link on its way, but for other such grants
}

// locate resolves every rule, patterns replaced by what they match.
func (v *view) locate(pol *policy.Policy) ([]place, error) {
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
		to, err := v.res.resolve(r.Path)
		if v.nowhere(r, err) || err != nil && (r.Lent != 0 || v.mute(r, err)) {
			continue
		}
		if err != nil {
			return nil, ruleError(r, err)
		}
		if to.Info.Kind == Absent && r.Must {
			return nil, ruleError(r, absent(r))
		}
		if to.Info.Kind == Absent && r.Access == policy.Protect {
			v.vacant = append(v.vacant, to.Path)
		}
		if to.Info.Kind == Absent && r.Access != policy.Private && len(to.Links) == 0 && (isGrant(r) || !v.ahead) {
			continue // most secrets are not there
		}
		if v.astray(r, to) {
			continue
		}
		at := place{rule: r, name: r.Path, to: to}
		if r.Lent != 0 {
			at.lent = pol.Lent[r.Lent-1]
		}
		out = append(out, at)
		if r.Access == policy.Block && to.Info.Kind == Dir {
			out = v.farm(out, r, to)
		}
	}
	return out, nil
}

// astray reports whether a hidden name is a link to something that
// is no secret and that everything needs: ~/.bash_history to /dev/null, or
// what a command left so that nothing works any more.
func (v *view) astray(r *policy.Rule, to resolved) bool {
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
func (v *view) farm(out []place, r *policy.Rule, dir resolved) []place {
	const large = 8 << 10
	if r.Layer != policy.Builtin || dir.Info.Size > large || !slices.ContainsFunc(v.host.Homes, func(home string) bool { return policy.Within(dir.Path, home) }) {
		return out
	}
	entries, err := v.res.entries(dir.Path)
	if err != nil {
		return out // not the caller's to read
	}
	for _, e := range entries {
		if e.Kind != Link && e.Kind != Absent {
			continue
		}
		name := join(dir.Path, e.Name)
		to, err := v.res.resolve(name)
		if err == nil && to.Info.Kind != Absent && to.Path != name && !policy.Within(to.Path, dir.Path) && v.inHomes(to.Path) && !v.astray(r, to) {
			out = append(out, place{rule: r, name: to.Path, to: resolved{Path: to.Path, Info: to.Info}})
		}
	}
	return out
}

func (v *view) inHomes(path string) bool {
	return slices.ContainsFunc(v.host.Homes, func(home string) bool { return policy.Within(path, home) }) || policy.Within(path, v.host.CWD)
}

// nowhere reports whether a rule's path cannot be reached in a way that no
// command can change: links in a circle, or a directory of somebody else's
// that may not be searched. One of the caller's own hides nothing, since the
// command can open it.
func (v *view) nowhere(r *policy.Rule, err error) bool {
	var denied deniedError
	switch {
	case errors.As(err, &denied):
		return !r.Must && (denied.uid != v.host.UID || isGrant(r) && r.Layer == policy.Builtin)
	case errors.As(err, new(loopError)):
		return r.Layer == policy.Builtin
	}
	return false
}

// list reads a directory of which many rules name an entry, most of them
// absent: one look in place of one for each. Rules are sorted, so those about
// one directory begin together. A large directory costs more than that.
func (v *view) list(rules []policy.Rule) {
	const many, large = 12, 8 << 10
	dir := policy.Dir(rules[0].Path)
	if dir == v.listed || len(rules) < many {
		return
	}
	v.listed = dir
	if last := rules[many-1].Path; !policy.Within(last, dir) {
		return
	}
	if to, err := v.res.resolve(dir); err == nil && to.Info.Kind == Dir && to.Info.Size <= large {
		v.res.list(to.Path)
	}
}

func absent(r *policy.Rule) error {
	return errors.New(policy.Plain(r.Path) + ": no such file or directory")
}

func ruleError(r *policy.Rule, err error) error {
	var e *SilentError
	if errors.As(err, &e) {
		return silent(e, r.Path, r.Source)
	}
	return &Error{Status: StatusFailed, Text: r.Source + ": " + err.Error()}
}

func (v *view) expand(pol *policy.Policy, r *policy.Rule) ([]place, error) {
	dir, err := v.res.resolve(policy.Dir(r.Path))
	if v.nowhere(r, err) || err != nil && v.mute(r, err) {
		return nil, nil
	}
	if err != nil {
		return nil, ruleError(r, err)
	}
	if dir.Info.Kind != Dir {
		return nil, nil
	}
	names, err := v.res.entries(dir.Path)
	if err != nil {
		if dir.Info.UID != v.host.UID && !v.host.FS.Access(dir.Path, 'r') {
			return nil, nil // it stays so for the command
		}
		return nil, ruleError(r, err)
	}
	var out []place
	pattern := base(r.Path)
	if r.Access == policy.Protect {
		defer func() { v.family = append(v.family, family{join(dir.Path, pattern), out}) }()
	}
	for _, n := range names {
		if !policy.Match(pattern, n.Name) {
			continue
		}
		path := join(policy.Dir(r.Path), n.Name)
		if pol.Excepted(path) {
			continue
		}
		to, err := v.res.resolve(path)
		if err != nil {
			if v.nowhere(r, err) || errors.As(err, new(loopError)) {
				continue
			}
			return nil, ruleError(r, err)
		}
		if v.astray(r, to) {
			continue
		}
		if len(out) == maxMatches {
			return nil, ruleError(r, errors.New("more than "+strconv.Itoa(maxMatches)+" names match "+policy.Plain(r.Path)+", too many to "+r.Access.String()+" one by one: move them into a directory, and "+r.Access.String()+" that"))
		}
		out = append(out, place{rule: r, name: path, to: to})
	}
	return out, nil
}

// maxMatches bounds what one pattern may match: each is a mount, and mounts cost
// quadratically.
const maxMatches = 512

// vet drops or refuses grants that a link leads somewhere they were not meant
// to go, and settles the others. A link is data of whoever could write the
// directory it lies in: grants on whose way no such link lies count first, and
// each of the rest is held against what those give.
func (v *view) vet(found []place) error {
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
				return ruleError(p.rule, err)
			}
			v.skip(p, err)
		}
		if p.skip {
			continue
		}
		if isGrant(p.rule) && p.to.Info.Kind != Absent && v.doubtful(p.to.Links) {
			linked = append(linked, p)
			p.skip = true
		}
	}
	v.settle(found)
	// A link of the system's counts as any other where it can be replaced.
	for again := true; again; {
		again = false
		for i := range found {
			if p := &found[i]; !p.skip && isGrant(p.rule) && v.plantable(p.to.Links) {
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
				return ruleError(p.rule, err)
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

func (v *view) skip(p *place, why error) {
	p.skip = true
	if why == nil {
		why = errors.New(policy.Plain(p.name) + " leads through a link that a command could have made")
	}
	v.gaps = append(v.gaps, p.rule.Source+": not opened: "+why.Error())
	if v.refused == nil {
		v.refused = make(map[string]string, 4)
	}
	v.refused[p.name] = "not opened: " + why.Error()
}

func isGrant(r *policy.Rule) bool { return r.Access == policy.Read || r.Access == policy.Write }

func (v *view) doubtful(links []link) bool {
	return slices.ContainsFunc(links, func(l link) bool { return !v.host.trustedLink(l) })
}

// plantable reports whether one of the links lies in a writable directory.
func (v *view) plantable(links []link) bool {
	return slices.ContainsFunc(links, func(l link) bool { return v.access(policy.Dir(l.Path)) == policy.Write })
}

// vetPlace refuses what is not a place for binds (/proc and /dev belong to the
// sandbox, and a bind of the host's would undo that) or not for writing.
func (v *view) vetPlace(p *place) error {
	if !isGrant(p.rule) || p.to.Info.Kind == Absent {
		return nil
	}
	for _, dir := range []string{"/proc", "/dev"} {
		if policy.Within(p.to.Path, dir) {
			return fmt.Errorf("%s: %s is the sandbox's own and cannot be opened", policy.Plain(p.to.Path), dir)
		}
	}
	if p.rule.Access == policy.Write && !p.rule.OfCWD {
		return v.host.writable(p.to.Path)
	}
	if p.rule.OfCWD && len(p.to.Links) > 0 { // it was canonical: another sandbox, above, has put a link in its way
		return fmt.Errorf("%s leads to %s now", policy.Plain(p.name), policy.Plain(p.to.Path))
	}
	return nil
}

// vetHidden refuses a grant through a link to something hidden that the grant
// does not name.
func vetHidden(found []place, p *place) error {
	if !isGrant(p.rule) || len(p.to.Links) == 0 || p.to.Info.Kind == Absent {
		return nil
	}
	for i := range found {
		b := &found[i]
		if b.rule.Access != policy.Block || b.to.Info.Kind == Absent || !policy.Within(p.to.Path, b.to.Path) {
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
func (v *view) vetLinks(p *place) error {
	to := policy.Plain(p.to.Path)
	for _, l := range p.to.Links {
		if (p.planted || v.access(policy.Dir(l.Path)) == policy.Write) && wider(p.rule.Access, v.access(p.to.Path)) {
			return fmt.Errorf("%s is a link to %s in a directory the sandbox can write; to open the target, name it", policy.Plain(l.Path), to)
		}
		if p.rule.Layer == policy.Builtin && v.host.shared(l) {
			return fmt.Errorf("%s is a link in a directory that sandboxes may have written", policy.Plain(l.Path))
		}
		if p.rule.Access == policy.Write && p.rule.Layer != policy.Builtin && !v.host.trustedLink(l) {
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
	return !shows(has)
}

// settle adds up the rules at each canonical path, parents first.
func (v *view) settle(found []place) {
	at := make(map[string]int, len(found))
	v.mounts = v.mounts[:0]
	for i := range found {
		p := &found[i]
		absent := p.to.Info.Kind == Absent
		if p.skip || absent && p.rule.Access != policy.Private && (isGrant(p.rule) || !v.ahead) {
			continue
		}
		n, ok := at[p.to.Path]
		if !ok {
			n = len(v.mounts)
			at[p.to.Path] = n
			v.mounts = append(v.mounts, mount{path: p.to.Path, info: p.to.Info})
		}
		m := &v.mounts[n]
		m.rules.Add(p.rule)
		m.rule = m.rules.Rule()
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

// weigh is a mount's access where it stands. One that protects or hides what
// nobody can see changes nothing, nor does a private directory for which there
// is no place.
func (v *view) weigh(m *mount) policy.Access {
	over := v.around(m)
	m.idle = false
	if m.pin || m.src != "" || m.copied {
		return m.rule.Access
	}
	a := m.rules.Access(over)
	switch {
	case a == policy.Private && m.rule.Access == policy.Private && (shows(over) || over == policy.Block):
		switch m.info.Kind {
		case Dir:
		case Absent:
			m.idle = true
			return over
		default:
			return policy.Block // a file in the place of the directory
		}
	case m.rule.Access != a && !(a == policy.Protect || a == policy.Read):
		m.idle = true
	}
	if m.rule.Access == policy.Protect && m.rules.Give == nil && a != policy.Protect {
		m.idle = true
	}
	return a
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

// pin adds the directories between a rule and the top of the writable area it
// lies in: without, `mv .git x` would take the protected files away and leave
// room for others.
func (v *view) pin() {
	var pins []mount
	have := make(map[string]bool)
	for i := range v.mounts {
		m := &v.mounts[i]
		if m.idle || m.eff == policy.Write || v.around(m) != policy.Write {
			continue
		}
		top := &v.mounts[m.over]
		for top.over >= 0 && v.around(top) == policy.Write {
			top = &v.mounts[top.over]
		}
		for dir := policy.Dir(m.path); dir != top.path && !have[dir]; dir = policy.Dir(dir) {
			have[dir] = true
			if _, ok := v.find(dir); ok {
				continue
			}
			r := &policy.Rule{Path: dir, Access: policy.Write, Layer: m.rule.Layer, Source: m.rule.Source}
			info := Info{Kind: Dir}
			if to, err := v.res.resolve(dir); err == nil {
				info = to.Info
			}
			pins = append(pins, mount{path: dir, info: info, rule: r, pin: true})
		}
	}
	if len(pins) > 0 {
		v.mounts = append(v.mounts, pins...)
		v.sort()
	}
}

// above returns the mount with the nearest path strictly above.
func (v *view) above(path string) (mount, bool) {
	if path != "/" {
		if i, ok := v.over(policy.Dir(path)); ok {
			return v.mounts[i], true
		}
	}
	return mount{}, false
}

// over is the index of the mount at a path or nearest above.
func (v *view) over(path string) (int, bool) {
	for {
		if i, ok := v.find(path); ok {
			return i, true
		}
		if path == "/" {
			return 0, false
		}
		path = policy.Dir(path)
	}
}

func (v *view) find(path string) (int, bool) {
	return slices.BinarySearchFunc(v.mounts, path, func(m mount, p string) int { return comparePaths(m.path, p) })
}

// has reports whether a rule is in force at a canonical path that exists.
func (v *view) has(path string) bool {
	i, ok := v.find(path)
	return ok && !v.mounts[i].idle
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
		case policy.Block:
			if v.ahead { // where it is hidden it can be walked through
				v.links = append(v.links, l)
			}
		}
	}
}

// carries reports whether a link exists inside.
func (v *view) carries(l link) bool {
	if v.bare || shows(v.access(policy.Dir(l.Path))) {
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
	if v.ahead { // any link can be opened
		v.addLinks(to.Links)
	}
	return to, v.carriesAll(to.Links)
}

func (v *view) carriesAll(links []link) bool {
	return !slices.ContainsFunc(links, func(l link) bool { return !v.carries(l) })
}

// needed reports whether a mount gives its path anything that what lies above does
// not give already.
func (v *view) needed(m *mount) bool {
	over := v.around(m)
	if m.path == "/" || m.idle {
		return false
	}
	switch m.eff {
	case policy.Private:
		return true
	case policy.Write:
		// A writable directory in a writable tree is bound all the same: a
		// mount point cannot be renamed.
		return over != policy.Write || m.info.Kind == Dir
	case policy.Read, policy.Protect:
		return m.copied || over != policy.Read && over != policy.Protect
	case policy.Block:
		return v.masked(m)
	}
	return false
}

// masked reports whether hiding a path takes a mount: what the caller cannot
// read, the command cannot either.
func (v *view) masked(m *mount) bool {
	return m.info.Kind == Dir || v.host.UID == 0 || m.info.UID == v.host.UID || v.host.FS.Access(m.path, 'r') || v.host.FS.Access(m.path, 'w')
}
