// SPDX-License-Identifier: Apache-2.0

package access

import (
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// hostFS are the files of the host as a command finds them that runs as the
// caller, root being without privileges.
type hostFS struct {
	host.ProcFS
	v    *view.View
	made map[string]bool // directories that the run makes first
}

func NewHostFS(v *view.View, dirs []string) host.FS {
	f := &hostFS{ProcFS: host.ProcFS{FS: v.Host.FS}, v: v, made: make(map[string]bool, len(dirs))}
	for _, dir := range dirs {
		for ; dir != "/" && !f.made[dir]; dir = policy.Dir(dir) {
			f.made[dir] = true
		}
	}
	return f
}

// Lstat implements [host.FS].
func (f *hostFS) Lstat(path string) (host.Info, error) {
	if up := policy.Dir(path); path != "/" && !policy.Within(path, "/proc") && !f.Access(up, 'x') {
		if i, err := f.ProcFS.Lstat(up); err == nil && i.Kind == host.Dir {
			return host.Info{}, host.ErrDenied
		}
	}
	i, err := f.ProcFS.Lstat(path)
	if err == nil && i.Kind == host.Absent && f.made[path] {
		i = host.Info{Kind: host.Dir, Mode: 0o700, UID: f.v.Host.UID}
	}
	return i, err
}

// Access implements [host.FS] as far as permissions go, of which Landlock is no part.
func (f *hostFS) Access(path string, rwx byte) bool {
	if f.made[path] {
		if i, err := f.ProcFS.Lstat(path); err == nil && i.Kind == host.Absent {
			return true
		}
	}
	return f.v.MayUse(path, rwx)
}
