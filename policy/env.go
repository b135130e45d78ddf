package policy

import "strings"

// Verdict says what happens to one environment variable and why.
type Verdict struct {
	Pass   bool
	Source string // layer and rule, for explain; never the value
}

// Env decides about a variable of the caller by its name. The latest matching
// flag wins; below flags a drop beats a pass, and a pass in a file beats a
// built-in drop only when it is the exact name or comes from a later layer.
func (p *Policy) Env(name string) Verdict {
	pass, passed := match(p.EnvPass, name)
	drop, dropped := match(p.EnvDrop, name)
	switch {
	case passed && dropped:
		// The user may open by name what a profile drops by pattern.
		open := pass.Layer > drop.Layer || pass.Layer == drop.Layer && pass.Text == name && drop.Text != name
		if open {
			return Verdict{true, pass.Source}
		}
		return Verdict{false, drop.Source + " drops " + drop.Text}
	case dropped:
		return Verdict{false, drop.Source + " drops " + drop.Text}
	case passed:
		return Verdict{true, pass.Source}
	case p.Environment == "inherit":
		return Verdict{true, "inherited"}
	}
	return Verdict{false, "not on the list"}
}

// match returns the strongest item that names the variable: the latest layer,
// and there the exact name before a pattern.
func match(items []Item, name string) (best Item, found bool) {
	for _, it := range items {
		if it.Text != name && (strings.IndexByte(it.Text, '*') < 0 || !Match(it.Text, name)) {
			continue
		}
		if !found || it.Layer > best.Layer || it.Layer == best.Layer && it.Text == name {
			best, found = it, true
		}
	}
	return best, found
}

// ValidName reports whether name can be the name of an environment variable
// as shells have it.
func ValidName(name string) bool { return name != "" && varName(name) == name }
