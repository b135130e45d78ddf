// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// lockLoosened has for each key that can be locked what a later layer could
// say against it, over a system file with the text base.
var lockLoosened = map[string]struct{ base, loose string }{
	"enabled":                 {"", "enabled=false"},
	"fallback_on_unavailable": {"", "fallback_on_unavailable='allow'"},
	"default_profile":         {"", "default_profile='open'"},
	"shell":                   {"", "shell='/x'"},
	"tripwire":                {"tripwire='required'", "tripwire='auto'"},
	"direct":                  {"", "direct=true"},
	"allow_network":           {"", "[profiles.moderate]\nallow_network=true"},
	"share_pid":               {"", "[profiles.moderate]\nshare_pid=true"},
	"engine":                  {"engine='bwrap'", "engine='landlock'"},
	"read_only":               {"[profiles.moderate]\nread_only=true", "[profiles.moderate]\nread_only=false"},
	"workspace":               {"", "[profiles.moderate]\nworkspace='/w'"},
	"new_session":             {"[profiles.moderate]\nnew_session='yes'", "[profiles.moderate]\nnew_session='no'"},
	"seccomp":                 {"", "[profiles.moderate]\nseccomp='off'"},
	// None gives more than the other, so any other is refused.
	"cache":           {"[profiles.moderate]\ncache='none'", "[profiles.moderate]\ncache='private'"},
	"git":             {"", "[profiles.moderate]\ngit='full'"},
	"scope":           {"[profiles.moderate]\nscope='cwd'", "[profiles.moderate]\nscope='project'"},
	"protect":         {"[profiles.moderate]\nprotect='enforce'", "[profiles.moderate]\nprotect='auto'"},
	"environment":     {"default_profile='strict'", "[profiles.strict]\nenvironment='inherit'"},
	"limits":          {"", "[profiles.moderate]\nlimits='best-effort'"},
	"on_unmasked":     {"", "[profiles.moderate]\non_unmasked='warn'"},
	"min_tier":        {"[profiles.moderate]\nmin_tier='full'", "[profiles.moderate]\nmin_tier='reduced'"},
	"timeout_seconds": {"[profiles.moderate]\ntimeout_seconds=5", "[profiles.moderate]\ntimeout_seconds=50"},
	"memory_limit_mb": {"[profiles.moderate]\nmemory_limit_mb=5", "[profiles.moderate]\nmemory_limit_mb=50"},
	"cpus":            {"[profiles.moderate]\ncpus=1", "[profiles.moderate]\ncpus=2"},
	"procs":           {"[profiles.moderate]\nprocs=5", "[profiles.moderate]\nprocs=50"},
	"file_size_limit_mb": {"[profiles.moderate]\nfile_size_limit_mb=0.5",
		"[profiles.moderate]\nfile_size_limit_mb=50"},
	"tmpfs_limit_mb":  {"[profiles.moderate]\ntmpfs_limit_mb=5", "[profiles.moderate]\ntmpfs_limit_mb=50"},
	"env_set":         {"", "[profiles.moderate]\nenv_set={LD_PRELOAD='/x'}"},
	"private_paths":   {"", "[profiles.moderate]\nprivate_paths=['!']\nreadonly_paths=['/tmp']"},
	"writable_paths":  {"", "[profiles.moderate]\nwritable_paths=['/usr/x']"},
	"readonly_paths":  {"", "[profiles.moderate]\nreadonly_paths=['/srv']"},
	"protected_paths": {"", "[profiles.moderate]\nprotected_paths=['!']"},
	"blocked_paths":   {"", "[profiles.moderate]\nblocked_paths=['!']"},
	"devices":         {"", "[profiles.moderate]\ndevices=['kvm']"},
	"env_pass":        {"default_profile='strict'", "[profiles.strict]\nenv_pass=['X']"},
	"env_drop":        {"", "[profiles.moderate]\nenv_pass=['GH_TOKEN']"},
}

// TestLocksHold says the looser thing in each layer after the system's, a
// trusted project file included: either a run is refused, or nothing of it
// takes effect. Without the lock the user's word counts, which is the control.
func TestLocksHold(t *testing.T) {
	for _, key := range lockable() {
		row, ok := lockLoosened[key]
		if !ok {
			t.Errorf("%s can be locked, and no row says how it would be loosened", key)
			continue
		}
		t.Run(key, func(t *testing.T) {
			system := file(policy.System, "locked=['"+key+"']\n"+row.base)
			untrusted := file(policy.Project, row.loose)
			for name, f := range map[string]File{
				"user": file(policy.User, row.loose), "trusted project": trusted(".sbx.toml", row.loose),
				"project":            untrusted,
				"profile of its own": trusted(".sbx.toml", ownProfile(row.loose)),
			} {
				if len(f.Data) == 0 {
					continue
				}
				base := mustLoad(t, system)
				s, err := Load(testBuiltin(), []File{system, f}, testVars)
				if err != nil {
					t.Fatal(name, err)
				}
				err = runWith(t, s)
				if err == nil && looser(t, base, s) {
					t.Errorf("%s loosens it", name)
				}
				if err != nil && (!strings.HasPrefix(err.Error(), key+" is locked by ") || name == "project") {
					t.Errorf("%s: %v", name, err)
				}
				if name == "user" && err == nil {
					t.Errorf("%s is not refused", name)
				}
			}
			open := mustLoad(t, file(policy.System, row.base))
			said := mustLoad(t, file(policy.System, row.base), file(policy.User, row.loose))
			if err := runWith(t, said); err != nil || !looser(t, open, said) {
				t.Error("control: without the lock it does not loosen", err)
			}
		})
	}
}

// ownProfile says the same in a profile of the file's own, made the default.
func ownProfile(text string) string {
	for _, name := range []string{"moderate", "strict"} {
		if rest, ok := strings.CutPrefix(text, "[profiles."+name+"]\n"); ok {
			return "default_profile='mine'\n[profiles.mine]\nextends='" + name + "'\n" + rest
		}
	}
	return ""
}

// runWith does what a run without flags does.
func runWith(t *testing.T, s *Settings) error {
	t.Helper()
	p := resolved(t, s, s.DefaultProfile)
	if err := s.KeepFloor(p, nil, testVars); err != nil {
		t.Fatal(err)
	}
	return s.CheckLocked(p, testVars, false)
}

func looser(t *testing.T, base, s *Settings) bool {
	t.Helper()
	p := resolved(t, s, s.DefaultProfile)
	if err := s.KeepFloor(p, nil, testVars); err != nil {
		t.Fatal(err)
	}
	was := resolved(t, base, base.DefaultProfile)
	return len(policy.Widened(was, p)) > 0 || was.Cache != p.Cache || base.Enabled && !s.Enabled ||
		topKey("fallback_on_unavailable").wider(base.Fallback, s.Fallback) ||
		topKey("min_tier").wider(base.MinTier, s.MinTier) || topKey("tripwire").wider(base.Tripwire, s.Tripwire) ||
		topKey("engine").wider(base.Engine, s.Engine) ||
		base.Shell != s.Shell || s.Direct && !base.Direct
}
