// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/text"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// descriptors decides what passes: pipes, unnamed socket pairs, and the regular
// files that the policy gives anyway. Everything else could lead out of the
// sandbox: a directory is a door to the host's tree, a named socket a service, a
// pidfd another process, a file of the kernel's the memory of one. What the
// caller has as 0, 1 and 2 he has given to this command; from 3 up a descriptor
// may have been left open by anybody.
func (r *Run) descriptors() error {
	h := r.Host
	var closed []*host.FD
	for i := range h.FDs {
		fd := &h.FDs[i]
		named := slices.Contains(r.Request.KeepFDs, fd.Num)
		switch {
		case fd.Num <= 2:
			if err := r.misgiven(fd); err != nil {
				return err
			}
		case named:
			r.Keep = append(r.Keep, fd.Num)
			continue
		case fd.CloseOn || fd.Kind != host.FDFile && fd.Kind != host.FDPipe && fd.Kind != host.FDPair:
			continue
		case fd.Kind == host.FDFile && !r.View.MayPass(fd):
			closed = append(closed, fd)
			continue
		default:
			r.Keep = append(r.Keep, fd.Num)
		}
		if fd.Kind == host.FDFile && !fd.Writes && !named {
			if err := r.shield(fd); err != nil {
				return err
			}
		}
	}
	for _, n := range r.Request.KeepFDs {
		if n > 2 && !slices.Contains(r.Keep, n) {
			return Fail("--keep-fd "+strconv.Itoa(n)+": the descriptor is not open", "")
		}
	}
	r.Closed = closedLine(h, closed)
	return nil
}

// Passed are the descriptors that the command gets.
func (r *Run) Passed() []host.FD {
	return slices.DeleteFunc(slices.Clone(r.Host.FDs),
		func(fd host.FD) bool { return fd.Num > 2 && !slices.Contains(r.Keep, fd.Num) })
}

// Stdio are the first descriptors, for people.
var Stdio = [3]string{"standard input", "standard output", "standard error"}

// misgiven is the error for what cannot be standard input, output or error. A
// file of the kernel's that is open for reading can: see [Run.shield].
func (r *Run) misgiven(fd *host.FD) error {
	switch {
	case fd.Kind == host.FDDir || fd.Kind == host.FDPathRef:
		return Fail(Stdio[fd.Num]+" is a directory, which would lead out of the sandbox", "")
	case fd.Kernel && !strings.HasPrefix(fd.Path, "/") && strings.Contains(fd.Path, ":["):
		return Fail(Stdio[fd.Num]+" is "+text.Plain(fd.Path)+", a namespace and no file that can be read", "")
	case fd.Kernel && fd.Writes:
		return Fail(Stdio[fd.Num]+" is "+text.Plain(fd.Path)+", a file of the kernel's that is open for writing, which would lead out of the sandbox", r.piped(fd))
	}
	return nil
}

// piped is the run with a pipe in place of a descriptor.
func (r *Run) piped(fd *host.FD) string {
	line, whole := r.Request.Hints.Line("", r.Request.Command)
	switch file := text.ShellWord(fd.Path); {
	case !whole || fd.Num > 1 || fd.Path == "" || fd.Deleted:
		return "give the command a pipe instead, to or from cat"
	case fd.Num == 0:
		return "pipe it instead: cat " + file + " | " + line
	default:
		return "pipe it instead: " + line + " | cat > " + file
	}
}

// shield sees to it that a file which is open for reading alone stays so. By a
// descriptor of the caller's, on a mount that the sandbox does not govern, the
// command could open it for writing (/proc/self/fd) and change its mode: process 1
// opens it anew on a read-only mount, or it is replaced by a sealed copy. It
// passes as it is, with its offset and its locks, where the command could do the
// same by the name, and from 3 up where no name is left and where the file is
// another user's, who keeps the caller from writing it. Standard input is apart:
// it may be the script that a shell outside goes on reading, at the offset that
// the command leaves.
func (r *Run) shield(fd *host.FD) error {
	h, v := r.Host, r.View
	if fd.Kernel {
		return r.copies(fd)
	}
	if r.Engine != host.EngineBwrap || fd.Deleted && fd.Num > 2 {
		return nil
	}
	if to, ok := v.FileOf(fd); ok {
		foreign := h.UID != 0 && to.Info.UID != h.UID && !h.FS.Access(to.Path, 'w')
		if v.Access(to.Path) == policy.Write || foreign && fd.Num > 2 {
			return nil
		}
		if len(r.Reopen) < MaxReopen && v.Reopens(r.Request.Direct, fd, to) {
			r.Reopen = append(r.Reopen, fd.Num)
			return nil
		}
	}
	return r.copies(fd)
}

// copies has a file replaced by a sealed copy.
func (r *Run) copies(fd *host.FD) error {
	if fd.Size > MaxCopy {
		return Fail("descriptor "+strconv.Itoa(fd.Num)+" is a file of more than 64 MiB that the policy does not let the command write",
			r.piped(fd))
	}
	r.Copy = append(r.Copy, fd.Num)
	return nil
}

// MaxCopy bounds, in bytes, the read-only files that are copied so that the
// command cannot open them anew for writing through /proc/self/fd, where
// process 1 cannot open them on a read-only mount.
const MaxCopy = 64 << 20

// closedLine says which descriptors the command does not get that it would have had
// without sbx, in one line.
func closedLine(h *host.Host, closed []*host.FD) []string {
	var names []string
	for _, fd := range closed {
		names = append(names, strconv.Itoa(fd.Num)+" ("+h.Shown(fd.Path)+")")
	}
	few := 4
	if len(closed) == few+1 {
		few++
	}
	keep := func(n string) string {
		if h.ByName {
			return "SBX_FLAGS='--keep-fd " + n + "'"
		}
		return "--keep-fd " + n
	}
	line := "descriptors " + text.FirstOf(names, few) + " closed"
	number, passes := "N", " passes one"
	switch len(closed) {
	case 0:
		return nil
	case 1:
		line, number, passes = "descriptor "+names[0]+" closed", strconv.Itoa(closed[0].Num), " passes it"
	}
	if slices.ContainsFunc(closed, func(fd *host.FD) bool { return fd.Kernel }) {
		return []string{line}
	}
	return []string{line + "; " + keep(number) + passes}
}

// MaxReopen bounds how many files are opened anew, since each is a mount; the
// others are copied.
const MaxReopen = 8

// refuseLooseSockets lets no socket pass that could be pointed at one of the host's: without
// a network namespace nothing else stands in between.
func (r *Run) refuseLooseSockets() error {
	for _, fd := range r.Host.FDs {
		switch {
		case !fd.Loose:
		case fd.Num <= 2:
			return Fail(Stdio[fd.Num]+" is a socket that is not connected or for datagrams, which leads out of the sandbox", "")
		default:
			r.Keep = slices.DeleteFunc(r.Keep, func(n int) bool { return n == fd.Num })
		}
	}
	return nil
}
