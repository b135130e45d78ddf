// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
)

// aProcess is what the checks are about: it runs outside, with a word on its
// command line.
const aProcess = "a process outside"

// Calls by which one process reaches into another, and what /proc has for that.
var (
	waysIn         = []string{"ptrace", "process_vm_readv", "pidfd_getfd"}
	closedOfOthers = []string{"environ", "mem", "maps", "auxv", "fd/0", "cwd", "root", "exe"}
)

// spaces are the namespaces of a process, but for the network.
var spaces = []string{"user", "mnt", "pid", "ipc", "uts", "cgroup"}

// processes proves that no process of the host is seen or signalled; with
// Landlock, that they can be seen and no more.
func (s *prover) processes() {
	switch {
	case s.Inside:
		s.known("see, signal", "", NotApplicable, "the processes outside are not known inside")
		return
	case !s.Walls:
		s.namespaces()
		s.see()
		s.signal("signal", "", unix.ESRCH)
		s.prove("session", "", "the session of the caller is another", ofSelf(s.session), askSelf)
		return
	}
	s.see().Gap = engine.GapProcesses
	s.prove("namespaces", "", "compared with the caller's", ofSelf(s.sameSpaces), askSelf).Gap = engine.GapProcesses
	s.prove("session", "", "compared with the caller's", ofSelf(s.session), askSelf)
	for _, how := range []string{"kill", "tgkill", "pidfd_send_signal"} {
		s.signal(how, how, unix.EPERM, unix.ENOSYS).Gap = engine.GapSignals
	}
	for _, how := range waysIn {
		s.prove(how, aProcess, s.outcome(how), letIn, question{Act: actTrace, Args: []int{s.Helper}, Text: how})
	}
	shut := refused("it can be opened", unix.EACCES, unix.EPERM)
	for _, name := range closedOfOthers {
		path := "/proc/" + strconv.Itoa(s.Helper) + "/" + name
		s.prove("open", path, s.outcome(name), shut, ask(actRead, path))
	}
}

func (s *prover) see() *check {
	none := notFound("no process has the word", func([]string) string { return commandLine })
	c := s.prove("see", aProcess, "outside the word on its command line is found", none,
		question{Act: actSearch, Text: s.Word})
	if s.SharePID {
		c.Allowed = commandLine + sharedPID
	}
	return c
}

const (
	commandLine = "its command line can be read"
	signalled   = "it can be signalled"
	sharedPID   = ": the processes of the host are shared"
)

// notFound judges a search in what processes show.
func notFound(none string, hole func(paths []string) string) judge {
	return func(a []answer) (Verdict, string) {
		switch {
		case a[0].Errno != 0:
			return Unchecked, a[0].why()
		case a[0].Read == 0:
			return Unchecked, "no process can be read inside, not even the probe"
		case len(a[0].Found) > 0:
			return Hole, hole(a[0].Found)
		}
		return Proved, none
	}
}

// signal is a check of one call that signals; Landlock may refuse it, too.
func (s *prover) signal(name, call string, by ...syscall.Errno) *check {
	scoped := !s.Walls && s.scoped(scopedSignal)
	if scoped {
		by = append(by, unix.EPERM)
	}
	c := s.prove(name, aProcess, "outside it can be signalled", refused(signalled, by...),
		question{Act: actSignal, Args: []int{s.Helper}, Text: s.Word, To: []byte(call)})
	if s.SharePID && !scoped {
		c.Allowed = signalled + sharedPID
	}
	return c
}

func letIn(a []answer) (Verdict, string) {
	switch {
	case a[0].is(unix.EPERM, unix.EACCES):
		return Proved, a[0].why()
	case a[0].is(unix.ENOSYS):
		return NotApplicable, "not in this kernel"
	}
	return Hole, "it is let in (" + a[0].why() + ")"
}

// outcome is the control of an act on the process outside: how it goes there.
func (s *target) outcome(act string) string { return "outside: " + errnoName(s.Kernel["outside "+act]) }

func (s *target) session(self *selfInfo) (Verdict, string) {
	const same = "the command is in the caller's session"
	switch {
	case s.Walls:
		return Allowed, same + ", on its terminal"
	case self.Session > 0:
		return Proved, "a session of its own"
	case !s.SharePID && s.OwnSession:
		return Hole, same
	case s.scoped(scopedSignal):
		return Allowed, same + ", and kept from signalling what is outside"
	}
	return Allowed, same + " and process group, and can signal it"
}

// namespaces proves of each that the command's is not the caller's.
func (s *prover) namespaces() {
	for _, name := range spaces {
		own, ok := s.Spaces[name]
		if !ok {
			continue
		}
		c := s.prove("namespace", name, "outside it is "+own, ofSelf(func(self *selfInfo) (Verdict, string) {
			switch self.Spaces[name] {
			case "":
				return Unchecked, "it cannot be read inside"
			case own:
				return Hole, "it is the caller's"
			}
			return Proved, "one of its own"
		}), askSelf)
		if name == "pid" && s.SharePID {
			c.Allowed = "the processes of the host are shared"
		}
	}
}

func (s *target) sameSpaces(self *selfInfo) (Verdict, string) {
	var same []string
	for _, name := range spaces {
		if own := s.Spaces[name]; own != "" && self.Spaces[name] == own {
			same = append(same, name)
		}
	}
	if len(same) == 0 {
		return Proved, "all its own"
	}
	return Hole, "those of the caller: " + strings.Join(same, " ")
}
