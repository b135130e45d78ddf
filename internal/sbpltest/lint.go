// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Lint lists what of a profile is against the rules by which both models read it
// the same, against what makes a rule match at all, and against what would let a
// program out. Each finding begins with the rule.
func (p *Profile) Lint() []string {
	var texts []string
	for _, f := range p.lint() {
		texts = append(texts, f.text)
	}
	return texts
}

// finding is of a kind, which stays the same when the text of a rule changes.
type finding struct{ kind, text string }

func (p *Profile) lint() []finding {
	l := &linter{Profile: p}
	l.header()
	l.order()
	for _, r := range p.Rules {
		l.closure(r)
		l.paths(r)
		l.escapes(r)
		l.unreachable(r)
	}
	l.services()
	return l.found
}

type linter struct {
	*Profile
	found []finding
}

func (l *linter) add(r *Rule, format string, args ...any) {
	text := strings.Join(strings.Fields(r.Text), " ")
	if len(text) > 100 {
		text = text[:100] + "…"
	}
	l.found = append(l.found, finding{format, text + ": " + fmt.Sprintf(format, args...)})
}

func (l *linter) profileWide(format string, args ...any) {
	l.found = append(l.found, finding{format, "profile: " + fmt.Sprintf(format, args...)})
}

// header wants (version 1) and (deny default) at the top, and no other default.
func (l *linter) header() {
	if len(l.forms) == 0 || l.forms[0].head() != "version" || l.forms[0].list[1].num != 1 {
		l.profileWide("the first form is not (version 1)")
	}
	isDefault := func(r *Rule) bool { return slices.Contains(r.Ops, "default") }
	if len(l.Rules) == 0 || l.Rules[0].Allow || !isDefault(l.Rules[0]) || !l.Rules[0].bare() {
		l.profileWide("the first rule is not (deny default)")
	}
	for i, r := range l.Rules {
		if i > 0 && isDefault(r) {
			l.add(r, "another default")
		}
	}
}

// order wants, after the default, denies without filters, then allows, then denies.
func (l *linter) order() {
	var allowed, denied *Rule
	for i, r := range l.Rules {
		switch {
		case i == 0:
		case r.Allow && denied != nil:
			l.add(r, "an allow after the denies")
		case r.Allow:
			allowed = r
		case allowed != nil || !r.bare():
			denied = r
			if r.bare() {
				l.add(r, "a deny without filter after the allows: last match wins and fallback differ")
			}
		case !slices.ContainsFunc(r.Ops, allowedByDefault):
			l.add(r, "this is what the default says")
		}
	}
	for i, bare := range l.Rules {
		for j, r := range l.Rules {
			switch {
			case !bare.bare() || i == 0:
			case bare.Allow && !r.Allow && !r.bare() && j < i && related(bare, r):
				l.add(bare, "an allow without filter after a deny with one: %s", r.Text)
			case !bare.Allow && r.Allow && j > i && belongs(bare, r):
				l.add(bare, "a deny without filter of what a later allow's group has: %s", r.Text)
			}
		}
	}
}

// allowedByDefault reports whether an operation would be allowed with no rule, or
// may be on some release: nix denies file-write-setugid in spite of the table.
func allowedByDefault(op string) bool {
	implicit := func(op string) bool { return operations[op].implicit }
	return op == "file-write-setugid" || slices.ContainsFunc(operations[op].chain, implicit)
}

// related reports whether an operation of one rule is or holds or belongs to one
// of the other's.
func related(a, b *Rule) bool {
	return slices.ContainsFunc(a.Ops, func(op string) bool {
		return slices.ContainsFunc(b.Ops, func(other string) bool { return isA(op, other) || isA(other, op) })
	})
}

// belongs reports whether an operation of a belongs to a group that b names, and
// is not named by b itself.
func belongs(a, b *Rule) bool {
	return slices.ContainsFunc(a.Ops, func(op string) bool {
		return !b.names(op) && slices.ContainsFunc(b.Ops, func(group string) bool { return isA(op, group) })
	})
}

// closure wants an operation that an allow names to be named by each deny of its
// group, since the group is not asked any more (P1).
func (l *linter) closure(r *Rule) {
	if !r.Allow {
		return
	}
	for _, op := range r.Ops {
		inGroup := func(group string) bool { return isA(op, group) }
		for _, deny := range l.Rules {
			if deny.Allow || deny.bare() || deny.names(op) || !slices.ContainsFunc(deny.Ops, inGroup) {
				continue
			}
			if sameFamily(r, deny) && !l.deniedBesides(op, deny) {
				l.add(r, "%s is not named by the deny of its group: %s", op, deny.Text)
			}
		}
	}
}

// sameFamily reports whether two rules may be about the same thing: one without
// filter is about everything.
func sameFamily(a, b *Rule) bool {
	if a.bare() || b.bare() {
		return true
	}
	same := false
	for _, f := range a.filters {
		for _, g := range b.filters {
			f.leaves(func(x *filter, _ bool) {
				g.leaves(func(y *filter, _ bool) { same = same || x.spec.family == y.spec.family })
			})
		}
	}
	return same
}

// deniedBesides reports whether another deny names the operation with all filters
// of this one: operations that are asked for with defined? have forms of their own.
func (l *linter) deniedBesides(op string, deny *Rule) bool {
	return slices.ContainsFunc(l.Rules, func(r *Rule) bool {
		return !r.Allow && r.names(op) && !slices.ContainsFunc(deny.filters, func(f *filter) bool { return !r.hasFilter(f) })
	})
}

func (r *Rule) hasFilter(f *filter) bool {
	return slices.ContainsFunc(r.filters, func(g *filter) bool { return g.String() == f.String() })
}

// paths wants paths that can match: as the kernel spells them.
func (l *linter) paths(r *Rule) {
	for _, f := range r.filters {
		f.leaves(func(f *filter, _ bool) {
			if !isPath(f) {
				return
			}
			if f.spec.how == matching {
				if !r.Allow {
					l.add(r, "a regular expression in a deny: it does not fold case as paths do")
				}
				if strings.HasPrefix(f.arg, "^") && throughLink(strings.TrimPrefix(f.arg, "^"), false) {
					l.add(r, "%s leads through a link", f)
				}
				return
			}
			if why := unfit(f); why != "" {
				l.add(r, "%s %s", f, why)
			}
		})
	}
}

func unfit(f *filter) string {
	p := f.arg
	switch {
	case !strings.HasPrefix(p, "/"):
		return "is not absolute"
	case strings.ContainsFunc(p, unicode.IsControl):
		return "holds control characters"
	case p != "/" && strings.HasSuffix(p, "/") && f.spec.how != beginning:
		return "ends with a slash and matches nothing"
	case strings.Contains(p, "//") || strings.Contains(p+"/", "/./") || strings.Contains(p+"/", "/../"):
		return "is not cleaned and matches nothing"
	case throughLink(p, f.spec.how == exactly):
		return "leads through a link: what lies behind has another path"
	case within(p, dataVolume) && !within(p, dataVolume+"/home") && p != dataVolume:
		return "is another name of what the kernel calls " + strings.TrimPrefix(p, dataVolume)
	}
	return ""
}

// throughLink reports whether a path has one of the system's links in it. The link
// itself is a node like others for a filter that is about that node alone.
func throughLink(p string, node bool) bool {
	for link := range systemLinks {
		if within(p, link) && !(node && p == link) {
			return true
		}
	}
	return false
}

// escapeOps start or drive processes that no sandbox holds.
var escapeOps = []string{"appleevent-send", "lsopen", "job-creation", "mach-register"}

// escapeWords are in the names of services that do, or that hand out secrets.
var escapeWords = []string{
	"launchservicesd", "appleevents", "securityserver", "securityd", "secd", "keychain", "pasteboard",
}

// escapeServices are such services, to find what a prefix or an expression covers.
var escapeServices = []string{
	"com.apple.coreservices.launchservicesd", "com.apple.coreservices.appleevents", "com.apple.SecurityServer",
	"com.apple.securityd", "com.apple.securityd.xpc", "com.apple.secd", "com.apple.security.keychain-proxy-access-control",
	"com.apple.pasteboard.1", "com.apple.xpc.loginitemregisterd", "com.apple.runningboard",
}

func (l *linter) escapes(r *Rule) {
	if slices.Contains(r.mods, "no-sandbox") || slices.Contains(r.mods, "no-profile") {
		l.add(r, "what is executed would be free")
	}
	if !r.Allow {
		return
	}
	for _, op := range r.Ops {
		if slices.Contains(escapeOps, op) {
			l.add(r, "%s is a way out", op)
		}
		if r.bare() && (op == "mach-lookup" || op == "mach*") {
			l.add(r, "every service may be asked")
		}
	}
	for _, word := range escapeWords {
		// The text, since the user's paths, which are parameters, may hold such a word.
		if strings.Contains(strings.ToLower(r.Text), word) {
			l.add(r, "%q stands in an allow", word)
		}
	}
}

// services asks for what must never be answered.
func (l *linter) services() {
	for _, s := range escapeServices {
		for _, space := range []string{"global-name", "local-name", "xpc-service-name"} {
			for _, m := range Models {
				r := Request{Op: "mach-lookup", Name: s, Space: space}
				if d := l.Decide(m, r); d.Allowed {
					l.profileWide("%s %s may be asked (%s model) by %s", space, s, m, d.Why)
				}
			}
		}
	}
}

// unreachable finds rules and filters that decide nothing.
func (l *linter) unreachable(r *Rule) {
	earlier := l.Rules[:r.Index]
	for i, f := range r.filters {
		if slices.ContainsFunc(r.filters[:i], func(g *filter) bool { return g.String() == f.String() }) {
			l.add(r, "%s stands twice in it", f)
		}
		for _, e := range earlier {
			unnamed := func(op string) bool { return !e.names(op) }
			if e.Allow == r.Allow && e.hasFilter(f) && !slices.ContainsFunc(r.Ops, unnamed) {
				l.add(r, "%s stands in an earlier rule: %s", f, e.Text)
			}
		}
		if !r.Allow && !l.reached(r, f) {
			l.add(r, "no allow reaches %s", f)
		}
	}
	if r.Index > 0 && l.covered(r, earlier) {
		l.add(r, "earlier rules say all of it")
	}
}

// covered reports whether each operation and filter of a rule is in an earlier
// rule of the same kind that is as wide or wider.
func (l *linter) covered(r *Rule, earlier []*Rule) bool {
	if !r.Allow && !r.bare() {
		return false // (subpath P) (literal P) of a deny is caution
	}
	filters := r.filters
	if r.bare() {
		filters = []*filter{nil}
	}
	for _, op := range r.Ops {
		for _, f := range filters {
			wider := func(g *filter) bool { return covers(g, f) }
			if !slices.ContainsFunc(earlier, func(e *Rule) bool {
				return e.Allow == r.Allow && e.names(op) && (e.bare() || f != nil && slices.ContainsFunc(e.filters, wider))
			}) {
				return false
			}
		}
	}
	return true
}

// reached reports whether anything that a filter of a deny is about would be
// allowed without it.
func (l *linter) reached(deny *Rule, f *filter) bool {
	for _, op := range deny.Ops {
		shut := func(r *Rule) bool { return !r.Allow && r.bare() && r.names(op) }
		if operations[op].implicit && !slices.ContainsFunc(l.Rules, shut) {
			return true
		}
		for _, r := range l.Rules {
			if !r.Allow || !slices.ContainsFunc(r.Ops, func(a string) bool { return isA(op, a) || isA(a, op) }) {
				continue
			}
			if r.bare() || slices.ContainsFunc(r.filters, func(g *filter) bool { return overlaps(f, g) }) {
				return true
			}
		}
	}
	return false
}
