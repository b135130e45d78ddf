package seccomp

// call is a system call with its number on each architecture, and what becomes
// of it where its scope holds.
type call struct {
	name         string
	amd64, arm64 int16
	do           verdict
	in           scope
}

// none marks a call that an architecture does not have.
const none = -1

// newest is the highest number this table was compared with (rseq_slice_yield,
// Linux 7.0). The numbers above it answer ENOSYS: before raising it, see what
// the new calls do.
const newest = 471

// scope says under which options a rule holds: under any of those named.
type scope uint8

const (
	always     scope = 1 << iota
	notDev           // in every level but dev
	inStrict         // in level strict
	asRoot           // with Options.Root
	onHost           // with Options.Host
	noTruncate       // with Options.NoTruncate
)

func (s scope) holds(o Options) bool {
	now := always
	for _, f := range [...]struct {
		on bool
		is scope
	}{{o.Level != "dev", notDev}, {o.Level == "strict", inStrict}, {o.Root, asRoot}, {o.Host, onHost}, {o.NoTruncate, noTruncate}} {
		if f.on {
			now |= f.is
		}
	}
	return s&now != 0
}

func (c *call) number(arch string) int16 {
	if arch == "arm64" {
		return c.arm64
	}
	return c.amd64
}

// calls is the deny-list of all levels. Order does not matter here. What level
// strict refuses beyond it is in strict.go.
//
// Allowed on purpose: seccomp, landlock_*, prctl (they only tighten),
// memfd_secret, name_to_handle_at (useless without open_by_handle_at), adjtimex
// and clock_adjtime (reading the clock's state is everyone's right, and setting
// it takes a capability no sandboxed command has), mkdir (the kernel ignores
// set-id bits in its mode).
var calls = [...]call{
	// New namespaces give back capabilities, and a mount namespace of the
	// command's own undoes masks and read-only binds. The flags of clone3 are
	// behind a pointer; libc and Go fall back to clone on ENOSYS only.
	{"clone", 56, 220, cloneFlags, always},
	{"clone3", 435, 435, enosys, always},
	{"unshare", 272, 97, unshareFlags, always},
	{"setns", 308, 268, eperm, always},

	// Mounts. The newer calls answer ENOSYS: mount(8), findmnt(8) and systemd
	// then use mount(2) or /proc/self/mountinfo and report what these say.
	{"mount", 165, 40, eperm, always},
	{"umount2", 166, 39, eperm, always},
	{"pivot_root", 155, 41, eperm, always},
	{"chroot", 161, 51, eperm, always},
	{"open_tree", 428, 428, enosys, always},
	{"move_mount", 429, 429, enosys, always},
	{"fsopen", 430, 430, enosys, always},
	{"fsconfig", 431, 431, enosys, always},
	{"fsmount", 432, 432, enosys, always},
	{"fspick", 433, 433, enosys, always},
	{"mount_setattr", 442, 442, enosys, always},
	{"statmount", 457, 457, enosys, always},
	{"listmount", 458, 458, enosys, always},
	{"open_tree_attr", 467, 467, enosys, always},

	// A handle is a file without its path, so masks do not hide it.
	{"open_by_handle_at", 304, 265, eperm, always},

	// Other processes. Tracing would not get around the filter (since Linux
	// 4.8 it is applied after the tracer), but around the tool that started
	// the command, where both share a process namespace.
	{"ptrace", 101, 117, eperm, notDev},
	{"process_vm_readv", 310, 270, eperm, notDev},
	{"process_vm_writev", 311, 271, eperm, notDev},
	{"kcmp", 312, 272, eperm, notDev},
	{"pidfd_getfd", 438, 438, eperm, notDev},
	{"process_madvise", 440, 440, eperm, notDev},

	// The limits of another process: with RLIMIT_CPU or RLIMIT_NOFILE it can be
	// killed or starved, process 1 among them. A rule about number 1 alone would
	// not do, since the number of any thread of a process stands for it. Limits
	// of its own, which is all that setrlimit(2) does, a program asks for by 0.
	{"prlimit64", 302, 261, othersLimits, always},

	// Process 1 is sbx's own, of the command's user, and has to be quick when the
	// host replaces what is hidden. Its main thread, which does all the work, has
	// its number. A nice value, once raised, cannot be lowered again without a
	// privilege; by group or user it would be that of process 1, too, and of the
	// host's processes where these are shared.
	{"sched_setaffinity", 203, 122, initAffinity, always},
	{"sched_setparam", 142, 118, initSchedule, always},
	{"sched_setscheduler", 144, 119, initSchedule, always},
	{"sched_setattr", 314, 274, initSchedule, always},
	{"setpriority", 141, 140, othersPriority, always},

	// Keyrings are not confined by namespaces: the session keyring of the
	// caller stays reachable. ENOSYS is a kernel without CONFIG_KEYS, which
	// Kerberos and runc go on without; EPERM stops runc.
	{"add_key", 248, 217, enosys, always},
	{"request_key", 249, 218, enosys, always},
	{"keyctl", 250, 219, enosys, always},

	// Large kernel interfaces with a history. The first three answer what the
	// kernel does under unprivileged_bpf_disabled, perf_event_paranoid and
	// unprivileged_userfaultfd=0, which their users explain well. io_uring also
	// makes other calls without passing this filter; libuv falls back on any
	// error, liburing's users on ENOSYS.
	{"bpf", 321, 280, eperm, always},
	{"perf_event_open", 298, 241, eperm, always},
	{"userfaultfd", 323, 282, eperm, always},
	{"io_uring_setup", 425, 425, enosys, always},
	{"io_uring_enter", 426, 426, enosys, always},
	{"io_uring_register", 427, 427, enosys, always},

	// ENOSYS is CONFIG_MODIFY_LDT_SYSCALL=n. Wine needs it for 32-bit programs.
	{"modify_ldt", 154, none, enosys, notDev},

	{"personality", 135, 92, persona, always},

	// The terminal outlives the sandbox: what is typed into it here runs there.
	{"ioctl", 16, 29, ioctlCommand, always},

	{"socket", 41, 198, socketFamily, always},
	{"socketpair", 53, 199, pairFamily, always},

	// The administrator's calls. The kernel asks for capabilities in all of
	// them but syslog (with dmesg_restrict=0); this is the second lock. A few
	// have left the kernel and are here because they close a gap between two
	// others: one range costs less than two.
	{"acct", 163, 89, eperm, always},
	{"settimeofday", 164, 170, eperm, always},
	{"clock_settime", 227, 112, eperm, always},
	{"swapon", 167, 224, eperm, always},
	{"swapoff", 168, 225, eperm, always},
	{"reboot", 169, 142, eperm, always},
	{"sethostname", 170, 161, eperm, always},
	{"setdomainname", 171, 162, eperm, always},
	{"iopl", 172, none, eperm, always},
	{"ioperm", 173, none, eperm, always},
	{"create_module", 174, none, eperm, always},
	{"init_module", 175, 105, eperm, always},
	{"delete_module", 176, 106, eperm, always},
	{"get_kernel_syms", 177, none, eperm, always},
	{"query_module", 178, none, eperm, always},
	{"quotactl", 179, 60, eperm, always},
	{"nfsservctl", 180, 42, eperm, always},
	{"finit_module", 313, 273, eperm, always},
	{"kexec_load", 246, 104, eperm, always},
	{"kexec_file_load", 320, 294, eperm, always},
	{"quotactl_fd", 443, 443, eperm, always},
	{"lookup_dcookie", 212, 18, eperm, always},
	{"syslog", 103, 116, eperm, always},
	{"vhangup", 153, 58, eperm, always},

	// Files left set-uid in a writable directory would be the host's root for
	// everyone. openat2 has its mode behind a pointer; its users fall back to
	// openat.
	{"chmod", 90, none, modeSecond, asRoot},
	{"fchmod", 91, 52, modeSecond, asRoot},
	{"fchmodat", 268, 53, modeThird, asRoot},
	{"fchmodat2", 452, 452, modeThird, asRoot},
	{"creat", 85, none, modeSecond, asRoot},
	{"mknod", 133, none, modeSecond, asRoot},
	{"mknodat", 259, 33, modeThird, asRoot},

	// Before its third version Landlock does not ask about truncation. open(2)
	// truncates a file that it opens for reading, too: O_TRUNC alone asks the
	// kernel's own permissions, and Landlock looks at how the file is open after.
	{"truncate", 76, 45, eperm, noTruncate},
	{"open", 2, none, openFlags, asRoot | noTruncate},
	{"openat", 257, 56, openatFlags, asRoot | noTruncate},
	{"openat2", 437, 437, enosys, asRoot | noTruncate},

	// System V IPC and message queues have names of their own that no file system
	// rule covers: without a namespace they are the host's. ENOSYS is a kernel
	// without CONFIG_SYSVIPC and CONFIG_POSIX_MQUEUE. POSIX shared memory and
	// semaphores are files and stay.
	{"shmget", 29, 194, enosys, onHost | inStrict},
	{"shmat", 30, 196, enosys, onHost | inStrict},
	{"shmctl", 31, 195, enosys, onHost | inStrict},
	{"shmdt", 67, 197, enosys, onHost | inStrict},
	{"semget", 64, 190, enosys, onHost | inStrict},
	{"semop", 65, 193, enosys, onHost | inStrict},
	{"semtimedop", 220, 192, enosys, onHost | inStrict},
	{"semctl", 66, 191, enosys, onHost | inStrict},
	{"msgget", 68, 186, enosys, onHost | inStrict},
	{"msgsnd", 69, 189, enosys, onHost | inStrict},
	{"msgrcv", 70, 188, enosys, onHost | inStrict},
	{"msgctl", 71, 187, enosys, onHost | inStrict},
	{"mq_open", 240, 180, enosys, onHost | inStrict},
	{"mq_unlink", 241, 181, enosys, onHost | inStrict},
	{"mq_timedsend", 242, 182, enosys, onHost | inStrict},
	{"mq_timedreceive", 243, 183, enosys, onHost | inStrict},
	{"mq_notify", 244, 184, enosys, onHost | inStrict},
	{"mq_getsetattr", 245, 185, enosys, onHost | inStrict},

	{"ioprio_set", 251, 30, othersIOPriority, onHost | inStrict},

	// It tells who opens what, in directories that cannot be read as well. The
	// kernel refused it to all but administrators until Linux 5.13.
	{"fanotify_init", 300, 262, eperm, onHost | inStrict},
	{"fanotify_mark", 301, 263, eperm, onHost | inStrict},

	{"prctl", 157, 167, markOption, onHost},
}
