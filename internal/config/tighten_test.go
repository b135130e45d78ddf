// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

const notice = ".sbx.toml: ignored, since this file is not trusted and may only tighten: "

// TestTighten loads one project file over the built-in set and a user file,
// and compares the notices and what became of the settings and profiles.
func TestTighten(t *testing.T) {
	type outcome struct {
		Top      string // what differs at the top
		Profiles map[string]*policy.Profile
		Notices  []string
	}
	items := func(places ...string) policy.List {
		var l policy.List
		for i := 0; i < len(places); i += 2 {
			l.Items = append(l.Items, policy.Item{Text: places[i], Source: ".sbx.toml:" + places[i+1],
				Layer: policy.Project})
		}
		return l
	}
	tests := []struct {
		name, user, project string
		want                outcome
	}{
		{"top may not loosen", "", "enabled=false\nfallback_on_unavailable='allow'\nshell='/x'\ndirect=true\nhints=false\n[tools.npm]\nprofile='open'", outcome{Notices: []string{
			notice + "enabled (line 1), fallback_on_unavailable (line 2), shell (line 3), direct (line 4), hints (line 5), tools.npm (line 6)",
		}}},
		{"top may tighten", "enabled=false\nfallback_on_unavailable='allow'",
			"enabled=true\nfallback_on_unavailable='warn'\nmin_tier='full'\ntripwire='required'\ndefault_profile='strict'", outcome{
				Top: "enabled=true fallback=warn min_tier=full tripwire=required default=strict",
			}},
		{"what is on stays on", "tripwire='required'\nmin_tier='full'", "tripwire='auto'\nmin_tier='reduced'",
			outcome{Notices: []string{notice + "tripwire (line 1), min_tier (line 2)"}}},
		{"what is so anyway needs no notice", "",
			"enabled=true\ndefault_profile='moderate'\nhints=true\n[profiles.moderate]\nallow_network=false\ngit='commit'", outcome{}},
		{"wider default", "", "default_profile='open'",
			outcome{Notices: []string{notice + "default_profile (line 1)"}}},
		{"scalars", "", "[profiles.moderate]\nallow_network=true\ngit='none'\ncache='none'\ntimeout_seconds=60\nenvironment='list'\nshare_pid=true\nseccomp='off'", outcome{
			Profiles: map[string]*policy.Profile{"moderate": {
				Name: "moderate", Source: ".sbx.toml:1:11", Layer: policy.Project, Git: "none", TimeoutSeconds: 60,
				Environment: "list",
				Where: map[string]string{"git": ".sbx.toml:3:1", "timeout_seconds": ".sbx.toml:5:1",
					"environment": ".sbx.toml:6:1"},
			}},
			Notices: []string{notice + "profiles.moderate.allow_network (line 2), profiles.moderate.cache (line 4), profiles.moderate.share_pid (line 7), profiles.moderate.seccomp (line 8)"},
		}},
		// strict bounds tmpfs at 100 and open says 120 s: with -p strict -p node
		// the project's word would be the last.
		{"unsaid values do not undercut other profiles", "",
			"[profiles.node]\ntmpfs_limit_mb=1000\ntimeout_seconds=600\nprocs=50\ngit='commit'", outcome{
				Profiles: map[string]*policy.Profile{"node": {
					Name: "node", Source: ".sbx.toml:1:11", Layer: policy.Project, Procs: 50,
					Where: map[string]string{"procs": ".sbx.toml:4:1"},
				}},
				Notices: []string{notice + "profiles.node.tmpfs_limit_mb (line 2), profiles.node.timeout_seconds (line 3), profiles.node.git (line 5)"},
			}},
		{"lists", "", "[profiles.moderate]\nblocked_paths=['!','$CWD/secret','!$CWD/*.pem']\nenv_drop=['FOO']\nwritable_paths=['/x']\nprivate_paths=['/y']\nenv_pass=['AWS_KEY']\nenv_set={LD_PRELOAD='/x'}\nextends='open'", outcome{
			Profiles: map[string]*policy.Profile{"moderate": {
				Name: "moderate", Source: ".sbx.toml:1:11", Layer: policy.Project,
				Block: items("$CWD/secret", "2:20"), EnvDrop: items("FOO", "3:11"),
			}},
			Notices: []string{notice + "profiles.moderate.blocked_paths (line 2), profiles.moderate.writable_paths (line 4), profiles.moderate.private_paths (line 5), " +
				"profiles.moderate.env_pass (line 6), profiles.moderate.env_set (line 7), profiles.moderate.extends (line 8)"},
		}},
		{"protect shows nothing that was hidden", "",
			"[profiles.moderate]\nprotected_paths=['$CWD/x','$CWD/a.pem','~/.ssh/id','/tmp/y','/opt/z','~/w','$CWD/*.lock']", outcome{
				Profiles: map[string]*policy.Profile{"moderate": {
					Name: "moderate", Source: ".sbx.toml:1:11", Layer: policy.Project,
					Protect: items("$CWD/x", "2:18", "$CWD/*.lock", "2:76"),
				}},
			}},
		{"read-only is protection", "", "[profiles.moderate]\nreadonly_paths=['/usr','$CWD/x','/opt']", outcome{
			Profiles: map[string]*policy.Profile{"moderate": {
				Name: "moderate", Source: ".sbx.toml:1:11", Layer: policy.Project,
				Protect: items("/usr", "2:17", "$CWD/x", "2:24"),
			}},
			Notices: []string{notice + "profiles.moderate.readonly_paths (line 2)"},
		}},
		{"a profile of its own", "", "default_profile='mine'\n[profiles.mine]\nextends='strict'\nblocked_paths=['$CWD/s']\nallow_network=true\nprocs=9", outcome{
			Top: "default=mine",
			Profiles: map[string]*policy.Profile{"mine": {
				Name: "mine", Source: ".sbx.toml:2:11", Layer: policy.Project, Extends: []string{"strict"},
				Block: items("$CWD/s", "4:16"), Procs: 9,
				Where: map[string]string{"extends.strict": ".sbx.toml:3:9", "procs": ".sbx.toml:6:1"},
			}},
			Notices: []string{notice + "profiles.mine.allow_network (line 5)"},
		}},
		{"a wide profile of its own", "",
			"default_profile='mine'\n[profiles.mine]\nextends='open'\n[profiles.child]\nextends=['mine']",
			outcome{Notices: []string{
				notice + "default_profile (line 1), profiles.mine (line 2), profiles.child (line 4)",
			}}},
		{"a default with a wildcard exception", "[profiles.loose]\nextends='moderate'\nblocked_paths=['!$CWD/.e*x']",
			"default_profile='loose'", outcome{Notices: []string{
				notice + "default_profile (line 1)",
			}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := mustLoad(t, file(policy.User, tt.user))
			after := mustLoad(t, file(policy.User, tt.user), file(policy.Project, tt.project))
			got := outcome{Top: topDiff(before, after), Notices: after.Notices}
			for name, stack := range after.Profiles {
				if p := stack[len(stack)-1]; p.Layer == policy.Project &&
					!cmp.Equal(*p, policy.Profile{Name: p.Name, Source: p.Source, Layer: p.Layer}) {
					if got.Profiles == nil {
						got.Profiles = make(map[string]*policy.Profile)
					}
					got.Profiles[name] = p
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func topDiff(a, b *Settings) string {
	var out []string
	add := func(key string, x, y any) {
		if x != y {
			out = append(out, fmt.Sprintf("%s=%v", key, y))
		}
	}
	add("enabled", a.Enabled, b.Enabled)
	add("fallback", a.Fallback, b.Fallback)
	add("min_tier", a.MinTier, b.MinTier)
	add("tripwire", a.Tripwire, b.Tripwire)
	add("default", a.DefaultProfile, b.DefaultProfile)
	add("shell", a.Shell, b.Shell)
	add("hints", a.Hints, b.Hints)
	add("direct", a.Direct, b.Direct)
	add("tools", len(a.Tools), len(b.Tools))
	return strings.Join(out, " ")
}

func TestProjectErrorsFailClosed(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"syntax", "x", ".sbx.toml:1:1: expected '=' after key"},
		{"ignored key of wrong type", "shell = 1", ".sbx.toml:1:1: shell: want a string, got a whole number"},
		{"circle", "[profiles.a]\nextends='b'\n[profiles.b]\nextends='a'",
			".sbx.toml:4:9: extends goes in a circle: a -> b -> a"},
		{"unknown parent", "[profiles.a]\nextends='b'",
			`.sbx.toml:2:9: profile "a": extends "b": no such profile (did you mean "a"?)`},
		{"unknown default", "default_profile='strikt'",
			`.sbx.toml:1:1: default_profile: no profile is called "strikt" (did you mean "strict"?)`},
		{"locked", "locked=['enabled']",
			".sbx.toml:1:1: locked: only the administrator's file in /etc/sbx may lock keys"},
		{"large", strings.Repeat("#", untrustedSize+1),
			".sbx.toml:1:1: larger than 65536 bytes: too much for a project file that is not trusted"},
		{"items", "[profiles.a]\nblocked_paths=[" + strings.Repeat("'/a',", 257) + "]",
			".sbx.toml:1:1: more than 256 elements in lists: too much for a project file that is not trusted"},
		{"profiles", manyProfiles(untrustedProfiles + 1),
			".sbx.toml:1:1: more than 16 profiles in the files of this project: too much for files that are not trusted; leave some out, or agree to them with sbx trust"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(testBuiltin(), []File{file(policy.Project, tt.text)}, testVars)
			if got := message(err); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func manyProfiles(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[profiles.p%d]\n", i)
	}
	return b.String()
}

func TestNoticeIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range untrustedProfiles {
		fmt.Fprintf(&b, "[profiles.p%d]\nenv_pass=['A']\n", i)
	}
	s := mustLoad(t, file(policy.Project, b.String()))
	if len(s.Notices) != 1 || !strings.HasSuffix(s.Notices[0], ", and 20 more") {
		t.Errorf("%q", s.Notices)
	}
}

// TestNoProjectFileLoosens writes random project files and compares every
// trusted profile, alone and in pairs, with what it was without the file.
func TestNoProjectFileLoosens(t *testing.T) {
	user := file(policy.User, `
[profiles.moderate]
readonly_paths = ["$CWD/x"]
blocked_paths = ["/usr/b"]
[profiles.mine]
extends = ["moderate", "node"]
blocked_paths = ["$CWD/no"]
cpus = 2
env_pass = ["GH_TOKEN"]
[profiles.child]
extends = "mine"
readonly_paths = ["/usr/b", "$CWD/no"]
writable_paths = ["$CWD", "$CWD/x", "/tmp/x", "$CWD/.git/hooks/a"]
[profiles.heir]
extends = ["child", "strict"]
writable_paths = ["$CWD", "$CWD/no"]
private_paths = ["/usr/b"]
`)
	before := mustLoad(t, user)
	names := before.Profiles.Names()
	loaded := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 2))
		text := randomProject(r, names)
		after, err := Load(testBuiltin(), []File{user, file(policy.Project, text)}, testVars)
		if err != nil {
			continue // fails closed
		}
		loaded++
		for _, selected := range selections(names, r) {
			a, err := policy.Resolve(before.Profiles, selected, testVars)
			if err != nil {
				t.Fatal(err)
			}
			b, err := policy.Resolve(after.Profiles, selected, testVars)
			if err != nil {
				t.Fatal(err)
			}
			if wider := policy.Widened(a, b); len(wider) > 0 {
				t.Fatalf("seed %d, %v became wider: %+v\n%s", seed, selected, wider, text)
			}
		}
		a, _ := policy.Resolve(before.Profiles, []string{before.DefaultProfile}, testVars)
		b, err := policy.Resolve(after.Profiles, []string{after.DefaultProfile}, testVars)
		if err != nil || len(policy.Widened(a, b)) > 0 {
			t.Fatalf("seed %d: default %s: %v %+v\n%s", seed, after.DefaultProfile, err, policy.Widened(a, b), text)
		}
	}
	if loaded < 100 {
		t.Errorf("only %d of 400 files were read", loaded)
	}
}

func selections(names []string, r *rand.Rand) [][]string {
	var out [][]string
	for _, n := range names {
		out = append(out, []string{n}, []string{n, names[r.IntN(len(names))]})
	}
	return out
}

func randomProject(r *rand.Rand, names []string) string {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	plain := []string{"!", "/", "/usr", "$CWD", "$CWD/x", "$CWD/a.pem", "$CWD/.env.x", "~", "~/.ssh/id", "/tmp/x",
		"/etc/shadow", "$CWD/no/y", "$CWD/.git/hooks/a"}
	patterns := append([]string{"!$CWD/*.pem", "!$CWD/.e*", "$CWD/*.pem", "$CWD/?.pem", "!$CWD/a.pem"}, plain...)
	keys := []string{
		"allow_network=%s", "true", "false", "git='%s'", "none", "full", "cache='%s'", "none", "private",
		"share_pid=%s", "true", "false",
		"new_session='%s'", "no", "yes", "seccomp='%s'", "off", "/f.json", "environment='%s'", "list", "inherit",
		"limits='%s'", "best-effort", "enforce",
		"min_tier='%s'", "full", "reduced", "on_unmasked='%s'", "end", "warn", "timeout_seconds=%s", "10", "1000",
		"procs=%s", "5", "5000", "cpus=%s", "1", "8", "file_size_limit_mb=%s", "0.5", "9", "tmpfs_limit_mb=%s",
		"10", "4000",
		"env_pass=['%s']", "A_TOKEN", "*", "env_drop=['%s']", "LANG", "*", "env_set={%s='1'}", "LD_PRELOAD", "A",
	}
	var b strings.Builder
	if r.IntN(2) == 0 {
		fmt.Fprintf(&b, "default_profile='%s'\n", pick(append([]string{"new1"}, names...)...))
	}
	for _, name := range append([]string{"new1", "new2"}, names...) {
		if r.IntN(3) == 0 {
			continue
		}
		fmt.Fprintf(&b, "[profiles.%s]\n", name)
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, "extends='%s'\n", pick(names...))
		}
		for i := 0; i < len(keys); i += 3 {
			if r.IntN(4) == 0 {
				fmt.Fprintf(&b, keys[i]+"\n", keys[i+1+r.IntN(2)])
			}
		}
		for _, key := range policy.ListKeys()[:5] {
			paths := plain
			if key == "protected_paths" || key == "blocked_paths" {
				paths = patterns
			}
			if r.IntN(2) == 0 {
				list := []string{pick(paths...)}
				for range r.IntN(4) {
					if p := pick(paths...); p != "!" {
						list = append(list, p)
					}
				}
				fmt.Fprintf(&b, "%s=['%s']\n", key, strings.Join(list, "','"))
			}
		}
	}
	return b.String()
}
