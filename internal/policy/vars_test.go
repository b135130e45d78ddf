// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var somebody = Vars{CWD: "/home/u/p $x*", Root: "/home/u", Home: "/home/u"}

func TestExpand(t *testing.T) {
	full := Vars{CWD: "/w/p", Root: "/w", Home: "/h", TmpDir: "/t", Config: "/xc", Cache: "/xk", Data: "/xd",
		State: "/xs", Run: "/xr"}
	for _, c := range []struct {
		vars       Vars
		text, want string
		absent     bool
		fail       string
	}{
		{vars: full, text: "$CWD", want: "/w/p"},
		{vars: full, text: "$ROOT/x", want: "/w/x"},
		{vars: full, text: "$HOME", want: "/h"},
		{vars: full, text: "~", want: "/h"},
		{vars: full, text: "~/x", want: "/h/x"},
		{vars: full, text: "$TMPDIR", want: "/t"},
		{vars: full, text: "$XDG_CONFIG_HOME", want: "/xc"},
		{vars: full, text: "$XDG_CACHE_HOME", want: "/xk"},
		{vars: full, text: "$XDG_DATA_HOME", want: "/xd"},
		{vars: full, text: "$XDG_STATE_HOME", want: "/xs"},
		{vars: full, text: "$XDG_RUNTIME_DIR", want: "/xr"},
		{vars: somebody, text: "$TMPDIR", want: "/tmp"},
		{vars: somebody, text: "$XDG_CONFIG_HOME/x", want: "/home/u/.config/x"},
		{vars: somebody, text: "$XDG_CACHE_HOME", want: "/home/u/.cache"},
		{vars: somebody, text: "$XDG_DATA_HOME", want: "/home/u/.local/share"},
		{vars: somebody, text: "$XDG_STATE_HOME", want: "/home/u/.local/state"},
		{vars: somebody, text: "$XDG_RUNTIME_DIR/bus", absent: true},
		{vars: Vars{}, text: "$HOME/x", absent: true},
		{vars: Vars{}, text: "~/x", absent: true},
		{vars: Vars{}, text: "$XDG_CONFIG_HOME", absent: true},
		{vars: Vars{Config: "/c"}, text: "$XDG_CONFIG_HOME", want: "/c"},
		{vars: Vars{}, text: "$CWD", absent: true},
		// A value is a value: what is in it is not expanded once more.
		{vars: somebody, text: "$CWD/y", want: "/home/u/p $x*/y"},
		{vars: full, text: "/plain//path/./x/", want: "/plain/path/x"},
		{vars: full, text: "/", want: "/"},
		{vars: full, text: "/a b\n\xff*", want: "/a b\n\xff*"},
		{vars: full, text: "/cost$$5", want: "/cost$5"},
		{vars: full, text: "/$$HOME", want: "/$HOME"},
		{vars: full, text: "$HOME$CWD", want: "/h/w/p"},
		{vars: full, text: "/x/$HOME", want: "/x/h"},
		{vars: full, text: "/a~", want: "/a~"},
		{vars: full, text: "/...", want: "/..."},
		{vars: full, text: "/a/..b", want: "/a/..b"},
		{vars: full, text: "", fail: "an empty path"},
		{vars: full, text: "/a\x00b", fail: `"/a\x00b": a path cannot hold a NUL byte`},
		{vars: full, text: "~root/x", fail: `"~root/x": only ~/ is expanded, not the home of another user`},
		{vars: full, text: "$CWD/../x", fail: `"$CWD/../x": ".." is not allowed in a configured path`},
		{vars: full, text: "/a/..", fail: `"/a/..": ".." is not allowed in a configured path`},
		{vars: full, text: "..", fail: `"..": ".." is not allowed in a configured path`},
		{vars: full, text: "a/b", fail: `"a/b": not absolute: start it with /, ~/ or $CWD/`},
		{vars: full, text: ".", fail: `".": not absolute: start it with /, ~/ or $CWD/`},
		{vars: full, text: "x$HOME", fail: `"x$HOME": not absolute: start it with /, ~/ or $CWD/`},
		{vars: full, text: "$$HOME", fail: `"$$HOME": not absolute: start it with /, ~/ or $CWD/`},
		{vars: full, text: "$NOPE/x", fail: unknownVar("$NOPE/x", "NOPE").Error()},
		{vars: full, text: "$HOMES", fail: unknownVar("$HOMES", "HOMES").Error()},
		{vars: full, text: "$home", fail: unknownVar("$home", "home").Error()},
		{vars: full, text: "/a$", fail: unknownVar("/a$", "").Error()},
		{vars: full, text: "${HOME}", fail: unknownVar("${HOME}", "").Error()},
		{vars: full, text: "/$(id)", fail: unknownVar("/$(id)", "").Error()},
		{vars: full, text: "/$1", fail: unknownVar("/$1", "").Error()},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, ok, err := c.vars.Expand(c.text)
			msg := ""
			if err != nil {
				msg = err.Error()
			}
			if got != c.want || msg != c.fail || ok != (c.want != "") || !ok && err == nil != c.absent {
				t.Errorf("%q, %v, %v; want %q, %q", got, ok, err, c.want, c.fail)
			}
		})
	}
}

func TestExpandValue(t *testing.T) {
	v := Vars{CWD: "/w", Home: "/h"}
	for in, want := range map[string]string{"": "", "plain": "plain", "$HOME:$CWD": "/h:/w", "$$": "$", "a..b": "a..b",
		"~": "~", "$XDG_RUNTIME_DIR": ""} {
		if got, _, err := v.expand(in); got != want || err != nil {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	if _, _, err := v.expand("$PATH"); err == nil {
		t.Error("$PATH was taken")
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"", "~", "~/", "$CWD/x", "$$", "$", "/a/../b", "$HOME$HOME", "/\x00", "//", "/./.",
		"$XDG_CACHE_HOME/.."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, v := range []Vars{{}, somebody, {CWD: "/", Root: "/", Home: "/"}} {
			got, ok, err := v.Expand(text)
			if ok && (err != nil || !strings.HasPrefix(got, "/") || path.Clean(got) != got ||
				strings.Contains(got, "\x00") || strings.Contains(got+"/", "/../")) {
				t.Errorf("%q: %q, %v", text, got, err)
			}
			if !ok && got != "" {
				t.Errorf("%q: %q without ok", text, got)
			}
		}
	})
}

// rules are the paths of a policy as "access path".
func rules(p *Policy) []string {
	out := []string{}
	for _, r := range p.Rules {
		s := r.Access.String() + " " + r.Path
		if r.Except {
			s = "except " + s
		}
		if r.Pattern {
			s += " (pattern)"
		}
		out = append(out, s)
	}
	return out
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		name string
		p    Profile
		vars Vars
		want []string
		fail string
	}{
		{name: "sorted by path", p: Profile{Write: Words("/b", "/a"), Block: Words("/a/x")},
			want: []string{"write /a", "block /a/x", "write /b"}},
		{name: "the stronger first", p: Profile{Write: Words("/a"), Read: Words("/a"), Block: Words("/a")},
			want: []string{"block /a", "read /a", "write /a"}},
		{name: "the same twice", p: Profile{Write: Words("/a", "/a", "/a/")}, want: []string{"write /a"}},
		{name: "without a value", p: Profile{Block: Words("$XDG_RUNTIME_DIR/bus", "/a")}, want: []string{"block /a"}},
		{name: "$ROOT is $CWD", p: Profile{Read: Words("$ROOT"), Block: Words("$ROOT/.env")},
			vars: Vars{CWD: "/w", Root: "/w"}, want: []string{"block /w/.env"}},
		{name: "$ROOT is above", p: Profile{Read: Words("$ROOT")}, vars: Vars{CWD: "/w/s", Root: "/w"},
			want: []string{"read /w"}},
		{name: "patterns", p: Profile{Block: Words("/a/*.key", "!/a/x.key"), Protect: Words("/a/b?")},
			want: []string{"block /a/*.key (pattern)", "protect /a/b? (pattern)", "except block /a/x.key"}},
		{name: "a strange directory is no pattern", p: Profile{Write: Words("$CWD"),
			Block: Words("$CWD/*.key", "$CWD/.env")}, vars: Vars{CWD: "/w *?$HOME"},
			want: []string{"write /w *?$HOME", "block /w *?$HOME/*.key (pattern)", "block /w *?$HOME/.env"}},
		{name: "a pattern for grants", p: Profile{Write: Words("/a/*")},
			fail: `x: "/a/*": patterns are for blocked_paths and protected_paths, and in readonly_paths for what ` +
				`lies in a directory of the system, as /lib*`},
		{name: "a pattern in the middle", p: Profile{Block: Words("/a/*/x")},
			fail: `x: "/a/*/x": only the last element of a path can be a pattern`},
		{name: "a pattern with a variable", p: Profile{Block: Words("/a/*$HOME")}, vars: Vars{Home: "/h"},
			fail: `x: "/a/*$HOME": only the last element of a path can be a pattern`},
		{name: "an exception to a grant", p: Profile{Read: Words("!/a")},
			fail: `x: "!/a": "!" takes names out of patterns, in blocked_paths and protected_paths only`},
		{name: "a second home", p: Profile{Private: Words("$HOME"), Read: Words("$HOME/.gitconfig"),
			Block: Words("~/.ssh", "$XDG_CONFIG_HOME/gh", "/etc/x"), Protect: Words("$HOME/.bashrc")},
			vars: Vars{Home: "/h", Home2: "/h2", Config: "/c"},
			want: []string{"block /c/gh", "block /etc/x", "private /h", "protect /h/.bashrc", "block /h/.config/gh",
				"read /h/.gitconfig", "block /h/.ssh", "private /h2", "protect /h2/.bashrc", "block /h2/.config/gh",
				"block /h2/.ssh"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.p.Source, c.p.Layer = "x", User
			pol, err := Resolve(Set{"p": {&c.p}}, []string{"p"}, c.vars)
			if c.fail != "" {
				if err == nil || err.Error() != c.fail {
					t.Fatalf("%v, want %s", err, c.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, rules(pol)); d != "" {
				t.Error(d)
			}
		})
	}
}

// The shell has expanded a flag's path: what is left is letters.
func TestFlagPathsAreTakenAsTheyAre(t *testing.T) {
	over := &Profile{Layer: Flag, Write: List{Items: []Item{{Text: "/a/$HOME/*"}}},
		Block: List{Items: []Item{{Text: "/!x/~"}}}}
	pol, err := Resolve(Set{}, nil, Vars{Home: "/h"}, over)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"block /!x/~", "write /a/$HOME/*"}, rules(pol)); d != "" {
		t.Error(d)
	}
}

// TestLinks wants every place where the user's shells may look for shims.
func TestLinks(t *testing.T) {
	for _, c := range []struct {
		vars Vars
		want []string
	}{
		{Vars{Home: "/home/u"}, []string{"/home/u/.local/share/sbx"}},
		{Vars{Home: "/home/u", Data: "/data"}, []string{"/data/sbx", "/home/u/.local/share/sbx"}},
		{Vars{Home: "/home/u", Home2: "/home/v"}, []string{"/home/u/.local/share/sbx", "/home/v/.local/share/sbx"}},
		{Vars{}, nil},
	} {
		if diff := cmp.Diff(c.want, c.vars.Links()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.vars, diff)
		}
	}
}

// A profile that makes the project writable writes the working directory alone where
// a person's rule takes the rest away, or asks for that.
func TestProjectIsCWD(t *testing.T) {
	base := &Profile{Name: "base", Write: Words("$PROJECT"), Protect: Words("$CWD/.hooks"), Block: Words("$CWD/.env")}
	for _, c := range []struct {
		name       string
		mine       Profile
		cwd        string
		project    string
		root, here Access
	}{
		{"the project", Profile{}, "/w/a", "/w", Write, Write},
		{"scope", Profile{Scope: "cwd"}, "/w/a", "/w/a", Unseen, Write},
		{"a read-only root", Profile{Read: Words("/w")}, "/w/a", "/w/a", Read, Write},
		{"a hidden root", Profile{Block: Words("/w")}, "/w/a", "/w/a", Unseen, Write},
		{"a read-only directory of the project", Profile{Read: Words("/w/a")}, "/w/a/b", "/w/a/b", Unseen, Write},
		{"a read-only working directory", Profile{Read: Words("$CWD")}, "/w/a", "/w/a", Unseen, Read},
		{"a protected name of the project", Profile{}, "/w/.hooks/x", "/w", Write, Protect},
		{"a hidden name of the project", Profile{}, "/w/.env", "/w", Write, Block},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.mine.Name, c.mine.Layer, c.mine.Extends = "mine", User, []string{"base"}
			vars := Vars{CWD: c.cwd, Root: "/w", Project: "/w", Dirs: []string{"/w"}}
			pol, err := Resolve(Set{"base": {base}, "mine": {&c.mine}}, []string{"mine"}, vars)
			if err != nil {
				t.Fatal(err)
			}
			if root, here := pol.Access("/w"), pol.Access(c.cwd); pol.Project != c.project || root != c.root || here != c.here {
				t.Errorf("%s, root %v, working directory %v", pol.Project, root, here)
			}
		})
	}
}
