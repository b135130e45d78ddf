// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parseRules reads "write /a", "block /a/*.key", "except /a/b.key",
// "flag read /a": one rule each, built-in unless it says otherwise.
func parseRules(t testing.TB, lines ...string) *Policy {
	t.Helper()
	p := &Policy{}
	for _, line := range lines {
		r := Rule{Source: line}
		words := strings.SplitN(line, " ", 2)
		for i, name := range layerNames {
			if words[0] == name {
				r.Layer = Layer(i)
				words = strings.SplitN(words[1], " ", 2)
			}
		}
		if words[0] == "except" {
			r.Except, r.Access = true, Block
		}
		for i, name := range accessNames {
			if words[0] == name {
				r.Access = Access(i)
			}
		}
		r.Path = words[1]
		r.Pattern = strings.ContainsAny(r.Path, "*?")
		p.Add(r)
	}
	return p
}

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		name, path, want string
		rules            []string
	}{
		{"nothing", "/a", "", nil},
		{"itself", "/a", "write /a", []string{"write /a"}},
		{"an ancestor", "/a/b/c", "write /a", []string{"write /a"}},
		{"the root", "/x", "read /", []string{"read /"}},
		{"the root itself", "/", "read /", []string{"read /", "write /a"}},
		{"no sibling with the same beginning", "/ab", "", []string{"write /a"}},
		{"the deepest wins", "/a/b/c", "read /a/b", []string{"block /a", "read /a/b"}},
		{"the deepest wins, whatever it says", "/a/b/c", "private /a/b",
			[]string{"flag write /a", "block /", "private /a/b"}},
		{"block beats protect", "/a", "block /a", []string{"protect /a", "block /a"}},
		{"protect beats read", "/a", "protect /a", []string{"read /a", "protect /a"}},
		{"read beats write", "/a", "read /a", []string{"write /a", "read /a"}},
		{"write beats private", "/a", "write /a", []string{"private /a", "write /a"}},
		{"a later file does not beat", "/a", "block /a", []string{"block /a", "user write /a", "project read /a"}},
		{"a flag beats a file", "/a", "flag write /a", []string{"project block /a", "block /a", "flag write /a"}},
		{"a flag above does not", "/a/b", "block /a/b", []string{"flag write /a", "block /a/b"}},
		{"flags among themselves", "/a", "flag block /a", []string{"flag read /a", "flag block /a"}},
		{"the environment is no flag", "/a", "block /a", []string{"environment read /a", "block /a"}},
		{"a pattern", "/a/x.key", "block /a/*.key", []string{"write /a", "block /a/*.key"}},
		{"a pattern covers what is below", "/a/x.key/y", "block /a/*.key", []string{"write /a", "block /a/*.key"}},
		{"a pattern is for its own directory", "/a/b/x.key", "write /a", []string{"write /a", "block /a/*.key"}},
		{"a pattern at the root", "/x.key", "block /*.key", []string{"read /", "block /*.key"}},
		{"a literal grant beats a pattern", "/a/x.key", "read /a/x.key", []string{"block /a/*.key", "read /a/x.key"}},
		{"a flag's literal beats a pattern", "/a/x.key", "flag read /a/x.key",
			[]string{"block /a/*.key", "flag read /a/x.key"}},
		{"exception", "/a/x.key", "write /a", []string{"write /a", "block /a/*.key", "except /a/x.key"}},
		{"exception by pattern", "/a/x.pub.key", "write /a",
			[]string{"write /a", "block /a/*.key", "except /a/*.pub.key"}},
		{"an exception grants nothing", "/a/x", "", []string{"except /a/x"}},
		{"an exception takes nothing out of a literal", "/a/x", "block /a/x", []string{"block /a/x", "except /a/x"}},
		{"an exception is for one name", "/a/y.key", "block /a/*.key", []string{"block /a/*.key", "except /a/x.key"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 3 { // in any order of rules
				r, ok := parseRules(t, c.rules...).Decide(c.path)
				if r.Source != c.want || ok != (c.want != "") {
					t.Errorf("%q, %v; want %q", r.Source, ok, c.want)
				}
				rand.Shuffle(len(c.rules), func(i, j int) { c.rules[i], c.rules[j] = c.rules[j], c.rules[i] })
			}
		})
	}
}

func TestAccess(t *testing.T) {
	for _, c := range []struct {
		name, path string
		want       Access
		rules      []string
	}{
		{"nothing", "/a", Unseen, nil},
		{"write", "/a/b", Write, []string{"write /a"}},
		{"private", "/a/b", Private, []string{"private /a"}},
		{"hidden in a writable tree", "/a/b", Block, []string{"write /a", "block /a/b"}},
		{"hidden in a readable tree", "/a/b/c", Block, []string{"read /a", "block /a/b"}},
		{"hidden where nothing is seen", "/a/b", Unseen, []string{"block /a/b"}},
		{"hidden in a private directory", "/a/b", Private, []string{"private /a", "block /a/b"}},
		{"protected in a writable tree", "/a/b", Protect, []string{"write /a", "protect /a/b"}},
		{"protected in a readable tree", "/a/b", Read, []string{"read /a", "protect /a/b"}},
		{"protected where nothing is seen", "/a/b", Unseen, []string{"protect /a/b"}},
		{"protected in a hidden tree", "/a/b/c", Block, []string{"read /a", "block /a/b", "protect /a/b/c"}},
		{"opened below what is hidden", "/a/b/c", Read, []string{"block /a/b", "read /a/b/c"}},
		{"hidden root", "/", Unseen, []string{"block /"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := parseRules(t, c.rules...).Access(c.path); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// decide is Decide once more, without the search through sorted rules.
func decide(p *Policy, path string) (Rule, bool) {
	for dir := path; ; dir = Dir(dir) {
		var give, guard *Rule
		for i := range p.Rules {
			r := &p.Rules[i]
			if r.Except || !r.matches(dir) || r.Pattern && p.Excepted(dir) {
				continue
			}
			switch {
			case r.Access == Protect && (guard == nil || r.Layer > guard.Layer):
				guard = r
			case r.Access == Protect:
			case give == nil || r.beats(give):
				give = r
			}
		}
		switch {
		case guard != nil && (give == nil || (give.Access == Write || give.Access == Read) && give.Layer != Flag):
			return *guard, true
		case give != nil:
			return *give, true
		case dir == "/":
			return Rule{}, false
		}
	}
}

func randomPath(r *rand.Rand) string {
	names := []string{"a", "b", "a.b", "ab", "-", "é", "A"}
	path := ""
	for range 1 + r.IntN(3) {
		path += "/" + names[r.IntN(len(names))]
	}
	return path
}

func randomRules(r *rand.Rand) *Policy {
	p := &Policy{}
	for range r.IntN(9) {
		rule := Rule{Path: randomPath(r), Access: Private + Access(r.IntN(5)), Layer: Layer(r.IntN(6)), Source: "s"}
		if r.IntN(12) == 0 {
			rule.Path = "/"
		} else if rule.Access >= Protect && rule.Layer != Flag && r.IntN(3) == 0 {
			rule.Path, rule.Pattern = strings.TrimSuffix(Dir(rule.Path), "/")+"/"+[]string{"*", "a*", "?",
				"*b"}[r.IntN(4)], true
			rule.Except = r.IntN(3) == 0
		}
		p.Add(rule)
	}
	return p
}

func TestDecideAgreesWithTheSlowWay(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20000 {
		p := randomRules(r)
		path := randomPath(r)
		want, ok1 := decide(p, path)
		got, ok2 := p.Decide(path)
		if ok1 != ok2 || got.Access != want.Access || got.Layer == Flag != (want.Layer == Flag) {
			t.Fatalf("%s: %+v, want %+v in\n%s", path, got, want, show(p))
		}
	}
}

func show(p *Policy) string {
	var b strings.Builder
	for _, r := range p.Rules {
		fmt.Fprintf(&b, "%s %s %s except=%v\n", r.Layer, r.Access, r.Path, r.Except)
	}
	return b.String()
}

func TestWithinAndDir(t *testing.T) {
	for _, c := range []struct {
		path, dir string
		want      bool
	}{
		{"/a", "/a", true}, {"/a/b", "/a", true}, {"/ab", "/a", false}, {"/a", "/a/b", false}, {"/", "/", true},
		{"/a", "/", true}, {"/", "/a", false}, {"a", "/", false},
	} {
		if Within(c.path, c.dir) != c.want {
			t.Errorf("%s in %s: %v", c.path, c.dir, !c.want)
		}
	}
	for path, want := range map[string]string{"/a/b": "/a", "/a": "/", "/": "/", "/a b/\n": "/a b"} {
		if got := Dir(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "anything\n\xff", true}, {"a*", "a", true},
		{"a*", "ba", false},
		{"*.pem", ".pem", true}, {"*.pem", "x.pem", true}, {"*.pem", "x.pem.bak", false}, {".env.*", ".env", false},
		{".env.*", ".env.", true},
		{"?", "", false}, {"?", "a", true}, {"?", "é", false}, {"??", "é", true}, {"a?c", "abc", true},
		{"a*b*c", "a--b--b--c", true}, {"a*b*c", "acb", false},
		{"[a]", "a", false}, {"[a]", "[a]", true}, {`\*`, `\x`, true}, {`\*`, "*", false}, {"**", "x", true},
		{"*a", "aaab", false},
	} {
		if Match(c.pattern, c.name) != c.want {
			t.Errorf("%q %q: %v", c.pattern, c.name, !c.want)
		}
	}
}

// like is Match as a regular expression.
func like(pattern string) *regexp.Regexp {
	var b strings.Builder
	for i := range len(pattern) {
		switch c := pattern[i]; c {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteString(".")
		default:
			fmt.Fprintf(&b, `\x{%02x}`, c)
		}
	}
	return regexp.MustCompile(`(?s)\A` + b.String() + `\z`)
}

// latin makes one rune of each byte, which is what a regular expression counts.
func latin(s string) string {
	r := make([]rune, len(s))
	for i := range len(s) {
		r[i] = rune(s[i])
	}
	return string(r)
}

func FuzzMatch(f *testing.F) {
	f.Add("a*b?c", "axxbyc")
	f.Add("*_KEY", "MY_KEY")
	f.Add("**?*", "\xff\x00\n")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 100 || len(name) > 300 {
			return
		}
		if got, want := Match(pattern, name), like(pattern).MatchString(latin(name)); got != want {
			t.Errorf("Match(%q, %q) = %v, a regular expression says %v", pattern, name, got, want)
		}
	})
}

func TestMatchAgreesWithRegexp(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	text := func(letters string, n int) string {
		b := make([]byte, r.IntN(n))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	for range 20000 {
		pattern, name := text("ab*?", 8), text("abc", 10)
		if got, want := Match(pattern, name), like(pattern).MatchString(name); got != want {
			t.Fatalf("Match(%q, %q) = %v, a regular expression says %v", pattern, name, got, want)
		}
	}
}

// A pattern with many stars must not take for ever.
func TestMatchIsQuick(t *testing.T) {
	if Match(strings.Repeat("*a", 200)+"b", strings.Repeat("a", 20000)) {
		t.Error("it matches")
	}
	if overlap(strings.Repeat("*a", 300)+"b", strings.Repeat("*a", 300)+"c") {
		t.Error("they overlap")
	}
}

func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		p, q string
		want bool
	}{
		{"A", "A", true}, {"A", "B", false}, {"A*", "AB", true}, {"*_TOKEN", "GH_*", true}, {"GH_*", "GL_*", false},
		{"*A", "*B", false},
		{"*", "", true}, {"", "", true}, {"A", "", false}, {"*A*", "B*", true}, {"A?", "AB", true}, {"A?", "A", false},
		{"?*", "*?", true},
	} {
		if overlap(c.p, c.q) != c.want || overlap(c.q, c.p) != c.want {
			t.Errorf("%q %q: not %v both ways", c.p, c.q, c.want)
		}
	}
}

// Two patterns overlap exactly when a name is found that both match.
func TestOverlapAgreesWithMatch(t *testing.T) {
	var names []string
	var grow func(s string, n int)
	grow = func(s string, n int) {
		names = append(names, s)
		for i := 0; n > 0 && i < 2; i++ {
			grow(s+"ab"[i:i+1], n-1)
		}
	}
	grow("", 7)
	r := rand.New(rand.NewPCG(3, 3))
	text := func() string {
		b := make([]byte, r.IntN(4))
		for i := range b {
			b[i] = "ab*?"[r.IntN(4)]
		}
		return string(b)
	}
	for range 2000 {
		p, q := text(), text()
		want := false
		for _, n := range names {
			want = want || Match(p, n) && Match(q, n)
		}
		if overlap(p, q) != want {
			t.Fatalf("%q %q: %v, want %v", p, q, !want, want)
		}
	}
}

func TestReadOnly(t *testing.T) {
	p := parseRules(t, "write /w/p", "write /w/p/sub", "user write /w/p/cfg", "flag write /w/p/out", "write /w/cache",
		"protect /w/p/x", "block /w/p/y", "private /w/p/z")
	got := map[string]string{}
	for _, r := range p.ReadOnly("/w/p").Rules {
		got[r.Path] = r.Access.String()
	}
	want := map[string]string{"/w/p": "read", "/w/p/sub": "read", "/w/p/cfg": "read", "/w/p/out": "write",
		"/w/cache": "write", "/w/p/x": "protect", "/w/p/y": "block", "/w/p/z": "private"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if a := p.Access("/w/p"); a != Write {
		t.Error("the policy itself was changed")
	}
	if len(WiderOnly(Diff(p, p.ReadOnly("/w/p")))) != 0 {
		t.Error("read-only is wider")
	}
}
