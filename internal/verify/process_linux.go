package verify

import (
	"bytes"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFDs lists the descriptors that this process was started with: those that
// were opened since have close-on-exec set.
func openFDs() []FD {
	dir, err := unix.Open("/proc/self/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(dir)
	names, err := listNames(dir)
	if err != nil {
		return nil
	}
	mounts := ownMounts()
	var out []FD
	for _, name := range names {
		n, err := strconv.Atoi(string(name))
		if err != nil {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		fd := FD{Num: n}
		var st unix.Stat_t
		if unix.Fstat(n, &st) == nil {
			fd.Kind = kindOf(st.Mode)
		}
		fd.Target, _ = os.Readlink("/proc/self/fd/" + string(name))
		info, _ := os.ReadFile("/proc/self/fdinfo/" + string(name))
		id := field(string(info), "mnt_id:")
		fd.Foreign = id != "" && !mounts[id]
		out = append(out, fd)
	}
	return out
}

// ownMounts are the numbers of the mounts that this process can see.
func ownMounts() map[string]bool {
	out := make(map[string]bool)
	data, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(data)) {
		id, _, _ := strings.Cut(line, " ")
		out[id] = true
	}
	return out
}

// mountPoints are the lines of mountinfo, proc_pid_mountinfo(5).
func mountPoints() []Mount {
	var out []Mount
	data, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 6 {
			continue
		}
		options := strings.Split(f[5], ",")
		path := unescape(f[4])
		out = append(out, Mount{Path: []byte(path), ReadOnly: slices.Contains(options, "ro"), Covered: covered(path, f[0])})
	}
	return out
}

// covered reports whether the path of a mount leads to another one, or nowhere,
// so that nothing on it can be reached. What cannot be told counts as reached.
func covered(path, id string) bool {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err == unix.ENOENT || err == unix.ENOTDIR
	}
	defer unix.Close(fd)
	info, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
	at := field(string(info), "mnt_id:")
	return err == nil && at != "" && at != id
}

// unescape reads the \ooo that the kernel writes for blanks and backslashes.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// field returns the word after a key at the beginning of a line.
func field(text, key string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func aboutSelf(fds []FD) *Self {
	s := &Self{UID: os.Geteuid(), FDs: fds, Status: map[string]string{}}
	s.Spaces = Spaces()
	status, _ := os.ReadFile("/proc/self/status")
	for _, key := range []string{"NoNewPrivs", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "Seccomp"} {
		if v := field(string(status), key+":"); v != "" {
			s.Status[key] = v
		}
	}
	var core unix.Rlimit
	s.Core = ^uint64(0)
	if unix.Getrlimit(unix.RLIMIT_CORE, &core) == nil {
		s.Core = core.Cur
	}
	s.Session, _ = unix.Getsid(0)
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		s.Env = append(s.Env, name)
	}
	entries, _ := os.ReadDir("/dev")
	for _, e := range entries {
		s.Dev = append(s.Dev, e.Name())
	}
	s.Mounts = mountPoints()
	net, _ := os.ReadFile("/proc/self/net/dev")
	for line := range strings.Lines(string(net)) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			s.Links = append(s.Links, strings.TrimSpace(name))
		}
	}
	return s
}

// Spaces are the namespaces of this process.
func Spaces() map[string]string {
	out := make(map[string]string)
	for _, name := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		if to, err := os.Readlink("/proc/self/ns/" + name); err == nil {
			out[name] = to
		}
	}
	return out
}

// search looks for a word in what every process shows of its command line and
// its environment.
func search(word string, a *Answer) {
	pids, err := processes()
	if word == "" {
		err = unix.EINVAL
	}
	if err != nil {
		a.fail("/proc", err)
		return
	}
	for _, pid := range pids {
		for _, name := range []string{"cmdline", "environ"} {
			path := "/proc/" + pid + "/" + name
			data, err := os.ReadFile(path)
			if err == nil && len(data) > 0 {
				a.Read++
			}
			if err == nil && bytes.Contains(data, []byte(word)) {
				a.Found = append(a.Found, path)
			}
		}
	}
}

func processes() ([]string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if c := e.Name()[0]; '0' < c && c <= '9' {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// signalOther sends a signal that does no harm to a process outside. Should
// the number be that of another process in here, nothing is sent.
func signalOther(pid int, word, how string) error {
	if pid <= 1 || pid == os.Getpid() || pid == os.Getppid() {
		return unix.ESRCH
	}
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err == nil && !bytes.Contains(data, []byte(word)) {
		return unix.ESRCH
	}
	switch how {
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

// lookInto tries to reach the memory or the files of another process. Where it
// is let in it lets go at once.
func lookInto(pid int, how string) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with the attempt, and with it what it traces is free
		done <- lookAs(pid, how)
	}()
	return <-done
}

func lookAs(pid int, how string) error {
	switch how {
	case "ptrace":
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0)
		return errnoErr(errno)
	case "process_vm_readv":
		// Nothing is mapped there: who is let in hears EFAULT.
		b := []byte{0}
		_, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: 1, Len: 1}}, 0)
		return err
	case "pidfd_getfd":
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		got, err := unix.PidfdGetfd(fd, 0, 0)
		if err == nil {
			unix.Close(got)
		}
		return err
	}
	return unix.EINVAL
}

func errnoErr(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}
