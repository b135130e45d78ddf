// SPDX-License-Identifier: Apache-2.0

package seccomp

import "strings"

// usual is what level strict allows: what programs of glibc and musl, shells,
// coreutils, git, Python, Node, Go, Java, Perl and Rust were seen to use, and
// what their libraries choose instead on other kernels. The groups of denied
// come first; those of them that hold for all arguments, or look at arguments
// whatever the options, are not repeated here.
var usual = [...]string{
	// Files.
	"read write open close stat fstat lstat newfstatat statx lseek pread64 pwrite64 readv writev preadv",
	"pwritev preadv2 pwritev2 openat openat2 creat access faccessat faccessat2 dup dup2 dup3 fcntl flock",
	"fsync fdatasync sync syncfs sync_file_range truncate ftruncate fallocate fadvise64 readahead getdents",
	"getdents64 getcwd chdir fchdir rename renameat renameat2 mkdir mkdirat rmdir link linkat unlink unlinkat",
	"symlink symlinkat readlink readlinkat mknod mknodat chmod fchmod fchmodat fchmodat2 chown fchown lchown",
	"fchownat umask utime utimes futimesat utimensat statfs fstatfs close_range",

	// Extended attributes: cp -a, tar, rsync. The newest ones are tried by coming
	// versions of the same programs.
	"setxattr lsetxattr fsetxattr setxattrat getxattr lgetxattr fgetxattr getxattrat listxattr llistxattr",
	"flistxattr listxattrat removexattr lremovexattr fremovexattr removexattrat",

	// Copying inside the kernel: cp, cat and the standard libraries of Go, Python
	// and Rust. vmsplice(2) is not among it.
	"sendfile copy_file_range splice tee",

	// Waiting, and what is waited for.
	"pipe pipe2 poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait",
	"epoll_pwait2 eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime",
	"inotify_init inotify_init1 inotify_add_watch inotify_rm_watch",

	// Memory. pkey_* protect the code that V8 writes; mseal and map_shadow_stack
	// harden newer C libraries. memfd_create is behind multiprocessing, ZGC and
	// Wayland.
	"mmap mprotect munmap brk mremap msync mincore madvise mlock mlock2 munlock mlockall munlockall",
	"pkey_mprotect pkey_alloc pkey_free memfd_create mseal map_shadow_stack membarrier",

	// Signals.
	"rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo",
	"rt_sigsuspend sigaltstack restart_syscall kill tkill tgkill pause",

	// Processes and threads. musl asks by get_robust_list whether there are robust
	// mutexes. rseq_slice_yield gives back what an rseq area was granted.
	"fork vfork execve execveat exit exit_group wait4 waitid pidfd_open pidfd_send_signal futex",
	"set_robust_list get_robust_list set_tid_address arch_prctl prctl rseq rseq_slice_yield getpid gettid",
	"getppid getpgid setpgid getpgrp getsid setsid",

	// What the kernel itself makes a program call that is traced by probes.
	"uretprobe uprobe",

	// Identity. To change it takes a capability that a command does not have; to
	// set what is in force already does not, and many do.
	"getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid setresuid",
	"setresgid capget capset",

	// Limits, priority and accounts.
	"getrlimit setrlimit getrusage times sysinfo uname getpriority ioprio_get getcpu sched_yield",
	"sched_getaffinity sched_getparam sched_getscheduler sched_getattr sched_get_priority_max",
	"sched_get_priority_min sched_rr_get_interval",

	// Time.
	"time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep alarm getitimer setitimer",
	"timer_create timer_settime timer_gettime timer_getoverrun timer_delete",

	// Sockets; socket(2) and socketpair(2) are in denied.
	"connect accept accept4 bind listen sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown",
	"getsockname getpeername getsockopt setsockopt",

	// Random numbers, and sandboxes inside this one.
	"getrandom seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self",
}

// allowed returns the names in usual.
func allowed() []string { return strings.Fields(strings.Join(usual[:], " ")) }

// unusual is what level strict refuses beyond denied. A call that is on none of
// the three lists is refused as well, with ENOSYS; a test sees to it that none
// is left out by mistake.
var unusual = [...]group{
	// Calls that never were more than a number, or have left the kernel.
	{"_sysctl afs_syscall epoll_ctl_old epoll_wait_old get_thread_area getpmsg putpmsg security", enosys, inStrict},
	{"set_thread_area sysfs tuxcall uselib ustat vserver remap_file_pages", enosys, inStrict},

	// libaio's calls, which databases and emulators do without. ENOSYS is
	// CONFIG_AIO=n.
	{"io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents", enosys, inStrict},

	// ENOSYS is CONFIG_NUMA=n: numa_available(3) then says that there is none.
	{"mbind set_mempolicy get_mempolicy set_mempolicy_home_node migrate_pages move_pages", enosys, inStrict},

	// Hands the pages of a process over to a pipe, and had bugs; its users write(2)
	// instead.
	{"vmsplice", enosys, inStrict},

	// Newer than their alternatives, to which their users go back: futex(2),
	// mincore(2), mlock(2), ioctl(2), /proc/self/attr, SIGKILL alone. Handles to
	// files are of no use without open_by_handle_at(2), and its users know of file
	// systems that have none.
	{"futex_waitv futex_wake futex_wait futex_requeue cachestat memfd_secret file_getattr", enosys, inStrict},
	{"file_setattr lsm_get_self_attr lsm_set_self_attr lsm_list_modules listns process_mrelease", enosys, inStrict},
	{"name_to_handle_at", enosys, inStrict},

	// The kernel asks for a privilege in these, and EPERM is its own answer. So do
	// sched_setparam, sched_setscheduler and sched_setattr, which are in denied: without
	// one a policy other than real-time may be set, which does more harm to others
	// than good to the caller.
	{"adjtimex clock_adjtime setgroups setfsuid setfsgid", eperm, inStrict},
}
