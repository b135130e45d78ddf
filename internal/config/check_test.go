// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/profiles"
)

func TestCheck(t *testing.T) {
	base := File{Path: "user.toml", Layer: policy.User, Data: []byte("[profiles.work]\nextends = 'moderate'\ntimeout_seconds = 5")}
	lock := File{Path: "lock.toml", Layer: policy.System, Data: []byte("locked = ['allow_network']")}
	tests := []struct {
		name, text string
		layer      policy.Layer
		wrong      []string
		ignored    []string
	}{
		{name: "right", text: "[profiles.x]\ngit = 'full'", layer: policy.System},
		{name: "all mistakes", text: "quiet = 1\n[profiles.x]\nreadonly_paths = ['rel']\ngit = 'x'\nenv_pass = ['a-', 'b-']\n[tools.x]\n",
			layer: policy.User, wrong: []string{
				`f.toml:1:1: quiet: want true or false, got a whole number`,
				`f.toml:4:1: git: want "none", "commit" or "full", got "x"`,
				`f.toml:5:13: env_pass: "a-" is not a variable name: want letters, digits, _ and, for any run of these, *`,
				`f.toml:5:19: env_pass: "b-" is not a variable name: want letters, digits, _ and, for any run of these, *`,
				`f.toml:3:19: "rel": not absolute: start it with /, ~/ or $CWD/`, // known when the profile is put together
				`f.toml:6:8: tools.x: profile is missing`}},
		{name: "syntax", text: "x = [", layer: policy.User, wrong: []string{`f.toml:1:5: array is incomplete`}},
		{name: "with the files before it", text: "default_profile = 'wrok'", layer: policy.Project,
			wrong: []string{`f.toml:1:1: default_profile: no profile is called "wrok" (did you mean "work"?)`}},
		{name: "with what it extends", text: "[profiles.x]\nextends = 'work'\nshare_pid = true", layer: policy.System,
			wrong: []string{`f.toml:2:11: profile "x": extends "work": no such profile`}},
		{name: "a project's", text: "quiet = true\n[profiles.work]\nallow_network = true\nblocked_paths = ['$CWD/x']", layer: policy.Project,
			ignored: []string{"quiet (line 1)", "profiles.work.allow_network (line 3)"}},
		{name: "against a lock", text: "[profiles.moderate]\nallow_network = true", layer: policy.User,
			wrong: []string{`allow_network is locked by lock.toml:1:11: a later setting may not loosen it (false -> true, from f.toml:2:1)`}},
		{name: "locked in a project", text: "locked = ['git']", layer: policy.Project,
			wrong: []string{`f.toml:1:1: locked: only the administrator's file in /etc/sbx may lock keys`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := File{Path: "f.toml", Layer: tt.layer, Data: []byte(tt.text)}
			errs, ignored := Check(profiles.Builtin(), []File{lock, base, f}, 2, testVars)
			var wrong []string
			for _, err := range errs {
				wrong = append(wrong, err.Error())
			}
			if d := cmp.Diff(tt.wrong, wrong); d != "" {
				t.Errorf("errors (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.ignored, ignored); d != "" {
				t.Errorf("ignored (-want +got):\n%s", d)
			}
		})
	}
}

// TestCheckIsBounded: a file that is wrong throughout costs no more than others.
func TestCheckIsBounded(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < 1<<20-200; i++ {
		fmt.Fprintf(&b, "\"\u202e%d\" = 1\n", i)
	}
	start := time.Now()
	errs, _ := Check(profiles.Builtin(), []File{{Path: "f.toml", Layer: policy.User, Data: []byte(b.String())}}, 0, testVars)
	if len(errs) != maxMistakes+1 || strings.Contains(errs[1].Error(), "\u202e") {
		t.Errorf("%d errors: %v", len(errs), errs[:1])
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}
