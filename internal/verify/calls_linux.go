// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// trial is a system call that the sandbox refuses. Its arguments are chosen so
// that nothing happens where it is not refused: what is asked for is void, or is
// undone at once.
type trial struct {
	name string
	want syscall.Errno // what the filter answers
	is   trialKind
	try  tryout
}

// tryout makes the call; path is a free name, for those that need one.
type tryout func(path string) error

type trialKind uint8

const (
	harmless   trialKind = 1 << iota // to be tried outside, as a control
	privileged                       // it takes a privilege that no one has inside, filter or none
	debugger                         // seccomp = "dev" allows it
	onlyStrict                       // only the list of level strict leaves it out
	onlyIPC                          // an IPC namespace keeps it apart; without one the filter has to
	needsPath                        // it makes a file
	onlyRoot                         // only root gains by it
)

// trials is the table of calls, made when it is asked for: it must cost nothing
// when sbx starts.
func trials() []trial {
	self := os.Getpid()
	return []trial{
		{"user namespace", unix.EPERM, privileged | harmless, cloned(unix.CLONE_NEWUSER)},
		{"mount namespace", unix.EPERM, privileged, cloned(unix.CLONE_NEWNS)},
		{"process namespace", unix.EPERM, privileged, cloned(unix.CLONE_NEWPID)},
		{"network namespace", unix.EPERM, privileged, cloned(unix.CLONE_NEWNET)},
		{"unshare", unix.EPERM, privileged, call(unix.SYS_UNSHARE, unix.CLONE_NEWNS)},
		{"setns", unix.EPERM, privileged, onFile("/proc/self/ns/uts", unix.SYS_SETNS, unix.CLONE_NEWUTS)},
		{"clone3", unix.ENOSYS, harmless, call(unix.SYS_CLONE3)},
		{"mount", unix.EPERM, privileged, call(unix.SYS_MOUNT, "\x00", "/\x00", "\x00", unix.MS_PRIVATE, 0)},
		{"umount", unix.EPERM, privileged, call(unix.SYS_UMOUNT2, "/proc/self\x00", 0)},
		{"pivot_root", unix.EPERM, privileged, call(unix.SYS_PIVOT_ROOT, "/proc/self\x00", "/proc/self\x00")},
		{"chroot", unix.EPERM, privileged, call(unix.SYS_CHROOT, "/\x00")},
		{"fsopen", unix.ENOSYS, privileged, opens(unix.SYS_FSOPEN, "tmpfs\x00", unix.FSOPEN_CLOEXEC)},
		{"move_mount", unix.ENOSYS, privileged, call(unix.SYS_MOVE_MOUNT, -1, "\x00", -1, "\x00", 0)},
		{"mount_setattr", unix.ENOSYS, privileged,
			call(unix.SYS_MOUNT_SETATTR, unix.AT_FDCWD, "/\x00", 0, make([]byte, 32), 32)},
		{"open_tree", unix.ENOSYS, harmless, opens(unix.SYS_OPEN_TREE, unix.AT_FDCWD, "/\x00", unix.OPEN_TREE_CLOEXEC)},
		{"open_by_handle_at", unix.EPERM, 0,
			opens(unix.SYS_OPEN_BY_HANDLE_AT, unix.AT_FDCWD, []byte{8, 4: 1, 15: 0}, unix.O_PATH|unix.O_CLOEXEC)},
		// No process traces this one, so there is nothing to go on with: ESRCH.
		{"ptrace", unix.EPERM, debugger | harmless, call(unix.SYS_PTRACE, unix.PTRACE_CONT, self, 0, 0)},
		{"process_vm_readv", unix.EPERM, debugger | harmless, copySelf(unix.SYS_PROCESS_VM_READV)},
		{"process_vm_writev", unix.EPERM, debugger | harmless, copySelf(unix.SYS_PROCESS_VM_WRITEV)},
		{"pidfd_getfd", unix.EPERM, debugger | harmless, standardInputOf(self)},
		{"kcmp", unix.EPERM, debugger | harmless, call(unix.SYS_KCMP, self, self, 0, 0, 0)},
		{"limits of a process by number", unix.EPERM, harmless, limitsOfSelf(unix.RLIMIT_CORE)},
		{"keyctl", unix.ENOSYS, harmless,
			call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, unix.KEY_SPEC_SESSION_KEYRING, 0)},
		{"add_key", unix.ENOSYS, 0,
			call(unix.SYS_ADD_KEY, "user\x00", "sbx-verify\x00", "x", 1, unix.KEY_SPEC_THREAD_KEYRING)},
		{"request_key", unix.ENOSYS, harmless, call(unix.SYS_REQUEST_KEY, "user\x00", "sbx-verify\x00", "\x00", 0)},
		// A map of type 0, which there is none of.
		{"bpf", unix.EPERM, harmless, opens(unix.SYS_BPF, unix.BPF_MAP_CREATE, make([]byte, 72), 72)},
		{"perf_event_open", unix.EPERM, harmless, countOwnEvents},
		{"userfaultfd", unix.EPERM, harmless, opens(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1)}, // UFFD_USER_MODE_ONLY
		{"io_uring_setup", unix.ENOSYS, harmless, opens(unix.SYS_IO_URING_SETUP, 1, make([]byte, 120))},
		{"personality", unix.EPERM, harmless, otherPersonality},
		{"TIOCSTI", unix.EPERM, harmless, ioctlNull(unix.TIOCSTI)},
		{"TIOCSTI, upper bits set", unix.EPERM, harmless, ioctlNull(1<<32 | unix.TIOCSTI)},
		{"TIOCLINUX", unix.EPERM, harmless, ioctlNull(unix.TIOCLINUX)},
		{"modify_ldt", unix.ENOSYS, debugger | harmless, onAMD64(154, 0, 0, 0)},
		{"x32 call", unix.ENOSYS, harmless, onAMD64(0x40000000 | unix.SYS_GETPID)},
		{"syslog", unix.EPERM, harmless, call(unix.SYS_SYSLOG, 10, 0, 0)}, // the size of the buffer
		// The administrator's calls ask for the privilege before they look at
		// arguments, and these arguments mean nothing.
		{"reboot", unix.EPERM, privileged, call(unix.SYS_REBOOT)}, // without the magic numbers
		{"init_module", unix.EPERM, privileged, call(unix.SYS_INIT_MODULE)},
		{"delete_module", unix.EPERM, privileged, call(unix.SYS_DELETE_MODULE, "sbx_verify_nowhere\x00", 0)},
		{"kexec_load", unix.EPERM, privileged, call(unix.SYS_KEXEC_LOAD, 0, 0, 0, -1)},
		{"swapon", unix.EPERM, privileged, call(unix.SYS_SWAPON)},
		{"acct", unix.EPERM, privileged, call(unix.SYS_ACCT, "/proc/sbx-verify-nowhere\x00")},

		// A few of the calls that are not on the list of level strict; the memory has
		// no size.
		{"vmsplice", unix.ENOSYS, onlyStrict | harmless, call(unix.SYS_VMSPLICE, -1, 0, 0, 0)},
		{"System V shared memory", unix.ENOSYS, onlyStrict | harmless, call(unix.SYS_SHMGET, unix.IPC_PRIVATE, 0, 0)},
		{"libaio", unix.ENOSYS, onlyStrict | harmless, call(unix.SYS_IO_DESTROY, 0)},
		{"priority of a process by number", unix.EPERM, onlyStrict | harmless, priorityOfSelf},
		{"line discipline", unix.EPERM, onlyStrict | harmless, ioctlNull(unix.TIOCSETD)},

		// What no one has made, and the limits that there are.
		{"shmget", unix.ENOSYS, onlyIPC | harmless, call(unix.SYS_SHMGET, nobodysKey, 0, 0)},
		{"semget", unix.ENOSYS, onlyIPC | harmless, call(unix.SYS_SEMGET, nobodysKey, 0, 0)},
		{"msgget", unix.ENOSYS, onlyIPC | harmless, call(unix.SYS_MSGGET, nobodysKey, 0)},
		{"mq_open", unix.ENOSYS, onlyIPC | harmless, opens(unix.SYS_MQ_OPEN, "sbx-verify-nowhere\x00", unix.O_CLOEXEC)},
		{"limits of another process", unix.EPERM, onlyIPC | harmless, limitsOfSelf(unix.RLIMIT_SIGPENDING)},

		{"block device", unix.EPERM, needsPath | privileged, blockDevice},
		{"set-user-id bit", unix.EPERM, needsPath | onlyRoot, setUserID},
	}
}

const nobodysKey = 0x5b78fe1f

// tryCall tries the trial of a name, on a thread of its own that ends with the
// attempt: some of them would change the thread.
func tryCall(q *question, a *answer) error {
	for _, t := range trials() {
		if t.name == q.Text {
			return onThread(func() error { return t.try(q.path()) })
		}
	}
	a.Step = "no such trial"
	return unix.ENOSYS
}

func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

// raw makes a system call with numbers, buffers, and strings that end with NUL.
func raw(number uintptr, args ...any) (uintptr, error) {
	var a [6]uintptr
	for i, arg := range args {
		switch v := arg.(type) {
		case int:
			a[i] = uintptr(v)
		case string:
			a[i] = uintptr(unsafe.Pointer(unsafe.StringData(v)))
		case []byte:
			a[i] = uintptr(unsafe.Pointer(unsafe.SliceData(v)))
		case unsafe.Pointer:
			a[i] = uintptr(v)
		}
	}
	got, _, errno := syscall.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	runtime.KeepAlive(args)
	if errno != 0 {
		return 0, errno
	}
	return got, nil
}

func call(number uintptr, args ...any) tryout {
	return func(string) error {
		_, err := raw(number, args...)
		return err
	}
}

// opens is call for calls that return a descriptor, which is closed.
func opens(number uintptr, args ...any) tryout {
	return func(string) error {
		fd, err := raw(number, args...)
		if err == nil && fd > 2 { // a filter may say 0, which is the probe's own
			syscall.Close(int(fd))
		}
		return err
	}
}

// onFile is call with an open file for the first argument.
func onFile(path string, number uintptr, args ...any) tryout {
	return func(string) error {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			defer unix.Close(fd)
			_, err = raw(number, append([]any{fd}, args...)...)
		}
		return err
	}
}

// ioctlNull asks /dev/null, which is no terminal: without a filter the kernel
// says ENOTTY and nothing is typed anywhere.
func ioctlNull(command int) tryout { return onFile("/dev/null", unix.SYS_IOCTL, command, []byte{'x'}) }

// onAMD64 is call for what other architectures do not have.
func onAMD64(number uintptr, args ...any) tryout {
	if runtime.GOARCH != "amd64" {
		return func(string) error { return unix.ENOSYS }
	}
	return call(number, args...)
}

// cloned makes a process with flags of clone(2) that does nothing but end.
func cloned(flags uintptr) tryout { return func(string) error { return clone(flags) } }

//go:noinline
func clone(flags uintptr) error {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		for {
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	for {
		if _, err := unix.Wait4(int(pid), nil, 0, nil); err != unix.EINTR {
			return nil
		}
	}
}

// copySelf copies a byte of this process over another of its own.
func copySelf(number uintptr) tryout {
	return func(string) error {
		from, to := []byte{1}, []byte{2}
		local, remote := &unix.Iovec{Base: &from[0], Len: 1}, &unix.Iovec{Base: &to[0], Len: 1}
		_, err := raw(number, os.Getpid(), unsafe.Pointer(local), 1, unsafe.Pointer(remote), 1, 0)
		return err
	}
}

// standardInputOf takes a descriptor of a process, and closes it.
func standardInputOf(pid int) tryout {
	return func(string) error {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return opens(unix.SYS_PIDFD_GETFD, fd, 0, 0)("")
	}
}

// limitsOfSelf sets a limit to what it is.
func limitsOfSelf(which int) tryout {
	return func(string) error {
		var now unix.Rlimit
		if err := unix.Prlimit(0, which, nil, &now); err != nil {
			return err
		}
		return unix.Prlimit(os.Getpid(), which, &now, nil)
	}
}

// priorityOfSelf sets the priority to what it is; the kernel tells 20 less it.
func priorityOfSelf(string) error {
	now, err := unix.Getpriority(unix.PRIO_PROCESS, os.Getpid())
	if err != nil {
		return err
	}
	return unix.Setpriority(unix.PRIO_PROCESS, os.Getpid(), 20-now)
}

func countOwnEvents(string) error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Bits: unix.PerfBitExcludeKernel | unix.PerfBitDisabled}
	return opens(unix.SYS_PERF_EVENT_OPEN, unsafe.Pointer(&attr), 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)("")
}

func otherPersonality(string) error {
	const ask, readImpliesExec = 0xffffffff, 0x400000
	old, err := raw(unix.SYS_PERSONALITY, ask)
	for _, persona := range []int{int(old) | readImpliesExec, int(old)} {
		if err == nil {
			_, err = raw(unix.SYS_PERSONALITY, persona)
		}
	}
	return err
}

func blockDevice(path string) error {
	err := unix.Mknod(path, unix.S_IFBLK|0o600, 8<<8)
	if err == nil {
		_ = unix.Unlink(path)
	}
	return err
}

func setUserID(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	defer unix.Unlink(path)
	return unix.Fchmod(fd, 0o4700)
}
