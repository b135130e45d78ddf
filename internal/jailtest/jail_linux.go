// SPDX-License-Identifier: Apache-2.0

package jailtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Host is a simulated one. The zero value lacks nothing.
type Host struct {
	Bwrap   string   // file in place of /usr/bin/bwrap, or [None]
	Also    []string // FILE, PLACE, FILE, PLACE, …: further files to put in place of others
	Spent   bool     // user.max_user_namespaces is 0
	Covered bool     // parts of /proc are covered, as in a container
	NoProc  bool     // there is no /proc
	Root    string   // a directory: the program runs in a chroot there, which shows the whole host
	Filters []Filter
	UID     int // what the program runs as when the caller is root; 0 is root
}

// None is a Bwrap that is missing: /usr/bin and /usr/local/bin have a few
// programs only.
const None = "-"

// few are the programs that a host without bwrap has.
var few = []string{"bash", "cat", "dash", "env", "id", "ls", "sh", "sleep", "touch", "true"}

const variable = "JAILTEST_HOST"

// order is what the launcher in the namespaces is told.
type order struct {
	Host Host
	Path string
	Dir  string
}

// Command is exec.Command on this host. In a user namespace of a plain user's
// own the files of root belong to the user nobody; so a Bwrap that is to be trusted there
// has to be the user's.
func (h Host) Command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = path
	text, err := json.Marshal(order{Host: h, Path: path})
	if err != nil {
		cmd.Err = err
		return cmd
	}
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	if !h.mounts() {
		return cmd
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	uid, gid := os.Geteuid(), os.Getegid()
	switch {
	case uid != 0:
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_SYS_RESOURCE}
	case h.Spent:
		all := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1<<32 - 1}}
		if runtime.GOARCH == "386" || runtime.GOARCH == "arm" {
			cmd.Err = fmt.Errorf("not on %s", runtime.GOARCH)
		}
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings, cmd.SysProcAttr.GidMappingsEnableSetgroups = all, all,
			true
	}
	return cmd
}

// SetEnv replaces the environment of the program.
func SetEnv(cmd *exec.Cmd, env []string) {
	cmd.Env = append(append([]string{}, env...), cmd.Env[len(cmd.Env)-1])
}

// mounts reports whether namespaces are needed.
func (h *Host) mounts() bool {
	return h.Bwrap != "" || len(h.Also) > 0 || h.Spent || h.Covered || h.NoProc || h.Root != ""
}

// Enter does nothing but in a process that Command started: there it makes the
// host and becomes the program.
func Enter() {
	text := os.Getenv(variable)
	if text == "" {
		return
	}
	var o order
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		os.Unsetenv(variable)
		err = o.become()
	}
	fmt.Fprintln(os.Stderr, "jailtest:", err)
	os.Exit(99)
}

func (o *order) become() error {
	runtime.LockOSThread()
	h := &o.Host
	if h.mounts() {
		if err := h.make(); err != nil {
			return err
		}
	}
	if os.Geteuid() == 0 && h.UID != 0 {
		if err := syscall.Setgroups(nil); err != nil {
			return fmt.Errorf("setgroups: %w", err)
		}
		if err := syscall.Setgid(h.UID); err != nil {
			return fmt.Errorf("setgid: %w", err)
		}
		if err := syscall.Setuid(h.UID); err != nil {
			return fmt.Errorf("setuid: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	if err := install(h.Filters); err != nil {
		return err
	}
	err := syscall.Exec(o.Path, os.Args, os.Environ())
	return fmt.Errorf("%s: %w", o.Path, err)
}

func (h *Host) make() error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if h.Spent {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			return err
		}
	}
	files := h.Also
	switch h.Bwrap {
	case "":
	case None:
		for _, dir := range []string{"/usr/bin", "/usr/local/bin"} {
			if err := without(dir); err != nil {
				return err
			}
		}
	default:
		files = append([]string{h.Bwrap, "/usr/bin/bwrap"}, files...)
	}
	for i := 0; i+1 < len(files); i += 2 {
		if err := bind(files[i], files[i+1]); err != nil {
			return err
		}
	}
	if h.Covered {
		if err := cover(); err != nil {
			return err
		}
	}
	if h.NoProc {
		if err := unix.Mount("none", "/proc", "tmpfs", unix.MS_RDONLY, ""); err != nil {
			return fmt.Errorf("/proc: %w", err)
		}
	}
	if h.Root != "" {
		return h.chroot()
	}
	return nil
}

func bind(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("%s on %s: %w", from, to, err)
	}
	return nil
}

// without covers a directory of programs with one that has a few of them.
func without(dir string) error {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return nil
	}
	tmp, err := os.MkdirTemp("", "bin")
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	// Made aside, since what is bound lies below.
	if err := unix.Mount("none", tmp, "tmpfs", 0, "mode=0755"); err != nil {
		return fmt.Errorf("%s: %w", tmp, err)
	}
	for _, name := range few {
		from, to := filepath.Join(dir, name), filepath.Join(tmp, name)
		if _, err := os.Stat(from); err != nil {
			continue
		}
		if err := os.WriteFile(to, nil, 0o755); err != nil {
			return err
		}
		if err := bind(from, to); err != nil {
			return err
		}
	}
	if err := bind(tmp, dir); err != nil {
		return err
	}
	return unix.Unmount(tmp, unix.MNT_DETACH)
}

// cover mounts over parts of /proc what Docker does. The kernel gives a user
// namespace no new /proc then, which would show them.
func cover() error {
	n := 0
	for _, path := range []string{"/proc/acpi", "/proc/asound", "/proc/scsi", "/proc/sysrq-trigger", "/proc/kcore",
		"/proc/keys", "/proc/timer_list"} {
		info, err := os.Lstat(path)
		switch {
		case err != nil:
			continue
		case info.IsDir():
			err = unix.Mount("none", path, "tmpfs", unix.MS_RDONLY, "")
		default:
			err = bind("/dev/null", path)
		}
		if err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		return fmt.Errorf("nothing of /proc could be covered")
	}
	return nil
}

// chroot goes to a directory, itself no mount point, that holds all that is in
// the root of the host.
func (h *Host) chroot() error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	for _, e := range entries {
		from, to := "/"+e.Name(), filepath.Join(h.Root, e.Name())
		switch {
		case e.Type()&os.ModeSymlink != 0:
			text, err := os.Readlink(from)
			if err == nil {
				err = os.Symlink(text, to)
			}
			if err != nil && !os.IsExist(err) {
				return err
			}
		case e.IsDir():
			if err := os.Mkdir(to, 0o755); err != nil && !os.IsExist(err) {
				return err
			}
			if err := bind(from, to); err != nil {
				return err
			}
		}
	}
	if err := syscall.Chroot(h.Root); err != nil {
		return fmt.Errorf("chroot: %w", err)
	}
	return os.Chdir(here)
}
