// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

var (
	someNames    = []string{"a", "b", "ab", ".env", ".env.x", "k.pem"}
	somePatterns = []string{"*", "a*", ".env*", "*.pem", "?"}
)

func somePath(rng *rand.Rand, depth int, last []string) string {
	out := ""
	for range depth {
		out += "/" + someNames[rng.IntN(len(someNames))]
	}
	return out + "/" + last[rng.IntN(len(last))]
}

// someRules adds up to n rules.
func someRules(rng *rand.Rand, p *Policy, n int) {
	for range rng.IntN(n) {
		r := Rule{Path: somePath(rng, rng.IntN(3), someNames), Access: Access(1 + rng.IntN(int(Block))),
			Layer: Layer(rng.IntN(int(Flag) + 1))}
		if rng.IntN(3) == 0 {
			r.Path, r.Pattern = somePath(rng, rng.IntN(3), somePatterns), true
		}
		if rng.IntN(4) == 0 {
			r.Except = true
		}
		p.Add(r)
	}
}

// TestDiffOfFewRules holds the comparison of policies that differ in few rules, at the
// paths that these can reach, against one at every path.
func TestDiffOfFewRules(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 23))
	changes := 0
	for range 400 {
		both, a, b := &Policy{}, &Policy{}, &Policy{}
		someRules(rng, both, 30)
		a.Rules, b.Rules = both.Rules, both.Rules
		someRules(rng, a, 3)
		someRules(rng, b, 4)
		at := make(map[string]bool)
		for _, r := range slices.Concat(a.Rules, b.Rules) {
			at[r.Path] = true
		}
		var want []Change
		for _, path := range slices.Sorted(maps.Keys(at)) {
			x, y := a.Access(path), b.Access(path)
			if x.reach() != y.reach() && !implied(a.Access(Dir(path)), b.Access(Dir(path)), x, y) {
				want = append(want, Change{pathKey(x, y), path, x.String(), y.String(), y.reach() > x.reach()})
			}
		}
		if got := diffPaths(a, b); !slices.Equal(got, want) {
			t.Fatalf("%v\nwant %v of\n%+v\n%+v", got, want, a.Rules, b.Rules)
		}
		changes += len(want)
	}
	if changes < 200 {
		t.Errorf("%d changes", changes)
	}
}

// TestSortRules holds the order against one by plain comparison.
func TestSortRules(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 7))
	for range 300 {
		var rules []Rule
		for range rng.IntN(6) { // of sorted runs
			var p Policy
			someRules(rng, &p, 20)
			rules = append(rules, p.Rules...)
		}
		want := slices.Clone(rules)
		slices.SortStableFunc(want, func(a, b Rule) int { return compareRules(&a, &b) })
		if sortRules(rules); !slices.Equal(rules, want) {
			t.Fatalf("%+v\nwant %+v", rules, want)
		}
	}
}

// TestAtlas holds the answers for many paths against those for one.
func TestAtlas(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 26))
	for range 300 {
		p := &Policy{}
		someRules(rng, p, 30)
		a := newAtlas(p)
		for range 60 {
			at := somePath(rng, rng.IntN(4), someNames)
			if got, want := a.access(at), p.Access(at); got != want {
				t.Fatalf("%s: %v, want %v of\n%+v", at, got, want, p.Rules)
			}
		}
		if a.access("/") != p.Access("/") {
			t.Fatal("/")
		}
	}
}
