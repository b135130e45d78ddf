// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// selfInfo is what the probe knows of its own process.
type selfInfo struct {
	Status  map[string]string `json:"status"` // of /proc/self/status
	Core    uint64            `json:"core"`   // limit of core dumps, in bytes
	Session int               `json:"session"`
	Spaces  map[string]string `json:"spaces"` // namespaces, as links of /proc/self/ns show them
	Env     []string          `json:"env"`    // names only
	FDs     []fdInfo          `json:"fds"`
	Dev     []string          `json:"dev"`
	Links   []string          `json:"links"` // network interfaces
	Mounts  []mountInfo       `json:"mounts"`
}

// mountInfo is a line of /proc/self/mountinfo.
type mountInfo struct {
	Path     []byte `json:"path"`
	ReadOnly bool   `json:"ro,omitempty"`
	Covered  bool   `json:"covered,omitempty"` // its path leads elsewhere: something is mounted over it, or above
}

// fdInfo is an open descriptor that was there when the probe started.
type fdInfo struct {
	Num     int    `json:"num"`
	Kind    string `json:"kind"`
	Target  string `json:"target"`
	Foreign bool   `json:"foreign,omitempty"` // its mount is not one of the sandbox's
}

// aboutSelf tells what this process is and was given.
func aboutSelf(_ *question, a *answer) error {
	s := &selfInfo{Status: map[string]string{}, Core: ^uint64(0), FDs: openFDs(), Spaces: ownSpaces(),
		Mounts: mountPoints()}
	for _, key := range []string{"NoNewPrivs", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "Seccomp"} {
		if v := procfs.Status(key); v != "" {
			s.Status[key] = v
		}
	}
	var core unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &core) == nil {
		s.Core = core.Cur
	}
	s.Session, _ = unix.Getsid(0)
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		s.Env = append(s.Env, name)
	}
	s.Dev, _ = procfs.Names("/dev")
	slices.Sort(s.Dev)
	net, _ := procfs.Read("/proc/self/net/dev")
	for line := range strings.Lines(net) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			s.Links = append(s.Links, strings.TrimSpace(name))
		}
	}
	a.Self = s
	return nil
}

// ownSpaces are the namespaces of this process, as links of /proc/self/ns show
// them.
func ownSpaces() map[string]string {
	out := make(map[string]string)
	for _, name := range append([]string{"net"}, spaces...) {
		if to, err := os.Readlink("/proc/self/ns/" + name); err == nil {
			out[name] = to
		}
	}
	return out
}

// openFDs lists the descriptors that this process was started with: those that
// were opened since have close-on-exec set.
func openFDs() []fdInfo {
	names, _ := procfs.Names("/proc/self/fd")
	mounts := make(map[string]bool)
	table, _ := procfs.Read("/proc/self/mountinfo")
	for m := range procfs.Mounts(table) {
		mounts[m.ID] = true
	}
	var out []fdInfo
	for _, name := range names {
		n, _ := strconv.Atoi(name)
		flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		fd := fdInfo{Num: n}
		var st unix.Stat_t
		if unix.Fstat(n, &st) == nil {
			fd.Kind = kindOf(st.Mode)
		}
		fd.Target, _ = os.Readlink("/proc/self/fd/" + name)
		id := procfs.MountID(n)
		fd.Foreign = id != "" && !mounts[id]
		out = append(out, fd)
	}
	return out
}

func mountPoints() []mountInfo {
	var out []mountInfo
	table, _ := procfs.Read("/proc/self/mountinfo")
	for m := range procfs.Mounts(table) {
		out = append(out, mountInfo{Path: []byte(m.Point),
			ReadOnly: slices.Contains(strings.Split(m.Options, ","), "ro"), Covered: covered(m)})
	}
	return out
}

// covered reports whether the path of a mount leads to another one, or nowhere,
// so that nothing on it can be reached. What cannot be told counts as reached.
func covered(m procfs.Mount) bool {
	fd, err := unix.Open(m.Point, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err == unix.ENOENT || err == unix.ENOTDIR
	}
	defer unix.Close(fd)
	at := procfs.MountID(fd)
	return at != "" && at != m.ID
}

// search looks for a word in what every process shows of its command line and its
// environment.
func search(q *question, a *answer) error {
	if q.Text == "" {
		return unix.EINVAL
	}
	pids, err := procfs.Processes()
	for _, pid := range pids {
		for _, name := range []string{"cmdline", "environ"} {
			path := "/proc/" + strconv.Itoa(pid) + "/" + name
			text, err := procfs.Read(path)
			if err == nil && text != "" {
				a.Read++
			}
			if strings.Contains(text, q.Text) {
				a.Found = append(a.Found, path)
			}
		}
	}
	if err != nil {
		a.Step = "/proc"
	}
	return err
}

// signalOther sends a signal that does no harm to a process outside. Should the
// number be that of another process in here, nothing is sent.
func signalOther(q *question, _ *answer) error {
	pid := q.arg(0)
	if pid <= 1 || pid == os.Getpid() || pid == os.Getppid() {
		return unix.ESRCH
	}
	text, err := procfs.Read("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err == nil && !strings.Contains(text, q.Text) {
		return unix.ESRCH
	}
	switch string(q.To) {
	case "tgkill":
		return unix.Tgkill(pid, pid, unix.SIGUSR1)
	case "pidfd_send_signal":
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.PidfdSendSignal(fd, unix.SIGUSR1, nil, 0)
	}
	return unix.Kill(pid, unix.SIGUSR1)
}

// lookInto tries to reach the memory or the files of another process. Where it is
// let in it lets go at once: what a thread traces is free when it ends.
func lookInto(q *question, _ *answer) error {
	pid, try := q.arg(0), func(string) error { return unix.EINVAL }
	switch q.Text {
	case "ptrace":
		try = call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, pid, 0, 0)
	case "process_vm_readv":
		// Nothing is mapped there: who is let in hears EFAULT.
		try = func(string) error {
			b := []byte{0}
			_, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &b[0], Len: 1}},
				[]unix.RemoteIovec{{Base: 1, Len: 1}}, 0)
			return err
		}
	case "pidfd_getfd":
		try = standardInputOf(pid)
	}
	return onThread(func() error { return try("") })
}
