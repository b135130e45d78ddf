// SPDX-License-Identifier: Apache-2.0

package view

import (
	"path/filepath"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// MayPass reports whether the command may have a regular file as it is open: the
// policy allows its path that way, or no name leads to it, or it is standard
// input, output or error once more (exec 3>&1).
func (v *View) MayPass(h *host.Host, fd *host.FD) bool {
	switch {
	case fd.Kernel:
		return false
	case fd.Deleted:
		return true
	}
	for i := range h.FDs {
		std := &h.FDs[i]
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
func (v *View) Reopens(direct bool, h *host.Host, fd *host.FD, to host.Resolved) bool {
	_, ok := v.SelfPath(h)
	return ok && !direct && to.Path == fd.Path && v.MayUseUnprivileged(fd.Path, 'r')
}
