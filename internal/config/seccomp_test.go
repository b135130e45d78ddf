// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/profiles"
)

// TestSeccompFile: where the file is that a profile names.
func TestSeccompFile(t *testing.T) {
	tests := []struct{ config, cwd, value, want string }{
		{"/etc/sbx/c.toml", "", "f.json", "/etc/sbx/f.json"},
		{"/etc/sbx/c.toml", "", "filters/f", "/etc/sbx/filters/f"},
		{"/etc/sbx/c.toml", "", "../f.json", "/etc/f.json"},
		{"/etc/sbx/c.toml", "", "./f.json", "/etc/sbx/f.json"},
		{"/etc/sbx/c.toml", "", "/f", "/f"},
		{"/etc/sbx/c.toml", "", "~/f", testVars.Home + "/f"},
		{"/etc/sbx/c.toml", "", "$HOME/f", testVars.Home + "/f"},
		{"/a$HOME/c.toml", "", "f.json", "/a$HOME/f.json"},
		{"/c.toml", "", "f.json", "/f.json"},
		{"conf/c.toml", "/work", "f.json", "/work/conf/f.json"},
		{"../c.toml", "/work/a", "./f", "/work/f"},
		{"c.toml", "/work$x", "f.json", "/work$x/f.json"},
	}
	for _, tt := range tests {
		f := File{Path: tt.config, CWD: tt.cwd, Layer: policy.User,
			Data: []byte("[profiles.moderate]\nseccomp='" + tt.value + "'")}
		s, err := Load(profiles.Builtin(), []File{f}, testVars)
		if err != nil {
			t.Error(err)
			continue
		}
		p, err := policy.Resolve(s.Profiles, []string{"moderate"}, testVars)
		if err != nil || p.Seccomp != tt.want {
			t.Errorf("%s in %s: got %v, %v", tt.value, tt.config, p, err)
		}
	}
}

// TestSeccompFileOfAProject: a project that is not trusted names no file,
// whatever the user's own filter is, and takes no file of the user's away.
func TestSeccompFileOfAProject(t *testing.T) {
	values := []string{"off", "dev", "default", "/user.json", "/project.json", "./project.json"}
	for _, user := range values {
		for _, project := range values {
			if !policy.SeccompFile(user) && !policy.SeccompFile(project) {
				continue
			}
			files := []File{
				{Path: "/etc/user.toml", Layer: policy.User, Data: []byte("[profiles.moderate]\nseccomp='" + user +
					"'\n[profiles.module]\ncache='none'")},
				{Path: "/p/.sbx.toml", Layer: policy.Project,
					Data: []byte("[profiles.moderate]\nseccomp='" + project + "'\n[profiles.module]\nseccomp='" +
						project + "'\n[profiles.own]\nextends='moderate'\nseccomp='" + project + "'")},
			}
			resolve := func(trusted bool, names ...string) (string, *Settings) {
				files[1].Trusted = trusted
				s, err := Load(profiles.Builtin(), files, testVars)
				if err != nil {
					t.Fatal(err)
				}
				if s.Profiles[names[len(names)-1]] == nil {
					return "", s
				}
				p, err := policy.Resolve(s.Profiles, names, testVars)
				if err != nil {
					t.Fatal(err)
				}
				return p.Seccomp, s
			}
			want := user
			if strings.HasPrefix(user, "./") {
				want = "/etc/project.json"
			}
			for _, names := range [][]string{{"moderate"}, {"moderate", "module"}} {
				if got, s := resolve(false, names...); got != want {
					t.Errorf("the user says %s, the project %s: %v has %s, %q", user, project, names, got, s.Notices)
				}
			}
			if got, _ := resolve(false, "own"); got != "" && got != want {
				t.Errorf("the user says %s, the project %s: own has %s", user, project, got)
			}
			full := project
			if strings.HasPrefix(project, "./") {
				full = "/p/project.json"
			}
			if got, _ := resolve(true, "moderate"); got != full {
				t.Errorf("the project is trusted and says %s: got %s", project, got)
			}
		}
	}
}

// TestSeccompFileLocked: where the administrator locked the filter, no file
// takes its place.
func TestSeccompFileLocked(t *testing.T) {
	for _, system := range []string{"default", "off", "/etc/f.json"} {
		files := []File{
			{Path: "/etc/sbx/config.toml", Layer: policy.System,
				Data: []byte("locked=['seccomp']\n[profiles.moderate]\nseccomp='" + system + "'")},
			{Path: "/u.toml", Layer: policy.User, Data: []byte("[profiles.moderate]\nseccomp='/home/f.json'")},
		}
		s, err := Load(profiles.Builtin(), files, testVars)
		if err != nil {
			t.Fatal(err)
		}
		p, err := policy.Resolve(s.Profiles, []string{"moderate"}, testVars)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.CheckLocked(p, testVars, false); err == nil || !strings.Contains(err.Error(), "seccomp is locked") {
			t.Errorf("%s: %v", system, err)
		}
	}
}
