package verify

import (
	"slices"
	"strings"
	"syscall"
)

// trial is a system call that the sandbox refuses. The arguments, which the
// probe knows, are chosen so that nothing happens where it is not refused.
type trial struct {
	name       string
	want       syscall.Errno // what the filter answers
	debugger   bool          // seccomp = "dev" allows it
	privileged bool          // it takes a privilege that nobody has inside, filter or none
	harmless   bool          // to be tried outside, as a control
}

var trials = []trial{
	{"user namespace", eperm, false, true, true},
	{"mount namespace", eperm, false, true, false},
	{"process namespace", eperm, false, true, false},
	{"network namespace", eperm, false, true, false},
	{"unshare", eperm, false, true, false},
	{"setns", eperm, false, true, false},
	{"clone3", enosys, false, false, true},
	{"mount", eperm, false, true, false},
	{"umount", eperm, false, true, false},
	{"pivot_root", eperm, false, true, false},
	{"chroot", eperm, false, true, false},
	{"fsopen", enosys, false, true, false},
	{"move_mount", enosys, false, true, false},
	{"mount_setattr", enosys, false, true, false},
	{"open_tree", enosys, false, false, true},
	{"open_by_handle_at", eperm, false, false, false},
	{"ptrace", eperm, true, false, true},
	{"process_vm_readv", eperm, true, false, true},
	{"process_vm_writev", eperm, true, false, true},
	{"pidfd_getfd", eperm, true, false, true},
	{"kcmp", eperm, true, false, true},
	{"limits of a process by number", eperm, false, false, true},
	{"keyctl", enosys, false, false, true},
	{"add_key", enosys, false, false, false},
	{"request_key", enosys, false, false, true},
	{"bpf", eperm, false, false, true},
	{"perf_event_open", eperm, false, false, true},
	{"userfaultfd", eperm, false, false, true},
	{"io_uring_setup", enosys, false, false, true},
	{"personality", eperm, false, false, true},
	{"TIOCSTI", eperm, false, false, true},
	{"TIOCSTI, upper bits set", eperm, false, false, true},
	{"TIOCLINUX", eperm, false, false, true},
	{"modify_ldt", enosys, true, false, true},
	{"x32 call", enosys, false, false, true},
	{"syslog", eperm, false, false, true},
	{"reboot", eperm, false, true, false},
	{"init_module", eperm, false, true, false},
	{"delete_module", eperm, false, true, false},
	{"kexec_load", eperm, false, true, false},
	{"swapon", eperm, false, true, false},
	{"acct", eperm, false, true, false},
}

// strictTrials are for level strict alone: a few of the calls that are not on
// its list.
var strictTrials = []trial{
	{"vmsplice", enosys, false, false, true},
	{"System V shared memory", enosys, false, false, true},
	{"libaio", enosys, false, false, true},
	{"priority of a process by number", eperm, false, false, true},
	{"line discipline", eperm, false, false, true},
}

// kernel proves that the command gains no privilege and reaches none of the
// kernel's interfaces that lead to other processes, the terminal or the host.
func (s *Site) kernel() []Check {
	var out []Check
	for _, t := range trials {
		out = append(out, s.trial(t))
	}
	if s.Seccomp == "strict" {
		for _, t := range strictTrials {
			out = append(out, s.trial(t))
		}
	}
	paths := []string{"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger", "/dev/mem", "/dev/kmsg"}
	if s.Walls {
		for _, t := range hostTrials {
			out = append(out, s.trial(t))
		}
		paths = append(paths, hostFiles...)
	}
	if s.Scratch != "" {
		for _, t := range []trial{{name: "block device", want: eperm, privileged: true}, {name: "set-user-id bit", want: eperm}} {
			c := s.trial(t)
			c.Ask[0].Path = []byte(s.free(s.Scratch, "node"))
			if t.privileged || s.UID == 0 {
				out = append(out, c)
			}
		}
	}
	for _, path := range paths {
		out = append(out, Check{Section: secKernel, Name: "open for writing", Subject: path, Ask: []Question{{Act: actOpen, Path: []byte(path)}},
			Control: s.known("root can, outside"), Judge: func(a []Answer) (Verdict, string) {
				switch {
				case a[0].Errno == 0:
					return Hole, "it can be opened for writing"
				case a[0].is(erofs, eacces, eperm, enoent, enotdir):
					return Proved, a[0].why()
				}
				return Unchecked, a[0].why()
			}})
	}
	for _, p := range []struct {
		name  string
		judge func(*Self) (Verdict, string)
	}{
		{"no new privileges", s.noNewPrivs}, {"capabilities", s.noCaps}, {"system call filter", s.filterMode}, {"core dumps", coreLimit}, {"devices", devices},
	} {
		if p.name == "devices" && s.Walls {
			out = append(out, s.doors())
			continue
		}
		out = append(out, Check{Section: secKernel, Name: p.name, Ask: []Question{{Act: actSelf}}, Control: s.known("seen in /proc/self inside"), Judge: ofSelf(p.judge)})
	}
	return out
}

// known is the text of a control, which checks from inside do not have.
func (s *Site) known(text string) string {
	if s.Inside {
		return ""
	}
	return text
}

func ofSelf(judge func(*Self) (Verdict, string)) func([]Answer) (Verdict, string) {
	return func(a []Answer) (Verdict, string) {
		if a[0].Self == nil {
			return Unchecked, a[0].why()
		}
		return judge(a[0].Self)
	}
}

func (s *Site) trial(t trial) Check {
	c := Check{Section: secKernel, Name: t.name, Ask: []Question{{Act: actCall, Text: t.name}},
		Judge: func(a []Answer) (Verdict, string) { return s.judgeTrial(t, &a[0]) }}
	if out, ok := s.Kernel[t.name]; ok {
		c.Control = "outside: " + errnoName(out)
	} else if t.privileged {
		c.Control = s.known("possible with the privilege")
	} else {
		c.Control = s.known("possible without the filter")
	}
	return c
}

func (s *Site) judgeTrial(t trial, a *Answer) (Verdict, string) {
	filtered := s.filtered(t.debugger)
	switch {
	case filtered && a.is(t.want):
		return Proved, a.why()
	case a.is(eperm, eacces) && (t.privileged || !filtered):
		return Proved, "no privilege (" + a.why() + ")"
	case t.name == "user namespace" && a.is(enospc, 87): // EUSERS
		return Proved, "no further one may be made (" + a.why() + ")"
	case t.privileged && a.is(enosys):
		return Proved, "not in this kernel (" + a.why() + ")"
	case !filtered && !t.privileged:
		return Allowed, "seccomp = \"" + s.Seccomp + "\" (" + a.why() + ")"
	case a.Errno == 0:
		return Hole, "it can be done"
	case s.Filter && s.otherwise(t, a):
		return Unchecked, "the filter from a file may have answered " + a.why()
	}
	return Hole, "the kernel answers " + a.why() + " where the filter would have answered " + errnoName(int(t.want))
}

// otherwise reports whether a filter gave an answer, and not the kernel: it is not
// what the same call gives outside, or, where that is not known, one that refuses.
func (s *Site) otherwise(t trial, a *Answer) bool {
	if out, ok := s.Kernel[t.name]; ok {
		return a.Errno != out
	}
	return a.is(eperm, eacces, enosys)
}

// silent are the acts of which nothing but an errno is seen inside.
var silent = []string{actOpen, actCreate, actRename, actLink, actMake, actRemove, actMode, actPair, actSignal, actTrace, actConnect, actTCP, actSocket, actCall}

// doubt finds no hole where all that speaks for one is that nothing was refused,
// for a file that answers with errno 0: what was done cannot be told from what was
// only said to be.
func (c *Check) doubt() {
	judge := c.Judge
	c.Judge = func(answers []Answer) (Verdict, string) {
		v, text := judge(answers)
		for i := range answers {
			a := &answers[i]
			if v == Hole && a.Errno == 0 && len(a.Found) == 0 && slices.Contains(silent, c.Ask[i].Act) && (c.Heard == nil || !c.Heard()) {
				return Unchecked, text + ", or the filter from a file says so"
			}
		}
		return v, text
	}
}

func (s *Site) noNewPrivs(self *Self) (Verdict, string) {
	if self.Status["NoNewPrivs"] != "1" {
		return Hole, "no_new_privs is not set: set-user-id programs gain rights"
	}
	return Proved, "no_new_privs is set"
}

func (s *Site) noCaps(self *Self) (Verdict, string) {
	for _, set := range []string{"CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"} {
		if set == "CapBnd" && s.Walls && self.Status["NoNewPrivs"] == "1" {
			continue // nobody but root can empty it, and no program gives what is in it
		}
		v, ok := self.Status[set]
		if !ok && set == "CapAmb" {
			continue // Linux before 4.3
		}
		if strings.Trim(v, "0") != "" || v == "" {
			return Hole, set + " is " + v
		}
	}
	return Proved, "none, and none can be had"
}

func (s *Site) filterMode(self *Self) (Verdict, string) {
	switch mode := self.Status["Seccomp"]; {
	case mode == "2":
		return Proved, "a filter is in force"
	case s.Seccomp == "off":
		return Allowed, "there is no filter (seccomp = \"off\")"
	default:
		return Hole, "no filter is in force"
	}
}

func coreLimit(self *Self) (Verdict, string) {
	if self.Core > 1 {
		return Hole, "core dumps may be written"
	}
	return Proved, "none are written"
}

// usualDevices are what bwrap's --dev makes.
var usualDevices = []string{"console", "core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"}

func devices(self *Self) (Verdict, string) {
	if len(self.Dev) == 0 {
		return Unchecked, "/dev cannot be listed"
	}
	if left := without(self.Dev, usualDevices); len(left) > 0 {
		return Hole, "there are devices of the host: " + some(left)
	}
	return Proved, "only the usual ones"
}
