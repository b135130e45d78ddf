package verify

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call tries the trial of a name. Where it is not refused, nothing happens:
// what is asked for is void, or is undone at once.
func call(name, path string, a *Answer) {
	try := attempt(name)
	if try == nil {
		a.Errno, a.Step = int(enosys), "no such trial"
		return
	}
	// A thread of its own, which ends with the attempt: some of them would
	// change the thread.
	done := make(chan syscall.Errno, 1)
	go func() {
		runtime.LockOSThread()
		done <- try(path)
	}()
	if e := <-done; e != 0 {
		a.Errno = int(e)
	}
}

func raw(number uintptr, args ...uintptr) syscall.Errno {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := syscall.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	return errno
}

// rawFD is raw for calls that return a descriptor, which is closed.
func rawFD(number uintptr, args ...uintptr) syscall.Errno {
	var a [6]uintptr
	copy(a[:], args)
	fd, _, errno := syscall.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno == 0 && fd > 2 { // a filter may say 0, which is the probe's own
		syscall.Close(int(fd))
	}
	return errno
}

// cloned makes a process with flags of clone(2) that does nothing but end.
//
//go:noinline
func cloned(flags uintptr) syscall.Errno {
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
			return 0
		}
	}
}

func errno(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	return syscall.Errno(errnoOf(err))
}

func namespace(flag uintptr) func(string) syscall.Errno {
	return func(string) syscall.Errno { return cloned(flag) }
}

// ioctlNull asks /dev/null, which is no terminal: without a filter the kernel
// says ENOTTY and nothing is typed anywhere.
func ioctlNull(command uintptr) func(string) syscall.Errno {
	return func(string) syscall.Errno {
		fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return errno(err)
		}
		defer unix.Close(fd)
		c := byte('x')
		return raw(unix.SYS_IOCTL, uintptr(fd), command, uintptr(unsafe.Pointer(&c)))
	}
}

// nowhere is a path that does not exist.
const nowhere = "/proc/sbx-verify-nowhere"

// attempt returns the trial of a name, nil for an unknown one.
func attempt(name string) func(path string) syscall.Errno {
	switch name {
	case "user namespace":
		return namespace(unix.CLONE_NEWUSER)
	case "mount namespace":
		return namespace(unix.CLONE_NEWNS)
	case "process namespace":
		return namespace(unix.CLONE_NEWPID)
	case "network namespace":
		return namespace(unix.CLONE_NEWNET)
	case "unshare":
		return func(string) syscall.Errno { return errno(unix.Unshare(unix.CLONE_NEWNS)) }
	case "setns":
		return enterOwn
	case "clone3":
		return func(string) syscall.Errno { return raw(unix.SYS_CLONE3) }
	case "mount":
		return func(string) syscall.Errno { return errno(unix.Mount("", "/", "", unix.MS_PRIVATE, "")) }
	case "umount":
		return func(string) syscall.Errno { return errno(unix.Unmount("/proc/self", 0)) }
	case "pivot_root":
		return func(string) syscall.Errno { return errno(unix.PivotRoot("/proc/self", "/proc/self")) }
	case "chroot":
		return func(string) syscall.Errno { return errno(unix.Chroot("/")) }
	case "fsopen":
		return func(string) syscall.Errno { return closing(unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)) }
	case "move_mount":
		return func(string) syscall.Errno { return errno(unix.MoveMount(-1, "", -1, "", 0)) }
	case "mount_setattr":
		return func(string) syscall.Errno { return errno(unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{})) }
	case "open_tree":
		return func(string) syscall.Errno {
			return closing(unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLOEXEC))
		}
	case "open_by_handle_at":
		return func(string) syscall.Errno {
			return closing(unix.OpenByHandleAt(unix.AT_FDCWD, unix.NewFileHandle(1, make([]byte, 8)), unix.O_PATH|unix.O_CLOEXEC))
		}
	}
	if try := attemptOnProcess(name); try != nil {
		return try
	}
	return attemptOnKernel(name)
}

func closing(fd int, err error) syscall.Errno {
	if err == nil && fd > 2 {
		unix.Close(fd)
	}
	return errno(err)
}

// enterOwn enters the namespace that the thread is in.
func enterOwn(string) syscall.Errno {
	fd, err := unix.Open("/proc/self/ns/uts", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return errno(err)
	}
	defer unix.Close(fd)
	return errno(unix.Setns(fd, unix.CLONE_NEWUTS))
}

// attemptOnProcess are the trials on other processes and on the terminal. They
// take this process for the other one.
func attemptOnProcess(name string) func(path string) syscall.Errno {
	self := uintptr(os.Getpid())
	switch name {
	case "ptrace":
		// Nobody traces this process, so there is nothing to go on with: ESRCH.
		return func(string) syscall.Errno { return raw(unix.SYS_PTRACE, unix.PTRACE_CONT, self, 0, 0) }
	case "process_vm_readv":
		return func(string) syscall.Errno { return copySelf(unix.SYS_PROCESS_VM_READV) }
	case "process_vm_writev":
		return func(string) syscall.Errno { return copySelf(unix.SYS_PROCESS_VM_WRITEV) }
	case "pidfd_getfd":
		return func(string) syscall.Errno {
			fd, err := unix.PidfdOpen(int(self), 0)
			if err != nil {
				return errno(err)
			}
			defer unix.Close(fd)
			return rawFD(unix.SYS_PIDFD_GETFD, uintptr(fd), 0, 0)
		}
	case "limits of a process by number":
		return func(string) syscall.Errno { // set to what they are
			var now unix.Rlimit
			if err := unix.Prlimit(0, unix.RLIMIT_CORE, nil, &now); err != nil {
				return errno(err)
			}
			return errno(unix.Prlimit(int(self), unix.RLIMIT_CORE, &now, nil))
		}
	case "priority of a process by number":
		return func(string) syscall.Errno { // set to what it is; the kernel tells 20 less it
			now, err := unix.Getpriority(unix.PRIO_PROCESS, int(self))
			if err != nil {
				return errno(err)
			}
			return errno(unix.Setpriority(unix.PRIO_PROCESS, int(self), 20-now))
		}
	case "line discipline":
		return ioctlNull(unix.TIOCSETD)
	case "kcmp":
		return func(string) syscall.Errno { return raw(unix.SYS_KCMP, self, self, 0, 0, 0) }
	case "TIOCSTI":
		return ioctlNull(unix.TIOCSTI)
	case "TIOCSTI, upper bits set":
		return ioctlNull(1<<32 | unix.TIOCSTI)
	case "TIOCLINUX":
		return ioctlNull(unix.TIOCLINUX)
	}
	return nil
}

// copySelf copies a byte of this process over another of its own.
func copySelf(number uintptr) syscall.Errno {
	from, to := []byte{1}, []byte{2}
	local := unix.Iovec{Base: &from[0], Len: 1}
	remote := unix.Iovec{Base: &to[0], Len: 1}
	e := raw(number, uintptr(os.Getpid()), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	runtime.KeepAlive(from)
	runtime.KeepAlive(to)
	return e
}

func attemptOnKernel(name string) func(path string) syscall.Errno {
	switch name {
	case "vmsplice":
		return func(string) syscall.Errno { return raw(unix.SYS_VMSPLICE, ^uintptr(0), 0, 0, 0) }
	case "System V shared memory":
		return func(string) syscall.Errno { return raw(unix.SYS_SHMGET, unix.IPC_PRIVATE, 0, 0) } // of no size
	case "libaio":
		return func(string) syscall.Errno { return raw(unix.SYS_IO_DESTROY, 0) }
	case "keyctl":
		return func(string) syscall.Errno {
			_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
			return errno(err)
		}
	case "add_key":
		return func(string) syscall.Errno {
			_, err := unix.AddKey("user", "sbx-verify", []byte("x"), unix.KEY_SPEC_THREAD_KEYRING)
			return errno(err)
		}
	case "request_key":
		return func(string) syscall.Errno {
			_, err := unix.RequestKey("user", "sbx-verify", "", 0)
			return errno(err)
		}
	case "bpf":
		return func(string) syscall.Errno {
			var attr [72]byte // of a map of type 0, which there is none of
			return rawFD(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr[0])), uintptr(len(attr)))
		}
	case "perf_event_open":
		return func(string) syscall.Errno {
			attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitExcludeKernel | unix.PerfBitDisabled}
			return closing(unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC))
		}
	case "userfaultfd":
		const userModeOnly = 1
		return func(string) syscall.Errno { return rawFD(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|userModeOnly) }
	case "io_uring_setup":
		return func(string) syscall.Errno {
			var params [120]byte
			return rawFD(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params[0])))
		}
	case "personality":
		return tryPersona
	case "modify_ldt", "x32 call":
		return onlyAMD64(name)
	case "shmget", "semget", "msgget", "mq_open", "limits of another process":
		return tryIPC(name)
	case "syslog":
		return func(string) syscall.Errno { return raw(unix.SYS_SYSLOG, 10, 0, 0) } // the size of the buffer
	case "block device":
		return blockDevice
	case "set-user-id bit":
		return setUserID
	}
	return attemptAsRoot(name)
}

// tryIPC asks for what nobody has made, and for the limits that there are.
func tryIPC(name string) func(string) syscall.Errno {
	const key = 0x5b78fe1f
	return func(string) syscall.Errno {
		switch name {
		case "shmget":
			return raw(unix.SYS_SHMGET, key, 0, 0)
		case "semget":
			return raw(unix.SYS_SEMGET, key, 0, 0)
		case "msgget":
			return raw(unix.SYS_MSGGET, key, 0)
		case "mq_open":
			path := []byte("sbx-verify-nowhere\x00")
			return rawFD(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(&path[0])), unix.O_RDONLY|unix.O_CLOEXEC)
		}
		var lim unix.Rlimit
		if err := unix.Prlimit(os.Getpid(), unix.RLIMIT_SIGPENDING, nil, &lim); err != nil {
			return errno(err)
		}
		return errno(unix.Prlimit(os.Getpid(), unix.RLIMIT_SIGPENDING, &lim, nil))
	}
}

func tryPersona(string) syscall.Errno {
	const ask, readImpliesExec = 0xffffffff, 0x400000
	old, _, e := syscall.RawSyscall(unix.SYS_PERSONALITY, ask, 0, 0)
	if e != 0 {
		return e
	}
	if e := raw(unix.SYS_PERSONALITY, old|readImpliesExec); e != 0 {
		return e
	}
	return raw(unix.SYS_PERSONALITY, old)
}

// onlyAMD64 are calls that other architectures do not have.
func onlyAMD64(name string) func(string) syscall.Errno {
	const modifyLDT, x32 = 154, 0x40000000
	return func(string) syscall.Errno {
		switch {
		case runtime.GOARCH != "amd64":
			return enosys
		case name == "modify_ldt":
			return raw(modifyLDT, 0, 0, 0)
		}
		return raw(x32 | unix.SYS_GETPID)
	}
}

func blockDevice(path string) syscall.Errno {
	err := unix.Mknod(path, unix.S_IFBLK|0o600, 8<<8)
	if err == nil {
		_ = unix.Unlink(path)
	}
	return errno(err)
}

func setUserID(path string) syscall.Errno {
	fd, err := unix.Open(path, newFile, 0o600)
	if err != nil {
		return errno(err)
	}
	defer unix.Close(fd)
	defer unix.Unlink(path)
	return errno(unix.Fchmod(fd, 0o4700))
}

// attemptAsRoot are the administrator's calls. Each asks for the privilege
// before it looks at arguments, and these arguments mean nothing.
func attemptAsRoot(name string) func(path string) syscall.Errno {
	switch name {
	case "reboot":
		return func(string) syscall.Errno { return raw(unix.SYS_REBOOT) } // without the magic numbers
	case "init_module":
		return func(string) syscall.Errno { return raw(unix.SYS_INIT_MODULE) }
	case "delete_module":
		return func(string) syscall.Errno { return errno(unix.DeleteModule("sbx_verify_nowhere", 0)) }
	case "kexec_load":
		return func(string) syscall.Errno { return raw(unix.SYS_KEXEC_LOAD, 0, 0, 0, ^uintptr(0)) }
	case "swapon":
		return func(string) syscall.Errno { return raw(unix.SYS_SWAPON) }
	case "acct":
		return func(string) syscall.Errno { return errno(unix.Acct(nowhere)) }
	}
	return nil
}
