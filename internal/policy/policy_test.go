// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sbx-sandbox/sbx/internal/text"
)

func set(profiles ...*Profile) Set {
	s := Set{}
	for _, p := range profiles {
		s[p.Name] = append(s[p.Name], p)
	}
	return s
}

func texts(l List) []string {
	out := []string{}
	for _, it := range l.Items {
		out = append(out, it.Text+" of "+it.Source)
	}
	return out
}

func TestFlatten(t *testing.T) {
	base := &Profile{Name: "base", Git: "none", Seccomp: "default", AllowNetwork: No, Read: Words("/usr"),
		EnvSet: []Var{{"A", "1"}, {"B", "1"}}, TimeoutSeconds: 9}
	side := &Profile{Name: "side", Git: "full", Read: Words("/opt"), EnvPass: Words("X")}
	mine := &Profile{Name: "base", Layer: User, Source: "u.toml:1:1", AllowNetwork: Yes, Read: Words("/srv"),
		Where: map[string]string{"allow_network": "u.toml:2:1"}}
	only := &Profile{Name: "only", Layer: User, Source: "u.toml:9:1", Extends: []string{"base"},
		Read: List{Replace: true, Items: []Item{{Text: "/only", Source: "u.toml:9:5"}}}}
	again := &Profile{Name: "base", Layer: Project, Source: "p.toml:1:1", Extends: []string{"base"}, Read: Words("/p")}
	both := &Profile{Name: "both", Extends: []string{"base", "side"}, EnvSet: []Var{{"B", "2"}, {"C", "2"}}}
	back := &Profile{Name: "back", Extends: []string{"side", "base"}}
	for _, c := range []struct {
		name    string
		set     Set
		profile string
		read    []string
		scalars []Scalar
	}{
		{"alone", set(base), "base", []string{"/usr of base"},
			[]Scalar{{"allow_network", "false"}, {"seccomp", "default"}, {"git", "none"}, {"timeout_seconds", "9"}}},
		{"in order", set(base, side, both), "both", []string{"/usr of base", "/opt of side"},
			[]Scalar{{"allow_network", "false"}, {"seccomp", "default"}, {"git", "full"}, {"timeout_seconds", "9"}}},
		{"in the other order", set(base, side, back), "back", []string{"/opt of side", "/usr of base"},
			[]Scalar{{"allow_network", "false"}, {"seccomp", "default"}, {"git", "none"}, {"timeout_seconds", "9"}}},
		{"a later layer of the name", set(base, mine), "base", []string{"/usr of base", "/srv of u.toml:1:1"},
			[]Scalar{{"allow_network", "true"}, {"seccomp", "default"}, {"git", "none"}, {"timeout_seconds", "9"}}},
		{"which may say that it extends it", set(base, mine, again), "base",
			[]string{"/usr of base", "/srv of u.toml:1:1", "/p of p.toml:1:1"},
			[]Scalar{{"allow_network", "true"}, {"seccomp", "default"}, {"git", "none"}, {"timeout_seconds", "9"}}},
		{"a replaced list", set(base, only), "only", []string{"/only of u.toml:9:5"},
			[]Scalar{{"allow_network", "false"}, {"seccomp", "default"}, {"git", "none"}, {"timeout_seconds", "9"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := c.set.Flatten(c.profile)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.read, texts(p.Read)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.scalars, p.Scalars()); d != "" {
				t.Error(d)
			}
		})
	}
	p, err := set(base, side, both).Flatten("both")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Var{{"A", "1"}, {"B", "2"}, {"C", "2"}}, p.EnvSet); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Var{{"A", "1"}, {"B", "1"}}, base.EnvSet); d != "" {
		t.Error("the profile itself was changed", d)
	}
}

func TestFlattenRefuses(t *testing.T) {
	chain := Set{}
	for i := range 40 {
		p := &Profile{Name: fmt.Sprint("p", i), Source: "x"}
		if i < 39 {
			p.Extends = []string{fmt.Sprint("p", i+1)}
		}
		chain[p.Name] = []*Profile{p}
	}
	for _, c := range []struct {
		name string
		set  Set
		from string
		want string
		near string
	}{
		{"unknown", set(&Profile{Name: "strict"}, &Profile{Name: "moderate"}), "moderat",
			`no profile is called "moderat" (did you mean "moderate"?)`, "moderate"},
		{"unknown and like none", set(&Profile{Name: "strict"}), "zzz", `no profile is called "zzz"`, ""},
		{"none at all", set(&Profile{Name: "strict"}), "passthrough",
			`no profile is called "passthrough"; to run without a sandbox, use --no-sandbox`, ""},
		{"a path", set(&Profile{Name: "strict"}), "../../etc/x\n", `no profile is called "../../etc/x\n"`, ""},
		{"empty", set(&Profile{Name: "strict"}), "", `no profile is called ""`, ""},
		{"unknown parent", set(&Profile{Name: "go", Source: "f:1:1", Extends: []string{"bse"}}, &Profile{Name: "base"}),
			"go", `f:1:1: profile "go": extends "bse": no such profile (did you mean "base"?)`, "base"},
		{"itself", set(&Profile{Name: "a", Source: "f:1:1", Extends: []string{"a"}}), "a",
			"f:1:1: extends goes in a circle: a -> a", ""},
		{"a circle", set(&Profile{Name: "a", Source: "f:1:1", Extends: []string{"b"}},
			&Profile{Name: "b", Source: "f:2:1", Extends: []string{"c"}},
			&Profile{Name: "c", Source: "f:3:1", Extends: []string{"a"}}),
			"a", "f:1:1: extends goes in a circle: a -> b -> c -> a", ""},
		{"too deep", chain, "p0", "x: extends is nested too deep", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.set.Flatten(c.from)
			var e *Error
			if !errors.As(err, &e) || e.Error() != c.want || e.Near != c.near {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	if _, err := chain.Flatten("p10"); err != nil {
		t.Error("a long chain is refused:", err)
	}
}

func TestResolve(t *testing.T) {
	a := &Profile{Name: "a", Seccomp: "strict", Write: Words("$CWD"), FileSizeMB: 2,
		EnvSet: []Var{{"Z", "$HOME"}, {"A", "x"}}}
	b := &Profile{Name: "b", Layer: User, Source: "u:1:1", AllowNetwork: Yes, Block: Words("$HOME/x"), Procs: 5}
	flags := &Profile{Name: "flags", Layer: Flag, Source: "flags", Git: "full",
		Where: map[string]string{"git": "--git"},
		Block: List{Items: []Item{{Text: "/w/y", Source: "--block", Must: true}}}}
	got, err := Resolve(set(a, b), []string{"a", "b"}, Vars{CWD: "/w", Root: "/w", Home: "/h"}, flags)
	if err != nil {
		t.Fatal(err)
	}
	want := &Policy{
		Profiles: []string{"a", "b"}, Network: true, NewSession: "auto", Seccomp: "strict", Git: "full", Cache: "none",
		Project: "/w", Dirs: []string{"/w"}, Scope: "project", Protected: "auto", Environment: "list",
		Limits: "enforce", MinTier: "reduced", OnUnmasked: "end", Procs: 5, FileSizeMB: 2, TmpfsLimitMB: defaultTmpfsMB,
		EnvSet: []Var{{"A", "x"}, {"Z", "/h"}},
		Rules: []Rule{{Path: "/h/x", Access: Block}, {Path: "/w", Access: Write, OfCWD: true},
			{Path: "/w/y", Access: Block, Layer: Flag, Source: "--block", Must: true}},
		Where: map[string]string{"seccomp": "a", "allow_network": "u:1:1", "procs": "u:1:1", "file_size_limit_mb": "a",
			"git": "--git", "env_set.A": "a", "env_set.Z": "a"},
	}
	for i := range got.Rules { // sources and layers of profiles are below
		if got.Rules[i].Layer != Flag {
			got.Rules[i].Layer, got.Rules[i].Source = Builtin, ""
		}
	}
	got.EnvPass, got.EnvDrop = nil, nil
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Which layer and source a rule has when profiles of several layers meet.
func TestRulesKeepTheirLayer(t *testing.T) {
	base := &Profile{Name: "a", Read: Words("/b"), EnvPass: Words("B")}
	mine := &Profile{Name: "a", Layer: User, Source: "u:1:1", Read: Words("/u"), EnvPass: Words("U")}
	flags := &Profile{Layer: Flag, Read: List{Items: []Item{{Text: "/f", Source: "-r"}}}}
	p, err := Resolve(set(base, mine), []string{"a"}, Vars{}, flags)
	if err != nil {
		t.Fatal(err)
	}
	want := []Rule{{Path: "/b", Access: Read, Layer: Builtin, Source: "a"},
		{Path: "/f", Access: Read, Layer: Flag, Source: "-r"}, {Path: "/u", Access: Read, Layer: User, Source: "u:1:1"}}
	if d := cmp.Diff(want, p.Rules); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Item{{Text: "B", Source: "a", Layer: Builtin}, {Text: "U", Source: "u:1:1", Layer: User}},
		p.EnvPass); d != "" {
		t.Error(d)
	}
}

func TestResolveErrorsNameTheirSource(t *testing.T) {
	for _, c := range []struct {
		p    Profile
		want string
	}{
		{Profile{Block: List{Items: []Item{{Text: "x", Source: "f:3:4"}}}},
			`f:3:4: "x": not absolute: start it with /, ~/ or $CWD/`},
		{Profile{EnvSet: []Var{{"A", "$B"}}, Where: map[string]string{"env_set.A": "f:5:6"}}, "f:5:6: " +
			unknownVar("$B", "B").Error()},
	} {
		c.p.Layer, c.p.Source = User, "f:1:1"
		if _, err := Resolve(Set{"p": {&c.p}}, []string{"p"}, Vars{}); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// Every list and single value that a profile has can be asked for by its key.
func TestKeys(t *testing.T) {
	p := &Profile{}
	for _, key := range ListKeys() {
		l := p.List(key)
		if l == nil {
			t.Fatal(key)
		}
		l.Items = []Item{{Text: key}}
	}
	if p.List("no_such") != nil || p.Private.Items[0].Text != "private_paths" || p.EnvDrop.Items[0].Text != "env_drop" {
		t.Error("lists are mixed up")
	}
	full := &Profile{AllowNetwork: No, SharePID: Yes, ReadOnly: Yes, Workspace: "/w", NewSession: "yes", Seccomp: "off", Git: "full", Cache: "none",
		Scope: "cwd", Protected: "auto", Environment: "list", Limits: "enforce", MinTier: "full", OnUnmasked: "warn",
		TimeoutSeconds: 1.5, MemoryLimitMB: 2, CPUs: .25, Procs: 3, FileSizeMB: .5, TmpfsLimitMB: 4}
	want := []Scalar{{"allow_network", "false"}, {"share_pid", "true"}, {"read_only", "true"}, {"workspace", "/w"}, {"new_session", "yes"}, {"seccomp", "off"},
		{"git", "full"}, {"cache", "none"}, {"scope", "cwd"}, {"protect", "auto"}, {"environment", "list"}, {"limits", "enforce"},
		{"min_tier", "full"}, {"on_unmasked", "warn"}, {"timeout_seconds", "1.5"}, {"memory_limit_mb", "2"},
		{"cpus", "0.25"}, {"procs", "3"}, {"file_size_limit_mb", "0.5"}, {"tmpfs_limit_mb", "4"}}
	if d := cmp.Diff(want, full.Scalars()); d != "" {
		t.Error(d)
	}
	sum := &Profile{}
	sum.add(full)
	if d := cmp.Diff(want, sum.Scalars()); d != "" {
		t.Error("adding loses a value", d)
	}
	pol := &Policy{}
	for i, s := range pol.Scalars() {
		if s.Key != want[i].Key {
			t.Errorf("a policy has %s where a profile has %s", s.Key, want[i].Key)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"strict", "moderate", "permissive", "go", "node"}
	for word, want := range map[string]string{"strct": "strict", "moderaet": "moderate", "Moderate": "moderate",
		"og": "go", "gi": "go", "zzzz": "", "": "", "permisive": "permissive", strings.Repeat("x", 65): "",
		"nod": "node"} {
		if got := text.Nearest(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestQuoteAndPlain(t *testing.T) {
	for in, want := range map[string]string{
		"": `""`, "plain": "plain", "a b": `"a b"`, "a\nb": `"a\nb"`, "\x1b[31m": `"\x1b[31m"`, `a"b`: `"a\"b"`,
		"it's": `"it's"`, `a\b`: `"a\\b"`,
		"\xff": `"\xff"`, "é😀": "é😀", "\u202e": `"\u202e"`, "\u00a0": `"\u00a0"`, "\x7f": `"\x7f"`,
		"/a/b-c_d.e:f": "/a/b-c_d.e:f",
	} {
		if got := text.Plain(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestAddKeepsTheOrder(t *testing.T) {
	p := parseRules(t, "read /b", "write /a")
	q := *p
	q.Add(Rule{Path: "/a", Access: Block}, Rule{Path: "/ab", Access: Read})
	if got := rules(&q); !slices.Equal(got, []string{"block /a", "write /a", "read /ab", "read /b"}) {
		t.Error(got)
	}
	if got := rules(p); !slices.Equal(got, []string{"write /a", "read /b"}) {
		t.Error("the other policy was changed", got)
	}
}

// TestUnhide wants an exception of a built-in profile to show what another
// built-in one hides at the very path, and no other user's to do so.
func TestUnhide(t *testing.T) {
	builtin := func(name string, p Profile) *Profile { p.Name, p.Source = name, "built-in"; return &p }
	user := func(text string) *Profile {
		return &Profile{Name: "mine", Source: "f:1:1", Layer: User,
			Block: List{Items: []Item{{Text: text, Source: "f:1:1", Layer: User}}}}
	}
	set := Set{
		"secrets": {builtin("secrets", Profile{Block: Words("$HOME/.tool", "$HOME/.tool.json", "$HOME/.toolbox",
			"$HOME/.env", "$HOME/.env.*")})},
		"tool": {builtin("tool", Profile{Extends: []string{"secrets"},
			Read: Words("$HOME/.tool.json", "$HOME/.tool/rules"), Block: Words("!$HOME/.tool.json")})},
		"mine":  {user("!$HOME/.tool")},
		"hides": {user("$HOME/.tool.json")},
	}
	vars := Vars{Home: "/h", CWD: "/w", Config: "/c"}
	tests := []struct {
		profiles []string
		path     string
		want     Access
	}{
		{[]string{"secrets"}, "/h/.tool.json", Block},
		{[]string{"tool"}, "/h/.tool.json", Read},
		{[]string{"tool"}, "/h/.tool", Block},
		{[]string{"tool"}, "/h/.tool/rules/x", Read},
		{[]string{"tool"}, "/h/.tool/other", Block},
		{[]string{"tool"}, "/h/.toolbox", Block},
		{[]string{"tool", "mine"}, "/h/.tool", Block},
		{[]string{"tool", "hides"}, "/h/.tool.json", Block},
		{[]string{"hides", "tool"}, "/h/.tool.json", Block},
	}
	for _, tt := range tests {
		pol, err := Resolve(set, tt.profiles, vars)
		if err != nil {
			t.Fatal(err)
		}
		if r, _ := pol.Decide(tt.path); r.Access != tt.want {
			t.Errorf("%v: %s is %v, want %v", tt.profiles, tt.path, r.Access, tt.want)
		}
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		"plain é 漢\t\n😀 \"'\\":         "plain é 漢\t\n😀 \"'\\",
		"\x1b[31m\r\x7f\x00":           `\u001b[31m\u000d\u007f\u0000`,
		"\u009b\u0085":                 `\u009b\u0085`,
		"a\x9bb\xff":                   `a\x9bb\xff`,
		"\u202e\u2066\u200e\u061c":     `\u202e\u2066\u200e\u061c`,
		"\u200b\ufeff\u2028\u2029":     `\u200b\ufeff\u2028\u2029`,
		"\U000e0001":                   `\udb40\udc01`,
		"a real \ufffd, then \xe2\x80": "a real \ufffd, then \\xe2\\x80",
	} {
		if got := text.Escape(in); got != want {
			t.Errorf("Escape(%q) = %s, want %s", in, got, want)
		}
	}
}

// A flag that makes a directory writable is about what built-in profiles open in it
// read-only, and not about what they hide or protect, or show in something hidden.
func TestFlagYields(t *testing.T) {
	p := &Profile{Name: "p", Source: "built-in",
		Read:    Words("/h/go/pkg", "/h/go/pkg/mod", "/h/go/secret/shown", "/h/other/bin"),
		Protect: Words("/h/go/rc"), Block: Words("/h/go/secret")}
	mine := &Profile{Name: "p", Layer: User, Source: "f:1:1", Read: Words("/h/go/mine")}
	flag := func(dir string) *Profile {
		return &Profile{Layer: Flag, Source: "flags", Write: List{Items: []Item{{Text: dir, Source: "-w", Must: true}}}}
	}
	for _, c := range []struct {
		dir, path string
		want      Access
	}{
		{"/h/go", "/h/go/pkg/mod/x", Write},
		{"/h/go", "/h/go/pkg", Write},
		{"/h/go", "/h/go/secret/x", Block},
		{"/h/go", "/h/go/secret/shown", Read},
		{"/h/go", "/h/go/rc", Protect},
		{"/h/go", "/h/go/mine", Read},
		{"/h/go", "/h/other/bin", Read},
		{"/h/go/pkg/mod", "/h/go/pkg/x", Read},
		{"/h/go/p", "/h/go/pkg/mod", Read},
	} {
		pol, err := Resolve(set(p, mine), []string{"p"}, Vars{CWD: "/w", Root: "/w", Home: "/h"}, flag(c.dir))
		if err != nil {
			t.Fatal(err)
		}
		if got := pol.Access(c.path); got != c.want {
			t.Errorf("-w %s: %s is %s, want %s", c.dir, c.path, got, c.want)
		}
	}
}

// TestUnknownNamesOfUnknown: profiles that extend what does not exist do not keep
// an error about another name from being told.
func TestUnknownNamesOfUnknown(t *testing.T) {
	set := Set{"a": {{Name: "a", Extends: []string{"none of these"}, Layer: User, Module: true}},
		"b": {{Name: "b", Extends: []string{"a"}, Layer: User}}}
	for _, name := range []string{"a", "b", "something else"} {
		if _, err := Resolve(set, []string{name}, Vars{}); err == nil || !strings.Contains(err.Error(), "no ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
