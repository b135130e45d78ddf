// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"errors"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// step is one system call of a new process before it is the command. The
// layout is known to the assembly.
type step struct {
	nr     uintptr
	args   [6]uintptr
	result uintptr
	end    uintptr // one more than the result after which no further step is made; 0 is none
}

func newStep(nr uintptr, args ...uintptr) step {
	s := step{nr: nr}
	copy(s.args[:], args)
	return s
}

// do makes the step in this process.
func (s *step) do() syscall.Errno {
	_, _, errno := syscall.RawSyscall6(s.nr, s.args[0], s.args[1], s.args[2], s.args[3], s.args[4], s.args[5])
	return errno
}

// image is what execve(2) takes.
type image struct {
	path      *byte
	argv, env []*byte
}

func newImage(path string, argv, env []string) (img image, err error) {
	if img.path, err = syscall.BytePtrFromString(path); err != nil {
		return img, err
	}
	if img.argv, err = syscall.SlicePtrFromStrings(argv); err != nil {
		return img, err
	}
	img.env, err = syscall.SlicePtrFromStrings(env)
	return img, err
}

// step executes the image, which has to be kept alive until then.
func (img *image) step() step {
	return newStep(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(img.path)), uintptr(unsafe.Pointer(&img.argv[0])),
		uintptr(unsafe.Pointer(&img.env[0])))
}

// run starts a process that shares this one's memory, in which the steps are
// made one after another until one fails or says that it is the last, and returns its process id or an
// errno; with cloneVfork when the last step, an execve, has been made, or the
// process has ended. All signals have to be blocked: a handler would run on a
// stack that is in use.
//
// syscall.ForkExec would be the usual way. It gives the new process the signal
// mask that this process was started with, which is the parent process's, and
// knows no resource limits.
func run(flags uintptr, steps *step, n uintptr) (pid, errno uintptr)

// Flags of run: CLONE_VM and CLONE_VFORK of clone(2), with SIGCHLD.
const (
	cloneVM    = 0x100 | sigCHLD
	cloneVfork = 0x4000 | cloneVM
)

// These lie where no growing stack moves them.
var (
	childMask    uint64
	childFilters [maxFilters]struct { // struct sock_fprog
		n      uint16
		filter *byte
	}
)

// maxFilters is one of sbx's own and one from a file.
const maxFilters = 2

// child is what a new process is to be.
type child struct {
	path         string
	argv         []string
	env          []string
	group        Group
	tty          int // to be given to its group with Front
	mask         uint64
	rlimits      []Rlimit
	restrictions restrictions
	output       int // to be its standard output, and all that it has; 0 for none
}

// start starts a process and returns its id. The error is execve's.
func (c *child) start() (int, error) {
	img, err := newImage(c.path, c.argv, c.env)
	if err != nil {
		return 0, err
	}
	limits := make([][2]uint64, len(c.rlimits))
	steps := make([]step, 0, 12+len(limits))
	add := func(nr uintptr, args ...uintptr) { steps = append(steps, newStep(nr, args...)) }
	switch c.group {
	case Beside:
		add(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, sigKILL)
	case NewSession:
		add(syscall.SYS_SETSID)
	case Foreground:
		add(syscall.SYS_SETPGID, 0, 0)
		add(syscall.SYS_GETPID)
		// In the background still, and so with SIGTTOU blocked, as all signals are.
		add(syscall.SYS_IOCTL, uintptr(c.tty), syscall.TIOCSPGRP, uintptr(unsafe.Pointer(&steps[1].result)))
	}
	for i, l := range c.rlimits {
		limits[i] = [2]uint64{l.Max, l.Max}
		add(syscall.SYS_PRLIMIT64, 0, uintptr(l.Resource), uintptr(unsafe.Pointer(&limits[i])))
	}
	if c.output > 0 {
		add(syscall.SYS_DUP3, uintptr(c.output), 1, 0)
		add(syscall.SYS_CLOSE, 2)
	}
	c.restrictions.before(add)
	childMask = c.mask
	add(syscall.SYS_RT_SIGPROCMASK, 2, uintptr(unsafe.Pointer(&childMask)), 0, 8)
	c.restrictions.last(add)
	steps = append(steps, img.step())
	pid, errno := run(cloneVfork, &steps[0], uintptr(len(steps)))
	runtime.KeepAlive(limits)
	runtime.KeepAlive(img)
	if errno != 0 {
		return 0, syscall.Errno(errno)
	}
	for i := range steps {
		if r := steps[i].result; r > ^uintptr(4095) {
			reapOne(int(pid))
			if i < len(steps)-1 {
				return 0, setupError(steps[i].nr, syscall.Errno(-r))
			}
			return 0, syscall.Errno(-r)
		}
	}
	return int(pid), nil
}

// setupError is a step before the execve that failed. It is no [syscall.Errno]: the
// command was not to blame.
func setupError(nr uintptr, err syscall.Errno) error {
	what := "system call " + strconv.Itoa(int(nr))
	switch nr {
	case restrictSelf:
		what = "landlock_restrict_self"
	case seccompNr:
		what = "the system call filter"
	}
	return errors.New(what + ": " + err.Error())
}

func reapOne(pid int) {
	for {
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
			return
		}
	}
}
