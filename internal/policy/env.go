// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"path"
	"strings"
)

// Verdict says what happens to one environment variable and why.
type Verdict struct {
	Pass   bool
	Layer  Layer  // of the rule; Builtin for what no rule names
	Source string // layer and rule, for explain; never the value
}

// Sources of a verdict about a variable that no rule names.
const (
	Inherited = "inherited"       // environment = "inherit"
	Unlisted  = "not on the list" // environment = "list"
)

// Env decides about a variable of the caller by its name. The latest matching
// flag wins; below flags a drop beats a pass, and a pass in a file beats a
// built-in drop only when it is the exact name or comes from a later layer.
func (p *Policy) Env(name string) Verdict { return p.env(name, nil, nil) }

// Envs is [Policy.Env] for many variables: what each pattern needs is looked up once.
func (p *Policy) Envs() func(name string) Verdict {
	pass, drop := needs(p.EnvPass), needs(p.EnvDrop)
	return func(name string) Verdict { return p.env(name, pass, drop) }
}

func (p *Policy) env(name string, mustPass, mustDrop []uint32) Verdict {
	pass, passed := match(p.EnvPass, mustPass, name, false)
	drop, dropped := match(p.EnvDrop, mustDrop, name, true)
	// The user may open by name what a profile drops by pattern.
	open := pass.Layer > drop.Layer || pass.Layer == drop.Layer && pass.Text == name && drop.Text != name
	switch {
	case passed && (open || !dropped):
		return Verdict{true, pass.Layer, pass.Source}
	case dropped:
		return Verdict{false, drop.Layer, drop.Source + " drops " + drop.Text}
	case p.Environment == "inherit":
		return Verdict{true, Builtin, Inherited}
	}
	return Verdict{false, Builtin, Unlisted}
}

// needs are the letters that a name must have for each item to match it.
func needs(items []Item) []uint32 {
	out := make([]uint32, len(items))
	for i := range items {
		out[i] = letters(items[i].Text)
	}
	return out
}

// match returns the strongest item that names the variable: the latest layer,
// and there the exact name before a pattern. Drops do not care for the case of
// letters: some secrets are called api_key. needs are of the items, or nil.
func match(items []Item, needs []uint32, name string, fold bool) (best Item, found bool) {
	if fold {
		name = strings.ToUpper(name)
	}
	has := letters(name)
	for i := range items {
		if needs != nil && needs[i]&^has != 0 {
			continue // most end here
		}
		it := &items[i]
		text := it.Text
		if text == "" || name == "" || text[0] != '*' && text[0] != name[0] && (!fold || text[0]&^0x20 != name[0]) ||
			endsOtherwise(text, name) {
			continue
		}
		if fold {
			text = strings.ToUpper(text)
		}
		if text != name && (strings.IndexByte(text, '*') < 0 || !Match(text, name)) {
			continue
		}
		if !found || it.Layer > best.Layer || it.Layer == best.Layer && text == name {
			best, found = *it, true
		}
	}
	return best, found
}

// letters are the ASCII letters in a text, without their case, a bit for each.
func letters(s string) (set uint32) {
	for i := range len(s) {
		if c := s[i] | 0x20; 'a' <= c && c <= 'z' {
			set |= 1 << (c - 'a')
		}
	}
	return set
}

// endsOtherwise reports whether a pattern ends with another letter than a name.
func endsOtherwise(pattern, name string) bool {
	c := pattern[len(pattern)-1]
	return c != '*' && c != '?' && c < 0x80 && c|0x20 != name[len(name)-1]|0x20
}

// overlap reports whether some name matches both patterns. It goes through the
// two letter by letter with a table, so that many stars cost no more than few.
func overlap(p, q string) bool {
	star := func(s string, i int) bool { return i < len(s) && s[i] == '*' }
	row := make([]bool, len(q)+1) // row[j]: p[i:] and q[j:] overlap
	for i := len(p); i >= 0; i-- {
		next := row
		row = make([]bool, len(q)+1)
		for j := len(q); j >= 0; j-- {
			switch {
			case i == len(p) && j == len(q):
				row[j] = true
			case star(p, i):
				row[j] = next[j] || j < len(q) && row[j+1]
			case star(q, j):
				row[j] = row[j+1] || i < len(p) && next[j]
			case i < len(p) && j < len(q):
				row[j] = (p[i] == q[j] || p[i] == '?' || q[j] == '?') && next[j+1]
			}
		}
	}
	return row[0]
}

// ValidName reports whether name can be the name of an environment variable
// as shells have it.
func ValidName(name string) bool { return name != "" && varName(name) == name }

// addHome makes the home directory that the command is told of a private one, where
// nothing of the host's is shown.
func (pol *Policy) addHome() {
	home := pol.Home()
	if home == "/" || !strings.HasPrefix(home, "/") || path.Clean(home) != home || Within(home, "/proc") {
		return
	}
	if s := pol.literal(home); s.Rule() == nil && (pol.Access(home) == Private || pol.Access(home) == Unseen) {
		pol.insert(Rule{Path: home, Access: Private, Layer: User, Source: pol.Where["env_set.HOME"]})
	}
}

// Home is the value that HOME is set to, "" where it is the caller's.
func (pol *Policy) Home() string {
	for _, v := range pol.EnvSet {
		if v.Name == "HOME" {
			return v.Value
		}
	}
	return ""
}

// ValidDevice reports whether text names devices: a set of them, or a node.
func ValidDevice(text string) bool {
	return text == "gpu" || text == "kvm" || strings.HasPrefix(text, "/dev/") && path.Clean(text) == text
}
