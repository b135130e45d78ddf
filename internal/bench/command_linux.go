// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// command is a program ready to be started many times.
type command struct {
	path  string
	front []string // words of the sandbox, from argv[0] on
	inner []string // words of the command in it
	env   []string
	dir   string
	fds   map[int][]byte // content of the descriptors it is given, nil for the writing end of a pipe
}

func (c *command) argv() []string { return slices.Concat(c.front, c.inner) }

// check runs a script in place of the command: it has to run, to be able to write
// into the project, and not to be able to write beside it.
func (c *command) check() error {
	const script = "echo ran; echo >inside; echo 2>/dev/null >../outside; true"
	try := *c
	try.inner = []string{"/bin/sh", "-c", script}
	if n := len(c.inner); n > 1 && c.inner[n-2] == "-c" {
		try.inner = append(slices.Clone(c.inner[:n-1]), script)
	}
	inside, outside := filepath.Join(c.dir, "inside"), filepath.Join(c.dir, "../outside")
	out, err := try.output()
	in, beside := os.Remove(inside) == nil, os.Remove(outside) == nil
	switch words := strings.Join(c.front, " "); {
	case err != nil:
		return err
	case string(out) != "ran\n":
		return fmt.Errorf("%s: the command printed %q", words, out)
	case !in || beside:
		return fmt.Errorf("%s: written in the project: %t, beside it: %t", words, in, beside)
	}
	return c.runs()
}

// runs tries the command that is measured, and reports what it said when it fails.
func (c *command) runs() error {
	_, err := c.output()
	return err
}

func (c *command) output() ([]byte, error) {
	files, err := c.files()
	if err != nil {
		return nil, err
	}
	defer closeAll(files)
	var said [2]*os.File // standard output and error
	for i := range said {
		if said[i], err = os.CreateTemp("", "sbx-bench"); err != nil {
			return nil, err
		}
		defer said[i].Close()
		_ = os.Remove(said[i].Name())
		files[i+1] = said[i].Fd()
	}
	_, err = c.execute(files)
	var text [2][]byte
	for i := range text {
		text[i], _ = io.ReadAll(io.NewSectionReader(said[i], 0, 1<<30))
	}
	if err != nil {
		return nil, fmt.Errorf("in %s: %w\n%s", c.dir, err, text[1])
	}
	return text[0], nil
}

// handed is what this command becomes: the first program called bwrap that it
// executes, with its words, variables and descriptors at that moment.
func (c *command) handed() (*command, error) {
	files, err := c.files()
	if err != nil {
		return nil, err
	}
	defer closeAll(files)
	pid, err := syscall.ForkExec(c.path, c.argv(), &syscall.ProcAttr{Dir: c.dir, Env: c.env, Files: files,
		Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		return nil, fmt.Errorf("%s, traced: %w", c.path, err)
	}
	for {
		status, err := wait(pid)
		if err != nil || !status.Stopped() {
			return nil, fmt.Errorf("%s: it did not become bwrap (status %#x, %v)", strings.Join(c.argv(), " "), int(status), err)
		}
		sig := status.StopSignal()
		if sig == syscall.SIGTRAP { // after an exec
			exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			if filepath.Base(exe) == "bwrap" {
				got, err := started(pid, exe, c.dir)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				_, _ = wait(pid)
				return got, err
			}
			sig = 0
		}
		if err := syscall.PtraceCont(pid, int(sig)); err != nil {
			return nil, err
		}
	}
}

// started reads a process that has just executed a program.
func started(pid int, exe, dir string) (*command, error) {
	proc := fmt.Sprintf("/proc/%d/", pid)
	words, err := os.ReadFile(proc + "cmdline")
	env, err2 := os.ReadFile(proc + "environ")
	open, err3 := os.ReadDir(proc + "fd")
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	c := &command{path: exe, front: split(words), env: split(env), dir: dir, fds: map[int][]byte{}}
	end := slices.Index(c.front, "--") + 1
	c.front, c.inner = c.front[:end:end], c.front[end:]
	for _, fd := range open {
		n, _ := strconv.Atoi(fd.Name())
		to, err := os.Readlink(proc + "fd/" + fd.Name())
		switch {
		case n <= 2:
			continue
		case strings.HasPrefix(to, "/memfd:"):
			c.fds[n], err = os.ReadFile(proc + "fd/" + fd.Name())
		case strings.HasPrefix(to, "pipe:"):
			c.fds[n] = nil
		case err == nil:
			err = fmt.Errorf("descriptor %d of bwrap leads to %s", n, to)
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// split cuts at NUL, which ends each word.
func split(data []byte) []string {
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

// closed is a descriptor that the child does not get.
const closed = ^uintptr(0)

// null is /dev/null, which is all that a measured program reads and writes.
var null uintptr

// files makes the descriptors of one run. bwrap reads them to the end through
// an offset that all copies share, so no two runs can have the same ones.
func (c *command) files() ([]uintptr, error) {
	files := []uintptr{null, null, null}
	for n, data := range c.fds {
		for len(files) <= n {
			files = append(files, closed)
		}
		fd, err := descriptor(data)
		if err != nil {
			return nil, err
		}
		files[n] = uintptr(fd)
	}
	return files, nil
}

func descriptor(data []byte) (int, error) {
	if data == nil {
		var ends [2]int
		err := unix.Pipe2(ends[:], unix.O_CLOEXEC)
		unix.Close(ends[0])
		return ends[1], err
	}
	fd, err := unix.MemfdCreate("bench", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, err
	}
	if _, err := unix.Pwrite(fd, data, 0); err != nil {
		return -1, err
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	return fd, err
}

func closeAll(files []uintptr) {
	for _, f := range files[3:] {
		if f != closed {
			_ = syscall.Close(int(f))
		}
	}
}

// run is one measurement, in milliseconds.
func (c *command) run() (float64, error) {
	files, err := c.files()
	if err != nil {
		return 0, err
	}
	defer closeAll(files)
	took, err := c.execute(files)
	return float64(took.Nanoseconds()) / 1e6, err
}

// execute starts the command, waits for it, and returns how long that took.
func (c *command) execute(files []uintptr) (time.Duration, error) {
	argv := c.argv()
	start := time.Now()
	pid, err := c.start(argv, files)
	if err != nil {
		return 0, err
	}
	status, err := wait(pid)
	took := time.Since(start)
	return took, c.failed(status, err)
}

func (c *command) start(argv []string, files []uintptr) (int, error) {
	pid, err := syscall.ForkExec(c.path, argv, &syscall.ProcAttr{Dir: c.dir, Env: c.env, Files: files})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.path, err)
	}
	return pid, nil
}

// wait waits for a process, or for any with -1.
func wait(pid int) (status syscall.WaitStatus, err error) {
	for err = syscall.EINTR; err == syscall.EINTR; {
		_, err = syscall.Wait4(pid, &status, 0, nil)
	}
	return status, err
}

func (c *command) failed(status syscall.WaitStatus, err error) error {
	if err == nil && status != 0 {
		err = fmt.Errorf("status %#x", int(status))
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(c.front, " "), err)
	}
	return err
}
