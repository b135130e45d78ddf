// SPDX-License-Identifier: Apache-2.0

package seccomp

import (
	"iter"
	"slices"
	"strings"
)

// newest is the highest number these tables were compared with (rseq_slice_yield,
// Linux 7.0). The numbers above it answer ENOSYS: before raising it, see what
// the new calls do.
const newest = 471

// group is what becomes of some system calls where the scope holds.
type group struct {
	calls string // their names, separated by blanks
	do    verdict
	in    scope
}

// scope says under which options a group holds: under any of those named.
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
	return s&always != 0 || s&notDev != 0 && o.Level != "dev" || s&inStrict != 0 && o.Level == "strict" ||
		s&asRoot != 0 && o.Root || s&onHost != 0 && o.Host || s&noTruncate != 0 && o.NoTruncate
}

// refused goes through the calls of an architecture that are refused under o,
// wholly or in part.
func refused(o Options) iter.Seq2[string, verdict] {
	return func(yield func(string, verdict) bool) {
		for _, g := range slices.Concat(denied[:], unusual[:]) {
			for name := range strings.FieldsSeq(g.calls) {
				if g.in.holds(o) && syscallNumber(name, o.Arch) != none && !yield(name, g.do) {
					return
				}
			}
		}
	}
}

// denied is the deny-list of all levels. Order does not matter here. What level
// strict refuses beyond it is in strict.go.
//
// Allowed on purpose: seccomp, landlock_*, prctl (they only tighten),
// memfd_secret, name_to_handle_at (useless without open_by_handle_at), adjtimex
// and clock_adjtime (reading the clock's state is everyone's right, and setting
// it takes a capability no sandboxed command has), mkdir (the kernel ignores
// set-id bits in its mode).
var denied = [...]group{
	// New namespaces give back capabilities, and a new
	// mount namespace undoes masks and read-only binds. The flags of clone3 are
	// behind a pointer; libc and Go fall back to clone on ENOSYS only.
	{"clone", cloneFlags, always},
	{"clone3", enosys, always},
	{"unshare", unshareFlags, always},
	{"setns", eperm, always},

	// Mounts. The newer calls answer ENOSYS: mount(8), findmnt(8) and systemd
	// then use mount(2) or /proc/self/mountinfo and report what these say.
	{"mount umount2 pivot_root chroot", eperm, always},
	{"open_tree move_mount fsopen fsconfig fsmount fspick", enosys, always},
	{"mount_setattr statmount listmount open_tree_attr", enosys, always},

	// A handle is a file without its path, so masks do not hide it.
	{"open_by_handle_at", eperm, always},

	// Other processes. Tracing would not get around the filter (since Linux
	// 4.8 it is applied after the tracer), but around the tool that started
	// the command, where both share a process namespace.
	{"ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd process_madvise", eperm, notDev},

	// The limits of another process: with RLIMIT_CPU or RLIMIT_NOFILE it can be
	// killed or starved, process 1 among them. A rule about number 1 alone would
	// not do, since the number of any thread of a process stands for it. For
	// its own limits, which is all that setrlimit(2) sets, a program passes 0.
	{"prlimit64", othersLimits, always},

	// Process 1 is sbx itself, of the command's user, and has to be quick when the
	// host replaces what is hidden. Its main thread, which does all the work, has
	// its number. A nice value, once raised, cannot be lowered again without a
	// privilege; by group or user it would be that of process 1, too, and of the
	// host's processes where these are shared.
	{"sched_setaffinity", initAffinity, always},
	{"sched_setparam sched_setscheduler sched_setattr", initSchedule, always},
	{"setpriority", othersPriority, always},

	// Keyrings are not confined by namespaces: the session keyring of the
	// caller stays reachable. ENOSYS is a kernel without CONFIG_KEYS, which
	// Kerberos and runc go on without; EPERM stops runc.
	{"add_key request_key keyctl", enosys, always},

	// Large kernel interfaces with a history. The first three answer what the
	// kernel does under unprivileged_bpf_disabled, perf_event_paranoid and
	// unprivileged_userfaultfd=0, which their users explain well. io_uring also
	// makes other calls without passing this filter; libuv falls back on any
	// error, liburing's users on ENOSYS.
	{"bpf perf_event_open userfaultfd", eperm, always},
	{"io_uring_setup io_uring_enter io_uring_register", enosys, always},

	// ENOSYS is CONFIG_MODIFY_LDT_SYSCALL=n. Wine needs it for 32-bit programs.
	{"modify_ldt", enosys, notDev},

	{"personality", persona, always},

	// The terminal outlives the sandbox: what is typed into it here runs there.
	{"ioctl", ioctlCommand, always},

	{"socket", socketFamily, always},
	{"socketpair", pairFamily, always},

	// The administrator's calls. The kernel asks for capabilities in all of
	// them but syslog (with dmesg_restrict=0); this is the second lock. A few
	// have left the kernel and are here because they close a gap between two
	// others: one range costs less than two.
	{"acct settimeofday clock_settime swapon swapoff reboot sethostname setdomainname iopl ioperm", eperm, always},
	{"create_module init_module delete_module finit_module get_kernel_syms query_module", eperm, always},
	{"quotactl quotactl_fd nfsservctl kexec_load kexec_file_load lookup_dcookie syslog vhangup", eperm, always},

	// Files left set-uid in a writable directory would be the host's root for
	// everyone. openat2 has its mode behind a pointer; its users fall back to
	// openat.
	{"chmod fchmod creat mknod", modeSecond, asRoot},
	{"fchmodat fchmodat2 mknodat", modeThird, asRoot},

	// Before its third version Landlock does not ask about truncation. open(2)
	// truncates a file that it opens for reading, too: O_TRUNC alone asks the
	// kernel's own permissions, and Landlock looks at how the file is open after.
	{"truncate", eperm, noTruncate},
	{"open", openFlags, asRoot | noTruncate},
	{"openat", openatFlags, asRoot | noTruncate},
	{"openat2", enosys, asRoot | noTruncate},

	// System V IPC and message queues have names that no file system
	// rule covers: without a namespace they are the host's. ENOSYS is a kernel
	// without CONFIG_SYSVIPC and CONFIG_POSIX_MQUEUE. POSIX shared memory and
	// semaphores are files and stay.
	{"shmget shmat shmctl shmdt semget semop semtimedop semctl", enosys, onHost | inStrict},
	{"msgget msgsnd msgrcv msgctl", enosys, onHost | inStrict},
	{"mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr", enosys, onHost | inStrict},

	{"ioprio_set", othersIOPriority, onHost | inStrict},

	// It tells who opens what, in directories that cannot be read as well. The
	// kernel refused it to all but administrators until Linux 5.13.
	{"fanotify_init fanotify_mark", eperm, onHost | inStrict},

	{"prctl", markOption, onHost},
}
