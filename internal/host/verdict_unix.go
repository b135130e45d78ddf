// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package host

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sbx-sandbox/sbx/internal/ownfile"
)

// verdict is the file, in a directory of the user's, that says that an engine works.
type verdict struct {
	dir string // "" for none
	uid int
	key string // what it stands under: it changes with all that may change the answer
}

func (v *verdict) name() string { return "probe-" + strconv.Itoa(v.uid) }

// read returns what stands under the key, where only the user can have written it.
func (v *verdict) read() (rest string, ok bool) {
	dir, err := ownfile.Open(v.dir, v.uid)
	if err != nil {
		return "", false
	}
	defer dir.Close()
	data, err := dir.Read(v.name(), 256<<10)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(string(data), v.key)
}

// keep writes a verdict. That it cannot be kept only costs time.
func (v *verdict) keep(h *Host, rest string) {
	if h.CheckOwnDir(v.dir) != nil {
		return
	}
	if _, err := ownfile.Make(v.dir, v.uid); err != nil {
		return
	}
	if dir, err := ownfile.Open(v.dir, v.uid); err == nil {
		_ = dir.Write(v.name(), []byte(v.key+rest), false)
		dir.Close()
	}
}

// remove removes it and reports whether that could be done.
func (v *verdict) remove() bool { return syscall.Unlink(v.dir+"/"+v.name()) == nil }

// probeTime bounds each call of a probe.
var probeTime = 10 * time.Second

// runProbe runs a program with descriptors from 3 on. The error is
// os.ErrDeadlineExceeded when it gives no answer in time; then whatever it
// started is ended with it.
func runProbe(files []*os.File, path string, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = &cappedBuffer{&out}, &cappedBuffer{&said}, files
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	if ctx.Err() != nil {
		return "", "", os.ErrDeadlineExceeded
	}
	return out.String(), said.String(), err
}

// cappedBuffer keeps the first 16 KiB and takes the rest without keeping it.
type cappedBuffer struct{ b *bytes.Buffer }

func (l *cappedBuffer) Write(p []byte) (int, error) {
	if room := 16<<10 - l.b.Len(); room > 0 {
		l.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// endedBy is the signal that ended a program, 0 for none.
func endedBy(ended *exec.ExitError) int {
	if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return int(status.Signal())
	}
	return 0
}
