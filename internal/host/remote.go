// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// A file system that asks another machine or another program can keep whoever
// looks at it waiting for ever, and not even SIGKILL gets out of that. So which
// paths lie on one is decided by the mount table, a process of its own is the
// first to look there, and what need not be looked at is not.

// RemoteFS is the FS of a machine, with its mount table.
type RemoteFS struct {
	OS
	table    []Mount
	err      error        // why there is no table
	Far      []int        // mounts that ask elsewhere
	answers  map[int]bool // those that were asked: whether they answered
	ask      func(paths []string) []bool
	unneeded bool // what was not asked yet is not to be asked now
}

// remoteTypes are the types of such file systems as the mount table has them. fuseblk
// is a disk of this machine's.
var remoteTypes = []string{
	"fuse", "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "vboxsf", "prl_fs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs", "orangefs",
	"afs", "coda", "ncpfs", "davfs", "sshfs", "autofs",
}

func remoteType(kind string) bool {
	return strings.HasPrefix(kind, "fuse.") || slices.Contains(remoteTypes, kind)
}

// Mounts returns the table as it was read.
func (r *RemoteFS) Mounts() ([]Mount, error) { return r.table, r.err }

// on is the mount of that kind that a canonical path lies on, -1 for none.
func (r *RemoteFS) on(path string) int {
	at := -1
	for _, i := range r.Far {
		if p := r.table[i].Point; policy.Within(path, p) && (at < 0 || len(p) >= len(r.table[at].Point)) {
			at = i
		}
	}
	if at < 0 {
		return -1
	}
	for i := range r.table { // something of this machine's may be mounted over it
		if p := r.table[i].Point; policy.Within(path, p) && (len(p) > len(r.table[at].Point) || len(p) == len(r.table[at].Point) && i > at) {
			return -1
		}
	}
	return at
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
func (r *RemoteFS) Reach(path string) error {
	if len(r.Far) == 0 {
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
		return &SilentError{r.table[i].Point, r.table[i].Type}
	}
	return nil
}

func (r *RemoteFS) note(i int, answers bool) {
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
func (r *RemoteFS) needs(paths ...string) error {
	var at []int
	var ask []string
	for _, path := range paths {
		for dir := path; len(r.Far) > 0 && strings.HasPrefix(dir, "/"); dir = policy.Dir(dir) {
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
			m := &r.table[at[n]]
			return Silent(&SilentError{m.Point, m.Type}, ask[n], "")
		}
	}
	return nil
}

// CheckMounts is an error for a mount that gives no answer, wherever it is: for what
// looks at more than a run. The automounter's are left alone.
func (h *Host) CheckMounts() error {
	r, ok := h.FS.(*RemoteFS)
	if !ok {
		return nil
	}
	var points []string
	for _, i := range r.Far {
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

func (r *RemoteFS) Lstat(path string) (Info, error) {
	if err := r.Reach(path); err != nil {
		return Info{}, err
	}
	return r.OS.Lstat(path)
}

func (r *RemoteFS) Readlink(path string) (string, error) {
	if err := r.Reach(path); err != nil {
		return "", err
	}
	return r.OS.Readlink(path)
}

func (r *RemoteFS) ReadDir(path string) ([]Entry, error) {
	if err := r.Reach(path); err != nil {
		return nil, err
	}
	return r.OS.ReadDir(path)
}

func (r *RemoteFS) Access(path string, rwx byte) bool {
	return r.Reach(path) == nil && r.OS.Access(path, rwx)
}

func (r *RemoteFS) Head(path string, n int) ([]byte, error) {
	if err := r.Reach(path); err != nil {
		return nil, err
	}
	return r.OS.Head(path, n)
}

// Exist is not asked about names on other mounts, see [Host.apart].
func (r *RemoteFS) Exist(dir string, below []string) []bool {
	if r.Reach(dir) != nil {
		below = slices.Clone(below) // there, and nothing that can be looked at
		return slices.Repeat([]bool{true}, len(below))
	}
	return r.OS.Exist(dir, below)
}

// OnRemote reports whether a path leads to a file system that asks elsewhere, by its
// own place or by links, and has not answered in this run. The directory that
// the path lies in is canonical.
func (h *Host) OnRemote(path string) bool {
	r, ok := h.FS.(*RemoteFS)
	if !ok || len(r.Far) == 0 {
		return false
	}
	r.unneeded = true
	defer func() { r.unneeded = false }()
	err := r.Reach(path)
	if err == nil {
		if info, _ := r.Lstat(path); info.Kind != Link {
			return false
		}
		_, err = NewResolver(r).Resolve(path)
	}
	return err == errUnneeded || errors.As(err, new(*SilentError))
}

// MountType is the type of the file system that such a path lies on, in
// parentheses; "" for one that a link leads to.
func (h *Host) MountType(path string) string {
	if r, ok := h.FS.(*RemoteFS); ok {
		if i := r.on(path); i >= 0 {
			return " (" + text.Plain(r.table[i].Type) + ")"
		}
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
			OS{}.touch(path)
			done <- byte(i)
		}()
	}
	for range args[1:] {
		_, _ = os.Stdout.Write([]byte{<-done})
	}
}
