// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/engine/bwrap"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/limits"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

var (
	noGroups  = limits.Facts{Mounted: true, Counted: true}
	delegated = limits.Facts{Mounted: true, Counted: true, Unified: []limits.Place{{Dir: "/cg/job", Controllers: []string{"memory", "cpu", "pids"}}}}
	byScope   = limits.Facts{Mounted: true, Counted: true, Scope: limits.Scope{Run: "/usr/bin/systemd-run", Runtime: "/run/user/1000", Controllers: []string{"memory", "cpu", "pids"}, OOM: "/cg/events"}}
)

func withLimits(over policy.Profile, f limits.Facts) machine {
	m := user(debian + home("/home/u", "1000"))
	m.over, m.limits = over, f
	m.over.Where = map[string]string{"memory_limit_mb": "--memory", "cpus": "--cpus", "procs": "--procs", "file_size_limit_mb": "--file-size"}
	return m
}

func TestLimits(t *testing.T) {
	const (
		none = "there is no control group that the caller may use, and no systemd that would make one"
		hint = `this takes a login session of systemd's, or a control group delegated to you; or take the limit out, or set limits = "best-effort" in the profile to run without it`
	)
	for _, c := range []struct {
		name   string
		over   policy.Profile
		direct bool
		gaps   []string
		fail   status
	}{
		{"none", policy.Profile{}, false, nil, status{}},
		{"memory", policy.Profile{MemoryLimitMB: 64}, false, nil, status{125, "--memory: memory_limit_mb cannot be enforced here: " + none, hint}},
		{"cpus", policy.Profile{CPUs: .5}, false, nil, status{125, "--cpus: cpus cannot be enforced here: " + none, hint}},
		{"procs", policy.Profile{Procs: 9}, false, nil, status{}},
		{"procs, direct", policy.Profile{Procs: 9}, true, nil, status{125, "--procs: procs cannot be enforced here: " + none + ", and without sbx as process 1 of the sandbox RLIMIT_NPROC counts all processes of the user", "leave out --direct and --share-pid"}},
		{"procs, shared processes", policy.Profile{Procs: 9, SharePID: policy.Yes}, false, nil, status{125, "--procs: procs cannot be enforced here: " + none + ", and without sbx as process 1 of the sandbox RLIMIT_NPROC counts all processes of the user", "leave out --direct and --share-pid"}},
		{"small files, direct", policy.Profile{FileSizeMB: .5}, true, nil, status{125, "--file-size: file_size_limit_mb cannot be enforced here: only process 1 of the sandbox can set less than 1 MiB", "leave out --direct, or allow 1M"}},
		{"best effort", policy.Profile{Procs: 9, CPUs: 1, Limits: "best-effort"}, false, []string{"cpus is not enforced: " + none}, status{}},
		{"time and a shared process namespace", policy.Profile{TimeoutSeconds: 1, SharePID: policy.Yes}, false, nil,
			status{125, "a time limit needs a process namespace of its own", "leave out share_pid, or timeout_seconds"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := withLimits(c.over, noGroups)
			m.request.Direct = c.direct
			m.version = bwrapargs.Version{Minor: 11}
			p, _, err := m.plan(t)
			if d := cmp.Diff(c.fail, statusOf(err)); d != "" {
				t.Fatal(d)
			}
			if p != nil && !slices.Equal(p.Gaps, append(c.gaps, engine.GapSockets)) {
				t.Errorf("gaps %q", p.Gaps)
			}
		})
	}
}

// What holds the limits arrives where it is put into force: rlimits in the
// order of init, which stays, or in a plan without one to be set before.
func TestLimitsArrive(t *testing.T) {
	over := policy.Profile{MemoryLimitMB: 64, Procs: 9, FileSizeMB: 1}
	m := withLimits(over, delegated)
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []pid1.Rlimit{{Resource: 1, Max: 1 << 20}}
	if d := cmp.Diff(want, p.Init.Rlimits); d != "" || p.Init.Memory != "64 MiB" || p.Init.OOM < bwrap.FirstFD || !p.Limits.Staged || len(p.Limits.Cgroups) != 1 {
		t.Error(d, p.Init, p.Limits)
	}
	if slices.ContainsFunc(p.FDs, func(fd bwrapargs.FD) bool { return fd.Num == p.Init.OOM }) {
		t.Error("the number is another descriptor's, too")
	}

	m = withLimits(over, noGroups)
	m.over.MemoryLimitMB = 0
	if p, _, err = m.plan(t); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(append(want, pid1.Rlimit{Resource: 6, Max: 9}), p.Init.Rlimits); d != "" || p.Init.OOM != -1 || p.Init.Memory != "" {
		t.Error(d, p.Init)
	}

	m = withLimits(over, delegated)
	m.request.Direct = true
	if p, _, err = m.plan(t); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, p.Limits.Rlimits); d != "" || p.Init != nil || p.Limits.Staged {
		t.Error(d, p.Limits)
	}
	// A stage that only looks and becomes the command cannot set anything.
	m = withLimits(over, delegated)
	m.over.SharePID = policy.Yes
	if p, _, err = m.plan(t); err != nil || p.Limits.Staged || len(p.Init.Rlimits) > 0 || p.Init.OOM != -1 {
		t.Error(p, err)
	}
}

// systemd-run stands in front of bwrap; what it needs and adds, the command
// does not see, and no word of the command passes through it.
func TestScopePrefix(t *testing.T) {
	unset := func(p *engine.Plan) (out []string) {
		words := options(p)
		for i, w := range words {
			if w == "--unsetenv" || w == "--setenv" {
				out = append(out, strings.Join(words[i:i+2], " "))
			}
		}
		return out
	}
	m := withLimits(policy.Profile{CPUs: 1}, byScope)
	m.command = []string{"sh", "-c", "echo ${HOME}"}
	p, _, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/usr/bin/systemd-run", "--user", "--scope", "--quiet", "--collect", "-p", "CPUQuota=100%", "--", "/usr/bin/bwrap", "--args", p.Argv[10], "--", bwrap.SelfInside, pid1.InitName, p.Argv[14], "sh"}
	if d := cmp.Diff(want, p.Argv); d != "" || p.Path != want[0] {
		t.Error(p.Path, d)
	}
	if d := cmp.Diff(m.command, p.Init.Argv); d != "" {
		t.Error(d)
	}
	if got, _ := host.LookupEnv(p.Env, "XDG_RUNTIME_DIR"); got != "/run/user/1000" {
		t.Errorf("XDG_RUNTIME_DIR is %q", got)
	}
	if d := cmp.Diff([]string{"--unsetenv XDG_RUNTIME_DIR", "--unsetenv DBUS_SESSION_BUS_ADDRESS", "--unsetenv INVOCATION_ID"}, unset(p)); d != "" {
		t.Error(d)
	}

	// What the policy gives the command, it has all the same.
	m.env = []string{"HOME=/home/u", "PATH=/usr/bin", "XDG_RUNTIME_DIR=/elsewhere", "INVOCATION_ID=7"}
	m.over.EnvPass = policy.Words("XDG_RUNTIME_DIR", "INVOCATION_ID")
	if p, _, err = m.plan(t); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"--unsetenv DBUS_SESSION_BUS_ADDRESS", "--setenv XDG_RUNTIME_DIR", "--setenv INVOCATION_ID"}, unset(p)); d != "" || !slices.Contains(options(p), "/elsewhere") {
		t.Error(d, options(p))
	}
	if got, _ := host.LookupEnv(p.Env, "XDG_RUNTIME_DIR"); got != "/run/user/1000" {
		t.Errorf("XDG_RUNTIME_DIR is %q", got)
	}

	// Without an init the words have nowhere else to go.
	m.request.Direct = true
	_, _, err = m.plan(t)
	if s := statusOf(err); s.Status != 125 || !strings.Contains(s.Text, "holds $") {
		t.Error(s)
	}
	m.command = []string{"sh", "-c", "echo"}
	if p, _, err = m.plan(t); err != nil || p.Argv[len(p.Argv)-1] != "echo" {
		t.Error(p, err)
	}
}

// Private directories take memory that killing does not give back.
func TestPrivateDirectoriesFitMemory(t *testing.T) {
	size := func(over policy.Profile) (n int64) {
		p, _, err := withLimits(over, delegated).plan(t)
		if err != nil {
			t.Fatal(err)
		}
		s, err := read(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range s.ops {
			if op.Kind == bwrapargs.Tmpfs && op.Dst == "/tmp" {
				n = op.Size
			}
		}
		return n
	}
	for _, c := range []struct {
		memory, tmpfs int
		want          int64
	}{{0, 0, 2 << 30}, {0, 9, 9 << 20}, {64, 0, 32 << 20}, {64, 9, 9 << 20}, {17, 0, 17 << 19}, {1 << 20, 0, 2 << 30}} {
		if got := size(policy.Profile{MemoryLimitMB: c.memory, TmpfsLimitMB: c.tmpfs}); got != c.want {
			t.Errorf("memory %d, tmpfs %d: %d, want %d", c.memory, c.tmpfs, got, c.want)
		}
	}
}
