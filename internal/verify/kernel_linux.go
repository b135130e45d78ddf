// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

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
func (s *prover) kernel() {
	for _, t := range trials() {
		if s.applies(t) {
			s.trial(t)
		}
	}
	files := kernelFiles
	if s.Walls {
		files = slices.Concat(kernelFiles, sysFiles)
	}
	shut := refused("it can be opened for writing", unix.EROFS, unix.EACCES, unix.EPERM, unix.ENOENT, unix.ENOTDIR)
	for _, path := range files {
		s.prove("open for writing", path, "root can, outside", shut, ask(actOpen, path))
	}
	own := func(name string, judge func(*selfInfo) (Verdict, string)) {
		s.prove(name, "", "seen in /proc/self inside", ofSelf(judge), askSelf)
	}
	own("no new privileges", noNewPrivs)
	own("capabilities", s.noCaps)
	own("system call filter", s.filterMode)
	own("core dumps", coreLimit)
	if s.Walls {
		s.hostDevices()
	} else {
		own("devices", ownDevices)
	}
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

func (s *prover) trial(t trial) {
	judge := func(a []answer) (Verdict, string) { return s.judgeTrial(t, &a[0]) }
	c := s.prove(t.name, "", "possible without the filter", judge, question{Act: actCall, Text: t.name})
	if t.is&needsPath != 0 {
		c.Ask[0].Path = []byte(s.free(s.Scratch, "node"))
	}
	if out, ok := s.Kernel[t.name]; ok {
		c.Control = "outside: " + errnoName(out)
	} else if t.is&privileged != 0 {
		c.Control = "possible with the privilege"
	}
}

func (s *target) judgeTrial(t trial, a *answer) (Verdict, string) {
	filtered := s.Seccomp != "off" && !(t.is&debugger != 0 && s.Seccomp == "dev")
	privileged := t.is&privileged != 0
	switch {
	case filtered && a.is(t.want):
		return Proved, a.why()
	case a.is(unix.EPERM, unix.EACCES) && (privileged || !filtered):
		return Proved, "no privilege (" + a.why() + ")"
	case t.name == "user namespace" && a.is(unix.ENOSPC, unix.EUSERS):
		return Proved, "no further one may be made (" + a.why() + ")"
	case privileged && a.is(unix.ENOSYS):
		return Proved, "not in this kernel (" + a.why() + ")"
	case !filtered && !privileged:
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
func (s *target) otherwise(t trial, a *answer) bool {
	if out, ok := s.Kernel[t.name]; ok {
		return a.Errno != out
	}
	return a.is(unix.EPERM, unix.EACCES, unix.ENOSYS)
}

func noNewPrivs(self *selfInfo) (Verdict, string) {
	if self.Status["NoNewPrivs"] != "1" {
		return Hole, "no_new_privs is not set: set-user-id programs gain rights"
	}
	return Proved, "no_new_privs is set"
}

func (s *target) noCaps(self *selfInfo) (Verdict, string) {
	for _, set := range []string{"CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"} {
		v, ok := self.Status[set]
		switch {
		case set == "CapBnd" && s.Walls && self.Status["NoNewPrivs"] == "1":
			// No one but root can empty it, and no program gives what is in it.
		case set == "CapAmb" && !ok: // Linux before 4.3
		case strings.Trim(v, "0") != "" || v == "":
			return Hole, set + " is " + v
		}
	}
	return Proved, "none, and none can be had"
}

func (s *target) filterMode(self *selfInfo) (Verdict, string) {
	switch {
	case self.Status["Seccomp"] == "2":
		return Proved, "a filter is in force"
	case s.Seccomp == "off":
		return Allowed, noFilter
	}
	return Hole, "no filter is in force"
}

func coreLimit(self *selfInfo) (Verdict, string) {
	if self.Core > 1 {
		return Hole, "core dumps may be written"
	}
	return Proved, "none are written"
}

// usualDevices are what bwrap's --dev makes.
var usualDevices = []string{"console", "core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin",
	"stdout", "tty", "urandom", "zero"}

func ownDevices(self *selfInfo) (Verdict, string) {
	if len(self.Dev) == 0 {
		return Unchecked, "/dev cannot be listed"
	}
	if left := without(self.Dev, usualDevices); len(left) > 0 {
		return Hole, "there are devices of the host: " + some(left)
	}
	return Proved, "only the usual ones"
}

// hostDevices proves that with Landlock devices are there and cannot be opened.
func (s *prover) hostDevices() {
	if len(s.Devices) == 0 {
		s.known("devices", "of the host", NotApplicable, "there is none that this user can open")
		return
	}
	var acts []question
	for _, path := range s.Devices {
		acts = append(acts, ask(actRead, path))
	}
	s.prove("devices", "of the host", "outside they can be opened", func(answers []answer) (Verdict, string) {
		for i := range answers {
			switch a := &answers[i]; {
			case a.Errno == 0:
				return Hole, text.Plain(s.Devices[i]) + " can be opened"
			case !a.is(unix.EACCES, unix.EPERM):
				return Unchecked, text.Plain(s.Devices[i]) + ": " + a.why()
			}
		}
		return Proved, "closed: " + some(s.Devices)
	}, acts...)
}
