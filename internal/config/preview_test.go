// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

func TestPreviewTrust(t *testing.T) {
	looser := func(profiles, key, what, from, to string) Looser {
		l := Looser{Change: policy.Change{Key: key, What: what, From: from, To: to, Wider: true}}
		if profiles != "" {
			l.Profiles = strings.Split(profiles, ", ")
		}
		return l
	}
	tests := []struct {
		name, user, project string
		want                *Preview
	}{
		{"only tightens", "", "[profiles.moderate]\nblocked_paths=['$CWD/x']\nreadonly_paths=['/usr']\nprocs=3",
			&Preview{}},
		{"loosens", "", "enabled=false\n[profiles.moderate]\nallow_network=true\nwritable_paths=['/usr/x']\nblocked_paths=['$CWD/y']", &Preview{
			Asks:  []string{"profiles.moderate.allow_network (line 3)", "profiles.moderate.writable_paths (line 4)"},
			Never: []string{"enabled (line 1)"},
			Loosens: []Looser{
				looser("moderate", "allow_network", "true", "false", "true"),
				looser("moderate", "writable_paths", "/usr/x", "read", "write"),
			},
		}},
		{"a parent of others", "", "[profiles.secrets]\nblocked_paths=['!']", &Preview{
			Asks: []string{"profiles.secrets.blocked_paths (line 2)"},
			Loosens: []Looser{
				looser("moderate", "blocked_paths", "/w/p/*.pem", "block", "write"),
				looser("open", "blocked_paths", "/home/u/.ssh", "block", "read"),
			},
		}},
		{"default and tool", "", "default_profile='open'\n[tools.npm]\nprofile='open'", &Preview{
			Asks: []string{"default_profile (line 1)", "tools.npm (line 2)"},
			Loosens: []Looser{
				looser("", "default_profile", "open", "moderate", "open"),
				looser("the default", "allow_network", "true", "false", "true"),
				looser("", "tools.npm", "open", "", "open"),
			},
		}},
		{"a value that counts beside another profile", "", "[profiles.node]\ntimeout_seconds=600", &Preview{
			Asks:    []string{"profiles.node.timeout_seconds (line 2)"},
			Loosens: []Looser{looser("open + node", "timeout_seconds", "600", "120", "600")},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := PreviewTrust(testBuiltin(), []File{file(policy.User, tt.user),
				file(policy.Project, tt.project)}, 1, testVars)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want.Loosens {
				found := false
				for _, l := range got.Loosens {
					found = found || l.Change == want.Change && strings.HasPrefix(strings.Join(l.Profiles, ", "),
						strings.Join(want.Profiles, ", "))
				}
				if !found {
					t.Errorf("missing %+v in %+v", want, got.Loosens)
				}
			}
			if len(tt.want.Loosens) == 0 && len(got.Loosens) > 0 {
				t.Errorf("%+v", got.Loosens)
			}
			got.Loosens, tt.want.Loosens = nil, nil
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPreviewTrustRefuses(t *testing.T) {
	tests := []struct{ name, system, project, want string }{
		{"syntax", "", "x", ".sbx.toml:1:1: expected '=' after key"},
		{"locked elsewhere", "", "locked=[]",
			".sbx.toml:1:1: locked: only the administrator's file in /etc/sbx may lock keys"},
		{"a locked key", "locked=['allow_network']", "[profiles.moderate]\nallow_network=true",
			"allow_network is locked by system.toml:1:9: a later setting may not loosen it (false -> true, from .sbx.toml:2:1)"},
		{"too large to be used untrusted", "", strings.Repeat("#", untrustedSize+1), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := PreviewTrust(testBuiltin(), []File{file(policy.System, tt.system),
				file(policy.Project, tt.project)}, 1, testVars)
			if got := message(err); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
