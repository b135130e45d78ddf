// SPDX-License-Identifier: Apache-2.0

package view

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// InForce reports whether a mount decides about what lies at it, also when
// what lies above gives the same and bwrap is asked for nothing.
func (v *View) InForce(m *Entry) bool {
	if m.Redundant || m.Access == policy.Unseen || m.Path == "/" && !Shows(m.Access) {
		return false // the root is the sandbox's own and read-only without a rule
	}
	if v.DenyAbsent && m.Unneeded(v) {
		return false
	}
	if m.Access == policy.Block && !v.DenyAbsent {
		return v.masked(m)
	}
	return true
}

// Outside is where on the host a path of the sandbox lies; ok is false for the
// place that the working directory was taken away from.
func (v *View) Outside(path string) (host string, ok bool) {
	switch {
	case v.remap == "":
		return path, true
	case policy.Within(path, v.remap):
		return v.Host.CWD + path[len(v.remap):], true
	}
	return path, !policy.Within(path, v.Host.CWD)
}

// InForceAt is the mount that governs a path of the host, nil for none.
func (v *View) InForceAt(path string) *Entry {
	for {
		if m := v.At(path); m != nil && v.InForce(m) {
			return m
		}
		if path == "/" {
			return nil
		}
		path = policy.Dir(path)
	}
}

// MayUse reports whether permissions let the command use a file of the host.
func (v *View) MayUse(path string, rwx byte) bool {
	if v.DenyAbsent {
		return v.Host.FS.Access(path, rwx) // sandbox-exec takes no privileges from root
	}
	return v.MayUseUnprivileged(path, rwx)
}

// MayUseUnprivileged reports whether the command may use a file of the host. Root has no
// privileges inside and is held to the permission bits; access control lists
// are not looked at then.
func (v *View) MayUseUnprivileged(host string, rwx byte) bool {
	h := v.Host
	if !h.FS.Access(host, rwx) {
		return false
	}
	if h.UID != 0 || policy.Within(host, "/proc") {
		return true
	}
	i, err := h.FS.Lstat(host)
	return err == nil && i.Mode>>shift(i, h)&Bit(rwx) != 0
}

// shift is where the permission bits of the class of the caller begin.
func shift(i host.Info, h *host.Host) uint {
	switch {
	case i.UID == h.UID:
		return 6
	case slices.Contains(h.Groups, i.GID):
		return 3
	}
	return 0
}

func Bit(rwx byte) uint32 {
	switch rwx {
	case 'r':
		return 4
	case 'w':
		return 2
	}
	return 1
}

// OwnsRun reports whether /run is the sandbox's own.
func (v *View) OwnsRun() bool {
	a := v.Access("/run")
	return a == policy.Unseen || a == policy.Private
}

func (v *View) RootBound() bool {
	return len(v.Entries) > 0 && v.Entries[0].Path == "/" && Shows(v.Entries[0].Access)
}

// Unneeded reports whether a place need not be named: a secret of the usual list
// that is known not to be there, outside of the project and where the command could
// not make it. Lists of some hundred names make a profile longer than the system
// takes.
func (m *Entry) Unneeded(v *View) bool {
	return m.Info.Kind == host.Absent && m.Rule.Layer == policy.Builtin && !m.Info.Refused &&
		!policy.Within(m.Path, v.Project) && v.outerAccess(m) != policy.Write
}

// MayPass reports whether the command may have a regular file as it is open: the
// policy allows its path that way, or no name leads to it, or it is standard
// input, output or error once more (exec 3>&1).
func (v *View) MayPass(fd *host.FD) bool {
	switch {
	case fd.Kernel:
		return false
	case fd.Deleted:
		return true
	}
	for i := range v.Host.FDs {
		std := &v.Host.FDs[i]
		if std.Num <= 2 && std.Kind == host.FDFile && fd.Ino != 0 && std.Ino == fd.Ino && std.Dev == fd.Dev &&
			(std.Reads || !fd.Reads) && (std.Writes || !fd.Writes) {
			return true
		}
	}
	to, ok := v.FileOf(fd)
	if !ok {
		return false
	}
	if m := v.At(to.Path); m != nil && m.Copied {
		return false // the command sees a copy, for a reason
	}
	a := v.Access(to.Path)
	return a == policy.Write || !fd.Writes && Shows(a)
}

// FileOf is the path of an open file, if it still leads there.
func (v *View) FileOf(fd *host.FD) (host.Resolved, bool) {
	path := v.Host.OnMac(fd.Path)
	if fd.Deleted || fd.Ino == 0 || !strings.HasPrefix(path, "/") {
		return host.Resolved{}, false
	}
	to, err := v.Res.Resolve(filepath.Clean(path))
	return to, err == nil && to.Info.Kind == host.File && to.Info.Ino == fd.Ino && to.Info.Dev == fd.Dev
}

// Reopens reports whether init can open a file of the caller's anew: by the
// name that it still has, as the command's user.
func (v *View) Reopens(direct bool, fd *host.FD, to host.Resolved) bool {
	_, ok := v.SelfPath()
	return ok && !direct && to.Path == fd.Path && v.MayUseUnprivileged(fd.Path, 'r')
}
