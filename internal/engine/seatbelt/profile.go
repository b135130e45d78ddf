// SPDX-License-Identifier: Apache-2.0

package seatbelt

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
	"github.com/sbx-sandbox/sbx/sbpl"
)

// builder turns a view into rules of sandbox-exec. Allows name the topmost
// places that are open, denies what is closed or read-only in them, less what is
// open again further down: each path is decided by its deepest rule, and no rule
// depends on its place in the text.
type builder struct {
	v       *view.View
	nodes   []node   // parents before children
	stdio   []string // files that the command is given: what it holds it may ask about (fstat(2))
	profile sbpl.Profile
}

// node is a place with an access of its own.
type node struct {
	path   string
	access policy.Access
	kind   host.Kind
	pinned bool
	over   int // index of the node it lies in, -1 for none
}

func (n *node) opens() bool  { return view.Shows(n.access) }
func (n *node) writes() bool { return n.access == policy.Write }

// newBuilder takes the places of a view. The root itself is never opened as a
// whole: devices and other names of everything lie below it, so what a rule for
// it gives is given to what is in it now.
func newBuilder(v *view.View) (*builder, error) {
	s := &builder{v: v}
	for i := range v.Entries {
		m := &v.Entries[i]
		if m.Redundant || m.Path == "/" || policy.Within(m.Path, "/dev") || m.Unneeded(v) {
			continue
		}
		s.nodes = append(s.nodes, node{path: m.Path, access: m.Access, kind: m.Info.Kind, pinned: m.Pinned})
	}
	if v.RootBound() {
		entries, err := v.Res.Entries("/")
		if err != nil {
			return nil, view.RuleError(v.Entries[0].Rule, err)
		}
		for _, e := range entries {
			path := host.Join("/", e.Name)
			taken := slices.ContainsFunc(s.nodes, func(n node) bool { return n.path == path })
			if !taken && e.Name != "dev" && !strings.HasPrefix(e.Name, ".") &&
				(e.Kind == host.Dir || e.Kind == host.File) {
				s.nodes = append(s.nodes, node{path: path, access: policy.Read, kind: e.Kind})
			}
		}
	}
	for i := range s.nodes {
		s.nodes[i].path = v.Host.OnMac(s.nodes[i].path)
	}
	// Of two at one place, as only a model has them, the one that gives less stays.
	slices.SortFunc(s.nodes, func(a, b node) int {
		return cmp.Or(view.ComparePaths(a.path, b.path), -cmp.Compare(a.access, b.access))
	})
	s.nodes = slices.CompactFunc(s.nodes, func(a, b node) bool { return a.path == b.path })
	over := -1
	for i := range s.nodes {
		for over >= 0 && !policy.Within(s.nodes[i].path, s.nodes[over].path) {
			over = s.nodes[over].over
		}
		s.nodes[i].over = over
		over = i
	}
	return s, nil
}

func (s *builder) allow(ops []sbpl.Op, filters ...sbpl.Filter) {
	if len(filters) > 0 {
		s.profile.Allow = append(s.profile.Allow, sbpl.Rule{Ops: ops, Filters: filters})
	}
}

func (s *builder) deny(ops []sbpl.Op, filters ...sbpl.Filter) {
	if len(filters) > 0 {
		s.profile.Deny = append(s.profile.Deny, sbpl.Rule{Ops: ops, Filters: filters})
	}
}

// everything is a rule without filters, for operations that no deny is about.
func (s *builder) everything(ops ...sbpl.Op) {
	s.profile.Allow = append(s.profile.Allow, sbpl.Rule{Ops: ops})
}

// baseServices are asked by programs that do nothing special: users and groups,
// logs, notifications, the directory for temporary files, settings (which are
// then refused one by one), the power state, changes of files.
var baseServices = []string{
	"com.apple.system.opendirectoryd.libinfo", "com.apple.system.opendirectoryd.membership",
	"com.apple.system.notification_center", "com.apple.system.logger", "com.apple.logd", "com.apple.bsd.dirhelper",
	"com.apple.cfprefsd.daemon", "com.apple.cfprefsd.agent", "com.apple.PowerManagement.control", "com.apple.FSEvents",
}

// netServices look up names and check certificates.
var netServices = []string{
	"com.apple.trustd", "com.apple.trustd.agent", "com.apple.ocspd", "com.apple.networkd", "com.apple.dnssd.service",
	"com.apple.SystemConfiguration.configd", "com.apple.SystemConfiguration.DNSConfiguration",
}

// tiocsti is the request of ioctl(2) that types into a terminal (sys/ttycom.h).
const tiocsti = 0x80017472

// What a closed and a read-only place refuse. Each operation that an allow names
// is here by its own name, and so are those that macOS allows by default.
var (
	lookOps = []sbpl.Op{sbpl.FileReadMetadata, sbpl.FileTestExistence}
	readOps = []sbpl.Op{sbpl.FileRead, sbpl.FileReadData, sbpl.FileReadXattr, sbpl.FileIoctl, sbpl.FileMapExec,
		sbpl.ProcessExec, sbpl.NetworkOutbound}
	writeOps = []sbpl.Op{sbpl.FileWrite, sbpl.FileWriteCreate, sbpl.FileWriteData, sbpl.FileWriteUnlink, sbpl.FileLink,
		sbpl.NetworkBind}
)

// files are the rules about files.
func (s *builder) files() {
	// A clone of a directory brings all that is in it along, hidden or not: there are
	// none, and programs copy.
	s.profile.Shut = append(s.profile.Shut, sbpl.FileLink, sbpl.FileClone, sbpl.FileWriteSetUGID)
	s.ways()
	s.allow([]sbpl.Op{sbpl.FileRead}, sbpl.Literal(sbpl.Fixed("/")))
	s.allow([]sbpl.Op{sbpl.FileRead, sbpl.FileMapExec, sbpl.ProcessExec}, s.tops("READ", (*node).opens)...)
	// Sockets in a writable place serve the programs of the sandbox.
	s.allow([]sbpl.Op{sbpl.FileWrite, sbpl.FileLink, sbpl.NetworkBind, sbpl.NetworkOutbound},
		s.tops("WRITE", (*node).writes)...)
	for _, n := range s.nodes {
		if n.kind == host.Socket && n.opens() && !n.writes() {
			s.allow([]sbpl.Op{sbpl.NetworkOutbound}, sbpl.Literal(sbpl.Given("SOCKET", n.path)))
		}
	}
	s.close(slices.Concat(readOps, lookOps, writeOps), func(n, over *node) bool { return !n.opens() && over.writes() })
	s.close(slices.Concat(readOps, lookOps), func(n, over *node) bool {
		return !n.opens() && over.opens() &&
			!over.writes()
	})
	s.lock()
	s.hold()
}

// ways lets the command walk to what is open: the directories above and the links
// on the way can be looked at, not listed.
func (s *builder) ways() {
	filters := []sbpl.Filter{sbpl.Literal(sbpl.Fixed("/tmp")), sbpl.Literal(sbpl.Fixed("/var")),
		sbpl.Literal(sbpl.Fixed("/etc"))}
	have := map[string]bool{"/": true, "/tmp": true, "/var": true, "/etc": true}
	add := func(role, path string) {
		if !have[path] && !s.covered(path) {
			have[path] = true
			filters = append(filters, sbpl.Literal(sbpl.Given(role, path)))
		}
	}
	for i := range s.nodes {
		for _, dir := range s.above(i, (*node).opens) {
			add("WAY", dir)
		}
	}
	for _, path := range s.stdio {
		add("STDIO", path)
	}
	links := slices.Clone(s.v.Links)
	slices.SortFunc(links, func(a, b host.Hop) int { return view.ComparePaths(a.Path, b.Path) })
	for _, l := range links {
		at := s.v.Host.OnMac(l.Path)
		for dir := policy.Dir(at); dir != "/"; dir = policy.Dir(dir) {
			add("WAY", dir)
		}
		add("LINK", at)
	}
	s.allow([]sbpl.Op{sbpl.FileReadMetadata}, filters...)
}

// covered reports whether a path lies in a place that an allow opens, whatever is
// denied in it.
func (s *builder) covered(path string) bool {
	return slices.ContainsFunc(s.nodes, func(n node) bool { return n.opens() && policy.Within(path, n.path) })
}

// above are the directories over a node that is the topmost of its kind.
func (s *builder) above(i int, is func(*node) bool) []string {
	if !s.top(i, is) {
		return nil
	}
	var out []string
	for dir := policy.Dir(s.nodes[i].path); dir != "/"; dir = policy.Dir(dir) {
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
}

// top reports whether a node is of a kind, and none that it lies in is.
func (s *builder) top(i int, is func(*node) bool) bool {
	if !is(&s.nodes[i]) {
		return false
	}
	for up := s.nodes[i].over; up >= 0; up = s.nodes[up].over {
		if is(&s.nodes[up]) {
			return false
		}
	}
	return true
}

func (s *builder) tops(role string, is func(*node) bool) []sbpl.Filter {
	var out []sbpl.Filter
	for i := range s.nodes {
		if s.top(i, is) {
			out = append(out, sbpl.Subpath(sbpl.Given(role, s.nodes[i].path)))
		}
	}
	return out
}

// within are the topmost nodes of a kind inside of a node.
func (s *builder) within(i int, is func(*node) bool) []string {
	var out []string
	for j := i + 1; j < len(s.nodes) && policy.Within(s.nodes[j].path, s.nodes[i].path); j++ {
		n := &s.nodes[j]
		if is(n) && (len(out) == 0 || !policy.Within(n.path, out[len(out)-1])) {
			out = append(out, n.path)
		}
	}
	return out
}

// whole are the filters for a node with all that is below. A file that is there is
// named twice, as by profiles that have been in use for long.
func (s *builder) whole(role string, n *node) []sbpl.Filter {
	p := sbpl.Given(role, n.path)
	if n.kind == host.Dir || n.kind == host.Absent {
		return []sbpl.Filter{sbpl.Subpath(p)}
	}
	return []sbpl.Filter{sbpl.Literal(p), sbpl.Subpath(p)}
}

// close takes reading away from the places that stand so in what they lie in.
func (s *builder) close(ops []sbpl.Op, stands func(n, over *node) bool) {
	var plain []sbpl.Filter
	for i := range s.nodes {
		n := &s.nodes[i]
		if n.over < 0 || !stands(n, &s.nodes[n.over]) {
			continue
		}
		open, dirs, links := s.through(i)
		if len(open)+len(dirs)+len(links) == 0 {
			plain = append(plain, s.whole("CLOSED", n)...)
			continue
		}
		steps, ways := given(sbpl.Literal, "LINK", links), given(sbpl.Literal, "WAY", dirs)
		s.deny(without(ops, sbpl.FileTestExistence), except("CLOSED", n, given(sbpl.Subpath, "OPEN", open), steps,
			ways))
		s.deny(without(ops, sbpl.FileRead, sbpl.FileReadMetadata, sbpl.FileTestExistence), ways...)
		if slices.Contains(ops, sbpl.FileWrite) { // a link can be followed, and not be replaced
			s.deny(writeOps, steps...)
		}
	}
	s.deny(ops, plain...)
}

// given are the filters for paths in one role.
func given(filter func(sbpl.Path) sbpl.Filter, role string, paths []string) []sbpl.Filter {
	out := make([]sbpl.Filter, len(paths))
	for i, path := range paths {
		out[i] = filter(sbpl.Given(role, path))
	}
	return out
}

// except is a place less parts of it.
func except(role string, n *node, parts ...[]sbpl.Filter) sbpl.Filter {
	out := []sbpl.Filter{sbpl.Subpath(sbpl.Given(role, n.path))}
	for _, f := range slices.Concat(parts...) {
		out = append(out, sbpl.Not(f))
	}
	return sbpl.All(out...)
}

// through is what is open in a closed place, the links there on the way to what is
// open, and the directories around both: these can be looked at, not listed.
func (s *builder) through(i int) (open, dirs, links []string) {
	open = s.within(i, (*node).opens)
	add := func(path string) {
		for dir := policy.Dir(path); s.closes(dir) == i; dir = policy.Dir(dir) {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	for _, path := range open {
		add(path)
	}
	for _, l := range s.v.Links {
		at := s.v.Host.OnMac(l.Path)
		hidden := slices.ContainsFunc(s.nodes, func(n node) bool { return n.path == at })
		if !hidden && s.closes(at) == i && !slices.Contains(links, at) {
			links = append(links, at)
			add(at)
		}
	}
	for _, path := range s.stdio {
		if s.closes(path) == i && !slices.Contains(dirs, path) {
			dirs = append(dirs, path)
		}
	}
	slices.SortFunc(dirs, view.ComparePaths)
	slices.SortFunc(links, view.ComparePaths)
	return open, dirs, links
}

// closes is the closed place whose rule is about a path, -1 for none.
func (s *builder) closes(path string) int {
	at := s.around(path)
	if at < 0 || s.nodes[at].opens() {
		return -1
	}
	for up := s.nodes[at].over; up >= 0 && !s.nodes[up].opens(); up = s.nodes[up].over {
		at = up
	}
	return at
}

// around is the deepest node that a path is or lies in, -1 for none.
func (s *builder) around(path string) int {
	at := -1
	for i := range s.nodes {
		if policy.Within(path, s.nodes[i].path) {
			at = i // parents come before children
		}
	}
	return at
}

func without(ops []sbpl.Op, out ...sbpl.Op) []sbpl.Op {
	return slices.DeleteFunc(slices.Clone(ops), func(op sbpl.Op) bool { return slices.Contains(out, op) })
}

// lock takes writing away from what can be read in a writable place, and with it
// the sockets there, and from links at names that are hidden or protected.
func (s *builder) lock() {
	var plain, sockets []sbpl.Filter
	deaf := append(slices.Clone(writeOps), sbpl.NetworkOutbound)
	for i := range s.nodes {
		n := &s.nodes[i]
		around := n.over // what is closed in between does not count: it is open again here
		for around >= 0 && !s.nodes[around].opens() {
			around = s.nodes[around].over
		}
		if !n.opens() || n.writes() || around < 0 || !s.nodes[around].writes() {
			continue
		}
		open, own := s.within(i, (*node).writes), s.sockets(i)
		switch {
		case len(open) > 0:
			s.deny(deaf, except("LOCKED", n, given(sbpl.Subpath, "OPEN", open)))
		case n.kind == host.Socket: // opened by its name
			sockets = append(sockets, s.whole("LOCKED", n)...)
		case len(own) > 0:
			s.deny([]sbpl.Op{sbpl.NetworkOutbound}, except("LOCKED", n, given(sbpl.Literal, "SOCKET", own)))
			sockets = append(sockets, s.whole("LOCKED", n)...)
		default:
			plain = append(plain, s.whole("LOCKED", n)...)
		}
	}
	var seen []string
	for _, l := range s.v.HeldLinks {
		if at := s.v.Host.OnMac(l.Path); !slices.Contains(seen, at) {
			seen = append(seen, at)
			plain = append(plain, sbpl.Literal(sbpl.Given("LOCKED", at)))
		}
	}
	s.deny(deaf, plain...)
	s.deny(writeOps, sockets...)
}

// sockets are those in a place that are opened by their names.
func (s *builder) sockets(i int) []string {
	var out []string
	for j := i + 1; j < len(s.nodes) && policy.Within(s.nodes[j].path, s.nodes[i].path); j++ {
		if n := &s.nodes[j]; n.kind == host.Socket && n.opens() && s.nodes[n.over].opens() {
			out = append(out, n.path)
		}
	}
	return out
}

// hold keeps the directories around what is closed or locked where they are:
// without, `mv .git x` would take the protected files away and leave room for
// others. So are the writable places themselves, which could be moved into one
// another, changed there and moved back. A directory that does not exist yet is not
// made, since it could come with something in it.
func (s *builder) hold() {
	var there, absent []sbpl.Filter
	for _, n := range s.nodes {
		// A file in a tree that can be written anyway is no place of its own.
		if !n.writes() || n.kind != host.Dir && !n.pinned && n.over >= 0 && s.nodes[n.over].writes() {
			continue
		}
		at := sbpl.Literal(sbpl.Given("HELD", n.path))
		there = append(there, at)
		if n.kind == host.Absent {
			absent = append(absent, at)
		}
	}
	there = append(there, given(sbpl.Literal, "HELD", s.aboveHeldLinks())...)
	s.deny([]sbpl.Op{sbpl.FileWriteUnlink}, there...)
	s.deny([]sbpl.Op{sbpl.FileWriteCreate}, absent...)
}

// aboveHeldLinks are the directories around links at hidden and protected names, as
// far as they can be written and are not held anyway.
func (s *builder) aboveHeldLinks() []string {
	var out []string
	for _, l := range s.v.HeldLinks {
		for dir := policy.Dir(s.v.Host.OnMac(l.Path)); dir != "/"; dir = policy.Dir(dir) {
			i := s.around(dir)
			if i < 0 || !s.nodes[i].writes() || s.nodes[i].path == dir && s.top(i, (*node).writes) {
				break
			}
			if s.nodes[i].path != dir && !slices.Contains(out, dir) {
				out = append(out, dir)
			}
		}
	}
	slices.SortFunc(out, view.ComparePaths)
	return out
}
