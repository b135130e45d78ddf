package verify

import (
	"strconv"
	"syscall"
)

// Check is one thing to prove.
type Check struct {
	Section string
	Name    string
	Subject string
	Control string
	Ask     []Question // their IDs are given by [Number]
	Judge   func([]Answer) (Verdict, string)
	Heard   func() bool // outside, of what the probe did; nil where nothing is
}

// The sections, in the order of the report.
const (
	secHidden    = "hidden"
	secProtected = "protected"
	secOutside   = "outside"
	secNetwork   = "network"
	secSockets   = "sockets"
	secKernel    = "kernel"
	secProcesses = "processes"
	secEnv       = "environment"
	secFDs       = "descriptors"
	secOwn       = "sbx itself"
	secResidue   = "residue"
)

// NoControl is the control of a check made from inside.
const NoControl = "no control from inside"

// Checks lists everything that is to be proved about a site.
func (s *Site) Checks() []Check {
	var out []Check
	for _, part := range []func() []Check{s.hidden, s.protected, s.outside, s.network, s.sockets, s.kernel, s.processes, s.environment, s.descriptors, s.own} {
		out = append(out, part()...)
	}
	if s.Feigned {
		for i := range out {
			out[i].doubt()
		}
	}
	if s.Inside {
		for i := range out {
			if out[i].Control == "" {
				out[i].Control = NoControl
			}
		}
	}
	return out
}

// Number gives every question an ID and returns them in order.
func Number(checks []Check) []Question {
	var out []Question
	for i := range checks {
		for j := range checks[i].Ask {
			checks[i].Ask[j].ID = len(out) + 1
			out = append(out, checks[i].Ask[j])
		}
	}
	return out
}

// Evaluate judges the answers. A check with a question that has no answer is
// unchecked, whatever the other answers say, unless one of them shows a hole.
func Evaluate(checks []Check, answers map[int]Answer) []Result {
	out := make([]Result, 0, len(checks))
	for i := range checks {
		c := &checks[i]
		r := Result{Section: c.Section, Name: c.Name, Subject: c.Subject, Control: c.Control}
		r.Verdict, r.Detail = c.result(answers)
		out = append(out, r)
	}
	return out
}

func (c *Check) result(answers map[int]Answer) (Verdict, string) {
	got := make([]Answer, 0, len(c.Ask))
	for _, q := range c.Ask {
		a, ok := answers[q.ID]
		if !ok {
			return Unchecked, "the probe inside gave no answer"
		}
		got = append(got, a)
	}
	return c.Judge(got)
}

// known is a check whose verdict needs no probe.
func known(section, name, subject string, v Verdict, detail string) Check {
	return Check{Section: section, Name: name, Subject: subject, Judge: func([]Answer) (Verdict, string) { return v, detail }}
}

// why names an errno as errno(3) does, with the part of the act it came from.
func (a *Answer) why() string {
	text := errnoName(a.Errno)
	if a.Step != "" {
		text = a.Step + ": " + text
	}
	return text
}

func (a *Answer) is(errnos ...syscall.Errno) bool {
	for _, e := range errnos {
		if a.Errno == int(e) {
			return true
		}
	}
	return false
}

// The errnos that answers are judged by, as Linux numbers them: package
// syscall has the host's.
const (
	eperm           = syscall.Errno(1)
	enoent          = syscall.Errno(2)
	esrch           = syscall.Errno(3)
	enxio           = syscall.Errno(6)
	eacces          = syscall.Errno(13)
	ebusy           = syscall.Errno(16)
	exdev           = syscall.Errno(18)
	enotdir         = syscall.Errno(20)
	einval          = syscall.Errno(22)
	enotty          = syscall.Errno(25)
	etxtbsy         = syscall.Errno(26)
	enospc          = syscall.Errno(28)
	erofs           = syscall.Errno(30)
	enosys          = syscall.Errno(38)
	eloop           = syscall.Errno(40)
	eprotonosupport = syscall.Errno(93)
	eafnosupport    = syscall.Errno(97)
)

// errnoNames is an array, so that it costs nothing when the program starts.
var errnoNames = [...]string{
	1: "EPERM", 2: "ENOENT", 3: "ESRCH", 6: "ENXIO", 9: "EBADF", 13: "EACCES", 14: "EFAULT", 16: "EBUSY", 17: "EEXIST", 18: "EXDEV", 20: "ENOTDIR",
	21: "EISDIR", 22: "EINVAL", 25: "ENOTTY", 26: "ETXTBSY", 28: "ENOSPC", 30: "EROFS", 36: "ENAMETOOLONG", 38: "ENOSYS", 39: "ENOTEMPTY", 40: "ELOOP",
	91: "EPROTOTYPE", 93: "EPROTONOSUPPORT", 94: "ESOCKTNOSUPPORT", 95: "EOPNOTSUPP", 97: "EAFNOSUPPORT", 99: "EADDRNOTAVAIL", 101: "ENETUNREACH",
	104: "ECONNRESET", 110: "ETIMEDOUT", 111: "ECONNREFUSED", 113: "EHOSTUNREACH", 115: "EINPROGRESS", 126: "ENOKEY",
}

func errnoName(n int) string {
	if n == 0 {
		return "done"
	}
	if n > 0 && n < len(errnoNames) && errnoNames[n] != "" {
		return errnoNames[n]
	}
	return "errno " + strconv.Itoa(n)
}
