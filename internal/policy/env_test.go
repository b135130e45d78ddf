// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func items(layer Layer, texts ...string) []Item {
	var out []Item
	for _, t := range texts {
		out = append(out, Item{Text: t, Layer: layer, Source: layer.String()})
	}
	return out
}

func TestEnv(t *testing.T) {
	drops := items(Builtin, "*_TOKEN", "LD_*", "ENV")
	for _, c := range []struct {
		name, env, variable string
		pass, drop          []Item
		want                bool
		source              string
	}{
		{"inherited", "inherit", "FOO", nil, drops, true, "inherited"},
		{"not on the list", "list", "FOO", nil, drops, false, "not on the list"},
		{"on the list", "list", "FOO", items(Builtin, "FOO"), nil, true, "built-in"},
		{"on the list by pattern", "list", "LC_ALL", items(Builtin, "LC_*"), nil, true, "built-in"},
		{"a list is about the case of letters", "list", "lc_all", items(Builtin, "LC_*"), nil, false,
			"not on the list"},
		{"dropped by pattern", "inherit", "GH_TOKEN", nil, drops, false, "built-in drops *_TOKEN"},
		{"dropped by name", "inherit", "ENV", nil, drops, false, "built-in drops ENV"},
		{"dropping does not care for case", "inherit", "gh_token", nil, drops, false, "built-in drops *_TOKEN"},
		{"in the pattern neither", "inherit", "API_KEY", nil, items(User, "api_*"), false, "user drops api_*"},
		{"a name that only begins so", "inherit", "ENVIRONMENT", nil, drops, true, "inherited"},
		{"passed and dropped in one layer by patterns", "inherit", "GH_TOKEN", items(Builtin, "GH_*"), drops, false,
			"built-in drops *_TOKEN"},
		{"passed by name what a pattern drops", "inherit", "GH_TOKEN", items(Builtin, "GH_TOKEN"), drops, true,
			"built-in"},
		{"passed and dropped by name", "inherit", "ENV", items(Builtin, "ENV"), drops, false, "built-in drops ENV"},
		{"a later file passes", "inherit", "GH_TOKEN", items(User, "GH_*"), drops, true, "user"},
		{"a later file drops", "inherit", "FOO", items(System, "FOO"), items(User, "F*"), false, "user drops F*"},
		{"a flag passes", "list", "GH_TOKEN", items(Flag, "*"), items(Project, "GH_TOKEN"), true, "flag"},
		{"a flag passes what flags drop by pattern", "inherit", "GH_TOKEN", items(Flag, "GH_TOKEN"),
			items(Flag, "GH_*"), true, "flag"},
		{"the latest pass counts", "inherit", "GH_TOKEN", append(items(User, "GH_TOKEN"), items(Builtin, "GH_*")...),
			drops, true, "user"},
		{"the exact name before a pattern", "inherit", "GH_TOKEN",
			append(items(Builtin, "GH_*"), items(Builtin, "GH_TOKEN")...), drops, true, "built-in"},
		{"exported functions", "inherit", "BASH_FUNC_x%%", nil, items(Builtin, "BASH_FUNC_*"), false,
			"built-in drops BASH_FUNC_*"},
		{"a star alone", "inherit", "ANY", nil, items(Builtin, "*"), false, "built-in drops *"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &Policy{Environment: c.env, EnvPass: c.pass, EnvDrop: c.drop}
			if v := p.Env(c.variable); v.Pass != c.want || v.Source != c.source {
				t.Errorf("%+v, want %v, %s", v, c.want, c.source)
			}
		})
	}
}

// Nothing passes through a zero policy.
func TestZeroPolicy(t *testing.T) {
	var p Policy
	if p.Env("PATH").Pass || p.Access("/") != Unseen || p.Access("/a/b") != Unseen {
		t.Error("it grants something")
	}
}

// One more item in env_drop of a later layer never lets more through.
func TestDroppingOnlyTakes(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	texts := []string{"A", "AB", "A*", "*B", "a", "*", "B_A", "?"}
	names := []string{"A", "AB", "B", "a", "ab", "B_A", "C"}
	list := func() (out []Item) {
		for range r.IntN(4) {
			out = append(out, Item{Text: texts[r.IntN(len(texts))], Layer: Layer(r.IntN(6))})
		}
		return out
	}
	for range 5000 {
		p := &Policy{Environment: []string{"list", "inherit"}[r.IntN(2)], EnvPass: list(), EnvDrop: list()}
		q := *p
		q.EnvDrop = append(append([]Item{}, p.EnvDrop...),
			Item{Text: texts[r.IntN(len(texts))], Layer: Layer(r.IntN(6))})
		for _, n := range names {
			if q.Env(n).Pass && !p.Env(n).Pass {
				t.Fatalf("%s passes with %v and not with %v (pass %v)", n, q.EnvDrop, p.EnvDrop, p.EnvPass)
			}
		}
	}
}

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{"A": true, "_": true, "a1_B": true, "": false, "1A": false, "A-B": false,
		"A B": false, "A=": false, "é": false, "BASH_FUNC_x%%": false, "A\x00": false} {
		if ValidName(name) != want {
			t.Errorf("%q: not %v", name, want)
		}
	}
}

// What is left out before a pattern is compared would not have matched.
func TestLettersLeaveOutNoMatch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func(letters string) string {
		out := make([]rune, 1+r.IntN(5))
		for i := range out {
			out[i] = []rune(letters)[r.IntN(len([]rune(letters)))]
		}
		return string(out)
	}
	matched := 0
	for range 20000 {
		pattern, name := word("*?aAbB_1ıſé["), word("aAbBIS_1ıſÉ[")
		upper := strings.ToUpper(name)
		want := Match(strings.ToUpper(pattern), upper)
		out := func(name string) bool {
			return letters(pattern)&^letters(name) != 0 || endsOtherwise(pattern, name)
		}
		if want && out(upper) || Match(pattern, name) && out(name) {
			t.Fatalf("%q leaves out %q", pattern, name)
		}
		if want {
			matched++
		}
	}
	if matched < 100 {
		t.Fatalf("%d matches say little", matched)
	}
}
