// SPDX-License-Identifier: Apache-2.0

package config

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// trusted makes a project file that the user has agreed to.
func trusted(path, text string) File {
	return File{Path: path, Layer: policy.Project, Trusted: true, Data: []byte(text)}
}

// TestTrusted loads one trusted project file over the built-in set and a user
// file. Whatever decides about running with less than was asked for stays.
func TestTrusted(t *testing.T) {
	const never = ".sbx.toml: ignored, since a project file, trusted or not, may only tighten these: "
	type outcome struct {
		Top     string
		Wider   []string // of moderate
		Notices []string
	}
	tests := []struct {
		name, user, project string
		want                outcome
	}{
		{"profiles count in full", "", "[profiles.moderate]\nallow_network=true\nwritable_paths=['/usr/x']\nenv_pass=['GH_TOKEN']\nseccomp='off'\ngit='full'\nenv_set={A='1'}", outcome{
			Wider: []string{"allow_network true", "env_pass GH_TOKEN", "env_set A", "git full", "seccomp off",
				"writable_paths /usr/x"},
		}},
		{"so do replaced lists and parents", "", "[profiles.moderate]\nextends='open'\nprotected_paths=['!']", outcome{
			Wider: []string{"allow_network true", "protected_paths /w/p/.git/hooks", "readonly_paths /"},
		}},
		{"and the default and tools", "", "default_profile='open'\n[tools.npm]\nprofile='open'",
			outcome{Top: "default=open tools=1"}},
		{"the rest of the top only tightens", "",
			"enabled=false\nfallback_on_unavailable='allow'\nshell='/x'\ndirect=true\nhints=false",
			outcome{Notices: []string{
				never + "enabled (line 1), fallback_on_unavailable (line 2), shell (line 3), direct (line 4), hints (line 5)",
			}}},
		{"against the user's word, too", "min_tier='full'\ntripwire='required'", "min_tier='reduced'\ntripwire='auto'",
			outcome{Notices: []string{never + "min_tier (line 1), tripwire (line 2)"}}},
		{"it may tighten", "enabled=false\nfallback_on_unavailable='allow'",
			"enabled=true\nfallback_on_unavailable='warn'\nmin_tier='full'\ntripwire='required'", outcome{
				Top: "enabled=true fallback=warn min_tier=full tripwire=required",
			}},
		{"tier and limits of a profile", "[profiles.moderate]\nmin_tier='full'",
			"[profiles.moderate]\nmin_tier='reduced'\nlimits='best-effort'\non_unmasked='warn'\nallow_network=true",
			outcome{
				Wider: []string{"allow_network true"}, Notices: []string{never +
					"profiles.moderate.min_tier (line 2), profiles.moderate.limits (line 3), profiles.moderate.on_unmasked (line 4)"},
			}},
		{"what is so anyway needs no notice", "[profiles.moderate]\nlimits='best-effort'",
			"enabled=true\nhints=true\n[profiles.moderate]\nlimits='best-effort'", outcome{}},
		{"a tighter tier counts", "", "[profiles.moderate]\nmin_tier='full'\nlimits='enforce'", outcome{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := mustLoad(t, file(policy.User, tt.user))
			after := mustLoad(t, file(policy.User, tt.user), trusted(".sbx.toml", tt.project))
			got := outcome{Top: topDiff(before, after), Notices: after.Notices}
			for _, c := range policy.Widened(resolved(t, before, "moderate"), resolved(t, after, "moderate")) {
				got.Wider = append(got.Wider, c.Key+" "+c.What)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func resolved(t *testing.T, s *Settings, names ...string) *policy.Policy {
	t.Helper()
	p, err := policy.Resolve(s.Profiles, names, testVars)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestKeepFloor goes about the tier and the limits by what a profile extends and
// by which is the default.
func TestKeepFloor(t *testing.T) {
	const user = "default_profile='work'\n[profiles.work]\nextends='moderate'\nmin_tier='full'\n[profiles.lax]\non_unmasked='warn'\nlimits='best-effort'\nmin_tier='reduced'\n"
	tests := []struct {
		name, project string
		asked         []string
		over          *policy.Profile
		tier, limits  string
	}{
		{"nothing", "", nil, nil, "full", "enforce"},
		{"another default", "default_profile='lax'", nil, nil, "full", "enforce"},
		{"a parent", "[profiles.work]\nextends='lax'", nil, nil, "full", "enforce"},
		{"a profile of its own", "default_profile='mine'\n[profiles.mine]\nextends='lax'\nlimits='best-effort'\non_unmasked='warn'", nil, nil, "full", "enforce"},
		{"one without a single value", "default_profile='mine'\n[profiles.mine]\n", nil, nil, "full", "enforce"},
		{"its own, asked for", "[profiles.mine]\nextends='lax'", []string{"mine"}, nil, "full", "enforce"},
		{"the user's, asked for", "[profiles.mine]\n", []string{"lax"}, nil, "reduced", "best-effort"},
		{"the user's flag", "default_profile='lax'", nil, &policy.Profile{Layer: policy.Flag, MinTier: "reduced"},
			"reduced", "enforce"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustLoad(t, file(policy.User, user), trusted(".sbx.toml", tt.project))
			names := tt.asked
			if names == nil {
				names = []string{s.DefaultProfile}
			}
			var over []*policy.Profile
			if tt.over != nil {
				over = append(over, tt.over)
			}
			p, err := policy.Resolve(s.Profiles, names, testVars, over...)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.KeepFloor(p, tt.asked, testVars, over...); err != nil {
				t.Fatal(err)
			}
			if unmasked := map[string]string{"enforce": "end",
				"best-effort": "warn"}[tt.limits]; p.MinTier != tt.tier || p.Limits != tt.limits ||
				p.OnUnmasked != unmasked {
				t.Errorf("tier %s, limits %s, on_unmasked %s", p.MinTier, p.Limits, p.OnUnmasked)
			}
		})
	}
}

// TestUntrustedHasTheLastWord: whichever lies deeper, a file that is not
// trusted tightens what a trusted one gives, and what it defines is nothing to
// build on.
func TestUntrustedHasTheLastWord(t *testing.T) {
	loose := "[profiles.moderate]\nallow_network=true\nwritable_paths=['/usr/x']\n"
	tight := "[profiles.moderate]\nallow_network=false\nblocked_paths=['/usr/x']\n"
	inner := func(f File) File { f.Path = "sub/.sbx.toml"; return f }
	untrusted := file(policy.Project, tight)
	for name, files := range map[string][]File{
		"untrusted above":  {untrusted, inner(trusted("", loose))},
		"untrusted below":  {trusted(".sbx.toml", loose), inner(untrusted)},
		"both are trusted": {trusted(".sbx.toml", loose), inner(trusted("", tight))},
	} {
		p := resolved(t, mustLoad(t, files...), "moderate")
		if p.Network || p.Access("/usr/x") != policy.Block {
			t.Errorf("%s: network %v, /usr/x %v", name, p.Network, p.Access("/usr/x"))
		}
	}
	// The user has agreed to both: the one that is nearer counts.
	p := resolved(t, mustLoad(t, trusted(".sbx.toml", tight), inner(trusted("", loose))), "moderate")
	if !p.Network || p.Access("/usr/x") != policy.Write {
		t.Errorf("network %v, /usr/x %v", p.Network, p.Access("/usr/x"))
	}
	planted := file(policy.Project, "[profiles.ci]\nextends='moderate'")
	_, err := Load(testBuiltin(), []File{planted, inner(trusted("", "[profiles.x]\nextends='ci'"))}, testVars)
	if want := `sub/.sbx.toml:2:9: profile "x": extends "ci": no such profile`; !strings.HasPrefix(message(err), want) {
		t.Error(err)
	}
	// Nor does it grow: ci alone shows /opt and has the network.
	own := inner(trusted("", "[profiles.ci]\nallow_network=true\nreadonly_paths=['/opt']"))
	alone := resolved(t, mustLoad(t, own), "ci")
	both, err := Load(testBuiltin(), []File{planted, own}, testVars)
	if err != nil {
		t.Fatal(err)
	}
	if wider := policy.Widened(alone, resolved(t, both, "ci")); len(wider) > 0 {
		t.Errorf("%+v", wider)
	}
}

// TestNoFileLoosensBesideTrusted is TestNoProjectFileLoosens with a trusted
// file there.
func TestNoFileLoosensBesideTrusted(t *testing.T) {
	texts := []string{
		"default_profile='open'\n",
		"[profiles.moderate]\nallow_network=true\nwritable_paths=['/etc/shadow']\nblocked_paths=['!', '$CWD/no']",
		"default_profile='new1'\n[profiles.new1]\nallow_network=true\nreadonly_paths=['/opt']\nenv_pass=['*']\n[profiles.new2]\nextends=['strict','new1']\nblocked_paths=['$CWD/no']",
	}
	loaded := 0
	for i, text := range texts {
		agreed := trusted("sub/.sbx.toml", text)
		before := mustLoad(t, agreed)
		names := before.Profiles.Names()
		for seed := range uint64(150) {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			planted := randomProject(r, names)
			after, err := Load(testBuiltin(), []File{file(policy.Project, planted), agreed}, testVars)
			if err != nil {
				continue // fails closed
			}
			loaded++
			for _, selected := range append(selections(names, r), nil) {
				with := selected
				if selected == nil {
					selected, with = []string{before.DefaultProfile}, []string{after.DefaultProfile}
				}
				if wider := policy.Widened(resolved(t, before, selected...),
					resolved(t, after, with...)); len(wider) > 0 {
					t.Fatalf("%d, seed %d, %v became wider: %+v\n%s", i, seed, selected, wider, planted)
				}
			}
		}
	}
	if loaded < 100 {
		t.Errorf("only %d files were read", loaded)
	}
}
