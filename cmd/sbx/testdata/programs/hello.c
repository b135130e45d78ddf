/* What C programs do with the kernel, by whichever C library. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define must(x) do { if (!(x)) { fprintf(stderr, "%d: %s: %s\n", __LINE__, #x, strerror(errno)); exit(1); } } while (0)

extern char **environ;
static pthread_mutex_t mutex;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int ready;
static void nothing(int n) { (void)n; }
static void nothing_of(union sigval v) { (void)v; }

static void *thread(void *p)
{
	pthread_mutex_lock(&mutex);
	ready = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
	return p;
}

int main(void)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	must(!pthread_mutex_init(&mutex, &attr));
	pthread_t t;
	must(!pthread_create(&t, 0, thread, 0));
	pthread_mutex_lock(&mutex);
	while (!ready)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	cpu_set_t cpus;
	pthread_getaffinity_np(pthread_self(), sizeof cpus, &cpus);
	must(!pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus));
	must(!pthread_join(t, 0));

	signal(SIGUSR1, nothing);
	must(!raise(SIGUSR1));
	must(!pthread_kill(pthread_self(), SIGUSR1));
	must(!sigqueue(getpid(), SIGUSR1, (union sigval){0}));

	int status;
	pid_t pid;
	char *args[] = {"true", 0};
	must(!posix_spawnp(&pid, "true", 0, 0, args, environ) && waitpid(pid, &status, 0) == pid && !status);
	must(system("exit 3") == 3 << 8);
	FILE *p = popen("cat", "w");
	must(p && !pclose(p));
	if (!(pid = vfork()))
		_exit(0);
	siginfo_t info;
	must(!waitid(P_PID, pid, &info, WEXITED));

	char name[4096], buf[100] = "";
	snprintf(name, sizeof name, "%s/c-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	int fd = mkstemp(name);
	must(fd >= 0 && !unlink(name) && write(fd, "hello", 5) == 5 && !fsync(fd) && !ftruncate(fd, 8192));
	must(pwrite(fd, "J", 1, 0) == 1 && pread(fd, buf, 5, 0) == 5 && !strcmp(buf, "Jello"));
	must(!posix_fallocate(fd, 0, 10000) && !posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	must(!flock(fd, 2) && !fchmod(fd, 0600) && !futimens(fd, 0));
	char *m = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(m != MAP_FAILED && !msync(m, 8192, MS_SYNC) && !mprotect(m, 8192, PROT_READ) && !madvise(m, 8192, MADV_WILLNEED));
	must((m = mremap(m, 8192, 4096, 0)) != MAP_FAILED && !munmap(m, 4096));
	int memory = memfd_create("x", MFD_CLOEXEC);
	off_t zero = 0, end = 10000;
	must(memory >= 0 && sendfile(memory, fd, &zero, 5) == 5 && !(zero = 0) && copy_file_range(fd, &zero, fd, &end, 5, 0) == 5);
	int reduced = getenv("SBX_TIER") && !strcmp(getenv("SBX_TIER"), "reduced");
	if (!reduced) { /* it has no /dev/shm */
		int shm = shm_open("/c-test", O_CREAT | O_RDWR, 0600);
		must(shm >= 0 && !shm_unlink("/c-test"));
		sem_t *sem = sem_open("/c-test", O_CREAT, 0600, 1);
		must(sem != SEM_FAILED && !sem_wait(sem) && !sem_close(sem) && !sem_unlink("/c-test"));
	}
	DIR *d = opendir(reduced ? "/usr" : "/");
	must(d && readdir(d) && !closedir(d));
	struct statvfs vfs;
	struct sysinfo sys;
	struct stat st;
	must(!statvfs("/", &vfs) && !sysinfo(&sys) && !fstatat(AT_FDCWD, "/", &st, 0) && !faccessat(AT_FDCWD, "/", R_OK, AT_EACCESS));

	int e = epoll_create1(0), ev = eventfd(1, 0), tm = timerfd_create(CLOCK_MONOTONIC, 0), in = inotify_init1(IN_CLOEXEC);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	int sig = signalfd(-1, &set, 0);
	struct epoll_event event = {.events = EPOLLIN};
	must(e >= 0 && ev >= 0 && tm >= 0 && in >= 0 && sig >= 0 && inotify_add_watch(in, "/", IN_CREATE) >= 0);
	must(!epoll_ctl(e, EPOLL_CTL_ADD, ev, &event) && epoll_wait(e, &event, 1, 1000) == 1);
	struct pollfd pfd = {ev, POLLIN, 0};
	struct timespec ms = {0, 1000000};
	must(poll(&pfd, 1, 0) == 1 && ppoll(&pfd, 1, &ms, 0) == 1 && !nanosleep(&ms, 0) && !clock_nanosleep(CLOCK_MONOTONIC, 0, &ms, 0));
	timer_t timer;
	struct sigevent how = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = nothing_of};
	struct itimerspec soon = {{0, 0}, {0, 1}};
	must(!timer_create(CLOCK_MONOTONIC, &how, &timer) && !timer_settime(timer, 0, &soon, 0) && !timer_delete(timer));
	must(!sigprocmask(SIG_BLOCK, &set, 0) && sigtimedwait(&set, 0, &ms) == -1 && errno == EAGAIN);
	alarm(0);

	struct addrinfo *found;
#ifdef __GLIBC__ /* musl waits long for the answer */
	getaddrinfo("name.invalid", "80", 0, &found);
#endif
	must(!getaddrinfo("127.0.0.1", "80", 0, &found));
	int s[2];
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, s) && send(s[0], "x", 1, 0) == 1 && recv(s[1], buf, 1, 0) == 1 && !shutdown(s[0], 2));
	struct rlimit limit;
	must(!getrlimit(RLIMIT_NOFILE, &limit) && !setrlimit(RLIMIT_NOFILE, &limit));
	struct rusage usage;
	must(!getrusage(RUSAGE_SELF, &usage) && nice(1) != -1 && getentropy(buf, 8) == 0);
	must(!mlock(buf, 1) && sched_get_priority_max(SCHED_FIFO) > 0 && sched_getcpu() >= 0);
	puts("all of it works");
	return 0;
}
