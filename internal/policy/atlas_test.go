// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math/rand/v2"
	"testing"
)

// TestAtlas holds the answers for many paths against those for one.
func TestAtlas(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 26))
	elems := []string{"a", "b", "ab", ".env", ".env.x", "k.pem"}
	patterns := []string{"*", "a*", ".env*", "*.pem", "?"}
	path := func(depth int, last []string) string {
		out := ""
		for range depth {
			out += "/" + elems[rng.IntN(len(elems))]
		}
		return out + "/" + last[rng.IntN(len(last))]
	}
	for range 300 {
		p := &Policy{}
		for range rng.IntN(30) {
			r := Rule{Path: path(rng.IntN(3), elems), Access: Access(1 + rng.IntN(int(Block))),
				Layer: Layer(rng.IntN(int(Flag) + 1))}
			if rng.IntN(3) == 0 {
				r.Path, r.Pattern = path(rng.IntN(3), patterns), true
			}
			if rng.IntN(4) == 0 {
				r.Except = true
			}
			p.Add(r)
		}
		a := newAtlas(p)
		for range 60 {
			at := path(rng.IntN(4), elems)
			if got, want := a.access(at), p.Access(at); got != want {
				t.Fatalf("%s: %v, want %v of\n%+v", at, got, want, p.Rules)
			}
		}
		if a.access("/") != p.Access("/") {
			t.Fatal("/")
		}
	}
}
