// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"errors"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Exec replaces this process by the plan. It returns only when it fails, with
// an [*Error]; nothing has been executed then.
func Exec(p *engine.Plan, h *host.Host) error {
	if err := makeDirs(p, h); err != nil {
		return err
	}
	// A core dump would be written by the host, outside of the sandbox's view.
	// One byte is too few for any, and unlike none it also keeps the kernel from
	// starting the program that core_pattern may name (core(5)).
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}); err != nil && err != unix.EPERM {
		return failed("core dumps: " + err.Error())
	}
	for _, n := range p.Copy {
		if err := copyFD(n); err != nil {
			e := failed(descriptor(h, n) + ": " + err.Error())
			e.Hint = "give the command a pipe instead, from cat"
			if err == errEndless {
				e.Hint = "give the command a pipe with a part of it instead, from head -c"
			}
			return e
		}
	}
	closeOthers(p, h)
	if err := enter(p); err != nil {
		return err
	}
	if p.Confined != nil {
		return confineSelf(p)
	}
	if err := prepareStage(p); err != nil {
		return err
	}
	if err := putFDs(p.FDs); err != nil {
		return err
	}
	// What sbx itself writes is done.
	if !p.Limits.Staged {
		if err := p.Limits.SetRlimits(); err != nil {
			return failed("limits: " + err.Error())
		}
	}
	undo := func() {}
	if p.Init != nil {
		undo = p.Init.Parent.Divert()
	}
	err := syscall.Exec(p.Path, p.Argv, p.Env)
	undo()
	return failed(text.Plain(p.Path) + ": " + err.Error())
}

// prepareStage opens what leads from init to this process, and lets the
// kernel end everything should init not have done so when the time is up.
func prepareStage(p *engine.Plan) error {
	if p.Setup != nil {
		if err := pid1.PrepareDirect(*p.Setup); err != nil {
			return unplaced("guard", err)
		}
		return nil
	}
	if p.Init == nil { // with no engine
		pid1.BeforeExec()
		return nil
	}

	mask, err := pid1.PrepareParent(p.Init.Parent, p.Init.Group, p.Limit > 0)
	if err != nil {
		return unplaced("signals", err)
	}
	p.Init.Mask = mask
	for i := range p.FDs {
		if p.FDs[i].Num == p.InitFD {
			p.FDs[i].Data = p.Init.Image(p.InitFD, len(p.Limits.Cgroups) == 0)
		}
	}
	if p.Limit > 0 {
		if err := pid1.Backstop(p.Limit); err != nil {
			return failed("time limit: " + err.Error())
		}
	}
	return nil
}

// enter puts this process into the planned control groups, and gives init
// the file that counts kills.
func enter(p *engine.Plan) error {
	if len(p.Limits.Cgroups) == 0 && p.Limits.OOM == "" {
		return nil
	}
	fd, err := p.Limits.Join()
	if err != nil {
		return failed(err.Error())
	}
	if p.Init == nil || p.Init.OOM < 0 {
		return nil
	}
	if fd < 0 {
		p.Init.OOM = -1
		return nil
	}
	if err := putAt(fd, p.Init.OOM); err != nil {
		return failed("control group: " + err.Error())
	}
	return nil
}

// unplaced is the error for a descriptor that could not be put at its number.
func unplaced(what string, err error) error {
	e := failed(what + ": " + err.Error())
	// The number is above what the process may have.
	if errors.Is(err, syscall.EBADF) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.EINVAL) {
		e.Hint = "raise the limit on open files: ulimit -n 1024"
	}
	return e
}

// putFDs makes the planned descriptors. Those without content, one for each
// hidden file, are all the same one.
func putFDs(fds []bwrapargs.FD) error {
	empty := -1
	for _, fd := range fds {
		var err error
		if bytes := fd.Path == ""; bytes && len(fd.Data) == 0 && empty >= 0 {
			err = unix.Dup3(empty, fd.Num, 0)
		} else {
			err = putFD(fd)
		}
		if err != nil {
			return unplaced("descriptor for "+fd.Name, err)
		}
		if fd.Path == "" && len(fd.Data) == 0 {
			empty = fd.Num
		}
	}
	return nil
}

// putFD makes a descriptor with the given content at the planned number.
func putFD(fd bwrapargs.FD) error {
	tmp, err := plannedFD(fd)
	if err != nil {
		return err
	}
	return putAt(tmp, fd.Num)
}

// putAt puts a descriptor at a number, to be passed on.
func putAt(fd, at int) error {
	if fd == at {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
		return err
	}
	return unix.Dup3(fd, at, 0)
}

// plannedFD returns a close-on-exec descriptor with the planned bytes, or of the
// planned file when that is still the one that was looked at.
func plannedFD(fd bwrapargs.FD) (int, error) {
	if fd.Path == "" {
		return host.Memfd(fd.Data)
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	n, err := unix.Openat2(unix.AT_FDCWD, fd.Path, &how)
	if err == unix.ENOSYS || err == unix.EPERM { // before Linux 5.6, or a container's filter
		n, err = unix.Open(fd.Path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(n, &st); err != nil || fd.Held == nil || st.Ino != fd.Held.Ino || st.Dev != fd.Held.Dev {
		syscall.Close(n)
		return -1, errReplaced
	}
	return n, nil
}

var errReplaced = errors.New("replaced while the sandbox was being set up")

// copyFD puts a sealed copy of a read-only file, from its present offset on,
// in place of the file: the command could open the file itself once more
// through /proc/self/fd, and for writing, since it lies on a mount that the
// sandbox does not govern.
func copyFD(n int) error {
	off, err := unix.Seek(n, 0, 1)
	if err != nil {
		return err
	}
	data, err := inTime(func() ([]byte, error) { return readFrom(n, off) })
	if err != nil {
		return err
	}
	fd, err := host.Memfd(data)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if err := host.Seal(fd); err != nil {
		return err
	}
	return unix.Dup3(fd, n, 0)
}

// readFrom reads a file from an offset to its end, at most [MaxCopy].
func readFrom(n int, off int64) ([]byte, error) {
	data := make([]byte, 0, 64<<10)
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		k, err := unix.Pread(n, data[len(data):cap(data)], off+int64(len(data)))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if k == 0 {
			return data, nil
		}
		data = data[:len(data)+k]
		if len(data) > engine.MaxCopy {
			return nil, syscall.EFBIG
		}
	}
}

// inTime gives up on what does not end: some files of the kernel's wait for
// something to tell (/proc/kmsg), and never have an end. The caller fails then,
// and with the process ends what still waits.
func inTime(read func() ([]byte, error)) ([]byte, error) {
	type answer struct {
		data []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		data, err := read()
		done <- answer{data, err}
	}()
	select {
	case a := <-done:
		return a.data, a.err
	case <-time.After(patience):
		return nil, errEndless
	}
}

// patience is how long the content of a file may take to be read.
const patience = 5 * time.Second

var errEndless = errors.New("it has no end, or gives no answer")

// closeOthers lets nothing pass that the plan does not name.
func closeOthers(p *engine.Plan, h *host.Host) {
	if unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) != nil {
		for _, fd := range h.FDs {
			if fd.Num > 2 {
				syscall.CloseOnExec(fd.Num)
			}
		}
	}
	for _, n := range p.Keep {
		_, _ = unix.FcntlInt(uintptr(n), unix.F_SETFD, 0)
	}
}

// descriptor names one of the caller's, with the file that it leads to.
func descriptor(h *host.Host, n int) string {
	name := "descriptor " + strconv.Itoa(n)
	if n < len(engine.Stdio) {
		name = engine.Stdio[n]
	}
	if i := slices.IndexFunc(h.FDs, func(fd host.FD) bool { return fd.Num == n }); i >= 0 && h.FDs[i].Path != "" {
		name += " (" + h.Shown(h.FDs[i].Path) + ")"
	}
	return name
}
