package seccomp

// usual is what level strict allows: what programs of glibc and musl, shells,
// coreutils, git, Python, Node, Go, Java, Perl and Rust were seen to use, and
// what their libraries choose instead on other kernels. The rules in calls come
// first; those of them that hold for all arguments, or look at arguments
// whatever the options, are not repeated here.
var usual = [...]allowed{
	// Files.
	{"read", 0, 63}, {"write", 1, 64}, {"open", 2, none}, {"close", 3, 57}, {"stat", 4, none}, {"fstat", 5, 80}, {"lstat", 6, none},
	{"newfstatat", 262, 79}, {"statx", 332, 291}, {"lseek", 8, 62}, {"pread64", 17, 67}, {"pwrite64", 18, 68}, {"readv", 19, 65},
	{"writev", 20, 66}, {"preadv", 295, 69}, {"pwritev", 296, 70}, {"preadv2", 327, 286}, {"pwritev2", 328, 287},
	{"openat", 257, 56}, {"openat2", 437, 437}, {"creat", 85, none}, {"access", 21, none}, {"faccessat", 269, 48},
	{"faccessat2", 439, 439}, {"dup", 32, 23}, {"dup2", 33, none}, {"dup3", 292, 24}, {"fcntl", 72, 25}, {"flock", 73, 32},
	{"fsync", 74, 82}, {"fdatasync", 75, 83}, {"sync", 162, 81}, {"syncfs", 306, 267}, {"sync_file_range", 277, 84},
	{"truncate", 76, 45}, {"ftruncate", 77, 46}, {"fallocate", 285, 47}, {"fadvise64", 221, 223}, {"readahead", 187, 213},
	{"getdents", 78, none}, {"getdents64", 217, 61}, {"getcwd", 79, 17}, {"chdir", 80, 49}, {"fchdir", 81, 50},
	{"rename", 82, none}, {"renameat", 264, 38}, {"renameat2", 316, 276}, {"mkdir", 83, none}, {"mkdirat", 258, 34},
	{"rmdir", 84, none}, {"link", 86, none}, {"linkat", 265, 37}, {"unlink", 87, none}, {"unlinkat", 263, 35},
	{"symlink", 88, none}, {"symlinkat", 266, 36}, {"readlink", 89, none}, {"readlinkat", 267, 78}, {"mknod", 133, none},
	{"mknodat", 259, 33}, {"chmod", 90, none}, {"fchmod", 91, 52}, {"fchmodat", 268, 53}, {"fchmodat2", 452, 452},
	{"chown", 92, none}, {"fchown", 93, 55}, {"lchown", 94, none}, {"fchownat", 260, 54}, {"umask", 95, 166}, {"utime", 132, none},
	{"utimes", 235, none}, {"futimesat", 261, none}, {"utimensat", 280, 88}, {"statfs", 137, 43}, {"fstatfs", 138, 44},
	{"close_range", 436, 436},

	// Extended attributes: cp -a, tar, rsync. The newest ones are tried by coming
	// versions of the same programs.
	{"setxattr", 188, 5}, {"lsetxattr", 189, 6}, {"fsetxattr", 190, 7}, {"setxattrat", 463, 463}, {"getxattr", 191, 8},
	{"lgetxattr", 192, 9}, {"fgetxattr", 193, 10}, {"getxattrat", 464, 464}, {"listxattr", 194, 11}, {"llistxattr", 195, 12},
	{"flistxattr", 196, 13}, {"listxattrat", 465, 465}, {"removexattr", 197, 14}, {"lremovexattr", 198, 15},
	{"fremovexattr", 199, 16}, {"removexattrat", 466, 466},

	// Copying inside the kernel: cp, cat and the standard libraries of Go, Python
	// and Rust. vmsplice(2) is not among it.
	{"sendfile", 40, 71}, {"copy_file_range", 326, 285}, {"splice", 275, 76}, {"tee", 276, 77},

	// Waiting, and what is waited for.
	{"pipe", 22, none}, {"pipe2", 293, 59}, {"poll", 7, none}, {"ppoll", 271, 73}, {"select", 23, none}, {"pselect6", 270, 72},
	{"epoll_create", 213, none}, {"epoll_create1", 291, 20}, {"epoll_ctl", 233, 21}, {"epoll_wait", 232, none},
	{"epoll_pwait", 281, 22}, {"epoll_pwait2", 441, 441}, {"eventfd", 284, none}, {"eventfd2", 290, 19}, {"signalfd", 282, none},
	{"signalfd4", 289, 74}, {"timerfd_create", 283, 85}, {"timerfd_settime", 286, 86}, {"timerfd_gettime", 287, 87},
	{"inotify_init", 253, none}, {"inotify_init1", 294, 26}, {"inotify_add_watch", 254, 27}, {"inotify_rm_watch", 255, 28},

	// Memory. pkey_* protect the code that V8 writes; mseal and map_shadow_stack
	// harden newer C libraries. memfd_create is behind multiprocessing, ZGC and
	// Wayland.
	{"mmap", 9, 222}, {"mprotect", 10, 226}, {"munmap", 11, 215}, {"brk", 12, 214}, {"mremap", 25, 216}, {"msync", 26, 227},
	{"mincore", 27, 232}, {"madvise", 28, 233}, {"mlock", 149, 228}, {"mlock2", 325, 284}, {"munlock", 150, 229},
	{"mlockall", 151, 230}, {"munlockall", 152, 231}, {"pkey_mprotect", 329, 288}, {"pkey_alloc", 330, 289},
	{"pkey_free", 331, 290}, {"memfd_create", 319, 279}, {"mseal", 462, 462}, {"map_shadow_stack", 453, 453},
	{"membarrier", 324, 283},

	// Signals.
	{"rt_sigaction", 13, 134}, {"rt_sigprocmask", 14, 135}, {"rt_sigreturn", 15, 139}, {"rt_sigpending", 127, 136},
	{"rt_sigtimedwait", 128, 137}, {"rt_sigqueueinfo", 129, 138}, {"rt_tgsigqueueinfo", 297, 240}, {"rt_sigsuspend", 130, 133},
	{"sigaltstack", 131, 132}, {"restart_syscall", 219, 128}, {"kill", 62, 129}, {"tkill", 200, 130}, {"tgkill", 234, 131},
	{"pause", 34, none},

	// Processes and threads. musl asks by get_robust_list whether there are robust
	// mutexes. rseq_slice_yield gives back what an rseq area was granted.
	{"fork", 57, none}, {"vfork", 58, none}, {"execve", 59, 221}, {"execveat", 322, 281}, {"exit", 60, 93}, {"exit_group", 231, 94},
	{"wait4", 61, 260}, {"waitid", 247, 95}, {"pidfd_open", 434, 434}, {"pidfd_send_signal", 424, 424}, {"futex", 202, 98},
	{"set_robust_list", 273, 99}, {"get_robust_list", 274, 100}, {"set_tid_address", 218, 96}, {"arch_prctl", 158, none},
	{"prctl", 157, 167}, {"rseq", 334, 293}, {"rseq_slice_yield", 471, 471}, {"getpid", 39, 172}, {"gettid", 186, 178},
	{"getppid", 110, 173}, {"getpgid", 121, 155}, {"setpgid", 109, 154}, {"getpgrp", 111, none}, {"getsid", 124, 156},
	{"setsid", 112, 157},

	// What the kernel itself makes a program call that is traced by probes.
	{"uretprobe", 335, none}, {"uprobe", 336, none},

	// Identity. To change it takes a capability that a command does not have; to
	// set what is in force already does not, and many do.
	{"getuid", 102, 174}, {"geteuid", 107, 175}, {"getgid", 104, 176}, {"getegid", 108, 177}, {"getresuid", 118, 148},
	{"getresgid", 120, 150}, {"getgroups", 115, 158}, {"setuid", 105, 146}, {"setgid", 106, 144}, {"setreuid", 113, 145},
	{"setregid", 114, 143}, {"setresuid", 117, 147}, {"setresgid", 119, 149}, {"capget", 125, 90}, {"capset", 126, 91},

	// Limits, priority and accounts.
	{"getrlimit", 97, 163}, {"setrlimit", 160, 164}, {"getrusage", 98, 165}, {"times", 100, 153}, {"sysinfo", 99, 179},
	{"uname", 63, 160}, {"getpriority", 140, 141}, {"ioprio_get", 252, 31}, {"getcpu", 309, 168}, {"sched_yield", 24, 124},
	{"sched_getaffinity", 204, 123}, {"sched_getparam", 143, 121},
	{"sched_getscheduler", 145, 120}, {"sched_getattr", 315, 275}, {"sched_get_priority_max", 146, 125},
	{"sched_get_priority_min", 147, 126}, {"sched_rr_get_interval", 148, 127},

	// Time.
	{"time", 201, none}, {"gettimeofday", 96, 169}, {"clock_gettime", 228, 113}, {"clock_getres", 229, 114},
	{"clock_nanosleep", 230, 115}, {"nanosleep", 35, 101}, {"alarm", 37, none}, {"getitimer", 36, 102}, {"setitimer", 38, 103},
	{"timer_create", 222, 107}, {"timer_settime", 223, 110}, {"timer_gettime", 224, 108}, {"timer_getoverrun", 225, 109},
	{"timer_delete", 226, 111},

	// Sockets; socket(2) and socketpair(2) are among calls.
	{"connect", 42, 203}, {"accept", 43, 202}, {"accept4", 288, 242}, {"bind", 49, 200}, {"listen", 50, 201}, {"sendto", 44, 206},
	{"recvfrom", 45, 207}, {"sendmsg", 46, 211}, {"recvmsg", 47, 212}, {"sendmmsg", 307, 269}, {"recvmmsg", 299, 243},
	{"shutdown", 48, 210}, {"getsockname", 51, 204}, {"getpeername", 52, 205}, {"getsockopt", 55, 209}, {"setsockopt", 54, 208},

	// Random numbers, and sandboxes inside this one.
	{"getrandom", 318, 278}, {"seccomp", 317, 277}, {"landlock_create_ruleset", 444, 444}, {"landlock_add_rule", 445, 445},
	{"landlock_restrict_self", 446, 446},
}

// allowed is a system call with its number on each architecture.
type allowed struct {
	name         string
	amd64, arm64 int16
}

func (a *allowed) number(arch string) int16 {
	if arch == "arm64" {
		return a.arm64
	}
	return a.amd64
}

// unusual is what level strict refuses beyond calls. A call that is on none of
// the three lists is refused as well, with ENOSYS; a test sees to it that none
// is left out by mistake.
var unusual = [...]call{
	// Calls that never were more than a number, or have left the kernel.
	{"_sysctl", 156, none, enosys, inStrict},
	{"afs_syscall", 183, none, enosys, inStrict},
	{"arch_specific_syscall", none, 244, enosys, inStrict},
	{"epoll_ctl_old", 214, none, enosys, inStrict},
	{"epoll_wait_old", 215, none, enosys, inStrict},
	{"get_thread_area", 211, none, enosys, inStrict},
	{"getpmsg", 181, none, enosys, inStrict},
	{"putpmsg", 182, none, enosys, inStrict},
	{"security", 185, none, enosys, inStrict},
	{"set_thread_area", 205, none, enosys, inStrict},
	{"sysfs", 139, none, enosys, inStrict},
	{"tuxcall", 184, none, enosys, inStrict},
	{"uselib", 134, none, enosys, inStrict},
	{"ustat", 136, none, enosys, inStrict},
	{"vserver", 236, none, enosys, inStrict},
	{"remap_file_pages", 216, 234, enosys, inStrict},

	// libaio's calls, which databases and emulators do without. ENOSYS is
	// CONFIG_AIO=n.
	{"io_setup", 206, 0, enosys, inStrict},
	{"io_destroy", 207, 1, enosys, inStrict},
	{"io_submit", 209, 2, enosys, inStrict},
	{"io_cancel", 210, 3, enosys, inStrict},
	{"io_getevents", 208, 4, enosys, inStrict},
	{"io_pgetevents", 333, 292, enosys, inStrict},

	// ENOSYS is CONFIG_NUMA=n: numa_available(3) then says that there is none.
	{"mbind", 237, 235, enosys, inStrict},
	{"set_mempolicy", 238, 237, enosys, inStrict},
	{"get_mempolicy", 239, 236, enosys, inStrict},
	{"set_mempolicy_home_node", 450, 450, enosys, inStrict},
	{"migrate_pages", 256, 238, enosys, inStrict},
	{"move_pages", 279, 239, enosys, inStrict},

	// Hands the pages of a process over to a pipe, and had bugs; its users write(2)
	// instead.
	{"vmsplice", 278, 75, enosys, inStrict},

	// Newer than their alternatives, to which their users go back: futex(2),
	// mincore(2), mlock(2), ioctl(2), /proc/self/attr, SIGKILL alone. Handles to
	// files are of no use without open_by_handle_at(2), and its users know of file
	// systems that have none.
	{"futex_waitv", 449, 449, enosys, inStrict},
	{"futex_wake", 454, 454, enosys, inStrict},
	{"futex_wait", 455, 455, enosys, inStrict},
	{"futex_requeue", 456, 456, enosys, inStrict},
	{"cachestat", 451, 451, enosys, inStrict},
	{"memfd_secret", 447, 447, enosys, inStrict},
	{"file_getattr", 468, 468, enosys, inStrict},
	{"file_setattr", 469, 469, enosys, inStrict},
	{"lsm_get_self_attr", 459, 459, enosys, inStrict},
	{"lsm_set_self_attr", 460, 460, enosys, inStrict},
	{"lsm_list_modules", 461, 461, enosys, inStrict},
	{"listns", 470, 470, enosys, inStrict},
	{"process_mrelease", 448, 448, enosys, inStrict},
	{"name_to_handle_at", 303, 264, enosys, inStrict},

	// The kernel asks for a privilege in these, and EPERM is its own answer. So do
	// sched_setparam, sched_setscheduler and sched_setattr, which are in calls: without
	// one a policy other than real-time may be set, which does more harm to others
	// than good to the caller.
	{"adjtimex", 159, 171, eperm, inStrict},
	{"clock_adjtime", 305, 266, eperm, inStrict},
	{"setgroups", 116, 159, eperm, inStrict},
	{"setfsuid", 122, 151, eperm, inStrict},
	{"setfsgid", 123, 152, eperm, inStrict},
}
