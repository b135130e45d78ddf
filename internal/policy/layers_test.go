// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/profiles"
)

// Sorted paths are for speed alone: whatever the variables are, and whatever is
// laid over the built-in profiles, the policy is the one of the lists.
func TestSortedPathsChangeNothing(t *testing.T) {
	sorted, shuffled := policy.Set{}, policy.Set{}
	all := profiles.Builtin()
	all["odd"] = []*policy.Profile{{Name: "odd", Read: policy.Words("$HOME/", "/", "$CWD", "$ROOT", "$HOME/a//b", "~",
		"~/q", "$HOME$CWD", "/x/$HOME", "/$$x")}}
	for name, stack := range all {
		a, b := *stack[0], *stack[0]
		a.Sorted = policy.SortPaths(&a)
		b.Sorted = nil
		for _, l := range []*policy.List{&b.Private, &b.Write, &b.Read, &b.Protect, &b.Block} {
			l.Items = slices.Clone(l.Items)
			rand.Shuffle(len(l.Items), func(i, j int) { l.Items[i], l.Items[j] = l.Items[j], l.Items[i] })
		}
		sorted[name], shuffled[name] = []*policy.Profile{&a}, []*policy.Profile{&b}
	}
	mine := &policy.Profile{
		Name: "mine", Layer: policy.User, Source: "u.toml:1:1", Extends: []string{"moderate"},
		Write: policy.Words("/opt/tree", "~/other"), Read: policy.List{Replace: true,
			Items: policy.Words("/usr", "$HOME//x/").Items}, Block: policy.Words("/usr/b*", "!/usr/bin"),
	}
	sorted["mine"], shuffled["mine"] = []*policy.Profile{mine}, []*policy.Profile{mine}
	selections := [][]string{{"moderate", "node", "claude"}, {"mine"}, {"mine", "go"}}
	for _, name := range sorted.Names() {
		selections = append(selections, []string{name})
	}
	flag := &policy.Profile{Layer: policy.Flag, Write: policy.Words("/w/$x*", "/home/u/.ssh"),
		Block: policy.Words("/usr/bin")}
	for _, vars := range []policy.Vars{
		{CWD: "/w/p", Root: "/w/p", Home: "/home/u"},
		{CWD: "/w/p", Root: "/w", Around: "/", Home: "/root", Config: "/usr/c", Cache: "/w/k", Data: "/etc/d",
			State: "/s", Run: "/run/u", TmpDir: "/w/t"},
		{CWD: "/home/u", Root: "/home/u", Home: "/home/u", Home2: "/home/u2",
			Also: &policy.Vars{Home: "/h/./x", Config: "/home/u"}},
		{CWD: "/", Root: "/", Home: "/"},
		{CWD: "/w/../x", Root: "/w//", Home: "/h/", Run: "//"},
		{CWD: "/w"},
		{CWD: "/w", Home: "relative"},
	} {
		for _, names := range selections {
			got, err := policy.Resolve(sorted, names, vars, flag)
			want, wrong := policy.Resolve(shuffled, names, vars, flag)
			if (err == nil) != (wrong == nil) {
				t.Fatalf("%v: %v, want %v", names, err, wrong)
			}
			if err == nil {
				if d := cmp.Diff(want.Rules, got.Rules); d != "" {
					t.Fatalf("%v of %+v:\n%s", names, vars, d)
				}
			}
		}
	}
}

// What any profile hides is what a profile hides that holds the blocks of all, but for
// exceptions.
func TestBlocked(t *testing.T) {
	set, sum := profiles.Builtin(), &policy.Profile{}
	set["mine"] = []*policy.Profile{{Name: "mine", Layer: policy.User, Source: "u.toml:1:1", Extends: []string{"moderate"},
		Write: policy.Words("/opt/tree"), Block: policy.List{Replace: true,
			Items: []policy.Item{{Text: "/usr/b*", Layer: policy.User}, {Text: "!/usr/bin"}, {Text: "$CWD/x"}, {Text: "$ROOT/y"}, {Text: "$PROJECT/z"}}}}}
	for _, stack := range set {
		for _, it := range stack[0].Block.Items {
			if it.Layer = max(it.Layer, stack[0].Layer); !strings.HasPrefix(it.Text, "!") {
				sum.Block.Items = append(sum.Block.Items, it)
			}
		}
	}
	for _, vars := range []policy.Vars{
		{CWD: "/w/p", Root: "/w/p", Home: "/home/u"},
		{CWD: "/w/p", Root: "/w", Around: "/", Home: "/root", Config: "/usr/c", Dirs: []string{"/w/q"},
			Members: []policy.Member{{Dir: "/w/r", Names: []string{"x"}}}, Home2: "/home/u2"},
		{CWD: "/w/p", Root: "/w", Project: "/w", Home: "/home/u"},
		{CWD: "/w/p", Root: "/w/p", Home: "/home/u", Lent: []policy.Lent{{Name: "JAVA_HOME", Dir: "/opt/jdk"}}},
	} {
		got, err := set.Blocked(vars)
		want, wrong := policy.Resolve(nil, nil, vars, sum)
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		same := func(a, b policy.Rule) bool { a.Source, b.Source = "", ""; return a == b }
		if !slices.EqualFunc(got.Rules, want.Rules, same) {
			t.Errorf("%+v:\n%s", vars, cmp.Diff(want.Rules, got.Rules))
		}
	}
}

// What is sorted before stays a few runs, and nearly all of it needs no parsing.
func TestSortPaths(t *testing.T) {
	for name, stack := range profiles.Builtin() {
		p, plain := *stack[0], 0
		refs := policy.SortPaths(&p)
		for _, ref := range refs {
			if ref.Plain {
				plain++
			}
		}
		if len(refs) > 100 && plain < len(refs)*8/10 {
			t.Errorf("%s: %d of %d paths are plain", name, plain, len(refs))
		}
	}
}
