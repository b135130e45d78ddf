// SPDX-License-Identifier: Apache-2.0

package sbpltest

import (
	"slices"
	"strings"
)

// covers reports whether f matches all that g matches, as far as one can tell.
func covers(f, g *filter) bool {
	over := func(f *filter) bool { return covers(f, g) }
	under := func(g *filter) bool { return covers(f, g) }
	switch {
	case f.String() == g.String():
		return true
	case g.name == some:
		return !slices.ContainsFunc(g.in, func(g *filter) bool { return !under(g) })
	case g.name == all && slices.ContainsFunc(g.in, under):
		return true
	case f.name == some:
		return slices.ContainsFunc(f.in, over)
	case f.name == all:
		return !slices.ContainsFunc(f.in, func(f *filter) bool { return !over(f) })
	case f.boolean() || g.boolean() || f.spec.family != g.spec.family || f.spec.space != g.spec.space:
		return false
	case f.spec.how == addressed:
		return coversAddress(f, g)
	}
	return coversText(f, g)
}

func coversAddress(f, g *filter) bool {
	host, port, _ := strings.Cut(f.arg, ":")
	inHost, inPort, _ := strings.Cut(g.arg, ":")
	return (f.what == g.what || f.what == "ip" && g.what != "unix-socket") &&
		(host == "*" || host == inHost) && (port == "*" || port == inPort)
}

// coversText compares paths and names.
func coversText(f, g *filter) bool {
	a, b := f.arg, g.arg
	if isPath(f) && f.spec.how != matching {
		a, b = strings.ToLower(a), strings.ToLower(b)
	}
	switch {
	case g.spec.how == matching || g.spec.how == beginning && f.spec.how != beginning:
		return false
	case f.spec.how == exactly:
		return a == b && g.spec.how == exactly
	case f.spec.how == below:
		return within(b, a)
	case f.spec.how == beginning:
		return strings.HasPrefix(b, a)
	case f.spec.how == matching:
		return g.spec.how == exactly && f.expr.MatchString(b)
	}
	return a == b
}

// overlaps reports whether something may match both f and g.
func overlaps(f, g *filter) bool {
	if !f.boolean() && g.boolean() {
		f, g = g, f
	}
	other := func(f *filter) bool { return overlaps(f, g) }
	switch {
	case f.name == some:
		return slices.ContainsFunc(f.in, other)
	case f.name == all:
		return !slices.ContainsFunc(f.in, func(f *filter) bool { return !other(f) })
	case f.name == not:
		return !covers(f.in[0], g)
	case f.spec.family != g.spec.family:
		// A socket has a path or an address.
		return !(isPath(f) && g.spec.family == "network" || f.spec.family == "network" && isPath(g))
	case f.spec.space != g.spec.space:
		return f.spec.family == "network" || f.spec.family == "socket"
	case f.spec.how == matching || g.spec.how == matching:
		return overlapsExpr(f, g)
	case f.spec.how == addressed:
		return true
	}
	return coversText(f, g) || coversText(g, f) || beginsWithin(f, g) || beginsWithin(g, f)
}

func overlapsExpr(f, g *filter) bool {
	if f.spec.how != matching {
		f, g = g, f
	}
	return g.spec.how != exactly || f.expr.MatchString(g.arg)
}

// beginsWithin is the case of a prefix below a tree: neither holds all of the other.
func beginsWithin(tree, prefix *filter) bool {
	a, b := strings.ToLower(tree.arg), strings.ToLower(prefix.arg)
	return tree.spec.how == below && prefix.spec.how == beginning && (within(b, a) || strings.HasPrefix(a, b))
}
