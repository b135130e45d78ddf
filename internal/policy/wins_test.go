// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestOverrule(t *testing.T) {
	vars := Vars{CWD: "/w", Root: "/w", Home: "/h"}
	below := Vars{CWD: "/w/sub", Root: "/w", Project: "/w", Home: "/h"}
	profile := func(name string, layer Layer, extends string, p Profile) *Profile {
		p.Name, p.Layer = name, layer
		if extends != "" {
			p.Extends = []string{extends}
		}
		return &p
	}
	reads := Profile{Read: Words("$CWD", "/lib")}
	guards := Profile{Write: Words("$CWD"), Protect: Words("$CWD/x"), Block: Words("/h/secret", "$CWD/p*")}
	for _, c := range []struct {
		name  string
		set   Set
		names []string
		path  string
		want  Access
	}{
		{"the working directory of a read-only parent", set(profile("a", Builtin, "", reads),
			profile("b", User, "a", Profile{Write: Words("$CWD")})), []string{"b"}, "/w", Write},
		{"the other way round", set(profile("a", User, "", Profile{Write: Words("/w")}),
			profile("b", User, "a", Profile{Read: Words("/w")})), []string{"b"}, "/w", Read},
		{"a stack", Set{"a": {profile("a", Builtin, "", reads), profile("a", User, "", Profile{Write: Words("$CWD")})}},
			[]string{"a"}, "/w", Write},
		{"within one profile the tighter", set(profile("a", User, "", Profile{Write: Words("/w"), Read: Words("/w")})),
			[]string{"a"}, "/w", Read},
		{"no parent", set(profile("a", Builtin, "", reads), profile("b", User, "", Profile{Write: Words("$CWD")})),
			[]string{"a", "b"}, "/w", Read},
		{"no parent, selected first", set(profile("a", Builtin, "", reads),
			profile("b", User, "a", Profile{Write: Words("$CWD")})), []string{"b", "a"}, "/w", Read},
		{"brothers", set(profile("a", User, "", Profile{Block: Words("/w")}),
			profile("b", User, "", Profile{Write: Words("/w")}),
			&Profile{Name: "c", Layer: User, Extends: []string{"a", "b"}}), []string{"c"}, "/w", Unseen},
		{"what another user of the same parent says", set(profile("a", User, "", Profile{Block: Words("/w")}),
			profile("b", User, "a", Profile{Write: Words("/w")}), profile("n", User, "a", Profile{}),
			&Profile{Name: "c", Layer: User, Extends: []string{"b", "n"}}), []string{"c"}, "/w", Unseen},
		{"an earlier layer", set(profile("a", User, "", Profile{Block: Words("/w")}),
			profile("b", System, "a", Profile{Write: Words("/w")})), []string{"b"}, "/w", Unseen},
		{"between built-in profiles", set(profile("a", Builtin, "", reads),
			profile("b", Builtin, "a", Profile{Write: Words("$CWD")})), []string{"b"}, "/w", Read},
		{"a person's block", set(profile("a", User, "", guards),
			profile("b", User, "a", Profile{Read: Words("~/secret")})), []string{"b"}, "/h/secret", Read},
		{"a built-in secret", set(profile("a", Builtin, "", guards),
			profile("b", User, "a", Profile{Read: Words("~/secret")})), []string{"b"}, "/h/secret", Unseen},
		{"the administrator's block", set(profile("a", System, "", guards),
			profile("b", System, "a", Profile{Read: Words("~/secret")})), []string{"b"}, "/h/secret", Unseen},
		{"a protected file, named", set(profile("a", Builtin, "", guards),
			profile("b", User, "a", Profile{Write: Words("$CWD/x")})), []string{"b"}, "/w/x", Write},
		{"the administrator's protected file", set(profile("a", System, "", guards),
			profile("b", User, "a", Profile{Write: Words("$CWD/x")})), []string{"b"}, "/w/x", Protect},
		{"a protected file to read", set(profile("a", Builtin, "", guards),
			profile("b", User, "a", Profile{Read: Words("$CWD/x")})), []string{"b"}, "/w/x", Read},
		{"any working directory names none", set(profile("a", Builtin, "", Profile{Read: Words("/w")}),
			profile("b", User, "a", Profile{Write: Words("$CWD")})), []string{"b"}, "/w", Read},
		{"a private directory", set(profile("a", Builtin, "", Profile{Write: Words("$HOME/c")}),
			profile("b", User, "a", Profile{Private: Words("~/c")})), []string{"b"}, "/h/c", Private},
		{"the project, below it", set(profile("a", Builtin, "", reads),
			profile("b", User, "a", Profile{Write: Words("$PROJECT")})), []string{"b"}, "/w/sub", Write},
		{"the project beside, below it", set(profile("a", Builtin, "", reads),
			profile("b", User, "", Profile{Write: Words("$PROJECT")})), []string{"a", "b"}, "/w/sub", Read},
		{"the project, and what is hidden below", set(profile("a", User, "", Profile{Block: Words("/w/sub")}),
			profile("b", User, "a", Profile{Write: Words("$PROJECT")})), []string{"b"}, "/w/sub", Unseen},
	} {
		t.Run(c.name, func(t *testing.T) {
			vars := vars
			if c.path == below.CWD {
				vars = below
			}
			pol, err := Resolve(c.set, c.names, vars)
			if err != nil {
				t.Fatal(err)
			}
			if got := pol.Access(c.path); got != c.want {
				t.Errorf("%s is %s, want %s in\n%s", c.path, got, c.want, show(pol))
			}
		})
	}
}

// said is what one visit of a profile says, written down a second time: over is
// the visits to what it extends.
type said struct {
	*Profile
	over []*said
}

// visits lists those to a profile and all that it extends.
func visits(all Set, name string) (out []*said) {
	for _, p := range all[name] {
		s := &said{Profile: p, over: slices.Clone(out)}
		for _, parent := range p.Extends {
			s.over = append(s.over, visits(all, parent)...)
		}
		out = append(append(out, s.over[len(out):]...), s)
	}
	return out
}

// wins is the access at a path that has no rule above but a writable root.
func wins(visits []*said, path string) Access {
	var give, guard Access
	for _, s := range visits {
		for _, l := range pathLists {
			names := func(s *said, of func(*Profile) *List) bool {
				return slices.ContainsFunc(of(s.Profile).Items, func(it Item) bool { return it.Text == path })
			}
			if !names(s, l.of) || slices.ContainsFunc(visits, func(by *said) bool {
				opens := names(by, pathLists[0].of) && l.access != Protect || names(by, pathLists[1].of) ||
					names(by, pathLists[2].of) && l.access != Protect
				holds := l.access == Block && s.Layer <= System || l.access == Protect && s.Layer == System
				return opens && !holds && by.Layer > Builtin && by.Layer >= s.Layer && slices.Contains(by.over, s)
			}) {
				continue
			}
			if l.access == Protect {
				guard = Protect
			} else {
				give = max(give, l.access)
			}
		}
	}
	if guard == Protect && (give == Unseen || give == Write) {
		return Protect
	}
	if give == Unseen {
		return Write
	}
	return give
}

// TestWhichRuleWins holds what the layers make of random profiles against the rule
// as the documentation has it, and what is wider and tighter against both.
func TestWhichRuleWins(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 9))
	names, paths := []string{"a", "b", "c", "d"}, []string{"/1", "/2"}
	random := func() Set {
		all := Set{}
		for i, name := range names {
			layer := Layer(r.IntN(4))
			for range 1 + r.IntN(4)/3 {
				p := &Profile{Name: name, Layer: layer, Source: name}
				for _, l := range pathLists {
					for _, path := range paths {
						if r.IntN(6) == 0 {
							l.of(p).Items = append(l.of(p).Items, Item{Text: path})
						}
					}
				}
				for _, parent := range names[:i] {
					if r.IntN(2) == 0 {
						p.Extends = append(p.Extends, parent)
					}
				}
				all[name] = append(all[name], p)
				layer = max(layer, Layer(r.IntN(4)))
			}
		}
		return all
	}
	root := &Profile{Write: Words("/")}
	resolve := func(all Set, selected []string) (*Policy, []*said) {
		pol, err := Resolve(all, selected, Vars{CWD: "/w", Root: "/w", Home: "/h"}, root)
		if err != nil {
			t.Fatal(err)
		}
		var v []*said
		for _, name := range selected {
			v = append(v, visits(all, name)...)
		}
		return pol, v
	}
	overruled := 0
	for range 5000 {
		all := random()
		selected := []string{names[3], names[r.IntN(4)]}[:1+r.IntN(2)]
		pol, v := resolve(all, selected)
		other, w := resolve(all, []string{names[r.IntN(4)]})
		changes := Diff(pol, other)
		for _, path := range paths {
			want := wins(v, path)
			if got := pol.Access(path); got != want {
				t.Fatalf("%v: %s is %s, want %s\n%s", selected, path, got, want, describe(all))
			}
			is := wins(w, path)
			i := slices.IndexFunc(changes, func(c Change) bool { return c.What == path })
			if differs := want.reach() != is.reach(); differs != (i >= 0) || differs && changes[i].Wider != (is.reach() > want.reach()) {
				t.Fatalf("%v: %s goes from %s to %s, and the difference is %+v\n%s", selected, path, want, is, changes, describe(all))
			}
			var unrelated []*said
			for _, s := range v {
				unrelated = append(unrelated, &said{Profile: s.Profile})
			}
			if wins(unrelated, path) != want {
				overruled++
			}
		}
	}
	if overruled < 200 {
		t.Errorf("derivation made a difference %d times only", overruled)
	}
}

func describe(all Set) (out string) {
	for _, name := range all.Names() {
		for _, p := range all[name] {
			out += fmt.Sprintf("%s %s extends %v:", p.Layer, name, p.Extends)
			for _, l := range pathLists {
				for _, it := range l.of(p).Items {
					out += " " + l.access.String() + " " + it.Text
				}
			}
			out += "\n"
		}
	}
	return out
}
