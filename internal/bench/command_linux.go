// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/session"
)

// command is a program ready to be started many times.
type command struct {
	path string
	argv []string
	env  []string
	dir  string
	fds  map[int][]byte // content of the descriptors it is given
}

// plan is what sbx --dry-run --json prints.
type plan struct {
	Path string
	Argv []string
	Env  []string
	FDs  []struct {
		FD     int
		Words  []string
		Text   string
		Base64 []byte
	}
}

// sbxCommand is sbx with flags in front of /bin/true.
func (b *bench) sbxCommand(s site, flags ...string) *command {
	return &command{path: b.sbx, argv: append(append([]string{"sbx"}, flags...), "--", "/bin/true"), env: s.env(),
		dir: s.project}
}

// bwrapCommand is what that sbx would execute. The sandbox is tried once
// before: the first run makes its directories and fills its cache.
func (b *bench) bwrapCommand(sbx *command) (*command, error) {
	if err := sbx.check(); err != nil {
		return nil, err
	}
	dry := *sbx
	dry.argv = append([]string{sbx.argv[0], "--direct", "--dry-run", "--json"}, sbx.argv[1:]...)
	out, err := dry.output()
	if err != nil {
		return nil, err
	}
	var p plan
	if err := json.Unmarshal(out, &p); err != nil {
		return nil, fmt.Errorf("sbx --dry-run --json: %w", err)
	}
	c := &command{path: p.Path, argv: p.Argv, dir: sbx.dir, fds: map[int][]byte{}}
	for _, e := range p.Env {
		c.env = append(c.env, value(e, sbx.env))
	}
	for _, fd := range p.FDs {
		c.fds[fd.FD] = content(fd.Words, fd.Text, fd.Base64)
	}
	return c, c.check()
}

// asShell starts sbx as a client's shell, in place of the run that it is
// measured against.
func (b *bench) asShell(r *row, s site) error {
	link := filepath.Join(b.dir, "sbx-sh")
	if err := os.Symlink(b.sbx, link); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	r.sbx.path, r.sbx.argv = link, []string{"sbx-sh", "-c", "true"}
	dir, err := session.Create(os.Geteuid(), session.Session{Client: "bench", Root: s.project, Home: s.home})
	if err != nil {
		return err
	}
	b.sessions = append(b.sessions, dir)
	r.sbx.env = append(r.sbx.env, session.Var+"="+dir, "TMPDIR="+session.Tmp(dir))
	return r.sbx.check()
}

// floorCommand is a program that only executes bwrap.
func (b *bench) floorCommand(bwrap *command) *command {
	c := *bwrap
	c.path, c.argv = b.floor, append([]string{"floor", bwrap.path}, bwrap.argv...)
	return &c
}

// value completes a variable that the plan gives by name only: it is the
// caller's.
func value(e string, env []string) string {
	if strings.Contains(e, "=") {
		return e
	}
	for _, v := range env {
		if strings.HasPrefix(v, e+"=") {
			return v
		}
	}
	return e + "="
}

func content(words []string, text string, raw []byte) []byte {
	switch {
	case words != nil:
		return []byte(strings.Join(words, "\x00") + "\x00")
	case raw != nil:
		return raw
	}
	return []byte(text)
}

// check runs the command once and reports what it said when it fails.
func (c *command) check() error {
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
		fd, err := unix.MemfdCreate("bench", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		if err != nil {
			return nil, err
		}
		files[n] = uintptr(fd)
		if _, err := unix.Pwrite(fd, data, 0); err != nil {
			return nil, err
		}
		const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
			return nil, err
		}
	}
	return files, nil
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
	attr := &syscall.ProcAttr{Dir: c.dir, Env: c.env, Files: files}
	var status syscall.WaitStatus
	start := time.Now()
	pid, err := syscall.ForkExec(c.path, c.argv, attr)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c.path, err)
	}
	for err = syscall.EINTR; err == syscall.EINTR; {
		_, err = syscall.Wait4(pid, &status, 0, nil)
	}
	took := time.Since(start)
	if err == nil && (!status.Exited() || status.ExitStatus() != 0) {
		err = fmt.Errorf("status %#x", int(status))
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", strings.Join(c.argv, " "), err)
	}
	return took, nil
}

// words is the length of the argv with what stands in --args descriptors: more
// words are more mounts, and the ratio looks better the more there are.
func (c *command) words() int {
	n := len(c.argv)
	for i, w := range c.argv {
		if fd, err := strconv.Atoi(c.argv[min(i+1, len(c.argv)-1)]); w == "--args" && err == nil {
			n += strings.Count(string(c.fds[fd]), "\x00")
		}
	}
	return n
}
