// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

var testVars = policy.Vars{CWD: "/w/p", Root: "/w/p", Home: "/home/u", Run: "/run/user/1"}

// testBuiltin is a small set with the shape of the real one.
func testBuiltin() policy.Set {
	return policy.Set{
		"secrets": {{
			Name: "secrets", Source: "built-in", EnvDrop: policy.Words("*_TOKEN"),
			Block:   policy.Words("$HOME/.ssh", "$CWD/*.pem", "!$CWD/public.pem", "$CWD/.env.*"),
			EnvPass: policy.Words("LANG"),
		}},
		"strict": {{
			Name: "strict", Source: "built-in", Extends: []string{"secrets"}, AllowNetwork: policy.No, Git: "none",
			Cache:       "none",
			Environment: "list", Read: policy.Words("/usr", "$CWD"), Private: policy.Words("/tmp"), TmpfsLimitMB: 100,
		}},
		"moderate": {{
			Name: "moderate", Source: "built-in", Extends: []string{"secrets"}, AllowNetwork: policy.No, Git: "commit",
			Cache:       "private",
			Environment: "inherit", Read: policy.Words("/usr", "/etc"), Write: policy.Words("$CWD"),
			Private: policy.Words("/tmp", "$HOME"),
			Protect: policy.Words("$CWD/.git/hooks"),
		}},
		"open": {{
			Name: "open", Source: "built-in", Extends: []string{"secrets"}, AllowNetwork: policy.Yes,
			Environment: "inherit",
			Read:        policy.Words("/"), Write: policy.Words("$CWD"), TimeoutSeconds: 120,
		}},
		"node": {{Name: "node", Source: "built-in", Read: policy.Words("/opt/node")}},
	}
}

// file makes a file of a layer; the name's ending gives the format.
func file(layer policy.Layer, text string) File {
	names := map[policy.Layer]string{policy.System: "system.toml", policy.User: "user.toml",
		policy.Project: ".sbx.toml"}
	return File{Path: names[layer], Layer: layer, Data: []byte(text)}
}

func mustLoad(t *testing.T, files ...File) *Settings {
	t.Helper()
	s, err := Load(testBuiltin(), files, testVars)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLoadNothingIsDefaults(t *testing.T) {
	got := mustLoad(t)
	want := Defaults(testBuiltin())
	want.Where = map[string]string{}
	for _, key := range []string{"enabled", "default_profile", "fallback_on_unavailable", "min_tier", "tripwire",
		"shell", "hints", "direct", "login_fallback", "engine", "quiet"} {
		want.Where[key] = "built-in"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLoadLayers(t *testing.T) {
	builtin := testBuiltin()
	files := []File{
		file(policy.User, "fallback_on_unavailable = 'warn'\nshell='/bin/zsh'\n[profiles.work]\nextends='moderate'\nallow_network=true\n[tools.npm]\nprofile='work'\n[profiles.moderate]\nblocked_paths=['/etc/x']"),
		file(policy.System, "default_profile = 'strict'\naudit = false\nshell='/bin/sh'\n[tools.npm]\nprofile='node'\n[tools.pip]\nprofile='strict'\n[profiles.moderate]\ntimeout_seconds = 5"),
	}
	got, err := Load(builtin, files, testVars)
	if err != nil {
		t.Fatal(err)
	}
	system := &policy.Profile{Name: "moderate", Source: "system.toml:8:11", Layer: policy.System, TimeoutSeconds: 5,
		Where: map[string]string{"timeout_seconds": "system.toml:9:1"}}
	user := &policy.Profile{
		Name: "moderate", Source: "user.toml:8:11", Layer: policy.User,
		Block: policy.List{Items: []policy.Item{{Text: "/etc/x", Source: "user.toml:9:16", Layer: policy.User}}},
	}
	work := &policy.Profile{
		Name: "work", Source: "user.toml:3:11", Layer: policy.User, Extends: []string{"moderate"},
		AllowNetwork: policy.Yes,
		Where:        map[string]string{"extends.moderate": "user.toml:4:9", "allow_network": "user.toml:5:1"},
	}
	want := &Settings{
		Enabled: true, DefaultProfile: "strict", Fallback: "warn", Engine: "auto", MinTier: "reduced", Tripwire: "auto",
		Shell: "/bin/zsh", Hints: true,
		Profiles: testBuiltin(), Tools: map[string]string{"npm": "work", "pip": "strict"},
		Where: map[string]string{
			"enabled": "built-in", "default_profile": "system.toml:1:1", "fallback_on_unavailable": "user.toml:1:1",
			"min_tier": "built-in", "tripwire": "built-in", "engine": "built-in", "quiet": "built-in",
			"shell": "user.toml:2:1", "hints": "built-in", "direct": "built-in", "login_fallback": "built-in",
			"tools.npm": "user.toml:7:1", "tools.pip": "system.toml:7:1",
		},
	}
	want.Profiles["moderate"] = append(want.Profiles["moderate"], system, user)
	want.Profiles["work"] = []*policy.Profile{work}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(testBuiltin(), builtin); diff != "" {
		t.Error("Load changed the built-in profiles", diff)
	}
}

// TestBothFormatsMakeEqualPolicies loads the pair of files with every key.
func TestBothFormatsMakeEqualPolicies(t *testing.T) {
	var got []*policy.Policy
	for _, ext := range []string{"toml", "hcl"} {
		data, err := os.ReadFile("testdata/full." + ext)
		if err != nil {
			t.Fatal(err)
		}
		s := mustLoad(t, File{Path: "full." + ext, Layer: policy.System, Data: data})
		p, err := policy.Resolve(s.Profiles, []string{s.DefaultProfile}, testVars)
		if err != nil {
			t.Fatal(err)
		}
		p.Where = nil
		for i := range p.Rules {
			p.Rules[i].Source = ""
		}
		for _, l := range [][]policy.Item{p.EnvPass, p.EnvDrop} {
			for i := range l {
				l[i].Source = ""
			}
		}
		got = append(got, p)
	}
	if diff := cmp.Diff(got[0], got[1]); diff != "" {
		t.Error(diff)
	}
	if !got[0].Network || got[0].TimeoutSeconds != 60.5 || len(got[0].Rules) < 10 {
		t.Errorf("not what the file says: %+v", got[0])
	}
}

// TestCaro loads the example of the requirement documents unchanged.
func TestCaro(t *testing.T) {
	data, err := os.ReadFile("testdata/caro.toml")
	if err != nil {
		t.Fatal(err)
	}
	builtin := testBuiltin()
	builtin["permissive"] = builtin["open"]
	s, err := Load(builtin, []File{{Path: "caro.toml", Layer: policy.User, Data: data}}, testVars)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Resolve(s.Profiles, []string{"permissive"}, testVars)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := p.Decide("/home/u/.cache/x")
	if s.Fallback != "warn" || p.TimeoutSeconds != 120 || r.Access != policy.Write || r.Source != "caro.toml:28:27" {
		t.Errorf("fallback %s, timeout %v, rule %+v", s.Fallback, p.TimeoutSeconds, r)
	}
}

func TestLoadErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key", "\n\nalow_network = true", `user.toml:3:1: unknown key "alow_network"`},
		{"unknown near", "enable = true", `user.toml:1:1: unknown key "enable" (did you mean "enabled"?)`},
		{"unknown in profile", "[profiles.x]\nalow_network = true",
			`user.toml:2:1: unknown key "alow_network" (did you mean "allow_network"?)`},
		{"unknown in tool", "[tools.npm]\nprofil = 'x'",
			`user.toml:2:1: unknown key "profil" (did you mean "profile"?)`},
		{"control characters", "\"\\u001b[2J\" = 1", `user.toml:1:1: unknown key "\x1b[2J"`},
		{"execution and more", "enabled = true\n[execution.sandbox]\n",
			"user.toml:2:2: execution.sandbox has to be the only table of a file; write its keys at the top instead"},
		{"bool", "[profiles.x]\nallow_network = 'true'",
			"user.toml:2:1: allow_network: want true or false, got a string"},
		{"enabled", "enabled = 1", "user.toml:1:1: enabled: want true or false, got a whole number"},
		{"audit", "audit = true", "user.toml:1:1: audit is not available yet"},
		{"audit of a kind", "audit = 'yes'", "user.toml:1:1: audit: want true or false, got a string"},
		{"string", "default_profile = true", "user.toml:1:1: default_profile: want a string, got true or false"},
		{"int", "[profiles.x]\nprocs = 1.0", "user.toml:2:1: procs: want a whole number, got a fractional number"},
		{"file size", "[profiles.x]\nfile_size_limit_mb = 0.0005",
			"user.toml:2:1: file_size_limit_mb: want a number from 0.0009765625 to 16777216, got 0.0005"},
		{"negative", "[profiles.x]\nmemory_limit_mb = -5",
			"user.toml:2:1: memory_limit_mb: want a whole number from 1 to 16777216, got -5"},
		{"zero timeout", "[profiles.x]\ntimeout_seconds = 0",
			"user.toml:2:1: timeout_seconds: want a number from 0.001 to 31536000, got 0"},
		{"huge timeout", "[profiles.x]\ntimeout_seconds = 1e300",
			"user.toml:2:1: timeout_seconds: want a number from 0.001 to 31536000, got 1e+300"},
		{"string number", "[profiles.x]\ncpus = '2'", "user.toml:2:1: cpus: want a number, got a string"},
		{"list", "[profiles.x]\nblocked_paths = '/x'",
			"user.toml:2:1: blocked_paths: want a list of strings, got a string"},
		{"list of", "[profiles.x]\nblocked_paths = ['/x', 1]",
			"user.toml:2:24: blocked_paths: want a list of strings, got a whole number in it"},
		{"table", "profiles = 1", "user.toml:1:1: profiles: want a table, got a whole number"},
		{"profile", "profiles.x = []", "user.toml:1:10: x: want a table, got a list"},
		{"env_set", "[profiles.x]\nenv_set = []", "user.toml:2:1: env_set: want a table, got a list"},
		{"env_set value", "[profiles.x]\nenv_set = { A = 1 }",
			"user.toml:2:13: env_set.A: want a string, got a whole number"},
		{"env_set name", "[profiles.x]\nenv_set = { \"A=B\" = '1' }",
			`user.toml:2:13: env_set: "A=B" is not a variable name`},
		{"env_set nul", "[profiles.x]\nenv_set = { A = \"\\u0000\" }",
			"user.toml:2:13: env_set.A: a variable cannot hold a NUL byte"},
		{"env_set variable", "[profiles.x]\nenv_set = { A = '$FOO' }",
			`user.toml:2:13: "$FOO": $FOO is not expanded; known are $CWD $HOME $PROJECT $ROOT $TMPDIR $XDG_CACHE_HOME $XDG_CONFIG_HOME $XDG_DATA_HOME $XDG_RUNTIME_DIR $XDG_STATE_HOME (write $$ for a dollar sign)`},
		{"enum", "fallback_on_unavailable = 'blok'",
			`user.toml:1:1: fallback_on_unavailable: want "block", "warn" or "allow", got "blok" (did you mean "block"?)`},
		{"enum of profile", "[profiles.x]\ngit = 'write'",
			`user.toml:2:1: git: want "none", "commit" or "full", got "write"`},
		{"seccomp file", "[profiles.x]\nseccomp = '/etc/../x.json'",
			`user.toml:2:1: seccomp: "/etc/../x.json": ".." is not allowed in a configured path`},
		{"seccomp file of another user", "[profiles.x]\nseccomp = '~joe/x.json'",
			`user.toml:2:1: seccomp: "~joe/x.json": only ~/ is expanded, not the home of another user`},
		{"seccomp", "[profiles.x]\nseccomp = 'of'",
			`user.toml:2:1: seccomp: want "default", "strict", "dev" or "off", got "of" (did you mean "off"?)`},
		{"later form", "key_of_tomorrow = 1\nconfig_version = 2",
			"user.toml:2:1: config_version 2: this sbx reads files of version 1; install a version of sbx that knows it"},
		{"form", "config_version = '1'", "user.toml:1:1: config_version: want a whole number, got a string"},
		{"engine of others", "engine = 'bubblewrap'", `user.toml:1:1: engine: want "bwrap", "sandbox-exec", "auto" or ` +
			`"landlock", got "bubblewrap" (did you mean "bwrap"?)`},
		{"no sandbox", "default_profile = 'passthrough'", `user.toml:1:1: no profile is called "passthrough"; to run ` +
			"without a sandbox, write enabled = false, or use --no-sandbox for one command"},
		{"no engine", "engine = 'passthrough'", `user.toml:1:1: engine: "passthrough" is no engine; to run without ` +
			`a sandbox, write enabled = false, or use --no-sandbox for one command`},
		{"key of others", "[profiles.x]\nallowNetworking = true",
			`user.toml:2:1: unknown key "allowNetworking" (did you mean "allow_network"?)`},
		{"key of others at the top", "network = true", `user.toml:1:1: unknown key "network": ` +
			`write allow_network in a profile, below [profiles.moderate] for one`},
		{"key of a profile at the top", "allow_network = true",
			`user.toml:1:1: allow_network belongs in a profile, below [profiles.moderate] for one`},
		{"key of the top in a profile", "[profiles.x]\nminTier = 'full'\nquiet = true",
			`user.toml:2:1: unknown key "minTier" (did you mean "min_tier"?)`},
		{"key of the top", "[profiles.x]\nbackend = 'bwrap'", `user.toml:2:1: unknown key "backend": ` +
			`write engine at the top of the file`},
		{"workspace", "[profiles.x]\nworkspace = 'w'", `user.toml:2:1: workspace: want an absolute path, got "w"`},
		{"capitals", "[profiles.Moderate]", `user.toml:1:11: profile "Moderate": there is "moderate" already, ` +
			`and names differ in more than capitals`},
		{"relative shell", "shell = 'bash'", `user.toml:1:1: shell: want an absolute path, got "bash"`},
		{"path", "[profiles.x]\nwritable_paths = ['/a',\n  'b']",
			`user.toml:3:3: "b": not absolute: start it with /, ~/ or $CWD/`},
		{"path variable", "[profiles.x]\nwritable_paths = ['$PWD']",
			`user.toml:2:19: "$PWD": $PWD is not expanded; known are $CWD $HOME $PROJECT $ROOT $TMPDIR $XDG_CACHE_HOME $XDG_CONFIG_HOME $XDG_DATA_HOME $XDG_RUNTIME_DIR $XDG_STATE_HOME (write $$ for a dollar sign)`},
		{"path dotdot", "[profiles.x]\nwritable_paths = ['$CWD/../x']",
			`user.toml:2:19: "$CWD/../x": ".." is not allowed in a configured path`},
		{"path control", "[profiles.x]\nwritable_paths = [\"\\u001b]0;x\\u0007\"]",
			`user.toml:2:19: "\x1b]0;x\a": not absolute: start it with /, ~/ or $CWD/`},
		{"path long", "[profiles.x]\nwritable_paths = ['/" + strings.Repeat("a", 4096) + "']",
			"user.toml:2:19: writable_paths: longer than 4096 bytes"},
		{"pattern", "[profiles.x]\nwritable_paths = ['/a*']",
			`user.toml:2:19: "/a*": patterns are for blocked_paths and protected_paths, and in readonly_paths for what ` +
				`lies in a directory of the system, as /lib*`},
		{"device", "[profiles.x]\ndevices = ['kvm', '/etc/passwd']",
			`user.toml:2:19: devices: want "gpu", "kvm" or a path in /dev, got "/etc/passwd"`},
		{"replace in the middle", "[profiles.x]\nblocked_paths = ['/a', '!']",
			`user.toml:2:24: blocked_paths: "!" replaces the list and has to come first in it`},
		{"env pattern", "[profiles.x]\nenv_pass = ['A?']",
			`user.toml:2:13: env_pass: "A?" is not a variable name: want letters, digits, _ and, for any run of these, *`},
		{"env exception", "[profiles.x]\nenv_drop = ['!A']",
			`user.toml:2:13: env_drop: "!A" is not a variable name: want letters, digits, _ and, for any run of these, *`},
		{"profile name", "[profiles.'../x']",
			`user.toml:1:11: "../x" is not a profile name: want letters, 0-9, _ and -, at most 64, a letter or digit first`},
		{"default name", "default_profile = '../x'",
			`user.toml:1:1: default_profile: "../x" is not a profile name: want letters, 0-9, _ and -, at most 64, a letter or digit first`},
		{"extends name", "[profiles.x]\nextends = ['../x']",
			`user.toml:2:12: extends: "../x" is not a profile name: want letters, 0-9, _ and -, at most 64, a letter or digit first`},
		{"extends type", "[profiles.x]\nextends = 1",
			"user.toml:2:1: extends: want a string or a list of strings, got a whole number"},
		{"extends twice", "[profiles.x]\nextends = ['node', 'node']",
			`user.toml:2:20: extends: "node" stands there twice`},
		{"extends unknown", "[profiles.x]\nextends = ['node', 'moderat']",
			`user.toml:2:20: profile "x": extends "moderat": no such profile (did you mean "moderate"?)`},
		{"itself", "[profiles.x]\nextends = 'x'", "user.toml:2:11: extends goes in a circle: x -> x"},
		{"circle", "[profiles.a]\nextends = 'b'\n[profiles.b]\nextends = 'c'\n[profiles.c]\nextends = 'b'",
			"user.toml:6:11: extends goes in a circle: b -> c -> b"},
		{"circle through built-in", "[profiles.secrets]\nextends = 'moderate'",
			"built-in: extends goes in a circle: secrets -> moderate -> secrets"},
		{"unknown default", "default_profile = 'moderat'",
			`user.toml:1:1: default_profile: no profile is called "moderat" (did you mean "moderate"?)`},
		{"unknown of tool", "[tools.npm]\nprofile = 'nod'",
			`user.toml:2:1: tools.npm.profile: no profile is called "nod" (did you mean "node"?)`},
		{"tool without profile", "[tools.npm]\n", "user.toml:1:8: tools.npm: profile is missing"},
		{"tool name", "[tools.'../npm']\nprofile = 'node'", `user.toml:1:8: tools: "../npm" is not a command name`},
		{"locked elsewhere", "locked = []",
			"user.toml:1:1: locked: only the administrator's file in /etc/sbx may lock keys"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(testBuiltin(), []File{file(policy.User, tt.text)}, testVars)
			if got := message(err); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if pe := (*policy.Error)(nil); !errors.As(err, &pe) {
				t.Errorf("%T is no *policy.Error", err)
			}
		})
	}
}

func TestFormatIsToldByName(t *testing.T) {
	_, err := Load(nil, []File{{Path: "/etc/sbx/config.json", Layer: policy.System}}, testVars)
	if want := "/etc/sbx/config.json: a config file is named *.toml or *.hcl; " +
		"docs/config.md has a table of what others call these settings"; message(err) != want {
		t.Error(err)
	}
}

// TestExtendsDoesNotExplode builds a chain in which each profile extends two
// of the next: flattening would visit 2^30 profiles.
func TestExtendsDoesNotExplode(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "[profiles.a%d]\nextends=['a%d','b%d']\n[profiles.b%d]\nextends=['a%d','b%d']\n", i, i+1, i+1,
			i, i+1, i+1)
	}
	b.WriteString("[profiles.a30]\n[profiles.b30]\n")
	for _, layer := range []policy.Layer{policy.User, policy.Project} {
		_, err := Load(testBuiltin(), []File{file(layer, b.String())}, testVars)
		if err == nil || !strings.Contains(err.Error(), "extends adds up more than 256 profiles") &&
			!strings.Contains(err.Error(), "more than 16 profiles") {
			t.Error(layer, err)
		}
	}
	b.Reset()
	for i := range 40 {
		fmt.Fprintf(&b, "[profiles.a%d]\nextends='a%d'\n", i, i+1)
	}
	b.WriteString("[profiles.a40]\n")
	_, err := Load(testBuiltin(), []File{file(policy.User, b.String())}, testVars)
	if want := `user.toml:1:11: profile "a0": extends is nested more than 32 deep`; message(err) != want {
		t.Error(err)
	}
}
