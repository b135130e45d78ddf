// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// Process 1 without the Go runtime. Starting the runtime takes a millisecond and four
// megabytes, and most commands need nothing of process 1 but a start, a wait and an end.
// So sbx, outside, writes a program beside the configuration: system calls with all their
// arguments, and what each has to answer. A small machine in assembly runs it from where
// the linker has the process begin (-E sbx_start), and knows nothing but that list. What
// is not as expected starts the Go runtime, which goes on with the command: see [resume].
// The rules:
//
//  1. The machine calls nothing, allocates nothing and needs no stack: it makes system
//     calls, compares and copies words of the image, and jumps to Go's own start. A test
//     walks its object code.
//  2. What is a plain run is decided outside, by [InitConfig.Image]: no terminal, no low
//     limit on processes (the runtime's threads count), no time limit and no count of
//     memory, no files to be opened once more, no rules on paths, nothing to be told later.
//     Elsewhere process 1 is Go's from the beginning.
//  3. In doubt before the command is started, Go does it all over from the beginning: each
//     step up to there can be made twice, and what is opened is closed on exec.
//  4. Afterwards the state is in the image. Children and signals are looked at and left
//     where they are, but for those that mean nothing.
//  5. The epoll instance tells of process 1's own signals, of the parent process's and of
//     the mounts apart. After each of the parent's its pending signals are looked at, and
//     then its state once more, so that no event that is taken hides one to be passed on.
//  6. All signals are blocked. The runtime leaves some open in its threads, and would end
//     the process by one that comes while it starts. So these have [handler] before, and
//     the runtime leaves them alone: see leaveSignals in the assembly.
//  7. Numbers of descriptors are planned, and compared when they are opened.
//  8. Never by execve: process 1 could be read then. A fault ends it, and all with it, and
//     so does a runtime that finds no room for its threads. So a command that has ended is
//     the last process then, and none may fill the table of the caller, see [threadsFit].

// Image gives the bytes of the file for process 1 that has the number fd: with a program
// where plain is allowed and the run is one.
func (cfg *InitConfig) Image(fd int, allowed bool) []byte {
	config := cfg.Encode()
	_, _, errno := syscall.RawSyscall(closeRangeNr, maxFD, maxFD, closeOnExec)
	if !allowed || errno != 0 || entered == 0 || !cfg.threadsFit() {
		return config
	}
	p := cfg.compile(fd)
	if p == nil {
		return config
	}
	return p.link(config)
}

// leastProcs is the lowest limit on processes beside which the threads of the runtime do
// not matter, and goThreads how many it has.
const (
	leastProcs = 1024
	goThreads  = 6
)

// threadsFit reports whether the runtime can start threads in process 1, which has the
// caller's limit on processes, when the command has as many as it may.
func (cfg *InitConfig) threadsFit() bool {
	var own syscall.Rlimit
	if syscall.Getrlimit(rlimitNproc, &own) != nil {
		return false
	}
	fits := func(l Rlimit) bool { return l.Resource == rlimitNproc && l.Max+2*goThreads <= own.Cur }
	return own.Cur == ^uint64(0) || slices.ContainsFunc(cfg.Rlimits, fits) || syscall.Getuid() == 0
}

// isPlain reports whether a run is one for the machine, as far as it shows here.
func (cfg *InitConfig) isPlain() bool {
	lowProcs := func(l Rlimit) bool { return l.Resource == rlimitNproc && l.Max < leastProcs }
	return (cfg.Group == Shared || cfg.Group == NewSession) && cfg.Argv == nil && cfg.OOM < 0 &&
		cfg.Limit == 0 && cfg.Ports == "" && len(cfg.Reopen) == 0 &&
		(cfg.Ruleset == nil || cfg.Ruleset.FS == 0 && len(cfg.Ruleset.Rules) == 0) && cfg.Own == nil && cfg.Wall == 0 &&
		cfg.After == nil && cfg.Held == nil && !slices.ContainsFunc(cfg.Rlimits, lowProcs)
}

// compile makes the program, nil where the run is not plain.
func (cfg *InitConfig) compile(fd int) *listing {
	own, taken := []int{fd}, append([]int{0, 1, 2}, cfg.Keep...)
	for _, n := range cfg.Parent.list() {
		if *n >= 0 {
			own = append(own, *n)
		}
	}
	slices.Sort(own)
	if !cfg.isPlain() || cfg.Parent.Stderr < 0 || own[len(own)-1]-own[0] != len(own)-1 {
		return nil
	}
	p := &listing{ops: make([]op, 0, maxOp), taken: append(taken, own...), mounts: -1}
	p.call(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0)
	p.call(syscall.SYS_RT_SIGPROCMASK, 2, p.words(everySignal), 0, 8)
	p.call(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, sigKILL)
	for n := range uintptr(3) {
		p.call(syscall.SYS_FCNTL, n, syscall.F_GETFD)
	}
	p.call(closeRangeNr, uintptr(own[0]), uintptr(own[len(own)-1]), closeOnExec)
	p.closeBut(p.taken...)
	p.call(syscall.SYS_DUP3, uintptr(cfg.Parent.Stderr), 2, 0).is(2)
	if !p.identities(cfg.Expected) {
		return nil
	}
	p.watch(cfg.Masks)
	p.directories(cfg.Private)
	ruleset := 0
	if r := cfg.Ruleset; r != nil {
		attr := p.words(uint64(r.FS), uint64(r.Net), uint64(r.Scope))
		ruleset = p.open(createRuleset, attr, 24, 0)
	}
	p.listen(cfg)
	p.start(cfg, ruleset)
	first := len(p.ops)
	p.loop(cfg)
	p.handOver(first)
	if len(p.ops) == maxOp {
		return nil
	}
	return p
}

// Offsets in struct statx, and flags.
const (
	statxSize, statxAttributes, statxIno, statxDev = 256, 8, 32, 136

	statxMountRoot = 0x2000        // STATX_ATTR_MOUNT_ROOT
	statxFlags     = 0x100 | 0x800 // AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT
	statxBasic     = 0x7ff
)

// identities does what [mountsAsPlanned] does.
func (p *listing) identities(expected []byte) bool {
	st := p.room(statxSize)
	for rest := string(expected); rest != ""; {
		var record string
		record, rest = procfs.Cut(rest, 0)
		sign := record[:min(1, len(record))]
		first, more := procfs.Cut(record[len(sign):], ' ')
		second, path := procfs.Cut(more, ' ')
		dev, err1 := strconv.ParseUint(first, 10, 64)
		ino, err2 := strconv.ParseUint(second, 10, 64)
		if err1 != nil || err2 != nil {
			return false
		}
		p.call(statxNr, atCWD, p.text(path), statxFlags, statxBasic, st)
		sameIno := p.test(st+statxIno, ^uintptr(0), uintptr(ino))
		sameDev := p.test(st+statxDev, ^uintptr(0), majorMinor(dev))
		if sign != "=" {
			sameIno.other = p.here()
			sameDev.jump(toGo).orElse(p.here())
		}
	}
	return true
}

// majorMinor is a device as struct statx has it, device the other way round.
func majorMinor(dev uint64) uintptr {
	major := dev>>8&0xfff | dev>>32&^0xfff
	minor := dev&0xff | dev>>12&^0xff
	return uintptr(minor&0xffffffff<<32 | major&0xffffffff)
}

func device(w uint64) uint64 {
	major, minor := w&0xffffffff, w>>32
	return minor&0xff | major&0xfff<<8 | minor&^0xff<<12 | major&^0xfff<<32
}

// watch does what [masks.open] does. Descriptors are watched before anything is looked at.
func (p *listing) watch(masks []Mask) {
	if len(masks) == 0 {
		return
	}
	p.mounts = p.openAt("/proc/self/mountinfo", 0)
	owner := p.words(1 << 32) // struct f_owner_ex: F_OWNER_TID, 1
	for _, dir := range watchedDirs(masks) {
		fd := p.openAt(dir, syscall.O_DIRECTORY|syscall.O_NOFOLLOW)
		p.watched = append(p.watched, fd)
		p.call(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETSIG, moved)
		p.call(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETOWN_EX, owner)
		p.call(syscall.SYS_FCNTL, uintptr(fd), syscall.F_NOTIFY, dnDelete|dnMultishot)
	}
	for i := range masks {
		st := p.room(statxSize)
		p.masks = append(p.masks, st)
		p.call(statxNr, atCWD, p.text(masks[i].Path), statxFlags, statxBasic, st)
		p.test(st+statxAttributes, statxMountRoot, statxMountRoot)
	}
}

// directories does what [openPrivate] does.
func (p *listing) directories(paths []string) {
	for _, path := range paths {
		fd := p.openAt(path, oPath|syscall.O_DIRECTORY|syscall.O_NOFOLLOW)
		fs := p.room(int(unsafe.Sizeof(syscall.Statfs_t{})))
		p.private, p.used = append(p.private, fd), append(p.used, fs)
		p.call(syscall.SYS_FSTATFS, uintptr(fd), fs)
	}
}

// ownEvent is process 1's own signals in its epoll; the parent process's are 0.
const ownEvent = 2

func (p *listing) event(events uint32, data int32) uintptr {
	ev := syscall.EpollEvent{Events: events | epollEdge, Fd: data}
	return p.bytes(unsafe.Slice((*byte)(unsafe.Pointer(&ev)), unsafe.Sizeof(ev)))
}

// listen does what [supervisor.listen] does, and looks at the parent process: whoever
// signalled it before is seen here, and whoever does from then on wakes the epoll.
func (p *listing) listen(cfg *InitConfig) {
	w := &cfg.Parent
	epoll, none := uintptr(w.Epoll), p.words(0)
	p.call(syscall.SYS_TGKILL, 1, 1, marker)
	p.own = p.open(syscall.SYS_FCNTL, uintptr(w.Signal), syscall.F_DUPFD_CLOEXEC, 3)
	p.call(syscall.SYS_EPOLL_CTL, epoll, syscall.EPOLL_CTL_ADD, uintptr(p.own), p.event(pollIn, ownEvent))
	p.poll(epoll, 0).any()
	p.call(syscall.SYS_WRITE, uintptr(w.Write), none, 1).is(1)
	p.call(syscall.SYS_READ, uintptr(w.Read), p.words(0), 1).is(1)
	wakes := p.poll(epoll, 0).jump(toGo)
	wakes.other = p.here()
	p.test(wakes.at, 1<<63, 0)
	if p.mounts >= 0 {
		p.call(syscall.SYS_EPOLL_CTL, epoll, syscall.EPOLL_CTL_ADD, uintptr(p.mounts), p.event(pollPri, maskEvent))
	}
	p.calm(w.Status)
	p.timer()
	p.call(syscall.SYS_WRITE, uintptr(w.WatchdogWrite), none, 1).any()
}

// timer does what [neverStopped] does.
func (p *listing) timer() {
	id, event := p.room(8), p.words(0, sigCONT, 0, 0, 0, 0, 0, 0) // SIGEV_SIGNAL
	p.call(syscall.SYS_TIMER_CREATE, 1, event, id)
	p.test(id, 0xffffffff, 0)
	p.call(syscall.SYS_TIMER_SETTIME, 0, 0, p.words(1, 0, 1, 0))
}

// poll waits for an event: one is what is expected.
func (p *listing) poll(epoll uintptr, timeout int) *op {
	p.events = p.room(64)
	return p.call(syscall.SYS_EPOLL_PWAIT, epoll, p.events, 4, uintptr(timeout), 0, 8)
}

// calm sees whether the parent process has a signal to pass on.
func (p *listing) calm(fd int) {
	pending := p.find(p.state(fd), "\nShdPnd:") // 16 digits after a tab; the marker and SIGCHLD may be among them
	p.test(p.field(pending, 32), ^uintptr(0), word("\t0000000"))
	p.test(p.field(pending, 40), ^uintptr(1<<8|1<<32), word("00000000"))
	p.test(p.field(pending, 48), 0xff, '0')
}

// state reads what /proc/PID/status says of the parent process, which has to be neither
// stopped nor gone, and returns where it is.
func (p *listing) state(fd int) (text uintptr) {
	text = p.room(maxText + 32)
	p.call(syscall.SYS_PREAD64, uintptr(fd), text, maxText, 0).notNegative()
	p.test(p.field(p.find(text, "\nState:\t"), 32), 0xfe, 'R') // or S
	return text
}

// start is what [child.start] does.
func (p *listing) start(cfg *InitConfig, ruleset int) {
	flag := p.room(8)
	clone := p.call(syscall.SYS_CLONE, cloneVfork)
	clone.other = p.here()
	p.test(clone.at, 1<<63, 0)
	failed := p.test(flag, ^uintptr(0), 0)
	over := p.call(opNone).any() // the child's part, in the parent
	clone.then = p.here()
	first := len(p.ops)
	if cfg.Group == NewSession {
		p.call(syscall.SYS_SETSID).notNegative()
	}
	for _, l := range cfg.Rlimits {
		if l.Resource == rlimitNproc {
			l.Max += goThreads
		}
		var now syscall.Rlimit
		if syscall.Getrlimit(l.Resource, &now) == nil {
			l.Max = min(l.Max, now.Max)
		}
		p.call(syscall.SYS_PRLIMIT64, 0, uintptr(l.Resource), p.words(l.Max, l.Max))
	}
	if ruleset > 0 || cfg.Filter != nil {
		p.call(syscall.SYS_PRCTL, noNewPrivs, 1)
	}
	if ruleset > 0 {
		p.call(restrictSelf, uintptr(ruleset))
	}
	p.call(syscall.SYS_RT_SIGPROCMASK, 2, p.words(cfg.Mask), 0, 8)
	if f := cfg.Filter; f != nil {
		p.call(seccompNr, filterMode, 0, p.words(uint64(len(f)/8), uint64(p.bytes(f))))
	}
	p.ex = p.call(syscall.SYS_EXECVE, p.text(cfg.Path)).jump(p.here())
	for i := first; i < len(p.ops); i++ {
		p.ops[i].other = p.here()
	}
	p.move(p.words(1), ^uintptr(0), flag)
	p.call(syscall.SYS_EXIT_GROUP, statusNotFound).jump(p.here()).orElse(p.here())
	p.call(syscall.SYS_EXIT, statusNotFound).jump(nowhere).orElse(nowhere) // a filter refused both: a fault
	failed.other = p.here()
	p.call(syscall.SYS_WAIT4, ^uintptr(0), 0, 0, 0).jump(toGo)
	over.jump(p.here())
	p.move(clone.at, ^uintptr(0), imageBase+unsafe.Offsetof(machineImage{}.started))
	keep := append([]int{2, p.mounts}, p.watched...)
	keep = append(keep, p.private...)
	for _, fd := range cfg.Parent.list() {
		if fd != &cfg.Parent.Stderr { // it is 2 by now
			keep = append(keep, *fd)
		}
	}
	p.closeBut(append(keep, p.own)...)
	p.test(clone.at, ^uintptr(0), commandPid)
}

// commandPid is the number of the first process that process 1 starts.
const commandPid = 2

// nowhere is no address.
const nowhere = 1

// Flags of waitid(2), offsets in siginfo_t.
const (
	wExited, wStopped, wContinued = 4, 2, 8
	wLook                         = 1 | wNoWait // WNOHANG

	infoCode, infoPid, infoStatus = 8, 16, 24
	siTimer                       = 0xfffffffe

	cldExited, cldKilled = 1, 2
)

// loop waits for the command's end.
func (p *listing) loop(cfg *InitConfig) {
	p.info, p.cont = p.room(128), p.room(128)
	orphan, set, zero := p.room(128), p.room(8), p.words(0, 0)
	const low, all = 0xffffffff, ^uintptr(0)

	look := p.here()
	p.call(syscall.SYS_RT_SIGTIMEDWAIT, p.words(bit(sigCHLD)), 0, zero, 8).any()
	taken := p.call(syscall.SYS_RT_SIGTIMEDWAIT, p.words(bit(sigCONT)), p.cont, zero, 8).is(-int(syscall.EAGAIN))
	taken.other = p.here()
	p.test(p.cont+infoCode, low, siTimer)
	taken.then = p.here()
	p.call(syscall.SYS_RT_SIGPENDING, set, 8)
	p.test(set, ^uintptr(1<<(sigCHLD-1)|1<<(marker-1)|1<<(sigCONT-1)), 0)

	command := p.here()
	p.call(syscall.SYS_WAITID, pPid, commandPid, p.info, wExited|wStopped|wContinued|wLook, 0)
	runs := p.test(p.info, low, 0) // si_signo
	orphans := p.here()
	p.call(syscall.SYS_WAITID, 0, 0, orphan, wExited|wLook, 0)
	none := p.test(orphan+infoPid, low, 0).orElse(p.here())
	p.test(orphan+infoPid, low, commandPid).jump(command).orElse(p.here())
	reap := &p.ops[:maxOp][min(len(p.ops)+2, maxOp-1)]
	p.move(orphan+infoPid, low, p.field(reap, unsafe.Offsetof(reap.args)))
	p.move(orphan+infoPid, low, p.field(reap, unsafe.Offsetof(reap.want)))
	p.call(syscall.SYS_WAIT4, 0, 0, syscall.WNOHANG, 0).jump(orphans)
	none.then = p.here()
	// One event of process 1's own is the usual one. Those of the mounts are odd.
	wait := p.poll(uintptr(cfg.Parent.Epoll), -1).is(1)
	wait.other = p.here()
	p.test(wait.at, all, ^uintptr(syscall.EINTR-1)).jump(look) // stopped and continued
	wait.then = p.here()
	data := p.events + unsafe.Offsetof(syscall.EpollEvent{}.Fd)
	p.test(data, low, ownEvent).jump(look).orElse(p.here())
	p.test(data, low, 0)
	p.calm(cfg.Parent.Status) // as when the watchdog has ended
	// A stop may have been taken after its state was written and before what is pending was.
	p.state(cfg.Parent.Status)
	p.call(opNone).jump(look)

	runs.other = p.here()
	exited := p.test(p.info+infoCode, low, cldExited).orElse(p.here())
	p.test(p.info+infoCode, low&^1, cldKilled) // or CLD_DUMPED; it may be stopped, too
	for n := 1; n <= lastRT; n++ {
		if bit(n)&endSignals != 0 { // others may be about to end by the same one
			p.test(p.info+infoStatus, low, uintptr(n)).jump(toGo).orElse(p.here())
		}
	}
	exited.then = p.here()
	p.call(syscall.SYS_KILL, ^uintptr(0), sigKILL).any()
	p.move(p.words(1), ^uintptr(0), imageBase+unsafe.Offsetof(machineImage{}.ended))
	again := p.here()
	p.call(syscall.SYS_WAIT4, ^uintptr(0), 0, 0, 0).is(-int(syscall.ECHILD)).orElse(again)
	p.test(p.info+infoCode, low, cldExited)
	if cfg.Hints != nil {
		ok := p.test(p.info+infoStatus, low, 0)
		if slices.Contains(cfg.Hints, HintAlways) {
			ok.jump(toGo)
		}
	}
	p.end(cfg)
}

// end is what [supervisor.finish] does when nothing runs any more.
func (p *listing) end(cfg *InitConfig) {
	p.state(cfg.Parent.Status)
	if p.mounts >= 0 {
		fds, set := p.words(uint64(p.mounts)|pollPri<<32), p.room(8)
		p.call(syscall.SYS_PPOLL, fds, 1, p.words(0, 0), 0, 8)
		p.call(syscall.SYS_RT_SIGPENDING, set, 8)
		p.test(set, 1<<(moved-1), 0)
	}
	for i, fd := range p.private {
		fs := p.room(int(unsafe.Sizeof(syscall.Statfs_t{})))
		p.call(syscall.SYS_FSTATFS, uintptr(fd), fs)
		for _, at := range []uintptr{unsafe.Offsetof(syscall.Statfs_t{}.Files), unsafe.Offsetof(syscall.Statfs_t{}.Ffree)} {
			now := &p.ops[:maxOp][min(len(p.ops)+1, maxOp-1)]
			p.move(p.used[i]+at, ^uintptr(0), p.field(now, unsafe.Offsetof(now.want)))
			p.test(fs+at, ^uintptr(0), 0)
		}
	}
	exit := &p.ops[:maxOp][min(len(p.ops)+1, maxOp-1)]
	p.move(p.info+infoStatus, 0xff, p.field(exit, unsafe.Offsetof(exit.args)))
	p.call(syscall.SYS_EXIT_GROUP)
}

// handOver adds what comes before Go from the first op on: handlers for the signals that
// the runtime does not leave blocked. It will not change them, see the assembly.
func (p *listing) handOver(first int) {
	to := p.here()
	for i := range p.ops[first:] {
		for _, next := range []*uintptr{&p.ops[first+i].then, &p.ops[first+i].other} {
			if *next == toGo || *next == 0 && next == &p.ops[first+i].other {
				*next = to
			}
		}
	}
	const flags = 0x4 | 0x08000000 | 0x10000000 // as in catch
	p.action = p.words(0, flags|restorer, 0, everySignal)
	for _, n := range [...]uintptr{sigHUP, sigINT, sigQUIT, sigTERM, 16, 27, 32, 33, firstRT} {
		now := p.room(32)
		p.call(syscall.SYS_RT_SIGACTION, n, 0, now, 8)
		ignored := p.test(now, ^uintptr(0), 1)
		ignored.other = p.here()
		p.call(syscall.SYS_RT_SIGACTION, n, p.action, 0, 8)
		ignored.then = p.here()
	}
	p.call(opNone).jump(toGo)
}

// resume is process 1 from where the machine has left it, with the command running, or
// ended.
func resume(cfg *InitConfig, args []string) int {
	fd, _ := strconv.Atoi(args[1])
	p := cfg.compile(fd)
	if p == nil {
		return broken("no program")
	}
	cfg.Argv, cfg.Parent.Stderr = args[2:], -1
	runtime.LockOSThread()
	setMask(2, everySignal)
	catch()
	giveBackFiles()
	s := newSupervisor(cfg, input{caller: -1, command: -1})
	s.pid = int(mapped.started)
	s.masks.resume(cfg.Masks, p)
	for i, path := range cfg.Private {
		fs := (*syscall.Statfs_t)(at(p.used[i]))
		s.private = append(s.private, private{path, p.private[i], fs.Files - fs.Ffree})
	}
	if info := (*[5]int32)(at(p.cont)); info[0] == sigCONT && info[2] >= 0 && info[4] == 0 { // see takePending
		atomic.OrUint64(&caught, bit(sigCONT))
	}
	if mapped.ended != 0 {
		s.ended, s.status = true, endedAs((*[8]uint32)(at(p.info)))
	}
	return s.serve()
}

// resume goes on with what the machine has begun to watch.
func (m *masks) resume(masks []Mask, p *listing) {
	m.mounts, m.moves = p.mounts, -1
	if len(masks) == 0 {
		return
	}
	for i, dir := range watchedDirs(masks) {
		m.watched = append(m.watched, watched{path: dir, fd: p.watched[i]})
	}
	for i := range masks {
		st := (*[statxSize / 8]uint64)(at(p.masks[i]))
		m.list = append(m.list, mask{Mask: masks[i], source: fileID{device(st[statxDev/8]), st[statxIno/8]}})
	}
	var err error
	if m.moves, err = signalfd(bit(moved)); err != nil {
		say("warning: a hidden or read-only file that is replaced on the host while the command runs " +
			"may go without notice: " + err.Error())
	}
	m.look() // an event may have been what ended the machine's part
}
