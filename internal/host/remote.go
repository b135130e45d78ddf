// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// A file system that asks another machine or another program can keep whoever
// looks at it waiting for ever, and not even SIGKILL gets out of that. So which
// paths lie on one is decided by the mount table, a process of its own is the
// first to look there, and what need not be looked at is not.

// remotes are the file systems of a machine that ask elsewhere, by its mount table.
type remotes struct {
	table    []Mount
	far      []int        // mounts that ask elsewhere
	answers  map[int]bool // those that were asked: whether they answered
	ask      func(paths []string) []bool
	unneeded bool // what was not asked yet is not to be asked now
}

// remotes are those of the machine, none where it is not known or not this one.
func (h *Host) remotes() *remotes {
	if o, ok := h.FS.(OS); ok && o.remotes != nil {
		return o.remotes
	}
	return &remotes{}
}

// remoteTypes are the types of such file systems as the mount table has them. fuseblk
// is a disk of this machine's.
var remoteTypes = []string{
	"fuse", "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "vboxsf", "prl_fs", "ceph", "glusterfs",
	"lustre", "gpfs", "beegfs", "orangefs", "afs", "coda", "ncpfs", "davfs", "sshfs", "autofs",
}

func remoteType(kind string) bool {
	return strings.HasPrefix(kind, "fuse.") || slices.Contains(remoteTypes, kind)
}

// on is the mount of that kind that a canonical path lies on, -1 for none.
func (r *remotes) on(path string) int {
	if slices.ContainsFunc(r.far, func(i int) bool { return policy.Within(path, r.table[i].Point) }) {
		// Something of this machine's may be mounted over it.
		if i := owner(r.table, path); slices.Contains(r.far, i) {
			return i
		}
	}
	return -1
}

// SilentError is a path on a file system that gives no answer.
type SilentError struct{ Point, Type string }

func (e *SilentError) Error() string {
	return text.Plain(e.Point) + " (" + text.Plain(e.Type) + ") gives no answer"
}

// errUnneeded is what is said of a path that nothing has to know anything about.
var errUnneeded = errors.New("it is not looked at")

// Reach says why a path cannot be looked at. The first path on a mount that asks
// elsewhere is looked at by another process first.
func (h *Host) Reach(path string) error { return h.remotes().reach(path) }

func (r *remotes) reach(path string) error {
	if r == nil {
		return nil
	}
	i := r.on(path)
	if i < 0 {
		return nil
	}
	answers, asked := r.answers[i]
	if !asked {
		if r.unneeded {
			return errUnneeded
		}
		answers = r.ask([]string{path})[0]
		r.note(i, answers)
	}
	if !answers {
		return r.silent(i)
	}
	return nil
}

func (r *remotes) silent(i int) *SilentError { return &SilentError{r.table[i].Point, r.table[i].Type} }

func (r *remotes) note(i int, answers bool) {
	if r.answers == nil {
		r.answers = make(map[int]bool, 4)
	}
	// Each name in a directory of the automounter may be another machine.
	if !answers || r.table[i].Type != "autofs" {
		r.answers[i] = answers
	}
}

// needs asks for everything on the way to paths that a run cannot do without, all
// at one time.
func (r *remotes) needs(paths ...string) error {
	var at []int
	var ask []string
	for _, path := range paths {
		for dir := path; len(r.far) > 0 && strings.HasPrefix(dir, "/"); dir = policy.Dir(dir) {
			if i := r.on(dir); i >= 0 && !slices.Contains(ask, dir) && (r.table[i].Point == dir || dir == path) {
				at, ask = append(at, i), append(ask, dir)
			}
			if dir == "/" {
				break
			}
		}
	}
	if len(ask) == 0 {
		return nil
	}
	for n, ok := range r.ask(ask) {
		r.note(at[n], ok)
		if !ok {
			return Silent(r.silent(at[n]), ask[n], "")
		}
	}
	return nil
}

// CheckMounts is an error for a mount that gives no answer, wherever it is: for what
// looks at more than a run. The automounter's are left alone.
func (h *Host) CheckMounts() error {
	r := h.remotes()
	var points []string
	for _, i := range r.far {
		if m := &r.table[i]; m.Type != "autofs" && r.on(m.Point) == i {
			points = append(points, m.Point)
		}
	}
	return r.needs(points...)
}

// Silent is the end of a run that needs an answer: for a path, and by a rule, or
// "" for none.
func Silent(e *SilentError, path, source string) error {
	message := e.Error() + ", and this run needs one"
	if path != e.Point {
		message = text.Plain(path) + ": " + message
	}
	if source != "" {
		message = source + ": " + message
	}
	return &Error{StatusFailed, message, "fix the mount, or remove it: umount -l " + text.Plain(e.Point)}
}

// AnyRemote reports whether there is a mount that [Host.OnRemote] can be true of.
func (h *Host) AnyRemote() bool { return len(h.remotes().far) > 0 }

// OnRemote reports whether a path leads to a file system that asks elsewhere, by its
// own place or by links, and has not answered in this run. The directory that
// the path lies in is canonical.
func (h *Host) OnRemote(path string) bool {
	r := h.remotes()
	if len(r.far) == 0 { // asked of many names
		return false
	}
	r.unneeded = true
	defer func() { r.unneeded = false }()
	err := r.reach(path)
	if err == nil {
		if info, _ := h.FS.Lstat(path); info.Kind != Link {
			return false
		}
		_, err = NewResolver(h.FS).Resolve(path)
	}
	return err == errUnneeded || errors.As(err, new(*SilentError))
}

// MountType is the type of the file system that such a path lies on, in
// parentheses; "" for one that a link leads to.
func (h *Host) MountType(path string) string {
	r := h.remotes()
	if i := r.on(path); i >= 0 {
		return " (" + text.Plain(r.table[i].Type) + ")"
	}
	return ""
}

// askWord is the first argument of sbx when it is the process that looks.
const askWord = "--look-at-mounts"

// IsAsk reports whether the arguments of sbx are those of the process that looks
// at mounts.
func IsAsk(args []string) bool { return len(args) > 1 && args[0] == askWord && len(args) < 250 }

// Ask looks at paths, and writes the number of each that it came back from.
func Ask(args []string) {
	done := make(chan byte)
	for i, path := range args[1:] {
		go func() {
			touch(path)
			done <- byte(i)
		}()
	}
	for range args[1:] {
		_, _ = os.Stdout.Write([]byte{<-done})
	}
}

// touch looks at a path as others will: at the name, at what it leads to, and at
// the file system.
func touch(path string) {
	var st syscall.Stat_t
	var fs unix.Statfs_t
	_ = syscall.Lstat(path, &st)
	_ = syscall.Stat(path, &st)
	_ = unix.Statfs(path, &fs)
}
