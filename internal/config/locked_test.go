// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

func TestLockedNames(t *testing.T) {
	_, err := Load(testBuiltin(), []File{file(policy.System, "locked = ['enabled', 'alow_network']")}, testVars)
	if want := `system.toml:1:22: locked: "alow_network" is not a key that can be locked (did you mean "allow_network"?)`; message(err) != want {
		t.Error(err)
	}
	all := "locked = ["
	for _, key := range lockable() {
		all += "'" + key + "',"
	}
	s := mustLoad(t, file(policy.System, all+"]"))
	p, err := policy.Resolve(s.Profiles, []string{"moderate"}, testVars)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CheckLocked(p, testVars, false); err != nil {
		t.Error("the baseline itself is refused:", err)
	}
}

func TestCheckLocked(t *testing.T) {
	const by = " is locked by system.toml:1:11: a later setting may not loosen it "
	flag := func(p policy.Profile) *policy.Profile {
		p.Name, p.Layer, p.Source = "flags", policy.Flag, "--flag"
		return &p
	}
	tests := []struct {
		name, system, user string
		bare               bool
		over               *policy.Profile
		want               string
	}{
		{"nothing locked", "", "[profiles.moderate]\nallow_network=true", true, nil, ""},
		{"network", "locked=[\n'allow_network']", "[profiles.moderate]\nallow_network=true", false, nil,
			"allow_network is locked by system.toml:2:1: a later setting may not loosen it (false -> true, from user.toml:2:1)"},
		{"network by flag", "locked = ['allow_network']", "", false,
			flag(policy.Profile{AllowNetwork: policy.Yes, Where: map[string]string{"allow_network": "--net"}}),
			"allow_network" + by + "(false -> true, from --net)"},
		{"another key", "locked = ['allow_network']", "[profiles.moderate]\ngit='full'", false, nil, ""},
		{"tighter", "locked = ['git', 'timeout_seconds']", "[profiles.moderate]\ngit='none'\ntimeout_seconds=5", false,
			nil, ""},
		{"no sandbox", "locked = ['enabled']", "", true, nil, "enabled" + by + "(no sandbox, from --no-sandbox)"},
		{"no sandbox, unlocked", "locked = ['git']", "", true, nil, ""},
		{"off already", "enabled=false\nlocked = ['enabled']", "", true, nil, ""},
		{"enabled", "locked = ['enabled']", "enabled=false", false, nil, "enabled" + by +
			"(true -> false, from user.toml:1:1)"},
		{"fallback", "locked = ['fallback_on_unavailable']", "fallback_on_unavailable='warn'", false, nil,
			"fallback_on_unavailable" + by + "(block -> warn, from user.toml:1:1)"},
		{"min_tier", "locked = ['min_tier']\nmin_tier='full'", "min_tier='reduced'", false, nil, "min_tier" + by +
			"(full -> reduced, from user.toml:1:1)"},
		{"shell", "locked = ['shell']", "shell='/x'", false, nil, "shell" + by + `("" -> "/x", from user.toml:1:1)`},
		{"direct", "locked = ['direct']", "direct=true", false, nil, "direct" + by +
			"(false -> true, from user.toml:1:1)"},
		{"default", "locked = ['default_profile']", "default_profile='open'", false, nil, "default_profile" + by +
			"(false -> true, from open)"},
		{"default, tighter", "locked = ['default_profile']\n[profiles.moderate]\ngit='full'",
			"[profiles.moderate]\ngit='none'", false, nil, ""},
		{"block", "locked = ['blocked_paths']", "[profiles.moderate]\nreadonly_paths=['~/.ssh/known_hosts']", false,
			nil, "blocked_paths" + by + "(/home/u/.ssh/known_hosts: private -> read, from user.toml:2:17)"},
		{"block replaced", "locked = ['blocked_paths']", "[profiles.moderate]\nblocked_paths=['!']", false, nil,
			"blocked_paths" + by + "(/w/p/*.pem: block -> write, from moderate)"},
		{"block excepted", "locked = ['blocked_paths']", "[profiles.moderate]\nblocked_paths=['!$CWD/.e*x']", false,
			nil, "blocked_paths" + by + "(!/w/p/.e*x: none -> exception)"},
		{"write", "locked = ['writable_paths']", "[profiles.moderate]\nwritable_paths=['/usr/x']", false, nil,
			"writable_paths" + by + "(/usr/x: read -> write, from user.toml:2:17)"},
		{"write through a block", "locked = ['writable_paths']", "[profiles.moderate]\nwritable_paths=['~/.ssh/x']",
			false, nil, "writable_paths" + by + "(/home/u/.ssh/x: private -> write, from user.toml:2:17)"},
		{"pass of what is inherited", "locked = ['env_pass']", "[profiles.moderate]\nenv_pass=['X']", false, nil, ""},
		{"pass", "locked = ['env_pass']\ndefault_profile='strict'", "[profiles.strict]\nenv_pass=['X']", false, nil,
			"env_pass" + by + "(none -> X, from user.toml:2:11)"},
		{"pass undoes a drop", "locked = ['env_drop']", "[profiles.moderate]\nenv_pass=['GH_TOKEN']", false, nil,
			"env_drop" + by + "(none -> GH_TOKEN, from user.toml:2:11)"},
		{"pass beside a drop", "locked = ['env_drop']", "[profiles.moderate]\nenv_pass=['EDITOR']", false, nil, ""},
		{"set", "locked = ['env_set']", "[profiles.moderate]\nenv_set={A='1'}", false, nil, "env_set" + by +
			"(A: none -> set, from user.toml:2:10)"},
		{"cache", "locked = ['cache']\n[profiles.moderate]\ncache='private'", "[profiles.moderate]\ncache='none'", false,
			nil, "cache" + by + "(private -> none, from user.toml:2:1)"},
		{"cache as it is", "locked = ['cache']", "[profiles.moderate]\ncache='private'", false, nil, ""},
		{"variable taken away", "default_profile='a'\nlocked = ['env_set']\n[profiles.a]\nenv_set={A='1'}",
			"default_profile='b'\n[profiles.b]", false, nil,
			"env_set is locked by system.toml:2:11: a later setting may not loosen it (A: set -> none)"},
		{"usual limit", "locked = ['procs']", "[profiles.moderate]\nprocs=9999", false, nil,
			"procs" + by + "(4096 -> 9999, from user.toml:2:1)"},
		{"below the usual limit", "locked = ['procs']", "[profiles.moderate]\nprocs=4096", false, nil, ""},
		{"no limit again", "locked = ['procs']\n[profiles.moderate]\nprocs=9999", "default_profile='b'\n[profiles.b]",
			false, nil, "procs" + by + "(9999 -> none)"},
		{"limit", "locked = ['procs']\n[profiles.moderate]\nprocs=10", "[profiles.moderate]\nprocs=20", false, nil,
			"procs" + by + "(10 -> 20, from user.toml:2:1)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustLoad(t, file(policy.System, tt.system), file(policy.User, tt.user))
			var over []*policy.Profile
			if tt.over != nil {
				over = append(over, tt.over)
			}
			p, err := policy.Resolve(s.Profiles, []string{s.DefaultProfile}, testVars, over...)
			if err != nil {
				t.Fatal(err)
			}
			err = s.CheckLocked(p, testVars, tt.bare)
			if got := message(err); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if le := (*LockedError)(nil); err != nil && !errors.As(err, &le) {
				t.Errorf("%T is no *LockedError", err)
			}
		})
	}
}
