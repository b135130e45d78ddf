package config

import (
	"slices"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// widened lists what final gives more than base. It adds to policy.Diff what
// that does not compare: a variable let through once more, by a layer that
// beats a drop.
func widened(base, final *policy.Policy) []policy.Change {
	out := policy.WiderOnly(policy.Diff(base, final))
	for _, it := range final.EnvPass {
		if passedAgain(base, final, it) {
			out = append(out, policy.Change{Key: "env_pass", What: it.Text, From: "none", To: it.Text, Wider: true})
		}
	}
	return out
}

// passedAgain reports whether final lets through, from a later layer, what
// base has on its list and drops all the same.
func passedAgain(base, final *policy.Policy, it policy.Item) bool {
	same := func(o policy.Item) bool { return o.Text == it.Text }
	if !slices.ContainsFunc(base.EnvPass, same) || slices.ContainsFunc(base.EnvPass, func(o policy.Item) bool { return same(o) && o.Layer >= it.Layer }) {
		return false // policy.Diff has it, or nothing changed
	}
	return isPattern(it.Text) || final.Env(it.Text).Pass && !base.Env(it.Text).Pass
}

func isPattern(name string) bool { return slices.Contains([]byte(name), '*') }
