// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/engine/seatbelt"
	"github.com/sbx-sandbox/sbx/internal/host"
)

// Exec replaces this process by the plan: sandbox-exec puts up the walls and
// becomes the command in its turn, so that signals, the terminal and the exit
// status are the kernel's business. It returns only when it fails, with an
// [*Error] or an [*Unavailable]; nothing has been executed then.
func Exec(p *engine.Plan, h *host.Host) error {
	if err := seatbelt.CheckPlan(p); err != nil {
		return err
	}
	if err := makeDirs(p, h); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return failed("core dumps: " + err.Error())
	}
	if err := writeFiles(p); err != nil {
		return err
	}
	if err := closeOthers(p); err != nil {
		return err
	}
	// What sbx itself writes is done.
	if err := p.Limits.SetRlimits(); err != nil {
		return failed("limits: " + err.Error())
	}
	if p.Limit > 0 {
		return seatbelt.NotExecuted(p, timed(p))
	}
	return seatbelt.NotExecuted(p, syscall.Exec(p.Path, p.Argv, p.Env))
}

// timed runs the command and ends as it does. It returns only when it could not start.
func timed(p *engine.Plan) error {
	status, timedOut, err := runTimed(p)
	if err == nil {
		exitTimed(status, timedOut)
	}
	return err
}

// closeOthers lets nothing pass that the plan does not name: what is open now
// counts, not what was when the plan was made.
func closeOthers(p *engine.Plan) error {
	fds, err := host.Descriptors()
	if err != nil {
		return failed("cannot list the open descriptors: " + err.Error())
	}
	for _, fd := range fds {
		if fd.Num <= 2 || slices.Contains(p.Keep, fd.Num) {
			continue
		}
		if _, err := unix.FcntlInt(uintptr(fd.Num), unix.F_SETFD, unix.FD_CLOEXEC); err != nil && err != unix.EBADF {
			return failed("descriptor " + strconv.Itoa(fd.Num) + ": " + err.Error())
		}
	}
	for _, n := range p.Keep {
		if _, err := unix.FcntlInt(uintptr(n), unix.F_SETFD, 0); err != nil {
			return failed("descriptor " + strconv.Itoa(n) + ": " + err.Error())
		}
	}
	return nil
}
