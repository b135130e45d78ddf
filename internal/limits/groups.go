// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// kind is who makes a control group, and how its limits are written.
type kind int

const (
	groupV1 kind = 1 + iota
	groupV2
	systemdScope // of systemd's
)

// offer is one way to hold controllers' limits for a whole tree of processes.
type offer struct {
	name        string
	kind        kind
	controllers []string
	places      []Place // where groups are to be made, but for a scope
}

func (o *offer) has(controller string) bool { return slices.Contains(o.controllers, controller) }

// offers are what the machine has, the cheapest first.
func (f *Facts) offers() (out []offer) {
	for i, p := range f.Unified {
		out = append(out, offer{"a control group below " + p.Dir, groupV2, p.Controllers, f.Unified[i : i+1]})
	}
	if len(f.Legacy) > 0 {
		all := offer{"control groups (v1)", groupV1, nil, f.Legacy}
		for _, p := range f.Legacy {
			all.controllers = append(all.controllers, p.Controllers...)
		}
		out = append(out, all)
	}
	if f.Scope.Run != "" {
		out = append(out, offer{"a scope of systemd's", systemdScope, f.Scope.Controllers, nil})
	}
	return out
}

// bestOffer is the first that covers as much as any does, where counted says that
// processes need none. It is empty without one.
func (f *Facts) bestOffer(w Wanted, counted bool) (best offer) {
	most := 0
	for _, o := range f.offers() {
		n := 0
		for _, c := range o.controllers {
			if w.needs(c) && !(c == pids && counted) {
				n++
			}
		}
		if n > most {
			best, most = o, n
		}
	}
	return best
}

// staff are sbx's own processes and threads that a control group counts
// beside the command's: bwrap and its reaper, or bwrap and process 1, which as a Go
// program has some threads. (To RLIMIT_NPROC process 1 adds its own.)
const (
	directStaff = 2
	staff       = 9
)

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

// settings are what holds a controller's bound: files of a control group, in the
// order of writing, or properties of a scope (systemd.resource-control(5)).
func (b Bounds) settings(k kind, controller string) []File {
	bytes, procs := strconv.FormatUint(b.Memory, 10), strconv.FormatUint(b.Procs, 10)
	micros := strconv.FormatFloat(math.Max(1000, math.Round(b.CPUs*period)), 'f', 0, 64)
	// systemd reads two digits after the point.
	percent := strings.TrimSuffix(strconv.FormatFloat(math.Max(1, b.CPUs*100), 'f', 2, 64), ".00") + "%"
	every := strconv.Itoa(period)
	switch {
	case controller == memory && b.Memory > 0:
		return [...][]File{
			groupV1: {{"memory.limit_in_bytes", bytes, false}, {"memory.memsw.limit_in_bytes", bytes, true}},
			// What is swapped out would not count.
			groupV2:      {{"memory.max", bytes, false}, {"memory.swap.max", "0", true}},
			systemdScope: {{"MemoryMax", bytes, false}, {"MemorySwapMax", "0", false}},
		}[k]
	case controller == pids && b.Procs > 0:
		return [...][]File{groupV1: {{"pids.max", procs, false}}, groupV2: {{"pids.max", procs, false}},
			systemdScope: {{"TasksMax", procs, false}}}[k]
	case controller == cpu && b.CPUs > 0:
		return [...][]File{
			groupV1:      {{"cpu.cfs_period_us", every, false}, {"cpu.cfs_quota_us", micros, false}},
			groupV2:      {{"cpu.max", micros + " " + every, false}},
			systemdScope: {{"CPUQuota", percent, false}},
		}[k]
	}
	return nil
}

// group makes a control group below the place. One of v1 is made in the caller's own,
// so the limits of that stay in force, and no others are set.
func (p *Place) group(m *Means, w Wanted, o Options, k kind) {
	b := p.Left.bounded(w, o)
	c := Cgroup{Parent: p.Dir}
	for _, controller := range []string{memory, pids, cpu} {
		if slices.Contains(p.Controllers, controller) && (k == groupV2 || w.needs(controller)) {
			c.Files = append(c.Files, b.settings(k, controller)...)
		}
	}
	if w.MemoryMB > 0 && slices.Contains(p.Controllers, memory) {
		c.OOM = [...]string{groupV1: "memory.oom_control", groupV2: "memory.events"}[k]
		m.Memory = memoryText(b.Memory)
	}
	if len(c.Files) > 0 || k == groupV2 {
		m.Cgroups = append(m.Cgroups, c)
	}
}

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
	for _, key := range keys {
		if slices.Contains(s.Controllers, key.controller) {
			for _, p := range b.settings(systemdScope, key.controller) {
				m.Prefix = append(m.Prefix, "-p", p.Name+"="+p.Data)
			}
		}
	}
	if w.MemoryMB > 0 && slices.Contains(s.Controllers, memory) {
		m.OOM, m.Memory = s.OOM, memoryText(b.Memory)
	}
	m.Prefix = append(m.Prefix, "--")
}

func memoryText(bytes uint64) string { return sizeText(float64(bytes) / (1 << 20)) }

// sizeText is a number of mebibytes as a person writes it.
func sizeText(mb float64) string {
	units := []string{" KiB", " MiB", " GiB", " TiB"}
	n, unit := mb*1024, 0
	if mb >= 1 {
		n, unit = mb, 1
	}
	for unit > 0 && unit < 3 && n >= 1024 && n/1024 == math.Trunc(n/1024) {
		n, unit = n/1024, unit+1
	}
	return strconv.FormatFloat(n, 'f', -1, 64) + units[unit]
}
