// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// offer is one way to hold controllers' limits for a whole tree of processes.
type offer struct {
	name        string
	controllers []string
	fill        func(m *Means, w Wanted, o Options)
}

func (o *offer) has(controller string) bool { return slices.Contains(o.controllers, controller) }

// offers are what the machine has, the cheapest first.
func (f *Facts) offers() []*offer {
	var out []*offer
	for i := range f.Unified {
		p := &f.Unified[i]
		out = append(out, &offer{"a control group below " + p.Dir + ", for all processes together", p.Controllers,
			func(m *Means, w Wanted, o Options) { p.group(m, w, o, false) }})
	}
	if len(f.Legacy) > 0 {
		v1 := &offer{name: "control groups (v1), for all processes together"}
		for _, p := range f.Legacy {
			v1.controllers = append(v1.controllers, p.Controllers...)
		}
		v1.fill = func(m *Means, w Wanted, o Options) {
			for i := range f.Legacy {
				f.Legacy[i].group(m, w, o, true)
			}
		}
		out = append(out, v1)
	}
	if s := &f.Scope; s.Run != "" {
		out = append(out, &offer{"a scope of systemd's, for all processes together", s.Controllers,
			func(m *Means, w Wanted, o Options) { s.fill(m, w, o) }})
	}
	return out
}

// bounded returns what is wanted or what was in force before, whichever is
// tighter: a process that moves to another control group leaves the limits of
// the one that it was in.
func (b Bounds) bounded(w Wanted, o Options) Bounds {
	wanted := Bounds{Memory: uint64(w.MemoryMB) << 20, CPUs: w.CPUs}
	switch {
	case w.Procs > 0 && o.Staged:
		wanted.Procs = uint64(w.Procs) + staff
	case w.Procs > 0:
		wanted.Procs = uint64(w.Procs) + directStaff
	}
	return b.tighter(wanted)
}

// period is that of the kernel's accounting of processor time, in microseconds;
// it takes no share of it below a thousand.
const period = 100000

func quota(cpus float64) string {
	return strconv.FormatFloat(math.Max(1000, math.Round(cpus*period)), 'f', 0, 64)
}

func (p *Place) has(controller string) bool { return slices.Contains(p.Controllers, controller) }

// group makes a control group below the place. One of v1 is made in the caller's own,
// so the limits of that stay in force, and no others are set.
func (p *Place) group(m *Means, w Wanted, o Options, v1 bool) {
	b := p.Left.bounded(w, o)
	c := Cgroup{Parent: p.Dir}
	add := func(name, data string, optional bool) {
		c.Files = append(c.Files, File{Name: name, Data: data, Optional: optional})
	}
	if b.Memory > 0 && p.has(memory) && (w.MemoryMB > 0 || !v1) {
		n, oom := strconv.FormatUint(b.Memory, 10), "memory.events"
		if v1 {
			oom = "memory.oom_control"
			add("memory.limit_in_bytes", n, false)
			add("memory.memsw.limit_in_bytes", n, true)
		} else {
			add("memory.max", n, false)
			add("memory.swap.max", "0", true) // what is swapped out would not count
		}
		if w.MemoryMB > 0 {
			c.OOM, m.Memory = oom, memoryText(b.Memory)
		}
	}
	if b.Procs > 0 && p.has(pids) && (w.Procs > 0 || !v1) {
		add("pids.max", strconv.FormatUint(b.Procs, 10), false)
	}
	switch {
	case b.CPUs == 0 || !p.has(cpu) || v1 && w.CPUs == 0:
	case v1:
		add("cpu.cfs_period_us", strconv.Itoa(period), false)
		add("cpu.cfs_quota_us", quota(b.CPUs), false)
	default:
		add("cpu.max", quota(b.CPUs)+" "+strconv.Itoa(period), false)
	}
	if len(c.Files) > 0 || !v1 {
		m.Cgroups = append(m.Cgroups, c)
	}
}

func memoryText(bytes uint64) string { return sizeText(float64(bytes) / (1 << 20)) }

// fill asks systemd for a scope (systemd-run(1)). It leaves no process: the
// scope is made around systemd-run, which becomes bwrap.
func (s *Scope) fill(m *Means, w Wanted, o Options) {
	b := s.Left.bounded(w, o)
	m.Prefix = []string{s.Run}
	// Variables of the caller's must not lead it to someone who only says yes.
	if s.Runtime != "" {
		m.Prefix = append(m.Prefix, "--user")
		m.Env = []string{"XDG_RUNTIME_DIR=" + s.Runtime, "DBUS_SESSION_BUS_ADDRESS=unix:path=" + s.Runtime + "/bus"}
	} else {
		m.Env = []string{"DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket"}
	}
	m.Drop = []string{"INVOCATION_ID"}
	m.Prefix = append(m.Prefix, "--scope", "--quiet", "--collect")
	if b.Memory > 0 && slices.Contains(s.Controllers, memory) {
		m.Prefix = append(m.Prefix, "-p", "MemoryMax="+strconv.FormatUint(b.Memory, 10), "-p", "MemorySwapMax=0")
		if w.MemoryMB > 0 {
			m.OOM, m.Memory = s.OOM, memoryText(b.Memory)
		}
	}
	if b.CPUs > 0 && slices.Contains(s.Controllers, cpu) {
		m.Prefix = append(m.Prefix, "-p", "CPUQuota="+percent(b.CPUs))
	}
	if b.Procs > 0 && slices.Contains(s.Controllers, pids) {
		m.Prefix = append(m.Prefix, "-p", "TasksMax="+strconv.FormatUint(b.Procs, 10))
	}
	m.Prefix = append(m.Prefix, "--")
}

// percent has the two digits after the point that systemd reads.
func percent(cpus float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(math.Max(1, cpus*100), 'f', 2, 64), ".00") + "%"
}

// without says why no means holds a controller's limit.
func (f *Facts) without(controller string, o Options) string {
	why := "there is no control group that the caller may use, and no systemd that would make one"
	switch {
	case !f.Mounted:
		why = "no control groups are mounted"
	case f.Scope.Run != "":
		why = "systemd was not given the " + controller + " controller for this user"
	case len(f.Unified)+len(f.Legacy) > 0:
		why = "the caller's control groups lack the " + controller + " controller"
	}
	if controller != pids {
		return why
	}
	switch {
	case f.Root:
		return why + ", and RLIMIT_NPROC does not hold root"
	case !f.Counted:
		return why + ", and RLIMIT_NPROC counts all processes of a user before Linux 5.14"
	case !o.Staged:
		return why + ", and without sbx as process 1 of the sandbox RLIMIT_NPROC counts all processes of the user"
	}
	return why
}

// hint says what to do about it.
func (f *Facts) hint(controller string, o Options) string {
	rest := `take the limit out, or set limits = "best-effort" in the profile to run without it`
	switch {
	case controller == pids && f.Counted && !o.Staged:
		return "leave out --direct and --share-pid"
	case f.Scope.Run != "":
		return "let systemd delegate it (Delegate=" + controller + " for user@.service); or " + rest
	}
	return "run sbx in a login session of systemd's, or in a control group delegated to you; or " + rest
}
