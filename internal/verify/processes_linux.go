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
func (s *Site) processes() []Check {
	if s.Inside {
		return []Check{known(secProcesses, "see, signal", "", NotApplicable, "what runs outside is not known inside")}
	}
	see := Check{Section: secProcesses, Name: "see", Subject: aProcess, Control: "outside the word on its command line is found",
		Ask: []Question{{Act: actSearch, Text: s.Word}}, Judge: unseen}
	if s.SharePID {
		see.Allowed = commandLine + sharedPID
	}
	session := Check{Section: secProcesses, Name: "session", Control: "the session of the caller is another", Ask: askSelf(), Judge: ofSelf(s.session)}
	if !s.Walls {
		return append(s.namespaces(), see, s.signal("signal", "", unix.ESRCH), session)
	}
	see.Gap = engine.GapProcesses
	session.Control = "compared with the caller's"
	out := []Check{see, {Section: secProcesses, Name: "namespaces", Control: "compared with the caller's", Gap: engine.GapProcesses, Ask: askSelf(), Judge: ofSelf(s.sameSpaces)}, session}
	for _, how := range []string{"kill", "tgkill", "pidfd_send_signal"} {
		out = append(out, s.signal(how, how, unix.EPERM, unix.ENOSYS))
	}
	for _, how := range waysIn {
		out = append(out, Check{Section: secProcesses, Name: how, Subject: aProcess, Control: s.outcome(how),
			Ask: []Question{{Act: actTrace, Args: []int{s.Helper}, Text: how}}, Judge: letIn})
	}
	for _, name := range closedOfOthers {
		path := "/proc/" + strconv.Itoa(s.Helper) + "/" + name
		out = append(out, Check{Section: secProcesses, Name: "open", Subject: path, Control: s.outcome(name),
			Ask: []Question{ask(actRead, path)}, Judge: refused("it can be opened", unix.EACCES, unix.EPERM)})
	}
	return out
}

const (
	commandLine = "its command line can be read"
	signalled   = "it can be signalled"
	sharedPID   = ": the processes of the host are shared"
)

func unseen(a []Answer) (Verdict, string) {
	switch {
	case a[0].Errno != 0:
		return Unchecked, a[0].why()
	case a[0].Read == 0:
		return Unchecked, noProcess
	case len(a[0].Found) > 0:
		return Hole, commandLine
	}
	return Proved, "no process has the word"
}

const noProcess = "no process can be read inside, not even the probe"

// signal is a check of one call that signals; Landlock may refuse it, too.
func (s *Site) signal(name, call string, by ...syscall.Errno) Check {
	c := Check{Section: secProcesses, Name: name, Subject: aProcess, Control: "outside it can be signalled",
		Ask: []Question{{Act: actSignal, Args: []int{s.Helper}, Text: s.Word, To: []byte(call)}}}
	scoped := !s.Walls && s.scoped(scopedSignal)
	if scoped {
		by = append(by, unix.EPERM)
	}
	if s.Walls {
		c.Gap = engine.GapSignals
	}
	if s.SharePID && !scoped {
		c.Allowed = signalled + sharedPID
	}
	c.Judge = refused(signalled, by...)
	return c
}

func letIn(a []Answer) (Verdict, string) {
	switch {
	case a[0].is(unix.EPERM, unix.EACCES):
		return Proved, a[0].why()
	case a[0].is(unix.ENOSYS):
		return NotApplicable, "not in this kernel"
	}
	return Hole, "it is let in (" + a[0].why() + ")"
}

// outcome is the control of an act on the process outside: how it goes there.
func (s *Site) outcome(act string) string { return "outside: " + errnoName(s.Kernel["outside "+act]) }

func (s *Site) session(self *Self) (Verdict, string) {
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
func (s *Site) namespaces() []Check {
	var out []Check
	for _, name := range spaces {
		own, ok := s.Spaces[name]
		if !ok {
			continue
		}
		c := Check{Section: secProcesses, Name: "namespace", Subject: name, Control: "outside it is " + own, Ask: askSelf(),
			Judge: ofSelf(func(self *Self) (Verdict, string) {
				switch self.Spaces[name] {
				case "":
					return Unchecked, "it cannot be read inside"
				case own:
					return Hole, "it is the caller's"
				}
				return Proved, "one of its own"
			})}
		if name == "pid" && s.SharePID {
			c.Allowed = "the processes of the host are shared"
		}
		out = append(out, c)
	}
	return out
}

func (s *Site) sameSpaces(self *Self) (Verdict, string) {
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
