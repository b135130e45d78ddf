// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// kernelFiles change how the host works, and so do those of the host's /sys that
// can be seen with Landlock.
var (
	kernelFiles = []string{"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/drop_caches",
		"/proc/sysrq-trigger", "/dev/mem", "/dev/kmsg"}
	sysFiles = []string{"/sys/kernel/uevent_helper", "/sys/power/state", "/sys/fs/cgroup/cgroup.procs"}
)

// kernel proves that the command gains no privilege and reaches none of the
// kernel's interfaces that lead to other processes, the terminal or the host.
func (p *prover) kernel() {
	for _, t := range trials() {
		if p.applies(t) {
			p.trial(t)
		}
	}
	files := kernelFiles
	if p.Walls {
		files = slices.Concat(kernelFiles, sysFiles)
	}
	shut := refused("it can be opened for writing", unix.EROFS, unix.EACCES, unix.EPERM, unix.ENOENT, unix.ENOTDIR)
	for _, path := range files {
		p.prove("open for writing", path, "root can, outside", shut, ask(actOpen, path))
	}
	const inProc = "seen in /proc/self inside"
	p.self("no new privileges", "", inProc, func(self *selfInfo) (Verdict, string) {
		return holeIf(self.Status["NoNewPrivs"] != "1", "no_new_privs is not set: set-user-id programs gain rights",
			"no_new_privs is set")
	})
	p.self("capabilities", "", inProc, p.noCaps)
	p.self("system call filter", "", inProc, func(self *selfInfo) (Verdict, string) {
		return table{
			{self.Status["Seccomp"] == "2", proved, "a filter is in force"},
			{p.Seccomp == "off", allowed, noFilter},
			{true, hole, "no filter is in force"},
		}.decide()
	})
	p.self("core dumps", "", inProc, func(self *selfInfo) (Verdict, string) {
		return holeIf(self.Core > 1, "core dumps may be written", "none are written")
	})
	if p.Walls {
		p.hostDevices()
	} else {
		p.self("devices", "", inProc, p.ownDevices)
	}
}

// holeIf judges what has only one way to go wrong.
func holeIf(bad bool, said, otherwise string) (Verdict, string) {
	return table{{bad, hole, said}, {true, proved, otherwise}}.decide()
}

// applies reports whether a trial is one for this target.
func (s *target) applies(t trial) bool {
	switch {
	case t.is&onlyStrict != 0:
		return s.Seccomp == "strict"
	case t.is&onlyIPC != 0:
		return s.Walls
	case t.is&onlyRoot != 0 && s.UID != 0:
		return false
	}
	return t.is&needsPath == 0 || s.Scratch != ""
}

func (p *prover) trial(t trial) {
	control := "possible without the filter"
	if t.is&privileged != 0 {
		control = "possible with the privilege"
	}
	act := question{Act: actCall, Text: t.name}
	if t.is&needsPath != 0 {
		act.Path = []byte(p.free(p.Scratch, "node"))
	}
	var c *check
	c = p.prove(t.name, "", control, func(a []answer) (Verdict, string) { return p.judgeTrial(t, &a[0], c.Out) }, act)
	c.Twin = t.is&harmless != 0
}

// judgeTrial judges a call, of which out is the errno outside, or nil.
func (s *target) judgeTrial(t trial, a *answer, out *int) (Verdict, string) {
	why := a.why()
	filtered := s.Seccomp != "off" && !(t.is&debugger != 0 && s.Seccomp == "dev")
	privileged := t.is&privileged != 0
	full := t.name == "user namespace" && a.is(unix.ENOSPC, unix.EUSERS)
	// A filter answered, and not the kernel: it is not what the same call gives
	// outside, or, where that is not known, one that refuses.
	otherwise := out != nil && a.Errno != *out || out == nil && a.is(unix.EPERM, unix.EACCES, unix.ENOSYS)
	return table{
		{filtered && a.is(t.want), proved, why},
		{a.is(unix.EPERM, unix.EACCES) && (privileged || !filtered), proved, "no privilege (" + why + ")"},
		{full, proved, "no further one may be made (" + why + ")"},
		{privileged && a.is(unix.ENOSYS), proved, "not in this kernel (" + why + ")"},
		{!filtered && !privileged, allowed, "seccomp = \"" + s.Seccomp + "\" (" + why + ")"},
		{a.Errno == 0, hole, "it can be done"},
		{s.Filter && otherwise, unchecked, "the filter from a file may have answered " + why},
		{true, hole, "the kernel answers " + why + " where the filter would have answered " + errnoName(int(t.want))},
	}.decide()
}

func (s *target) noCaps(self *selfInfo) (Verdict, string) {
	for _, set := range []string{"CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"} {
		v, ok := self.Status[set]
		switch {
		case set == "CapBnd" && s.Walls && self.Status["NoNewPrivs"] == "1":
			// No one but root can empty it, and no program gives what is in it.
		case set == "CapAmb" && !ok: // Linux before 4.3
		case strings.Trim(v, "0") != "" || v == "":
			return hole, set + " is " + v
		}
	}
	return proved, "none, and none can be had"
}

// usualDevices are what bwrap's --dev makes.
var usualDevices = []string{"console", "core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin",
	"stdout", "tty", "urandom", "zero"}

func (p *prover) ownDevices(self *selfInfo) (Verdict, string) {
	var given []string
	for _, path := range p.Given {
		top, _ := host.Cut(strings.TrimPrefix(path, "/dev/"))
		given = append(given, top)
	}
	left := without(without(self.Dev, usualDevices), given)
	return table{
		{len(self.Dev) == 0, unchecked, "/dev cannot be listed"},
		{len(left) > 0, hole, "there are devices of the host: " + some(left)},
		{len(given) > 0, allowed, "the policy opens " + some(p.Given)},
		{true, proved, "only the usual ones"},
	}.decide()
}

// hostDevices proves that with Landlock devices are there and cannot be opened.
func (p *prover) hostDevices() {
	if len(p.Devices) == 0 {
		p.known("devices", "of the host", notApplicable, "there is none that this user can open")
		return
	}
	var acts []question
	for _, path := range p.Devices {
		acts = append(acts, ask(actRead, path))
	}
	p.prove("devices", "of the host", "outside they can be opened", func(answers []answer) (Verdict, string) {
		for i := range answers {
			switch a := &answers[i]; {
			case a.Errno == 0:
				return hole, text.Plain(p.Devices[i]) + " can be opened"
			case !a.is(unix.EACCES, unix.EPERM):
				return unchecked, text.Plain(p.Devices[i]) + ": " + a.why()
			}
		}
		return proved, "closed: " + some(p.Devices)
	}, acts...)
}

// What the checks of processes are about, and what is said of it.
const (
	aProcess    = "a process outside" // with a word on its command line
	commandLine = "its command line can be read"
	signalled   = "it can be signalled"
	sharedPID   = "the processes of the host are shared"
)

// spaces are the namespaces of a process, but for the network.
var spaces = []string{"user", "mnt", "pid", "ipc", "uts", "cgroup"}

// processes proves that no process of the host is seen or signalled; with
// Landlock, that they can be seen and no more.
func (p *prover) processes() {
	switch {
	case p.Inside:
		p.known("see, signal", "", notApplicable, "the processes outside are not known inside")
		return
	case !p.Walls:
		p.namespaces()
		p.see()
		p.signal("signal", "", unix.ESRCH)
		p.self("session", "", "the session of the caller is another", p.session)
		return
	}
	p.see().Gap = engine.GapProcesses
	p.self("namespaces", "", "compared with the caller's", p.sameSpaces).Gap = engine.GapProcesses
	p.self("session", "", "compared with the caller's", p.session)
	for _, how := range []string{"kill", "tgkill", "pidfd_send_signal"} {
		p.signal(how, how, unix.EPERM, unix.ENOSYS).Gap = engine.GapSignals
	}
	for _, how := range []string{"ptrace", "process_vm_readv", "pidfd_getfd"} {
		p.compared(how, aProcess, letIn, question{Act: actTrace, Args: []int{p.Helper}, Text: how})
	}
	shut := refused("it can be opened", unix.EACCES, unix.EPERM)
	for _, name := range []string{"environ", "mem", "maps", "auxv", "fd/0", "cwd", "root", "exe"} {
		path := "/proc/" + strconv.Itoa(p.Helper) + "/" + name
		p.compared("open", path, shut, ask(actRead, path))
	}
}

func (p *prover) see() *check {
	none := notFound("no process has the word", func([]string) string { return commandLine })
	c := p.prove("see", aProcess, "outside the word on its command line is found", none,
		question{Act: actSearch, Text: p.Word})
	if p.SharePID {
		c.Allowed = commandLine + ": " + sharedPID
	}
	return c
}

// notFound judges a search in what processes show.
func notFound(none string, some func(paths []string) string) judge {
	return func(a []answer) (Verdict, string) {
		return table{
			{a[0].Errno != 0, unchecked, a[0].why()},
			{a[0].Read == 0, unchecked, "no process can be read inside, not even the probe"},
			{len(a[0].Found) > 0, hole, some(a[0].Found)},
			{true, proved, none},
		}.decide()
	}
}

// signal is a check of one call that signals; Landlock may refuse it, too.
func (p *prover) signal(name, call string, by ...syscall.Errno) *check {
	scoped := !p.Walls && p.scoped(scopedSignal)
	if scoped {
		by = append(by, unix.EPERM)
	}
	c := p.prove(name, aProcess, "outside it can be signalled", refused(signalled, by...),
		question{Act: actSignal, Args: []int{p.Helper}, Text: p.Word, To: []byte(call)})
	if p.SharePID && !scoped {
		c.Allowed = signalled + ": " + sharedPID
	}
	return c
}

func letIn(a []answer) (Verdict, string) {
	return table{
		{a[0].is(unix.EPERM, unix.EACCES), proved, a[0].why()},
		{a[0].is(unix.ENOSYS), notApplicable, "not in this kernel"},
		{true, hole, "it is let in (" + a[0].why() + ")"},
	}.decide()
}

func (s *target) session(self *selfInfo) (Verdict, string) {
	const same = "the command is in the caller's session"
	return table{
		{s.Walls, allowed, same + ", on its terminal"},
		{self.Session > 0, proved, "a session of its own"},
		{!s.SharePID && s.OwnSession, hole, same},
		{s.scoped(scopedSignal), allowed, same + ", and kept from signalling what is outside"},
		{true, allowed, same + " and process group, and can signal it"},
	}.decide()
}

// namespaces proves of each that the command's is not the caller's.
func (p *prover) namespaces() {
	for _, name := range spaces {
		own, ok := p.Spaces[name]
		if !ok {
			continue
		}
		c := p.self("namespace", name, "outside it is "+own, func(self *selfInfo) (Verdict, string) {
			return table{
				{self.Spaces[name] == "", unchecked, "it cannot be read inside"},
				{self.Spaces[name] == own, hole, "it is the caller's"},
				{true, proved, "one of its own"},
			}.decide()
		})
		if name == "pid" && p.SharePID {
			c.Allowed = sharedPID
		}
	}
}

func (s *target) sameSpaces(self *selfInfo) (Verdict, string) {
	same := slices.DeleteFunc(slices.Clone(spaces),
		func(name string) bool { return s.Spaces[name] == "" || self.Spaces[name] != s.Spaces[name] })
	return holeIf(len(same) > 0, "those of the caller: "+strings.Join(same, " "), "all its own")
}

// environment proves that what is dropped does not arrive.
func (p *prover) environment() {
	if p.Inside {
		p.known("variables", "", notApplicable, "the dropped variables are not known inside")
		return
	}
	const control = "it was in the environment of the run"
	p.self("variables", "", "they were in the environment of the run", p.variables)
	for _, name := range slices.Sorted(maps.Keys(p.Env.Planted)) {
		why := p.Env.Planted[name]
		if !slices.Contains(p.Env.Dropped, name) {
			p.known("planted", name, allowed, "passes by "+why)
			continue
		}
		p.self("planted", name, control, func(self *selfInfo) (Verdict, string) {
			return holeIf(slices.Contains(self.Env, name), "it is set inside", "dropped ("+why+")")
		})
	}
	none := notFound("no planted value is in /proc",
		func(paths []string) string { return "a planted value is in " + some(paths) })
	c := p.prove("values", "in any process", control, none, question{Act: actSearch, Text: p.Env.Mark})
	if p.Env.MayShow != "" {
		c.Allowed = "passes by " + p.Env.MayShow
	}
}

func (s *target) variables(self *selfInfo) (Verdict, string) {
	arrived := slices.DeleteFunc(slices.Clone(self.Env),
		func(n string) bool { return !slices.Contains(s.Env.Dropped, n) })
	more := without(self.Env, append(slices.Clone(s.Env.Kept), "PWD")) // bwrap sets it
	const missing = "the variables that sbx sets are missing, so missing others prove nothing"
	return table{
		{!slices.Contains(self.Env, "SBX_TIER"), unchecked, missing},
		{len(arrived) > 0, hole, "set inside, though dropped: " + some(arrived)},
		{len(more) > 0, hole, "set inside, but not outside: " + some(more)},
		{true, proved, "nothing that was dropped is set"},
	}.decide()
}

// descriptors proves that only those are there which were asked for; from inside,
// that none leads out.
func (p *prover) descriptors() {
	p.self("open", "", "a directory, a socket and two files were left open in the run", p.open)
	for _, n := range p.Pass {
		if n > 2 && !p.Inside {
			p.known("passes", "fd "+strconv.Itoa(n), allowed,
				"pipes, unnamed socket pairs and files that the policy gives pass, and what --keep-fd names")
		}
	}
}

func (s *target) open(self *selfInfo) (Verdict, string) {
	var more, outside []string
	for _, fd := range self.FDs {
		name := fmt.Sprintf("%d (%s %s)", fd.Num, fd.Kind, fd.Target)
		if fd.Num > 2 && !slices.Contains(s.Pass, fd.Num) {
			more = append(more, name)
		}
		if fd.Foreign && fd.Kind == kindDir {
			outside = append(outside, name)
		}
	}
	if s.Inside {
		return holeIf(outside != nil, "a directory outside is open: "+some(outside[:min(1, len(outside))]),
			"no directory outside of the sandbox is open")
	}
	return holeIf(more != nil, "open inside: "+some(more), "nothing but what was asked for")
}
