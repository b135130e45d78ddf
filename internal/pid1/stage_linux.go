package pid1

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Exit statuses of the stage's own, as env(1) and timeout(1) have them.
const (
	statusTimeout  = 124
	statusFailed   = 125
	statusNoExec   = 126
	statusNotFound = 127
)

// grace is how long a command may clean up after it was told to end, in
// nanoseconds.
const grace = 5e9

// Run is the stage: args are [Name], the number of the descriptor with the
// order, and the command. It returns the exit status.
func Run(args []string) int {
	fd, ok := atou(args[1])
	if !ok || fd >= maxFD {
		return broken("the number of a descriptor")
	}
	data, err := readAll(int(fd))
	if err != nil {
		return broken(err.Error())
	}
	_ = syscall.Close(int(fd))
	o, err := decode(data)
	if err != nil {
		return broken(err.Error())
	}
	o.Wires.giveBack()
	if o.Argv == nil {
		o.Argv = args[2:]
	}
	if len(o.Argv) == 0 {
		return broken("no command")
	}
	if !asPlanned(o.Expected) {
		return statusFailed
	}
	if err := o.reopen(); err != nil {
		return broken(err.Error())
	}
	w, err := o.walls()
	if err != nil {
		return broken(err.Error())
	}
	if o.Group == Look {
		exit(refused(o, become(o.Path, o.Argv, syscall.Environ(), w)))
	}
	return serve(o, w)
}

func broken(why string) int {
	say("error: Failed to initialize sandbox: the stage: " + why)
	return statusFailed
}

// Confine puts a ruleset and filters around this process and makes it the
// command. It returns only when that fails: with a [syscall.Errno] when it was
// the execution, and with another error when a wall could not be put up.
func Confine(path string, argv, env []string, ruleset int, filters ...[]byte) error {
	return become(path, argv, env, walls{landlock: true, ruleset: ruleset, filters: filters})
}

// become replaces this process by the command. From the filter on nothing but
// execve is called, by the thread that has it.
func become(path string, argv, env []string, w walls) error {
	command, err := newImage(path, argv, env)
	if err != nil {
		return err
	}
	script, err := newImage(shell, viaShell(path, argv), env)
	if err != nil {
		return err
	}
	giveBackFiles()
	BeforeExec()
	var steps []step
	add := func(nr uintptr, args ...uintptr) { steps = append(steps, newStep(nr, args)) }
	w.before(add)
	w.last(add)
	execCommand, execScript := command.step(), script.step()
	beforeExec()
	for i := range steps {
		if errno := steps[i].do(); errno != 0 {
			afterExec()
			return &setupError{steps[i].nr, errno}
		}
	}
	errno := execCommand.do()
	if errno == syscall.ENOEXEC {
		errno = execScript.do()
	}
	afterExec()
	runtime.KeepAlive(command)
	runtime.KeepAlive(script)
	return errno
}

// giveBackFiles gives this process the limit on open files back that package
// syscall raised when the program started, and that only syscall.Exec knows: it
// does so before it executes, and here there is nothing to execute.
func giveBackFiles() { _ = syscall.Exec("", []string{""}, nil) }

const shell = "/bin/sh"

// viaShell are the words for a script without an interpreter in its first line,
// which every shell, and execvp(3), hands to sh.
func viaShell(path string, argv []string) []string {
	return append([]string{shell, path}, argv[1:]...)
}

// refused says why the command could not be executed.
func refused(o *Order, err error) int {
	if e, ok := err.(*setupError); ok {
		return broken(e.Error())
	}
	say("error: " + plain(o.Argv[0]) + ": " + err.Error())
	if err == syscall.ENOENT {
		return statusNotFound
	}
	return statusNoExec
}

// readAll reads a file in memory, whose offset may be anywhere.
func readAll(fd int) ([]byte, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, err
	}
	data := make([]byte, st.Size)
	for off := 0; off < len(data); {
		n, err := syscall.Pread(fd, data[off:], int64(off))
		if err == syscall.EINTR {
			continue
		}
		if err == nil && n == 0 {
			err = syscall.EIO
		}
		if err != nil {
			return nil, err
		}
		off += n
	}
	return data, nil
}

// stage is process 1 while the command runs.
type stage struct {
	order   *Order
	outer   outer
	forward uint64
	courier courier
	masks   masks
	tty     int
	pid     int // of the command

	stopped  bool  // the command is
	mirrored bool  // the outer process was stopped since the command was
	frozen   bool  // by the stage, since the outer process was stopped
	behind   bool  // it goes on in the background: look now and then whether it got the terminal
	expires  int64 // when the time is up; 0 is never
	deadline int64 // when whatever still runs is killed; 0 is never
	timedOut bool
	told     uint64 // signals that the whole group was sent
	ended    bool
	status   syscall.WaitStatus
	killed   uint64 // for want of memory, before the command started
	doubt    bool   // something woke the stage
	reaped   bool   // and it was a child
	small    bool   // the stage has given back the memory that starting took
	poll     int64  // ns between two looks when nothing wakes; 0 is for ever
}

// serve starts the command, waits for it and returns the exit status.
func serve(o *Order, w walls) int {
	runtime.LockOSThread()
	held := Held(o.Group, o.Limit > 0)
	s := &stage{order: o, forward: held &^ bit(marker), tty: -1}
	s.outer = outer{wires: o.Wires, blocked: held | o.Mask}
	// Nothing inside may look into this process, nor use what it has open.
	prctl(prSetDumpable, 0)
	for _, w := range o.Wires.fields() {
		_, _ = fcntl(*w.fd, syscall.F_SETFD, syscall.FD_CLOEXEC)
	}
	if o.OOM >= 0 {
		_, _ = fcntl(o.OOM, syscall.F_SETFD, syscall.FD_CLOEXEC)
	}
	if o.Group == Front {
		var err error
		if s.tty, err = syscall.Open("/dev/tty", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0); err != nil {
			o.Group = Shared
		}
	}
	// With the outer process everything ends, and the kernel sees to it.
	prctl(prSetPdeathsig, sigKILL)
	if s.outer.state().gone {
		return 128 + sigKILL
	}
	s.outer.relieve()
	// A signal without a handler never ends process 1, whoever in its namespace
	// sends it.
	defaults()
	setMask(2, everySignal)
	catch()
	s.killed = s.kills()
	if !s.masks.open(o) {
		return statusFailed
	}
	if status, err := s.start(w); err != nil {
		return status
	}
	s.listen()
	for s.look(); !s.ended; s.look() {
		s.wait()
	}
	s.linger()
	return s.finish()
}

// start starts the command.
func (s *stage) start(w walls) (int, error) {
	o := s.order
	giveBackFiles()
	c := &child{path: o.Path, argv: o.Argv, env: syscall.Environ(), group: o.Group, tty: s.tty, mask: o.Mask, rlimits: o.Rlimits, walls: w}
	for i := range c.rlimits {
		if c.rlimits[i].Resource == rlimitNproc { // counts threads, and those of the stage with them
			c.rlimits[i].Max += threads()
		}
		// Nobody here may raise a hard limit of the caller's.
		var now syscall.Rlimit
		if syscall.Getrlimit(c.rlimits[i].Resource, &now) == nil {
			c.rlimits[i].Max = min(c.rlimits[i].Max, now.Max)
		}
	}
	var err error
	if s.pid, err = c.start(); err == syscall.ENOEXEC {
		c.path, c.argv = shell, viaShell(o.Path, o.Argv)
		s.pid, err = c.start()
	}
	if err != nil {
		return refused(o, err), err
	}
	if o.Limit > 0 {
		s.expires = now() + int64(o.Limit*1e9)
	}
	// Of the caller's descriptors the command alone holds a copy from here on: who
	// waits for the end of a pipe does not wait for the stage.
	s.closeOthers()
	return 0, nil
}

// threads is the number of threads of this process.
func threads() uint64 {
	var buf [4096]byte
	fd, err := syscall.Open("/proc/self/status", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 8
	}
	n, _ := syscall.Read(fd, buf[:])
	_ = syscall.Close(fd)
	const key = "\nThreads:\t"
	for i := 0; i+len(key) < n; i++ {
		if string(buf[i:i+len(key)]) == key {
			end := i + len(key)
			for end < n && buf[end] != '\n' {
				end++
			}
			if k, ok := atou(string(buf[i+len(key) : end])); ok {
				return k
			}
		}
	}
	return 8
}

// closeOthers closes what is not the stage's own, standard error but for one:
// there the messages go, and the outer process holds it as well.
func (s *stage) closeOthers() {
	keep := append(s.masks.fds(), 2, s.tty, s.order.OOM)
	for _, w := range s.order.Wires.fields() {
		keep = append(keep, *w.fd)
	}
	for at := 0; ; {
		next := maxFD
		for _, fd := range keep {
			if fd >= at && fd < next {
				next = fd
			}
		}
		if next > at {
			closeRange(at, next-1)
		}
		if next == maxFD {
			return
		}
		at = next + 1
	}
}

// listen makes signals wake the stage, its own as well as the outer process's.
func (s *stage) listen() {
	w := s.outer.wires
	tid, _, _ := syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0)
	_, _, _ = syscall.RawSyscall(syscall.SYS_TGKILL, 1, tid, marker)
	if fd, err := fcntl(w.Signal, syscall.F_DUPFD_CLOEXEC, 3); err != nil || watch(w.Epoll, fd) != nil {
		s.poll = 25e6
	}
	// A kernel that gave the outer process new signal handling when it executed
	// bwrap (before Linux 5.7 it depends on timing) wakes nobody. Try.
	s.woken(0)
	s.outer.signal(marker)
	if !s.woken(0) {
		s.poll = 25e6
	}
	neverStopped()
}

// woken waits for a signal, at most for ns, for ever when that is negative.
// That one came is known a little before a handler has noted which.
func (s *stage) woken(ns int64) bool {
	var ev [2]syscall.EpollEvent
	ms := -1
	if ns >= 0 {
		ms = int((ns + 999999) / 1000000)
	}
	// Not RawSyscall: the runtime may rest meanwhile.
	n, _, _ := syscall.Syscall6(syscall.SYS_EPOLL_PWAIT, uintptr(s.outer.wires.Epoll), uintptr(unsafe.Pointer(&ev[0])), 2, uintptr(ms), 0, 0)
	s.heed()
	return int(n) > 0 && (ev[0].Fd != maskEvent || int(n) > 1)
}

// heed looks at the masks when something has happened to one.
func (s *stage) heed() {
	if s.masks.stirred(0) {
		s.masks.look()
	}
}

// nap sleeps, and heeds the masks all the same.
func (s *stage) nap(ns int64) {
	for until := now() + ns; ns > 0 && s.masks.stirred(ns); ns = until - now() {
		s.masks.look()
	}
}

// settled is how long nothing happens until the command is taken to be one that
// stays for a while, in nanoseconds: the shortest ones do not pay for tidiness.
const settled = 50e6

// wait sleeps until something may have happened.
func (s *stage) wait() {
	ns := int64(-1)
	within := func(d int64) {
		if d = max(d, 0); ns < 0 || d < ns {
			ns = d
		}
	}
	if s.expires > 0 {
		within(s.expires - now())
	}
	if s.deadline > 0 {
		within(s.deadline - now())
	}
	if s.behind {
		within(100e6)
	}
	if s.poll > 0 {
		within(s.poll)
	}
	if !s.small {
		within(settled)
	}
	s.doubt = s.woken(ns)
	if !s.doubt && !s.small {
		shrink()
		s.small = true
	}
}

// look finds out what has happened, and acts on it.
func (s *stage) look() {
	s.heed()
	s.reap()
	if s.ended {
		return
	}
	s.clock()
	s.signals()
	if s.behind && s.outer.front() {
		s.hand()
	}
}

// freeze stops the command's group when the outer process was stopped. In a
// shared group the terminal did it, to the command as well.
func (s *stage) freeze(outer state) {
	if outer.stopped && !s.stopped && !s.ended && !s.timedOut && s.order.Group != Shared {
		s.frozen = true
		s.kill(true, sigSTOP)
	}
}

// reap waits for every child, orphans of the command's included.
func (s *stage) reap() {
	s.reaped = false
	takePending(bit(sigCHLD)) // while one is pending, the next wakes nobody
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG|syscall.WUNTRACED|wContinued, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil || pid <= 0:
			return
		}
		s.reaped = true
		switch {
		case pid != s.pid:
		case ws.Stopped():
			s.stopped = true
			s.commandStopped(int(ws.StopSignal()))
		case ws.Continued():
			s.stopped = false
			if s.mirrored { // not by way of the outer process, so that goes on, too
				s.mirrored = false
				s.outer.signal(sigCONT)
			}
		default:
			s.ended, s.status = true, ws
		}
	}
}

// signals passes on what is new. What comes while the outer process is stopped
// waits with the command until both go on.
func (s *stage) signals() {
	st := s.outer.state()
	seen := sight{st.pending & s.forward, s.own()}
	if s.courier.unsure(seen) || s.doubt && seen.own == 0 && !s.reaped {
		s.nap(1e6)
		st = s.outer.state()
		seen = sight{st.pending & s.forward, seen.own | s.own()}
	}
	group, one := s.courier.take(seen)
	s.told |= group
	// A stop takes a pending SIGCONT away, also where it stops nobody itself.
	if (group|one)&bit(sigCONT) != 0 || (s.frozen || s.mirrored) && !st.stopped {
		s.resume(group&bit(sigCONT) != 0)
	}
	s.freeze(st)
	for n := 1; n <= lastRT; n++ {
		switch {
		case n == sigCONT:
		case group&bit(n) != 0 && s.order.Group != Shared:
			s.kill(true, n)
		case one&bit(n) != 0:
			s.kill(false, n)
		}
	}
}

// own takes the signals that came to this process from outside, some at a time:
// a command that sends them without end must not keep the stage from its work.
func (s *stage) own() (set uint64) {
	set = atomic.SwapUint64(&caught, 0)
	for range 64 {
		n, outside := takePending(s.forward)
		if n == 0 {
			break
		}
		if outside {
			set |= bit(n)
		}
	}
	return set & s.forward
}

// kill sends a signal to the command, or to its whole group when that is its
// own.
func (s *stage) kill(group bool, n int) {
	if group && s.order.Group != Shared && syscall.Kill(-s.pid, syscall.Signal(n)) == nil {
		return
	}
	if !s.ended {
		_ = syscall.Kill(s.pid, syscall.Signal(n))
	}
}

// commandStopped stops the outer process as the command was, so that the
// caller's shell sees it.
func (s *stage) commandStopped(by int) {
	s.behind = false
	if s.frozen {
		return
	}
	if s.order.Group == Front && (by == sigTTIN || by == sigTTOU) && s.outer.front() {
		// The shell gave the terminal to the outer process's group without a word.
		s.hand()
		s.kill(true, sigCONT)
		return
	}
	if s.order.Group == Shared {
		for range 40 { // what stopped the command reaches the outer process, too
			if s.outer.state().stopped || s.moved() {
				return
			}
			s.nap(5e6)
		}
	}
	if s.outer.state().stopped {
		s.frozen = s.order.Group != Shared
		return
	}
	if by != sigTSTP && by != sigTTIN && by != sigTTOU {
		by = sigSTOP
	}
	s.mirrored = true
	s.outer.signal(by)
	for range 20 {
		st := s.outer.state()
		if st.stopped || st.gone || st.pending&bit(sigCONT)&^s.courier.passed != 0 {
			return
		}
		s.nap(1e6)
	}
	// Nobody would continue it: the kernel does not stop a group without a shell.
	s.resume(true)
}

// moved reports whether the command was continued, or has ended, since it was
// seen stopped.
func (s *stage) moved() bool {
	var info [128]byte
	_, _, errno := syscall.RawSyscall6(syscall.SYS_WAITID, pPid, uintptr(s.pid), uintptr(unsafe.Pointer(&info[0])), syscall.WNOHANG|wContinued|wExited|wNowait, 0, 0)
	return errno == 0 && info[0] != 0
}

// resume continues the command: all of its group where all of it was stopped,
// whether or not that has been reported yet.
func (s *stage) resume(group bool) {
	stopped := s.stopped || s.frozen
	s.frozen, s.mirrored = false, false
	if s.order.Group == Front {
		if s.outer.front() {
			s.hand()
		} else {
			s.behind = s.behind || !s.hasTerminal()
		}
	}
	if s.order.Group != Shared || !group {
		s.kill(group || stopped, sigCONT)
	}
}

// hand gives the terminal to the command's group.
func (s *stage) hand() {
	s.behind = false
	group := int32(s.pid)
	if g, err := syscall.Getpgid(s.pid); err == nil && g > 0 {
		group = int32(g)
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(s.tty), syscall.TIOCSPGRP, uintptr(unsafe.Pointer(&group)))
}

// hasTerminal reports whether a group of the sandbox is in the foreground:
// those outside have no number here.
func (s *stage) hasTerminal() bool {
	var group int32
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(s.tty), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group)))
	return errno == 0 && group > 0
}

// clock ends the command when its time is up.
func (s *stage) clock() {
	switch t := now(); {
	case s.deadline > 0 && t >= s.deadline:
		_ = syscall.Kill(-1, syscall.SIGKILL)
	case s.expires > 0 && t >= s.expires:
		s.expires, s.timedOut = 0, true
		s.deadline = t + grace
		// As process 1, "all" is everything in the sandbox but this process.
		_ = syscall.Kill(-1, syscall.SIGTERM)
		_ = syscall.Kill(-1, syscall.SIGCONT)
		say("error: Command timed out after " + seconds(s.order.Limit) + "s in sandbox")
	}
}

// patience is how long what the command left may clean up after all of them were
// told to end, in nanoseconds.
const patience = 1e9

// endings are the signals by which programs are told to end.
var endings = bit(sigHUP) | bit(sigINT) | bit(sigQUIT) | bit(sigTERM)

// linger waits for others that were told to end together with the command: a
// shell dies of SIGTERM at once, while what it started is still removing its
// lock files. Those that the command put into a group of their own, and whatever
// runs after a command that ended by itself, are not waited for.
func (s *stage) linger() {
	if !s.timedOut {
		if !s.status.Signaled() || bit(int(s.status.Signal()))&endings == 0 {
			return
		}
		s.signals() // what came together with its death
		n := int(s.status.Signal())
		if typed := s.order.Group == Front && (n == sigINT || n == sigQUIT); !typed && s.told&bit(n) == 0 {
			return
		}
	}
	for until := now() + patience; s.remains() && now() < until; {
		s.woken(20e6)
		s.signals()
	}
}

// remains reaps who has ended, and reports whether somebody is still to be
// waited for.
func (s *stage) remains() bool {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR || pid > 0:
			continue
		case err != nil:
			return false
		}
		return s.timedOut || s.order.Group == Shared || syscall.Kill(-s.pid, 0) == nil
	}
}

// finish ends what the command left, and returns the exit status, or dies with
// the outer process as the command died.
func (s *stage) finish() int {
	_ = syscall.Kill(-1, syscall.SIGKILL)
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && err != syscall.EINTR {
			break
		}
	}
	if s.outer.state().stopped {
		s.outer.signal(sigCONT)
	}
	s.masks.last()
	switch {
	case s.masks.exposed:
		say("hint: the run was ended because a hidden file was replaced: start it again; with on_unmasked = \"warn\" in a profile it goes on")
	case !s.outOfMemory():
		s.hint()
	}
	switch {
	case s.masks.exposed:
		return statusFailed
	case s.timedOut:
		return statusTimeout
	case s.status.Exited():
		return s.status.ExitStatus()
	}
	n := int(s.status.Signal())
	if s.outer.blocked&bit(n) == 0 {
		s.outer.signal(n)
		sleep(1e9) // not to be waited for: with the outer process this one ends
	}
	return 128 + n
}

// kills is how many processes the kernel has killed for want of memory, in
// whatever the file that counts them counts.
func (s *stage) kills() uint64 {
	if s.order.OOM < 0 {
		return 0
	}
	var buf [4096]byte
	n, err := syscall.Pread(s.order.OOM, buf[:], 0)
	if err != nil {
		return 0
	}
	return OOMKills(buf[:n])
}

// outOfMemory tells that the kernel killed the command, or something that it
// started, for want of memory, and reports whether it did.
func (s *stage) outOfMemory() bool {
	if s.kills() <= s.killed {
		return false
	}
	what := "a process that it started"
	if s.status.Signaled() && int(s.status.Signal()) == sigKILL {
		what = "it"
	}
	say("error: Command ran out of memory in sandbox (limit " + s.order.Memory + "): the kernel ended " + what)
	return true
}
