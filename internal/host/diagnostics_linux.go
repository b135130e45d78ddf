// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/procfs"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// GatherDiagnostics reads what a diagnosis needs. Files are asked first: a variable
// is anybody's to set, and counts only where it can mislead no further than to
// another hint.
func GatherDiagnostics(environ []string) Diagnostics {
	f := Diagnostics{
		Root:        os.Geteuid() == 0,
		Distro:      strings.Join(release("ID=", "ID_LIKE="), " "),
		Release:     strings.Join(release("VERSION_ID="), ""),
		MaxUserns:   procfs.Line(sysctls[1]),
		AppArmor:    procfs.Line(sysctls[2]),
		UsernsClone: procfs.Line(sysctls[3]),
		Spent:       spent(),
		WSL:         wsl(procfs.Line("/proc/sys/kernel/osrelease")),
		Filtered:    procfs.Status("Seccomp") == "2",
		Landlock:    landlock.ABI(),
		Seccomp:     filters(),
		Container:   inContainer(environ),
		Confined:    confined(environ),
		Unit:        unit(procfs.Line("/proc/self/cgroup")),
		Chroot:      chrooted(),
	}
	switch {
	case isSet(environ, "GITHUB_ACTIONS"):
		f.CI = "github"
	case isSet(environ, "GITLAB_CI"):
		f.CI = "gitlab"
	}
	uids := strings.Join(strings.Fields(procfs.Line("/proc/self/uid_map")), " ")
	f.Userns = uids != "" && uids != "0 0 4294967295"
	for _, p := range []string{profileFile, "/etc/apparmor.d/bwrap"} {
		if f.Profile == "" && exists(p) {
			f.Profile = p
		}
	}
	return f
}

func exists(path string) bool {
	i, err := OS{}.Lstat(path)
	return err == nil && i.Kind != Absent
}

// namespaces of the first process, as the kernel numbers them (PROC_*_INIT_INO).
const firstIPC, firstUTS, firstPID = 0xEFFFFFFF, 0xEFFFFFFE, 0xEFFFFFFC

// inContainer names what this runs in. Images of machines that were made from
// those of containers keep the marks: none counts where no namespace is
// another than the machine's own.
func inContainer(environ []string) string {
	const ns = "/proc/self/ns/"
	if namespaceOf(ns+"pid") == firstPID && namespaceOf(ns+"uts") == firstUTS && namespaceOf(ns+"ipc") == firstIPC {
		return ""
	}
	mounts, _ := procfs.Read("/proc/self/mountinfo")
	for _, mark := range []struct{ name, path, mount string }{
		{"crostini", "/dev/.cros_milestone", ""}, {"crostini", "/opt/google/cros-containers", ""},
		{"kubernetes", "/var/run/secrets/kubernetes.io", "/kubelet/pods/"},
		{"podman", "/run/.containerenv", ""}, {"docker", "/.dockerenv", "/docker/containers/"},
		{"incus", "/dev/incus/sock", ""}, {"lxd", "/dev/lxd/sock", ""},
	} {
		if exists(mark.path) || mark.mount != "" && strings.Contains(mounts, mark.mount) {
			return mark.name
		}
	}
	manager := cmp.Or(procfs.Line("/run/systemd/container"), procfs.Line("/run/host/container-manager"))
	named, _ := LookupEnv(environ, "container")
	known := []string{"lxc", "systemd-nspawn", "docker", "podman", "oci", "proot"}
	switch {
	case manager != "" && text.Plain(manager) == manager && len(manager) < 40:
		return manager
	case isSet(environ, "KUBERNETES_SERVICE_HOST"):
		return "kubernetes"
	case slices.Contains(known, named):
		return named
	}
	return ""
}

// confined names a sandbox that is no container.
func confined(environ []string) string {
	label := procfs.Line("/proc/self/attr/current")
	switch {
	case exists("/.flatpak-info"):
		return "flatpak"
	case strings.HasPrefix(label, "snap.") && strings.Contains(label, "(enforce)"):
		return "snap"
	case exists("/run/firejail/mnt"):
		if named, _ := LookupEnv(environ, "container"); named == "firejail" {
			return "firejail"
		}
	}
	return ""
}

// unit returns the service in the text of /proc/self/cgroup, "" for a login
// session and for a user's own manager.
func unit(cgroups string) string {
	for _, line := range strings.Split(cgroups, "\n") {
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 || f[1] != "" && f[1] != "name=systemd" {
			continue
		}
		words := strings.Split(f[2], "/")
		for i := len(words) - 1; i >= 0; i-- {
			if name, ok := strings.CutSuffix(words[i], ".service"); ok && plainUnit(name) &&
				!strings.HasPrefix(name, "user@") {
				return words[i]
			}
		}
	}
	return ""
}

// plainUnit reports whether a name can be pasted into a shell.
func plainUnit(name string) bool {
	return name != "" && name[0] != '-' && strings.Trim(name,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@:._-") == ""
}

// chrooted reports whether the root is another than that of the mount
// namespace, as far as can be seen: it is no mount's own root, or root can
// compare it with that of the first process.
func chrooted() bool {
	var own, first unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, "/", 0, unix.STATX_INO|unix.STATX_MNT_ID, &own) != nil {
		return false
	}
	if own.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 && own.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0 {
		return true
	}
	if unix.Statx(unix.AT_FDCWD, "/proc/1/root", 0, unix.STATX_INO|unix.STATX_MNT_ID, &first) != nil ||
		namespaceOf("/proc/self/ns/mnt") != namespaceOf("/proc/1/ns/mnt") {
		return false
	}
	return own.Ino != first.Ino || own.Dev_major != first.Dev_major || own.Dev_minor != first.Dev_minor ||
		own.Mnt_id != first.Mnt_id
}

func namespaceOf(path string) uint64 {
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil {
		return 0
	}
	return st.Ino
}

// wsl returns the version of the Windows Subsystem for Linux. The first has no
// kernel of its own, and calls it 4.4.0-NUMBER-Microsoft.
func wsl(osrelease string) int {
	switch {
	case strings.HasSuffix(osrelease, "-Microsoft"):
		return 1
	case strings.Contains(strings.ToLower(osrelease), "microsoft"):
		return 2
	}
	return 0
}

// spent returns the first limit of another kind of namespace that lets no one
// make one.
func spent() string {
	for _, kind := range []string{"mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		if procfs.Line("/proc/sys/user/max_"+kind+"_namespaces") == "0" {
			return "user.max_" + kind + "_namespaces"
		}
	}
	return ""
}

// filters reports whether system call filters can be set: the kernel finds
// fault with the address of this one, and not before it has looked for it.
func filters() bool {
	_, _, errno := syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, 0)
	return errno == syscall.EFAULT
}

// release returns fields of os-release(5).
func release(keys ...string) []string {
	data, err := OS{}.Head("/etc/os-release", 16<<10)
	if err != nil {
		data, _ = OS{}.Head("/usr/lib/os-release", 16<<10)
	}
	var words []string
	for _, key := range keys {
		for _, line := range strings.Split(string(data), "\n") {
			if v, ok := strings.CutPrefix(line, key); ok {
				words = append(words, text.Plain(strings.Trim(v, `"' `)))
			}
		}
	}
	return words
}

// Proc reports whether /proc is there.
func Proc() bool {
	var fs unix.Statfs_t
	return unix.Statfs("/proc", &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC
}

// NoLandlock says why the engine that needs nothing installed cannot be had,
// nil when it can.
func (h *Host) NoLandlock() *Unavailable {
	if h.Landlock < 1 {
		return Diagnostics{}.unavailable(causeLandlock, "", "the kernel has no Landlock")
	}
	if !filters() {
		return &Unavailable{causeLandlock, "system call filters cannot be set here",
			Diagnostics{}.remedies("filters", "")}
	}
	return nil
}
