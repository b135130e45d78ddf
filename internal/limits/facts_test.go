// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree is a machine that does not exist: a file to a line, "path = content",
// "path owner=UID" for what only has to be there, "path socket", and "writable
// path" for what the caller may write.
func tree(uid int, release, text string) *machine {
	files, owners, sockets, writables := map[string]string{}, map[string]int{}, map[string]bool{}, map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		name, content, is := strings.Cut(line, " = ")
		f := append(strings.Fields(line), "", "")
		switch {
		case is:
			files[name] = strings.ReplaceAll(content, "|", "\n") + "\n"
		case f[0] == "":
		case f[0] == "writable":
			for _, name := range f[1:] {
				writables[name], writables[name+"/cgroup.procs"] = true, true
			}
		case f[1] == "socket":
			sockets[f[0]] = true
		case f[1] == "mine":
			owners[f[0]] = uid
		default:
			owners[f[0]] = 0
		}
	}
	return &machine{uid: uid, release: release,
		read:     func(name string) string { return files[name] },
		writable: func(name string) bool { return writables[name] },
		owner: func(name string) int {
			if id, ok := owners[name]; ok {
				return id
			}
			return -1
		},
		socket: func(name string) bool { return sockets[name] },
		safe: func(program string) bool {
			id, ok := owners[program]
			return ok && id == 0
		},
	}
}

const (
	allUsers = "/proc/self/uid_map = 0 0 4294967295\n"
	v2       = allUsers + "/proc/self/mountinfo = 22 1 0:1 / /proc rw - proc proc rw|30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	desktop  = v2 + `
/sys/fs/cgroup/init.scope root
/sys/fs/cgroup/system.slice root
/usr/bin/systemd-run root
/sys/fs/cgroup/user.slice/user-7.slice/user@7.service/cgroup.controllers = memory pids
/sys/fs/cgroup/user.slice/user-7.slice/user@7.service/cgroup.subtree_control = memory pids
/sys/fs/cgroup/user.slice/user-7.slice/user@7.service/app.slice/cgroup.subtree_control = memory pids
/sys/fs/cgroup/user.slice/user-7.slice/user@7.service/app.slice/term.scope/cgroup.type = domain
/sys/fs/cgroup/user.slice/user-7.slice/user@7.service/app.slice/term.scope/pids.max = 9000
/sys/fs/cgroup/user.slice/user-7.slice/user@7.service/app.slice/pids.max = max
/sys/fs/cgroup/user.slice/user-7.slice/cgroup.subtree_control = memory pids
/proc/self/cgroup = 0::/user.slice/user-7.slice/user@7.service/app.slice/term.scope
writable /sys/fs/cgroup/user.slice/user-7.slice/user@7.service /sys/fs/cgroup/user.slice/user-7.slice/user@7.service/app.slice
`
	service = v2 + `
/sys/fs/cgroup/system.slice root
/proc/self/cgroup = 0::/system.slice/ci.service/payload
/sys/fs/cgroup/system.slice/ci.service/payload/cgroup.type = domain
/sys/fs/cgroup/system.slice/ci.service/payload/memory.max = 1000
/sys/fs/cgroup/system.slice/ci.service/payload/cpu.max = max 100000
/sys/fs/cgroup/system.slice/ci.service/cgroup.type = domain
/sys/fs/cgroup/system.slice/ci.service/cgroup.subtree_control = cpuset cpu io memory pids
/sys/fs/cgroup/system.slice/ci.service/memory.max = 500
/sys/fs/cgroup/system.slice/cgroup.subtree_control = cpu memory pids
/sys/fs/cgroup/system.slice/cgroup.type = domain
`
	hybrid = allUsers + `
/proc/self/mountinfo = 31 23 0:28 / /cg rw - tmpfs tmpfs rw|32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct|35 31 0:32 /outer /cg/memory rw - cgroup cgroup rw,memory|39 31 0:36 / /cg/pids rw - cgroup cgroup rw,pids|40 31 0:37 / /cg/systemd rw - cgroup cgroup rw,xattr,name=systemd|41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw
/proc/self/cgroup = 9:name=systemd:/|8:pids:/|4:memory:/outer/in|1:cpu,cpuacct:/a/b|0::/
/cg/cpu/a/b/cpu.cfs_quota_us = -1
/cg/cpu/a/b/cpu.cfs_period_us = 100000
/cg/cpu/a/cpu.cfs_quota_us = 150000
/cg/cpu/a/cpu.cfs_period_us = 100000
`
)

func TestLook(t *testing.T) {
	const new = "6.1.0-13-amd64"
	manager := "/run/user/7 mine\n/run/user/7/systemd/private socket\n"
	scope := Scope{Run: "/usr/bin/systemd-run", Runtime: "/run/user/7", Controllers: []string{memory, pids},
		OOM: "/sys/fs/cgroup/user.slice/user-7.slice/user@7.service/memory.events", Left: Bounds{Procs: 9000}}
	for _, c := range []struct {
		name          string
		uid           int
		release, tree string
		want          Facts
	}{
		{"nothing at all", 7, new, allUsers, Facts{Counted: true}},
		{"before namespaces counted", 7, "5.13.19", allUsers, Facts{}},
		{"a release of another kind", 7, "6.18.44-fc-v669", allUsers, Facts{Counted: true}},
		{"5.14 with a suffix", 7, "5.14+deb", allUsers, Facts{Counted: true}},
		{"no release", 7, "", allUsers, Facts{}},
		{"root", 0, new, allUsers, Facts{Root: true}},
		{"root of a container", 0, new, "/proc/self/uid_map = 0 100000 65536", Facts{Counted: true}},
		{"a user who is root outside", 7, new, "/proc/self/uid_map = 7 0 1", Facts{Root: true}},
		{"no map", 7, new, "/x = y", Facts{Root: true}},

		{"a desktop: systemd's own groups are left to it", 7, new, desktop + manager,
			Facts{Mounted: true, Counted: true, Scope: scope}},
		{"a desktop, by the bus", 7, new, desktop + "/run/user/7 mine\n/run/user/7/bus socket\n",
			Facts{Mounted: true, Counted: true, Scope: scope}},
		{"another user's runtime directory", 7, new, desktop +
			"/run/user/7 root\n/run/user/7/systemd/private socket\n", Facts{Mounted: true, Counted: true}},
		{"no manager", 7, new, desktop, Facts{Mounted: true, Counted: true}},
		{"a manager and no systemd-run", 7, new, strings.Replace(desktop, "/usr/bin/systemd-run root\n", "", 1) +
			manager, Facts{Mounted: true, Counted: true}},
		{"from a login shell, which is outside of the manager", 7, new,
			strings.Replace(desktop, "0::/user.slice/user-7.slice/user@7.service/app.slice/term.scope",
				"0::/user.slice/user-7.slice/session-3.scope", 1) + manager +
				"/sys/fs/cgroup/user.slice/user-7.slice/session-3.scope/cgroup.type = domain\n/sys/fs/cgroup/user.slice/user-7.slice/session-3.scope/memory.max = 4096\n",
			Facts{Mounted: true, Counted: true, Scope: Scope{Run: scope.Run, Runtime: scope.Runtime,
				Controllers: scope.Controllers, OOM: scope.OOM, Left: Bounds{Memory: 4096}}}},

		{"a service with delegation", 7, new, service + "writable /sys/fs/cgroup/system.slice/ci.service",
			Facts{Mounted: true, Counted: true,
				Unified: []Place{{"/sys/fs/cgroup/system.slice/ci.service", []string{memory, cpu, pids},
					Bounds{Memory: 1000}}}}},
		{"a service without", 7, new, service, Facts{Mounted: true, Counted: true}},
		{"root does not touch systemd's slices", 0, new, service +
			"/usr/bin/systemd-run root\n/run/systemd/private socket\n/sys/fs/cgroup/cgroup.controllers = cpu memory pids\nwritable /sys/fs/cgroup/system.slice /sys/fs/cgroup", Facts{Mounted: true, Root: true,
			Scope: Scope{Run: "/usr/bin/systemd-run", Controllers: []string{memory, cpu, pids},
				Left: Bounds{Memory: 500}}}},
		{"groups that cannot be joined", 7, new, strings.Replace(service, "ci.service/cgroup.type = domain",
			"ci.service/cgroup.type = domain threaded", 1) + "writable /sys/fs/cgroup/system.slice/ci.service",
			Facts{Mounted: true, Counted: true}},
		{"the root group, without systemd", 0, new, v2 +
			"/proc/self/cgroup = 0::/\n/sys/fs/cgroup/cgroup.subtree_control = cpu memory\nwritable /sys/fs/cgroup",
			Facts{Mounted: true, Root: true,
				Unified: []Place{{"/sys/fs/cgroup", []string{memory, cpu}, Bounds{}}}}},
		{"a group of a container's, seen as the root", 0, new, v2 +
			"/proc/self/cgroup = 0::/\n/sys/fs/cgroup/cgroup.type = domain\n/sys/fs/cgroup/cgroup.subtree_control = cpu memory\nwritable /sys/fs/cgroup", Facts{Mounted: true, Root: true}},
		{"outside of the namespace", 7, new, v2 +
			"/proc/self/cgroup = 0::/../other\n/sys/fs/cgroup/cgroup.subtree_control = memory\nwritable /sys/fs/cgroup",
			Facts{Mounted: true, Counted: true}},
		{"outside of what is mounted", 7, new, strings.Replace(v2, "0:26 /", "0:26 /here", 1) +
			"/proc/self/cgroup = 0::/hereafter/x\nwritable /sys/fs/cgroup /sys/fs/cgroup/after",
			Facts{Mounted: true, Counted: true}},

		{"v1, root", 0, new, hybrid + "writable /cg/pids /cg/memory/in /cg/cpu/a/b", Facts{Mounted: true, Root: true,
			Legacy: []Place{{"/cg/pids", []string{pids}, Bounds{}}, {"/cg/memory/in", []string{memory}, Bounds{}},
				{"/cg/cpu/a/b", []string{cpu}, Bounds{CPUs: 1.5}}}}},
		{"v1, a plain user", 7, new, hybrid, Facts{Mounted: true, Counted: true}},
		{"damaged", 7, new, allUsers + "/proc/self/mountinfo = - cgroup2|31|a b c d e f - cgroup2 x y|31 23 0:28 / /a\\040b rw - cgroup2 cgroup2 rw\n/proc/self/cgroup = 0::|::::|0|x:y:z|0::/a/../b", Facts{Mounted: true, Counted: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, tree(c.uid, c.release, c.tree).look()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		quota, period string
		want          float64
	}{{"50000", "100000", .5}, {"max", "100000", 0}, {"-1\n", "100000\n", 0}, {"", "", 0}, {"5", "0", 0},
		{"NaN", "1", 0}, {"150000", "100000", 1.5}} {
		if got := ratio(c.quota, c.period); got != c.want {
			t.Errorf("%q of %q: %v, want %v", c.quota, c.period, got, c.want)
		}
	}
}

func TestRelease(t *testing.T) {
	for release, want := range map[string]bool{"5.14": true, "5.14.0-1-amd64": true, "5.14+": true, "5.15-rc1": true,
		"6.0": true, "10.0.1": true, "5.13.99": false, "5.9": false, "4.20": false, "5.": false, "5.x": false, "6": false,
		"": false, "x.20": false, "5.99999999999999999999": false} {
		if got := atLeast(release, 5, 14); got != want {
			t.Errorf("%q: %v", release, got)
		}
	}
}
