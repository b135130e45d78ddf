// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// Facts are what the machine offers for limits.
type Facts struct {
	Mounted bool    // there are control groups at all
	Unified []Place // where a group of v2 can be made, the nearest first
	Legacy  []Place // where groups of v1 can be made, one for each hierarchy
	Scope   Scope
	Counted bool // RLIMIT_NPROC counts the processes of each user namespace for itself, and holds this user
	Root    bool // the user is root, whom RLIMIT_NPROC never holds
	Mac     bool // macOS: no control groups, and RLIMIT_NPROC counts all processes of a user
	Running int  // there: how many the user has now, 0 where that is not known
}

// Place is a directory in which the caller can make a control group and join it.
type Place struct {
	Dir         string
	Controllers []string
	Left        Bounds // limits that the caller is under now and would not be there
}

// Bounds are limits as the kernel has them, 0 being none.
type Bounds struct {
	Memory uint64 // bytes
	Procs  uint64
	CPUs   float64
}

// Scope is a manager of systemd's that makes control groups when asked.
type Scope struct {
	Run         string   // path of systemd-run, "" without a manager
	Runtime     string   // XDG_RUNTIME_DIR of the user's manager; "" for the system's
	Controllers []string // that it may use
	OOM         string   // file that counts the kills in all of its groups
	Left        Bounds   // as in Place
}

// machine is where facts are read: the real one, or a tree of files in a test.
type machine struct {
	uid      int
	release  string                    // of the kernel, as uname(2) has it
	read     func(name string) string  // "" when it cannot be read
	writable func(name string) bool    // the caller may write the file, or make something in the directory
	owner    func(name string) int     // -1 when it does not exist
	socket   func(name string) bool    // a socket of the caller's is there
	safe     func(program string) bool // a program that only root can change
}

// above goes from a directory up to the top, both included: at most 64 steps.
func above(dir, top string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for range 64 {
			if dir != top && !strings.HasPrefix(dir, top+"/") || !yield(dir) || dir == top {
				return
			}
			dir = path.Dir(dir)
		}
	}
}

func (m *machine) own() Facts {
	f := Facts{Root: m.outerRoot()}
	f.Counted = !f.Root && atLeast(m.release, 5, 14)
	return f
}

func (m *machine) look() Facts {
	f := m.own()
	mounts := m.mounts()
	f.Mounted = len(mounts) > 0
	for _, own := range m.memberships() {
		for _, mnt := range mounts {
			dir, ok := shows(mnt, own)
			if !ok {
				continue
			}
			if mnt.Type == "cgroup2" {
				f.Unified, f.Scope = m.unified(mnt.Point, dir), m.scope(mnt.Point, dir)
			} else if p, ok := m.legacy(mnt.Point, dir, own.Controllers); ok {
				f.Legacy = append(f.Legacy, p)
			}
			break
		}
	}
	return f
}

// outerRoot reports whether the caller is root on the host as well as can be
// told: a container's root is another user there.
func (m *machine) outerRoot() bool {
	for line := range strings.Lines(m.read("/proc/self/uid_map")) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		in, err1 := strconv.Atoi(f[0])
		out, err2 := strconv.Atoi(f[1])
		n, err3 := strconv.Atoi(f[2])
		if errors.Join(err1, err2, err3) == nil && m.uid >= in && m.uid < in+n {
			return out+m.uid-in == 0
		}
	}
	return true // nothing is known: the careful answer
}

func atLeast(release string, major, minor int) bool {
	first, rest, _ := strings.Cut(release, ".")
	second := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	a, err1 := strconv.Atoi(first)
	b, err2 := strconv.Atoi(second)
	return err1 == nil && err2 == nil && (a > major || a == major && b >= minor)
}

// memberships are the groups that the caller is in, but for those outside of its
// cgroup namespace, which are written with "..".
func (m *machine) memberships() []procfs.Cgroup {
	return slices.DeleteFunc(procfs.Cgroups(m.read("/proc/self/cgroup")), func(g procfs.Cgroup) bool {
		return path.Clean(g.Path) != g.Path || !strings.HasPrefix(g.Path, "/") || strings.HasPrefix(g.Path, "/..")
	})
}

// mounts are those of control groups.
func (m *machine) mounts() (out []procfs.Mount) {
	for mnt := range procfs.Mounts(m.read("/proc/self/mountinfo")) {
		if mnt.Type == "cgroup" || mnt.Type == "cgroup2" {
			out = append(out, mnt)
		}
	}
	return out
}

// shows is where a mount shows a group.
func shows(mnt procfs.Mount, own procfs.Cgroup) (dir string, ok bool) {
	if (mnt.Type == "cgroup2") != (own.Controllers == nil) {
		return "", false
	}
	for _, c := range own.Controllers {
		if !slices.Contains(strings.Split(mnt.Super, ","), c) {
			return "", false
		}
	}
	rest := own.Path
	if mnt.Root != "/" {
		if rest, ok = strings.CutPrefix(own.Path+"/", mnt.Root+"/"); !ok {
			return "", false
		}
	}
	return path.Join(mnt.Point, rest), true
}

// unified lists the groups at or above the caller's in which another can be
// made beside it. A group with processes in it has no groups below it that
// could be limited (cgroups(7), "no internal processes"), but for the kernel's
// root. What systemd itself manages is left to it, as it demands
// (systemd's CGROUP_DELEGATION): it takes controllers away there when none of
// its own units needs them, and the limit would be gone without a word.
func (m *machine) unified(top, own string) (out []Place) {
	var left Bounds
	dir := own
	if m.read(own+"/cgroup.type") != "" {
		left, dir = m.bounds(own), path.Dir(own)
	}
	for dir := range above(dir, top) {
		controllers := strings.Fields(m.read(dir + "/cgroup.subtree_control"))
		kind := strings.TrimSpace(m.read(dir + "/cgroup.type"))
		if len(controllers) > 0 && (kind == "" || kind == "domain") && !m.systemds(top, dir) && m.joinable(dir) {
			out = append(out, Place{Dir: dir, Controllers: known(controllers), Left: left})
		}
		left = left.tighter(m.bounds(dir))
	}
	return out
}

// joinable reports whether the caller can make groups in a directory and join them.
func (m *machine) joinable(dir string) bool {
	return m.writable(dir) && m.writable(dir+"/cgroup.procs")
}

// systemds reports whether systemd manages the inside of a group.
func (m *machine) systemds(top, dir string) bool {
	name := path.Base(dir)
	if dir == top {
		return m.owner(top+"/init.scope") >= 0 || m.owner(top+"/system.slice") >= 0
	}
	return strings.HasSuffix(name, ".slice") || strings.HasPrefix(name, "user@") && strings.HasSuffix(name, ".service")
}

// known are those of some controllers that hold a limit.
func known(controllers []string) (out []string) {
	for _, k := range keys {
		if slices.Contains(controllers, k.controller) {
			out = append(out, k.controller)
		}
	}
	return out
}

// bounds are the limits of a group of v2.
func (m *machine) bounds(dir string) Bounds {
	var b Bounds
	b.Memory, _ = strconv.ParseUint(strings.TrimSpace(m.read(dir+"/memory.max")), 10, 64)
	b.Procs, _ = strconv.ParseUint(strings.TrimSpace(m.read(dir+"/pids.max")), 10, 64)
	if f := strings.Fields(m.read(dir + "/cpu.max")); len(f) == 2 {
		b.CPUs = ratio(f[0], f[1])
	}
	return b
}

// ratio of processor time to its period, 0 when there is none ("max", -1).
func ratio(quota, period string) float64 {
	q, err1 := strconv.ParseFloat(strings.TrimSpace(quota), 64)
	p, err2 := strconv.ParseFloat(strings.TrimSpace(period), 64)
	if err1 != nil || err2 != nil || !(q > 0 && p > 0) {
		return 0
	}
	return q / p
}

// tighter takes of each limit the one that allows less.
func (b Bounds) tighter(o Bounds) Bounds {
	return Bounds{least(b.Memory, o.Memory), least(b.Procs, o.Procs), least(b.CPUs, o.CPUs)}
}

// least is the smaller of two limits, 0 being none.
func least[T uint64 | float64](a, b T) T {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// legacy is the caller's group in one hierarchy of v1, in which others can be
// made. A group there may not have more processor time than those above it.
func (m *machine) legacy(top, dir string, controllers []string) (Place, bool) {
	p := Place{Dir: dir, Controllers: known(controllers)}
	if slices.Contains(p.Controllers, cpu) {
		for dir := range above(dir, top) {
			cpus := ratio(m.read(dir+"/cpu.cfs_quota_us"), m.read(dir+"/cpu.cfs_period_us"))
			p.Left = p.Left.tighter(Bounds{CPUs: cpus})
		}
	}
	return p, len(p.Controllers) > 0 && m.joinable(dir)
}

// scope is the user's manager, root's being the system's when it has no other.
// It is looked for where the system puts it, not where a variable points: who
// sets variables could answer in its place, and nothing would be limited.
func (m *machine) scope(top, own string) Scope {
	var s Scope
	id := strconv.Itoa(m.uid)
	base := top + "/user.slice/user-" + id + ".slice/user@" + id + ".service"
	runtime := "/run/user/" + id
	switch {
	case m.owner(runtime) == m.uid && (m.socket(runtime+"/systemd/private") || m.socket(runtime+"/bus")):
		s.Runtime = runtime
	case m.uid == 0 && m.socket("/run/systemd/private"):
		base = top
	default:
		return s
	}
	s.Controllers = known(strings.Fields(m.read(base + "/cgroup.controllers")))
	if base != top {
		s.OOM = base + "/memory.events"
	}
	for dir := range above(own, top) {
		if dir == base || dir == top || strings.HasPrefix(base, dir+"/") {
			break
		}
		s.Left = s.Left.tighter(m.bounds(dir))
	}
	for _, run := range []string{"/usr/bin/systemd-run", "/bin/systemd-run"} {
		if m.safe(run) {
			s.Run = run
			return s
		}
	}
	return Scope{}
}
