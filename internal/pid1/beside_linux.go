// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// besideName is the first argument by which sbx knows that it is to be the parent of
// a command that has no namespace of processes; the second is the number of the
// descriptor with the configuration, and the command follows.
const besideName = "--parent-of-sandbox"

const (
	setSubreaper = 36         // PR_SET_CHILD_SUBREAPER
	wAll         = 0x40000000 // __WALL of wait4(2)
	wNoWait      = 0x01000000 // WNOWAIT
	killTime     = 10e9       // how long processes may withstand being killed, in nanoseconds
)

// Stay makes this process the parent of a command where there is no process 1: it
// executes sbx again in this process, with all signals blocked. It returns only when
// that fails.
func Stay(cfg *InitConfig, env []string) error {
	words := append([]string{"sbx", besideName, ""}, cfg.Argv...)
	cfg.Argv = nil
	BeforeExec()
	cfg.Mask = setMask(2, everySignal)
	defer setMask(2, cfg.Mask)
	name := [...]byte{'s', 'b', 'x', 0}
	fd, _, errno := syscall.RawSyscall(memfdCreate, uintptr(unsafe.Pointer(&name)), 0, 0)
	if errno != 0 {
		return errno
	}
	if _, err := syscall.Write(int(fd), cfg.Encode()); err != nil {
		return err
	}
	words[2] = strconv.Itoa(int(fd))
	return syscall.Exec("/proc/self/exe", words, env)
}

// beside is the parent of a command that shares its process group. What the terminal
// or a shell sends to the group reaches the command by itself, and what is sent to
// this process alone is passed on. A witness in the same group tells one from the
// other: it does nothing but keep the signals that it gets pending.
type beside struct {
	config   *InitConfig
	epoll    int
	pid      int // of the command
	witness  int // 0 is none
	status   syscall.WaitStatus
	ended    bool
	told     uint64 // signals that the whole group was sent
	expires  int64  // when the time is up; 0 is never
	deadline int64  // when whatever still runs is killed; 0 is never
	timedOut bool
	woke     bool // something woke this process,
	reaped   bool // and it was a child
	small    bool // see supervisor
}

// besideForward are the signals that are passed on: not those of the kernel's own
// about this process, nor the one that the Go runtime sends itself.
const besideForward = everySignal &^ (1<<(sigKILL-1) | 1<<(sigSTOP-1) | 1<<(sigCHLD-1) | 1<<(marker-1) |
	1<<(4-1) | 1<<(5-1) | 1<<(7-1) | 1<<(8-1) | 1<<(11-1) | 1<<(13-1) | 1<<(16-1) | 1<<(23-1) | 1<<(24-1) | 1<<(25-1) | 1<<(27-1))

// stopSignals are those that stop a process and can be caught.
const stopSignals = uint64(1<<(sigTSTP-1) | 1<<(sigTTIN-1) | 1<<(sigTTOU-1))

// runBeside is the parent; args are as for [Run].
func runBeside(args []string) int {
	cfg, err := readConfig(args[1])
	if err != nil || cfg.Group != Beside || len(args) < 3 {
		return failed("parent: no configuration")
	}
	cfg.Argv = args[2:]
	prctl(syscall.PR_SET_DUMPABLE, 0)
	prctl(setSubreaper, 1)
	for _, fd := range append(cfg.Held, max(cfg.Wall, 3)) {
		_, _ = fcntl(fd, syscall.F_SETFD, syscall.FD_CLOEXEC)
	}
	defaults()
	setMask(2, everySignal)
	atomic.StoreUint32(&anyone, 1)
	catch()
	b := &beside{config: cfg}
	if err := b.listen(); err != nil {
		return failed("parent: " + err.Error())
	}
	w, err := cfg.restrictions()
	if err == nil {
		err = b.start(w)
	}
	if err != nil {
		return b.after(refused(cfg, err) << 8)
	}
	for b.reap(); !b.ended; b.reap() {
		b.clock()
		if !b.signals() {
			b.wait()
		}
	}
	return b.after(b.finish())
}

// listen makes signals wake this process: see [PrepareParent].
func (b *beside) listen() (err error) {
	if b.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return err
	}
	fd, err := signalfd(bit(marker))
	if err == nil {
		err = watch(b.epoll, fd)
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(syscall.Getpid()), uintptr(syscall.Gettid()), marker)
	b.config.Held = append(b.config.Held, b.epoll, fd)
	return err
}

func (b *beside) start(w restrictions) (err error) {
	cfg := b.config
	giveBackFiles()
	c := &child{path: cfg.Path, argv: cfg.Argv, env: syscall.Environ(), group: Beside, mask: cfg.Mask,
		rlimits: cfg.Rlimits, restrictions: w}
	if b.pid, err = c.start(); err == syscall.ENOEXEC && !isELF(c.path) {
		c.path, c.argv = shell, viaShell(cfg.Path, cfg.Argv)
		b.pid, err = c.start()
	}
	if err != nil {
		return err
	}
	if cfg.Limit > 0 {
		b.expires = now() + int64(cfg.Limit*1e9)
	}
	for _, step := range closeAllBut(append([]int{2}, cfg.Held...)...) { // as in [supervisor.start]
		step.do()
	}
	b.renew()
	return nil
}

// witnessState is what the witness reads: see watchdogState.
var witnessState [16]step

// renew starts a new witness in place of one that has signals pending.
func (b *beside) renew() {
	b.dismiss()
	steps := append([]step{newStep(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, sigKILL)}, closeAllBut()...)
	steps = append(steps, newStep(syscall.SYS_PPOLL))
	if n := copy(witnessState[:], steps); n == len(steps) {
		pid, _ := run(cloneVM, &witnessState[0], uintptr(n))
		b.witness = int(pid)
	}
}

func (b *beside) dismiss() {
	if b.witness > 0 {
		_ = syscall.Kill(b.witness, syscall.SIGKILL)
		reapOne(b.witness)
		b.witness = 0
	}
}

// shared are the signals that the whole group was sent.
func (b *beside) shared() uint64 {
	if b.witness == 0 {
		return 0
	}
	text, _ := procfs.Head("/proc/"+strconv.Itoa(b.witness)+"/status", 4096)
	return parseStatus(text).pending
}

// signals passes on what was sent to this process alone, and reports whether there
// was something.
func (b *beside) signals() bool {
	set := b.taken()
	if set == 0 && b.woke && !b.reaped { // see woken in supervisor_linux.go
		sleep(1e6)
		set = b.taken()
	}
	if b.woke = false; set == 0 {
		return false
	}
	group := b.shared() & set
	if group != set { // a group's members are reached one after another
		sleep(1e6)
		group = b.shared() & set
	}
	if group != 0 {
		b.told |= group
		b.renew()
	}
	for n := 1; n <= lastRT; n++ {
		if bit(n)&set&^group != 0 {
			_ = syscall.Kill(b.pid, syscall.Signal(n))
		}
	}
	return true
}

func (b *beside) taken() (set uint64) {
	set = atomic.SwapUint64(&caught, 0)
	for range 64 {
		n, _ := takePending(besideForward)
		if n == 0 {
			break
		}
		set |= bit(n)
	}
	return set & besideForward
}

// reap waits for children, and stops with the command.
func (b *beside) reap() {
	b.reaped = false
	takePending(bit(sigCHLD)) // while one is pending, the next wakes no one
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG|syscall.WUNTRACED|wAll, nil)
		if err != syscall.EINTR && pid <= 0 {
			return
		}
		b.reaped = true
		switch {
		case err == syscall.EINTR:
		case pid == b.witness && !ws.Stopped():
			b.witness = 0
		case pid != b.pid:
		case ws.Stopped():
			b.stop(int(ws.StopSignal()))
		default:
			b.ended, b.status = true, ws
		}
	}
}

// stop stops this process as the command was, so that the caller's shell sees it, and
// returns when it was continued.
func (b *beside) stop(by int) {
	s := supervisor{pid: b.pid}
	if bit(by)&stopSignals == 0 {
		by = sigSTOP
	}
	takePending(bit(by) & stopSignals) // what the group was sent
	if s.moved() {
		return
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(syscall.Getpid()), uintptr(syscall.Gettid()), uintptr(by))
	setMask(1, bit(by))
	setMask(0, bit(by))
}

// clock ends the command when its time is up.
func (b *beside) clock() {
	switch t := now(); {
	case b.deadline > 0 && t >= b.deadline:
		b.kill(sigKILL)
	case b.expires > 0 && t >= b.expires:
		b.expires, b.timedOut, b.deadline = 0, true, t+graceTime
		b.kill(sigTERM)
		b.kill(sigCONT)
		where := " in sandbox"
		if b.config.Leaves {
			where = ""
		}
		say("error: Command timed out after " + seconds(b.config.Limit) + "s" + where)
	}
}

// wait sleeps until something may have happened.
func (b *beside) wait() {
	t := now()
	ns := sooner(-1, b.expires > 0, b.expires-t)
	ns = sooner(ns, b.deadline > 0, max(b.deadline-t, 10e6))
	ns = sooner(ns, !b.small, shrinkAfter)
	if b.woke = b.woken(ns); !b.woke && !b.small {
		shrink()
		b.small = true
	}
}

func (b *beside) woken(ns int64) bool {
	var ev [1]syscall.EpollEvent
	ms := -1
	if ns >= 0 {
		ms = int((ns + 999999) / 1000000)
	}
	n, _ := syscall.EpollWait(b.epoll, ev[:], ms)
	return n > 0
}

// finish ends what the command left, as the end of a namespace would, and returns
// the wait status.
func (b *beside) finish() int {
	b.signals() // what came together with its death
	b.dismiss()
	n := 0
	if b.status.Signaled() {
		n = int(b.status.Signal())
	}
	if b.timedOut || n > 0 && bit(n)&endSignals&b.told != 0 { // see awaitGroup
		for until := now() + groupTime; children() && now() < until; {
			b.woken(20e6)
		}
	}
	if (b.timedOut || !b.config.Leaves) && children() && !b.killAll() {
		say("warning: processes of the command could not be ended, and go on")
	}
	if b.timedOut {
		return statusTimeout << 8
	}
	return int(b.status) & 0xffff
}

// children reaps who has ended, and reports whether a process is left.
func children() bool {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG|wAll, nil)
		if err != syscall.EINTR && pid <= 0 {
			return err == nil
		}
	}
}

// killAll kills until no process of the command is left. Whatever the parent of one
// was, it comes to this process when that ends: when there is no child, there is none.
func (b *beside) killAll() bool {
	for until := now() + killTime; children(); {
		if now() > until {
			return false
		}
		if !b.kill(sigKILL) {
			killChildren()
		}
		b.woken(2e6)
	}
	return true
}

// kill sends a signal to all processes of the command, and reports whether it saw one.
func (b *beside) kill(sig int) bool {
	pids, _ := procfs.Processes()
	parents := make([]int, len(pids))
	for i, pid := range pids {
		text, _ := procfs.Head("/proc/"+strconv.Itoa(pid)+"/stat", 1024)
		parents[i] = parseParent(text)
	}
	own := []int{syscall.Getpid()}
	for i := 0; i < len(own); i++ {
		for k, pid := range pids {
			if parents[k] == own[i] && pid != b.witness && !slices.Contains(own, pid) {
				own = append(own, pid)
			}
		}
	}
	for _, pid := range own[1:] {
		_ = syscall.Kill(pid, syscall.Signal(sig))
	}
	return len(own) > 1
}

// parseParent reads the parent's number in proc_pid_stat(5): the second field after
// the name, which may hold anything.
func parseParent(text string) int {
	i := len(text)
	for i > 0 && text[i-1] != ')' {
		i--
	}
	n, _ := numberAfter(text[min(i+2, len(text)):], " ")
	return n
}

// killChildren kills children that /proc does not show (hidepid): the kernel says of
// each number whether it is one.
func killChildren() {
	last, _ := strconv.Atoi(procfs.Line("/proc/sys/kernel/pid_max"))
	for pid := 2; pid <= last; pid++ {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_WAITID, pPid, uintptr(pid), 0,
			syscall.WNOHANG|syscall.WEXITED|wNoWait|wAll, 0, 0)
		if errno == 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// after ends this process as the command ended, or leaves that to what comes before.
func (b *beside) after(status int) int {
	b.dismiss()
	if b.config.After == nil {
		return Die(status)
	}
	Ended = append(b.config.After, strconv.Itoa(status))
	syscall.Clearenv()
	for range 2 { // standard input and output were closed
		_, _ = syscall.Open("/dev/null", syscall.O_RDWR, 0)
	}
	return 0
}

// Die gives the exit status of a wait status, or dies of the same signal.
func Die(status int) int {
	ws := syscall.WaitStatus(status)
	if !ws.Signaled() {
		return ws.ExitStatus()
	}
	var none sigaction
	n := int(ws.Signal())
	rtSigaction(n, &none, nil)
	_, _, _ = syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(syscall.Getpid()), uintptr(syscall.Gettid()), uintptr(n))
	setMask(1, bit(n))
	return 128 + n
}
