// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/pid1"
)

// The machines that there are.
var (
	none      = Facts{Mounted: true, Counted: true}
	bare      = Facts{Counted: true}
	oldKernel = Facts{Mounted: true}
	rootless  = Facts{Mounted: true, Root: true}
	delegated = Facts{Mounted: true, Counted: true,
		Unified: []Place{{Dir: "/cg/job", Controllers: []string{memory, cpu, pids}}}}
	partly = Facts{Mounted: true, Counted: true,
		Unified: []Place{{Dir: "/cg/a/b", Controllers: []string{pids}},
			{Dir: "/cg/a", Controllers: []string{memory, pids}}}}
	bounded = Facts{Mounted: true, Counted: true,
		Unified: []Place{{Dir: "/cg/job", Controllers: []string{memory, cpu, pids},
			Left: Bounds{Memory: 1 << 20, Procs: 5, CPUs: .5}}}}
	legacy = Facts{Mounted: true, Root: true, Legacy: []Place{{Dir: "/cg/pids", Controllers: []string{pids}},
		{Dir: "/cg/memory/x", Controllers: []string{memory}},
		{Dir: "/cg/cpu", Controllers: []string{cpu}, Left: Bounds{CPUs: 1.5}}}}
	systemd = Facts{Mounted: true, Counted: true,
		Scope: Scope{Run: "/usr/bin/systemd-run", Runtime: "/run/user/7", Controllers: []string{memory, cpu, pids},
			OOM: "/cg/events"}}
	noCPU = Facts{Mounted: true, Counted: true,
		Scope: Scope{Run: "/usr/bin/systemd-run", Runtime: "/run/user/7", Controllers: []string{memory, pids}}}
	system = Facts{Mounted: true, Root: true, Scope: Scope{Run: "/usr/bin/systemd-run",
		Controllers: []string{memory, cpu, pids}}}
	both = Facts{Mounted: true, Counted: true, Unified: []Place{{Dir: "/cg/job", Controllers: []string{memory}}},
		Scope: systemd.Scope}
)

func TestChoose(t *testing.T) {
	all := Wanted{MemoryMB: 512, CPUs: 1.5, Procs: 64}
	stay := Options{Staged: true}
	effort := Options{Staged: true, BestEffort: true}
	const (
		noGroup   = "there is no control group that the caller may use, and no systemd that would make one"
		byGroup   = "a control group below /cg/job, for all processes together"
		byLegacy  = "control groups (v1), for all processes together"
		byScope   = "a scope of systemd's, for all processes together"
		byNPROC   = "procs: RLIMIT_NPROC in a user namespace of its own, for all processes together"
		hintGroup = `this takes a login session of systemd's, or a control group delegated to you; or take the limit out, or set limits = "best-effort" in the profile to run without it`
	)
	env := []string{"XDG_RUNTIME_DIR=/run/user/7", "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/7/bus"}
	nproc := []pid1.Rlimit{{Resource: 6, Max: 64}}
	for _, c := range []struct {
		name  string
		want  Wanted
		facts Facts
		o     Options
		means Means
		fail  Refusal
	}{
		{"nothing", Wanted{}, none, stay, Means{Staged: true}, Refusal{}},
		{"file size needs no machine", Wanted{FileSizeMB: 2.5}, Facts{}, stay,
			Means{Staged: true, Rlimits: []pid1.Rlimit{{Resource: 1, Max: 5 << 19}},
				Held: []string{"file_size_limit_mb: RLIMIT_FSIZE, for each file"}}, Refusal{}},
		{"small files, direct", Wanted{FileSizeMB: .5}, none, Options{}, Means{},
			Refusal{"file_size_limit_mb", "only process 1 of the sandbox can set less than 1 MiB",
				"leave out --direct, or allow 1M"}},
		{"files, direct", Wanted{FileSizeMB: 1}, none, Options{},
			Means{Rlimits: []pid1.Rlimit{{Resource: 1, Max: 1 << 20}},
				Held: []string{"file_size_limit_mb: RLIMIT_FSIZE, for each file"}}, Refusal{}},
		{"too little memory", Wanted{MemoryMB: 15}, delegated, effort, Means{},
			Refusal{"memory_limit_mb", "the sandbox itself takes up to 16 MiB", "allow at least that much"}},

		{"delegated", all, delegated, stay, Means{Staged: true, Memory: "512 MiB",
			Cgroups: []Cgroup{{Parent: "/cg/job", OOM: "memory.events", Files: []File{
				{Name: "memory.max", Data: "536870912"}, {Name: "memory.swap.max", Data: "0", Optional: true},
				{Name: "pids.max", Data: "73"}, {Name: "cpu.max", Data: "150000 100000"}}}},
			Held: []string{"memory_limit_mb: " + byGroup, "cpus: " + byGroup, "procs: " + byGroup}}, Refusal{}},
		{"direct", Wanted{Procs: 64}, delegated, Options{},
			Means{Cgroups: []Cgroup{{Parent: "/cg/job", Files: []File{{Name: "pids.max", Data: "66"}}}},
				Held: []string{"procs: " + byGroup}}, Refusal{}},
		{"the farther one has what is needed", Wanted{MemoryMB: 1024}, partly, stay,
			Means{Staged: true, Memory: "1 GiB",
				Cgroups: []Cgroup{{Parent: "/cg/a", OOM: "memory.events", Files: []File{
					{Name: "memory.max", Data: "1073741824"}, {Name: "memory.swap.max", Data: "0", Optional: true}}}},
				Held: []string{"memory_limit_mb: a control group below /cg/a, for all processes together"}}, Refusal{}},
		{"limits that would be left are taken along", Wanted{CPUs: 2}, bounded, stay,
			Means{Staged: true, Cgroups: []Cgroup{{Parent: "/cg/job", Files: []File{
				{Name: "memory.max", Data: "1048576"}, {Name: "memory.swap.max", Data: "0", Optional: true},
				{Name: "pids.max", Data: "5"}, {Name: "cpu.max", Data: "50000 100000"}}}},
				Held: []string{"cpus: " + byGroup}}, Refusal{}},
		{"the least share", Wanted{CPUs: .01}, delegated, stay,
			Means{Staged: true, Cgroups: []Cgroup{{Parent: "/cg/job",
				Files: []File{{Name: "cpu.max", Data: "1000 100000"}}}}, Held: []string{"cpus: " + byGroup}},
			Refusal{}},
		{"lacking cpu", all, partly, stay, Means{}, Refusal{"cpus",
			"the caller's control groups lack the cpu controller", hintGroup}},

		{"v1", Wanted{MemoryMB: 512, CPUs: 2, Procs: 64}, legacy, stay,
			Means{Staged: true, Memory: "512 MiB", Cgroups: []Cgroup{
				{Parent: "/cg/pids", Files: []File{{Name: "pids.max", Data: "73"}}},
				{Parent: "/cg/memory/x", OOM: "memory.oom_control",
					Files: []File{{Name: "memory.limit_in_bytes", Data: "536870912"},
						{Name: "memory.memsw.limit_in_bytes", Data: "536870912", Optional: true}}},
				{Parent: "/cg/cpu", Files: []File{{Name: "cpu.cfs_period_us", Data: "100000"},
					{Name: "cpu.cfs_quota_us", Data: "150000"}}}},
				Held: []string{"memory_limit_mb: " + byLegacy, "cpus: " + byLegacy, "procs: " + byLegacy}}, Refusal{}},
		{"v1, only what is wanted", Wanted{Procs: 64}, legacy, stay,
			Means{Staged: true, Cgroups: []Cgroup{{Parent: "/cg/pids", Files: []File{{Name: "pids.max", Data: "73"}}}},
				Held: []string{"procs: " + byLegacy}}, Refusal{}},

		{"systemd", all, systemd, stay, Means{Staged: true, Memory: "512 MiB", OOM: "/cg/events", Env: env,
			Drop: []string{"INVOCATION_ID"},
			Prefix: []string{"/usr/bin/systemd-run", "--user", "--scope", "--quiet", "--collect", "-p",
				"MemoryMax=536870912", "-p", "MemorySwapMax=0", "-p", "CPUQuota=150%", "-p", "TasksMax=73", "--"},
			Held: []string{"memory_limit_mb: " + byScope, "cpus: " + byScope, "procs: " + byScope}}, Refusal{}},
		{"the system's systemd", Wanted{CPUs: .125}, system, stay,
			Means{Staged: true, Env: []string{"DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket"},
				Drop:   []string{"INVOCATION_ID"},
				Prefix: []string{"/usr/bin/systemd-run", "--scope", "--quiet", "--collect", "-p", "CPUQuota=12.50%", "--"},
				Held:   []string{"cpus: " + byScope}}, Refusal{}},
		{"systemd without cpu", all, noCPU, stay, Means{},
			Refusal{"cpus", "systemd was not given the cpu controller for this user",
				`let systemd delegate it (Delegate=cpu for user@.service); or take the limit out, or set limits = "best-effort" in the profile to run without it`}},
		{"the one that can do more", Wanted{MemoryMB: 16, CPUs: 1}, both, stay,
			Means{Staged: true, Memory: "16 MiB", OOM: "/cg/events", Env: env, Drop: []string{"INVOCATION_ID"},
				Prefix: []string{"/usr/bin/systemd-run", "--user", "--scope", "--quiet", "--collect", "-p",
					"MemoryMax=16777216", "-p", "MemorySwapMax=0", "-p", "CPUQuota=100%", "--"},
				Held: []string{"memory_limit_mb: " + byScope, "cpus: " + byScope}}, Refusal{}},
		{"the cheaper one, and processes by themselves", Wanted{MemoryMB: 16, Procs: 64}, both, stay,
			Means{Staged: true, Memory: "16 MiB", Rlimits: nproc,
				Cgroups: []Cgroup{{Parent: "/cg/job", OOM: "memory.events", Files: []File{
					{Name: "memory.max", Data: "16777216"}, {Name: "memory.swap.max", Data: "0", Optional: true}}}},
				Held: []string{"memory_limit_mb: " + byGroup, byNPROC}}, Refusal{}},

		{"processes alone leave nothing behind", Wanted{Procs: 64}, delegated, stay,
			Means{Staged: true, Rlimits: nproc, Held: []string{byNPROC}}, Refusal{}},
		{"processes without any group", Wanted{Procs: 64}, bare, stay,
			Means{Staged: true, Rlimits: nproc, Held: []string{byNPROC}}, Refusal{}},
		{"processes, direct", Wanted{Procs: 64}, none, Options{}, Means{},
			Refusal{"procs", noGroup + ", and without sbx as process 1 of the sandbox RLIMIT_NPROC counts all processes of the user", "leave out --direct and --share-pid"}},
		{"processes, direct, best effort", Wanted{Procs: 64}, none, Options{BestEffort: true},
			Means{Gaps: []string{"procs is not enforced: " + noGroup +
				", and without sbx as process 1 of the sandbox RLIMIT_NPROC counts all processes of the user"}}, Refusal{}},
		{"processes, root", Wanted{Procs: 64}, rootless, stay, Means{},
			Refusal{"procs", noGroup + ", and RLIMIT_NPROC does not hold root", hintGroup}},
		{"processes, old kernel", Wanted{Procs: 64}, oldKernel, stay, Means{},
			Refusal{"procs", noGroup + ", and RLIMIT_NPROC counts all processes of a user before Linux 5.14",
				hintGroup}},
		{"memory, a container", Wanted{MemoryMB: 512}, bare, stay, Means{},
			Refusal{"memory_limit_mb", "no control groups are mounted", hintGroup}},
		{"memory, nothing there", Wanted{MemoryMB: 512}, none, stay, Means{},
			Refusal{"memory_limit_mb", noGroup, hintGroup}},
		{"best effort", all, none, effort, Means{Staged: true,
			Rlimits: []pid1.Rlimit{{Resource: 2, Max: 512 << 20}, nproc[0]}, Held: []string{byNPROC},
			Gaps: []string{"memory_limit_mb is held for each process by itself (RLIMIT_DATA), not for all together, nor for files in private directories: " + noGroup, "cpus is not enforced: " + noGroup}}, Refusal{}},
		{"best effort takes what there is", Wanted{MemoryMB: 512, CPUs: 1}, partly, effort,
			Means{Staged: true, Memory: "512 MiB",
				Cgroups: []Cgroup{{Parent: "/cg/a", OOM: "memory.events", Files: []File{
					{Name: "memory.max", Data: "536870912"}, {Name: "memory.swap.max", Data: "0", Optional: true}}}},
				Held: []string{"memory_limit_mb: a control group below /cg/a, for all processes together"},
				Gaps: []string{"cpus is not enforced: the caller's control groups lack the cpu controller"}},
			Refusal{}},
		{"best effort is no worse where all is there", all, legacy, effort,
			Means{Staged: true, Memory: "512 MiB", Cgroups: []Cgroup{
				{Parent: "/cg/pids", Files: []File{{Name: "pids.max", Data: "73"}}},
				{Parent: "/cg/memory/x", OOM: "memory.oom_control",
					Files: []File{{Name: "memory.limit_in_bytes", Data: "536870912"},
						{Name: "memory.memsw.limit_in_bytes", Data: "536870912", Optional: true}}},
				{Parent: "/cg/cpu", Files: []File{{Name: "cpu.cfs_period_us", Data: "100000"},
					{Name: "cpu.cfs_quota_us", Data: "150000"}}}},
				Held: []string{"memory_limit_mb: " + byLegacy, "cpus: " + byLegacy, "procs: " + byLegacy}}, Refusal{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			means, err := Choose(c.want, c.facts, c.o)
			var fail Refusal
			var refused *Refusal
			if errors.As(err, &refused) {
				fail = *refused
			} else if err != nil {
				t.Fatal(err)
			}
			var got Means
			if means != nil {
				got = *means
			}
			if d := cmp.Diff(c.fail, fail) + cmp.Diff(c.means, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Whatever a machine offers: a limit that is asked for is held, or refused, or
// with best effort named as a gap. Nothing is dropped without a word.
func TestChooseAccounts(t *testing.T) {
	machines := map[string]Facts{"none": none, "bare": bare, "old": oldKernel, "root": rootless, "delegated": delegated,
		"partly": partly, "bounded": bounded,
		"legacy": legacy, "systemd": systemd, "noCPU": noCPU, "system": system, "both": both, "nothing known": {}}
	for name, f := range machines {
		for bits := range 16 {
			for _, o := range []Options{{}, {Staged: true}, {BestEffort: true}, {Staged: true, BestEffort: true}} {
				var w Wanted
				n := 0
				for i, set := range []func(){func() { w.MemoryMB = 100 }, func() { w.CPUs = 1 },
					func() { w.Procs = 10 }, func() { w.FileSizeMB = 1 }} {
					if bits>>i&1 == 1 {
						set()
						n++
					}
				}
				m, err := Choose(w, f, o)
				switch {
				case err != nil && o.BestEffort:
					t.Errorf("%s %+v %+v: best effort is refused: %v", name, w, o, err)
				case err == nil && len(m.Held)+len(m.Gaps) != n:
					t.Errorf("%s %+v %+v: %d limits, held %q, gaps %q", name, w, o, n, m.Held, m.Gaps)
				case err == nil && !o.BestEffort && len(m.Gaps) > 0:
					t.Errorf("%s %+v %+v: a gap without being asked: %q", name, w, o, m.Gaps)
				}
			}
		}
	}
}

func TestSize(t *testing.T) {
	for mb, want := range map[float64]string{512: "512 MiB", 1024: "1 GiB", 1536: "1536 MiB", 1 << 20: "1 TiB",
		.5: "512 KiB", 1.5: "1.5 MiB", 3 << 10: "3 GiB"} {
		if got := sizeText(mb); got != want {
			t.Errorf("%v MiB: %q, want %q", mb, got, want)
		}
	}
}

func TestWanted(t *testing.T) {
	for _, c := range []struct {
		w         Wanted
		any, tree bool
	}{{Wanted{}, false, false}, {Wanted{FileSizeMB: 1}, true, false}, {Wanted{MemoryMB: 1}, true, true},
		{Wanted{CPUs: .1}, true, true}, {Wanted{Procs: 1}, true, true}} {
		if c.w.Any() != c.any || c.w.Tree() != c.tree {
			t.Errorf("%+v: any %v, tree %v", c.w, c.w.Any(), c.w.Tree())
		}
	}
}
