// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"errors"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/sbx-sandbox/sbx/internal/landlock"
)

const (
	noNewPrivs   = 38  // PR_SET_NO_NEW_PRIVS
	restrictSelf = 446 // landlock_restrict_self(2), the same on all architectures
	filterMode   = 1   // SECCOMP_SET_MODE_FILTER

	oPath      = 0x200000
	stReadonly = 1 // ST_RDONLY of statfs(2)
)

// restrictions are what is put around the command in its own process, before it is
// executed.
type restrictions struct {
	landlock bool
	ruleset  int      // its descriptor
	filters  [][]byte // maxFilters at most
	input    input
}

// restrictions opens what the configuration says, files to be opened anew as well.
// The descriptor of the ruleset ends with the execve, and in process 1 with all
// others that are not its own.
func (cfg *InitConfig) restrictions() (w restrictions, err error) {
	w.input = input{caller: -1, command: -1}
	for _, n := range cfg.Reopen {
		if n == 0 {
			w.input.caller = hold(n)
		}
		if err := reopen(n); err != nil {
			return w, errors.New("descriptor " + strconv.Itoa(n) + ": " + err.Error())
		}
		if n == 0 {
			w.input.command = hold(n)
			w.input.start, _ = syscall.Seek(n, 0, 1)
		}
	}
	w.ruleset = cfg.Wall
	for _, f := range [][]byte{cfg.Own, cfg.Filter} {
		if f != nil {
			w.filters = append(w.filters, f)
		}
	}
	if cfg.Ruleset != nil {
		w.ruleset, err = openRuleset(cfg.Ruleset, cfg.Keep)
	}
	w.landlock = w.ruleset > 0
	return w, err
}

// input is a file as standard input that was opened again: process 1 keeps a
// descriptor of the caller's and one of the command's; -1 is none.
type input struct {
	caller, command int
	start           int64 // the offset of both
}

// handBack leaves the caller's file where the command stopped reading, as it would be
// had they shared it. It only goes forward, and only where it still is where it was:
// a shell outside may read its script there, and what a command reads of a pipe is
// gone as well, but nothing comes back.
func (in *input) handBack() {
	at, err := syscall.Seek(in.command, 0, 1)
	if now, gone := syscall.Seek(in.caller, 0, 1); err == nil && gone == nil && now == in.start && at > now {
		_, _ = syscall.Seek(in.caller, at, 0)
	}
}

// hold returns another descriptor of a file, -1 for none.
func hold(n int) int {
	fd, err := fcntl(n, syscall.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return -1
	}
	return fd
}

// openRuleset opens a ruleset. Under one about files the command keeps what it was
// given: /dev/stderr leads to a file or terminal of the host that no rule names.
func openRuleset(r *landlock.Ruleset, keep []int) (int, error) {
	ruleset, err := r.Open()
	if err != nil || r.FS == 0 {
		return ruleset, err
	}
	for _, fd := range append([]int{0, 1, 2}, keep...) {
		allow, ok := given(fd)
		if !ok {
			continue // not open
		}
		if err := landlock.Add(ruleset, fd, allow&r.FS); err != nil {
			_ = syscall.Close(ruleset)
			return -1, err
		}
	}
	return ruleset, nil
}

// given is what a descriptor gives already.
func given(fd int) (allow landlock.FS, ok bool) {
	var st syscall.Stat_t
	flags, err := fcntl(fd, syscall.F_GETFL, 0)
	if err != nil || syscall.Fstat(fd, &st) != nil {
		return 0, false
	}
	if st.Mode&syscall.S_IFMT == syscall.S_IFDIR || flags&oPath != 0 {
		return landlock.Write, true // kept by name: the tree is meant
	}
	allow = landlock.IoctlDev
	if flags&syscall.O_ACCMODE != syscall.O_WRONLY {
		allow |= landlock.ReadFile
	}
	if flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		allow |= landlock.WriteFile | landlock.Truncate
	}
	return allow, true
}

// before adds the steps that come before the caller's signal mask.
func (w *restrictions) before(add func(nr uintptr, args ...uintptr)) {
	if !w.landlock && len(w.filters) == 0 {
		return
	}
	add(syscall.SYS_PRCTL, noNewPrivs, 1) // bwrap has set it; without, the next ones would need a capability
	if w.landlock {
		add(restrictSelf, uintptr(w.ruleset))
	}
}

// last adds the steps right before execve.
func (w *restrictions) last(add func(nr uintptr, args ...uintptr)) {
	for i, f := range w.filters {
		childFilters[i].n, childFilters[i].filter = uint16(len(f)/8), &f[0]
		add(seccompNr, filterMode, 0, uintptr(unsafe.Pointer(&childFilters[i])))
	}
}

// reopen puts a file that is opened on its read-only mount in place of the
// same file, opened by the caller on a mount that the sandbox does not govern:
// by that descriptor the file could be opened for writing (/proc/self/fd), and
// its mode, times and attributes be changed without that.
func reopen(n int) error {
	name := ReopenDir + "/" + strconv.Itoa(n)
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	var was, is syscall.Stat_t
	var fs syscall.Statfs_t
	if err := syscall.Fstat(n, &was); err != nil {
		return err
	}
	if err := syscall.Fstat(fd, &is); err != nil {
		return err
	}
	if was.Dev != is.Dev || was.Ino != is.Ino || is.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return errors.New("replaced while the sandbox was being set up")
	}
	if err := syscall.Fstatfs(fd, &fs); err != nil {
		return err
	}
	if fs.Flags&stReadonly == 0 {
		return errors.New("not on a read-only mount")
	}
	off, err := syscall.Seek(n, 0, 1)
	if err == nil {
		_, err = syscall.Seek(fd, off, 0)
	}
	if err == nil {
		_, err = fcntl(fd, syscall.F_SETFL, 0)
	}
	if err == nil {
		err = syscall.Dup3(fd, n, 0)
	}
	return err
}
