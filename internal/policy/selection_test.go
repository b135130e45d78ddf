// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A list that replaces its parents' takes nothing from a profile that was
// selected beside it: -p a -p b must not open what a hides.
func TestSecondSelectionHidesNoLess(t *testing.T) {
	base := &Profile{Name: "base", Block: Words("/secret"), EnvDrop: Words("TOKEN")}
	a := &Profile{Name: "a", Extends: []string{"base"}, Block: Words("/w/dep"), Private: Words("/root")}
	b := &Profile{Name: "b", Extends: []string{"base"},
		Block:   List{Replace: true, Items: Words("/w/zz").Items},
		Private: List{Replace: true}, EnvDrop: List{Replace: true}, Read: Words("/")}
	pol, err := Resolve(set(base, a, b), []string{"a", "b"}, Vars{CWD: "/w", Root: "/w", Home: "/h"})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Access{"/secret": Block, "/w/dep": Block, "/w/zz": Block, "/root": Private, "/etc": Read} {
		if r, ok := pol.Decide(path); !ok || r.Access != want {
			t.Errorf("%s is %v, want %v", path, r.Access, want)
		}
	}
	if len(pol.EnvDrop) != 1 {
		t.Errorf("env_drop is %v, want TOKEN", pol.EnvDrop)
	}
}

// Selecting profiles is the same as laying each, flattened by itself, over the
// ones before: where no person's profile overrules what it extends, which is for
// TestWhichRuleWins.
func TestSelectionsAreFlattened(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	vars := Vars{CWD: "/w", Root: "/w", Home: "/h", Lent: []Lent{{Name: "JAVA_HOME", Dir: "/j"}}}
	words := []string{"/a", "/a/b", "~/c", "$CWD/d", "/etc/e", "/f*"}
	list := func() (l List) {
		l.Replace = r.IntN(4) == 0
		for _, w := range words {
			if r.IntN(4) == 0 {
				l.Items = append(l.Items, Item{Text: w})
			}
		}
		return l
	}
	names := []string{"a", "b", "c", "d"}
	for n := range 3000 {
		all := Set{}
		for i, name := range names {
			p := &Profile{Name: name, Source: name + ".toml:1:1", Private: list(), Write: list(), Read: list(), Protect: list(), Block: list()}
			for _, env := range []*List{&p.EnvPass, &p.EnvDrop} {
				*env = List{Replace: r.IntN(3) == 0, Items: Words("X_" + name).Items}
			}
			if p.Read.Replace || r.IntN(2) == 0 {
				p.Lent = Words("$JAVA_HOME/x", "$JAVA_HOME/"+name).Items
			}
			if i > 0 && r.IntN(2) == 0 {
				p.Extends = []string{names[r.IntN(i)]}
			} else {
				p.Layer = Layer(r.IntN(2))
			}
			all[name] = []*Profile{p}
		}
		over := &Profile{Name: "over", Layer: Flag, Source: "flags", Write: list(), Block: list()}
		chosen := []string{names[r.IntN(4)], names[r.IntN(4)]}
		sum, err := all.Flatten(chosen[0])
		if err != nil {
			t.Fatal(err)
		}
		second, err := all.Flatten(chosen[1])
		if err != nil {
			t.Fatal(err)
		}
		sum.add(second)
		sum.add(over)
		want, wrong := Resolve(Set{"sum": {sum}}, []string{"sum"}, vars)
		got, err := Resolve(all, chosen, vars, over)
		if (err == nil) != (wrong == nil) {
			t.Fatalf("case %d: %v, want %v", n, err, wrong)
		}
		if err != nil {
			continue
		}
		want.Profiles = got.Profiles
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("case %d, %v of %+v:\n%s", n, chosen, all, d)
		}
	}
}
