package policy

import (
	"slices"
	"strings"
)

// Change is one difference between two policies, seen from the first.
type Change struct {
	Key   string // as files name it: allow_network, writable_paths, env_pass, …
	What  string // the path, the variable, or the new value
	From  string
	To    string
	Wider bool // gives more than before; false means it gives less
}

// ranks order the values of single keys from tight to wide.
var ranks = map[string][]string{
	"allow_network": {"false", "true"},
	"share_pid":     {"false", "true"},
	"new_session":   {"yes", "auto", "no"},
	"seccomp":       {"strict", "default", "dev", "off"},
	"git":           {"none", "commit", "full"},
	"cache":         {"none", "private"},
	"environment":   {"list", "inherit"},
	"limits":        {"enforce", "best-effort"},
	"min_tier":      {"full", "reduced"},
}

// Wider reports whether value b of a single key gives more than value a.
// Numbers are limits: a larger one gives more, and "" (no limit) the most.
func Wider(key, a, b string) bool {
	if order, ok := ranks[key]; ok {
		return slices.Index(order, b) > slices.Index(order, a)
	}
	return a != "" && (b == "" || parse(b) > parse(a))
}

func parse(s string) float64 {
	var f, scale float64 = 0, 0
	for _, c := range s {
		switch {
		case c == '.':
			scale = 1
		case '0' <= c && c <= '9':
			f = f*10 + float64(c-'0')
			scale *= 10
		}
	}
	if scale > 1 {
		return f / scale
	}
	return f
}

// Diff lists what b changes over a, sorted by key. It is exact for paths and
// single values; for environment patterns it errs towards wider.
func Diff(a, b *Policy) []Change {
	var out []Change
	av, bv := a.Scalars(), b.Scalars()
	for i := range av {
		if av[i].Value != bv[i].Value {
			k := av[i].Key
			out = append(out, Change{k, bv[i].Value, orNone(av[i].Value), orNone(bv[i].Value), Wider(k, av[i].Value, bv[i].Value)})
		}
	}
	out = append(out, diffPaths(a, b)...)
	out = append(out, diffItems("env_pass", a.EnvPass, b.EnvPass, true)...)
	out = append(out, diffItems("env_drop", a.EnvDrop, b.EnvDrop, false)...)
	out = append(out, diffVars(a.EnvSet, b.EnvSet)...)
	slices.SortStableFunc(out, func(x, y Change) int {
		if c := strings.Compare(x.Key, y.Key); c != 0 {
			return c
		}
		return strings.Compare(x.What, y.What)
	})
	return out
}

// WiderOnly returns the changes that give more.
func WiderOnly(changes []Change) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return !c.Wider })
}

// Scalars returns the single values of the policy in a fixed order.
func (p *Policy) Scalars() []Scalar {
	return []Scalar{
		{"allow_network", SwitchOf(p.Network).text()}, {"share_pid", SwitchOf(p.SharePID).text()},
		{"new_session", p.NewSession}, {"seccomp", p.Seccomp}, {"git", p.Git}, {"cache", p.Cache},
		{"environment", p.Environment}, {"limits", p.Limits}, {"min_tier", p.MinTier},
		{"timeout_seconds", number(p.TimeoutSeconds)}, {"memory_limit_mb", number(float64(p.MemoryLimitMB))},
		{"cpus", number(p.CPUs)}, {"procs", number(float64(p.Procs))}, {"tmpfs_limit_mb", number(float64(p.TmpfsLimitMB))},
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func diffPaths(a, b *Policy) []Change {
	var out []Change
	seen := ""
	paths := make([]string, 0, len(a.Rules)+len(b.Rules))
	for _, rules := range [][]Rule{a.Rules, b.Rules} {
		for _, r := range rules {
			paths = append(paths, r.Path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		if path == seen {
			continue
		}
		seen = path
		ra, _ := a.Decide(path)
		rb, _ := b.Decide(path)
		// A pattern's exceptions are compared as rules of their own path.
		x, y := ra.Access.reach(), rb.Access.reach()
		if x != y {
			out = append(out, Change{pathKey(ra.Access, rb.Access), path, ra.Access.String(), rb.Access.String(), y > x})
		}
	}
	return out
}

// pathKey names the key that made the difference: the block or protect rule
// that came or went, else the grant.
func pathKey(from, to Access) string {
	keys := map[Access]string{Private: "private_paths", Write: "writable_paths", Read: "readonly_paths", Protect: "protected_paths", Block: "blocked_paths"}
	switch {
	case from == Block || to == Block:
		return keys[Block]
	case from == Protect || to == Protect:
		return keys[Protect]
	case to == Unseen:
		return keys[from]
	}
	return keys[to]
}

func diffItems(key string, a, b []Item, addWider bool) []Change {
	var out []Change
	has := func(l []Item, t string) bool { return slices.ContainsFunc(l, func(i Item) bool { return i.Text == t }) }
	for _, it := range b {
		if !has(a, it.Text) {
			out = append(out, Change{key, it.Text, "none", it.Text, addWider})
		}
	}
	for _, it := range a {
		if !has(b, it.Text) {
			out = append(out, Change{key, it.Text, it.Text, "none", !addWider})
		}
	}
	return out
}

func diffVars(a, b []Var) []Change {
	var out []Change
	for _, v := range b {
		if !slices.Contains(a, v) {
			out = append(out, Change{"env_set", v.Name, "none", "set", true})
		}
	}
	for _, v := range a {
		if !slices.ContainsFunc(b, func(o Var) bool { return o.Name == v.Name }) {
			out = append(out, Change{"env_set", v.Name, "set", "none", false})
		}
	}
	return out
}
