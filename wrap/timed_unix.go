// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package wrap

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
)

// timedGrace is how long a command may clean up after its time.
const timedGrace = 5 * time.Second

// runTimed runs a command in a process group of its own, ends that when the time is
// up, and returns the wait status. It is for systems without the means that package
// pid1 has on Linux: what the command started in groups of their own goes on.
func runTimed(p *engine.Plan) (status syscall.WaitStatus, timedOut bool, err error) {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals)
	attr := &syscall.ProcAttr{Env: p.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true}}
	tty, _ := syscall.Open("/dev/tty", syscall.O_RDWR|syscall.O_CLOEXEC|syscall.O_NOCTTY, 0)
	if front, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP); err == nil && front == syscall.Getpgrp() {
		attr.Sys.Foreground, attr.Sys.Ctty = true, tty
	}
	pid, err := syscall.ForkExec(p.Path, p.Argv, attr)
	if err != nil {
		return 0, false, err
	}
	over := time.After(time.Duration(p.Limit * float64(time.Second)))
	for {
		select {
		case <-over:
			if timedOut {
				_ = syscall.Kill(-pid, syscall.SIGKILL)
				continue
			}
			timedOut, over = true, time.After(timedGrace)
			_ = syscall.Kill(-pid, syscall.SIGTERM)
			_ = syscall.Kill(-pid, syscall.SIGCONT)
			fmt.Fprintf(os.Stderr, "sbx: error: Command timed out after %gs in sandbox\n", p.Limit)
		case s := <-signals:
			switch s {
			case syscall.SIGCHLD:
			case syscall.SIGURG, syscall.SIGPIPE, syscall.SIGTTOU: // this process's own
				continue
			default:
				_ = syscall.Kill(-pid, s.(syscall.Signal))
				continue
			}
			n, err := syscall.Wait4(pid, &status, syscall.WNOHANG|syscall.WUNTRACED, nil)
			switch {
			case n != pid && err == nil || err == syscall.EINTR:
			case err == nil && status.Stopped():
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
				if attr.Sys.Foreground {
					_ = unix.IoctlSetPointerInt(tty, unix.TIOCSPGRP, pid)
				}
				_ = syscall.Kill(-pid, syscall.SIGCONT)
			default:
				_ = syscall.Kill(-pid, syscall.SIGKILL)
				return status, timedOut, err
			}
		}
	}
}

// exitTimed ends this process as the command ended.
func exitTimed(status syscall.WaitStatus, timedOut bool) {
	switch {
	case timedOut:
		os.Exit(host.StatusTimeout)
	case status.Signaled():
		signal.Reset(status.Signal())
		_ = syscall.Kill(os.Getpid(), status.Signal())
		time.Sleep(time.Second) // not to be waited for
		os.Exit(128 + int(status.Signal()))
	}
	os.Exit(status.ExitStatus())
}
