// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"errors"
	"io/fs"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// sandboxFS is the file system that the command of a plan will find, worked out
// without starting anything. Names are the sandbox's. As the resolver asks,
// what lies above the last element of a path holds no links.
type sandboxFS struct {
	host.FS // nil: nothing else is asked for
	v       *view.View
	made    map[string]bool   // directories that hold mount points and links, made by bwrap
	links   map[string]string // made by bwrap, with what they hold
	self    bool              // sbx itself lies in ManifestDir
	files   map[string]string // what process 1 reopens, with the names on the host
}

func NewSandboxFS(v *view.View, self bool, files map[string]string) host.FS {
	f := &sandboxFS{v: v, made: map[string]bool{"/": true}, links: make(map[string]string), self: self, files: files}
	for m := range v.InForceEntries() {
		f.hold(v.Inside(m.Path))
	}
	for _, l := range v.Links {
		f.links[v.Inside(l.Path)] = l.Text
		f.hold(v.Inside(l.Path))
	}
	for _, path := range []string{"/proc", "/dev"} {
		f.hold(path)
	}
	if v.OwnsRun() {
		f.hold(host.ManifestDir)
	}
	return f
}

// hold notes the directories above a path.
func (f *sandboxFS) hold(path string) {
	for path != "/" {
		path = policy.Dir(path)
		f.made[path] = true
	}
}

// own is something of the sandbox's own.
func (f *sandboxFS) own(kind host.Kind, mode uint32) host.Info {
	return host.Info{Kind: kind, Mode: mode, UID: f.v.Host.UID}
}

// at finds what lies at a path: the host's file of that name, or, when host is
// "", something of the sandbox's own.
func (f *sandboxFS) at(path string) (h string, own host.Info) {
	dir := f.own(host.Dir, 0o755)
	if text, ok := f.links[path]; ok {
		own = f.own(host.Link, 0o777)
		own.Size = int64(len(text))
		return "", own
	}
	h, ok := f.v.Outside(path)
	m := f.v.InForceAt(h)
	switch {
	case policy.Within(path, "/proc"):
		return f.proc(path)
	case policy.Within(path, "/dev") && (m == nil || !policy.Within(m.Path, "/dev")):
		return "", deviceInfo(path)
	case policy.Within(path, host.ManifestDir) && f.v.OwnsRun():
		return f.files[path], f.manifest(path)
	case !ok || m == nil:
	case view.Shows(m.Access):
		if m.Src != "" {
			if h == m.Path {
				return "", dir // may have to be made yet
			}
			h = m.Src + h[len(m.Path):]
		}
		return h, host.Info{}
	case h == m.Path && m.Access == policy.Block && m.Info.Kind != host.Dir:
		if m.Blank {
			return "", f.own(host.File, 0o444)
		}
		return "", f.own(host.File, 0)
	case h == m.Path:
		return "", dir
	}
	if f.made[path] {
		return "", dir
	}
	return "", host.Info{}
}

func (f *sandboxFS) manifest(path string) host.Info {
	switch {
	case path == host.ManifestDir:
		return f.own(host.Dir, 0o755)
	case path == host.ManifestDir+"/policy.json":
		return f.own(host.File, 0o444)
	case path == host.ManifestDir+"/sbx" && f.self:
		return f.own(host.File, 0o755)
	case path == pid1.ReopenDir && len(f.files) > 0:
		return f.own(host.Dir, 0o700)
	}
	return host.Info{}
}

// proc takes the kernel's files from the host's /proc, and of the processes
// only the one that asks and the sandbox's first.
func (f *sandboxFS) proc(path string) (h string, own host.Info) {
	if path == "/proc" {
		return "", f.own(host.Dir, 0o555)
	}
	pid, rest := host.Cut(path[len("/proc/"):])
	switch {
	case !host.Digits(pid):
		return path, host.Info{}
	case pid != "1":
		return "", host.Info{}
	}
	return strings.TrimSuffix("/proc/self/"+rest, "/"), host.Info{}
}

// deviceInfo is what bwrap puts into /dev (bwrap(1), option --dev).
func deviceInfo(path string) host.Info {
	switch path {
	case "/dev", "/dev/shm", "/dev/pts":
		return host.Info{Kind: host.Dir, Mode: 0o755}
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts/ptmx":
		return host.Info{Kind: host.Device, Mode: 0o666}
	}
	if deviceLink(path) != "" {
		return host.Info{Kind: host.Link, Mode: 0o777}
	}
	return host.Info{}
}

func deviceLink(path string) string {
	return map[string]string{
		"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1",
		"/dev/stderr": "/proc/self/fd/2", "/dev/core": "/proc/kcore", "/dev/ptmx": "pts/ptmx",
	}[path]
}

// Lstat implements [host.FS].
func (f *sandboxFS) Lstat(path string) (host.Info, error) {
	h, info := f.at(path)
	if h == "" {
		return info, nil
	}
	if !policy.Within(path, "/proc") && path != "/" && f.files[path] == "" {
		if up, _ := f.at(policy.Dir(path)); up != "" && !f.v.MayUseUnprivileged(up, 'x') {
			return host.Info{}, host.ErrDenied
		}
	}
	return host.ProcFS{FS: f.v.Host.FS}.Lstat(h)
}

// Readlink implements [host.FS].
func (f *sandboxFS) Readlink(path string) (string, error) {
	if text := cmp.Or(f.links[path], deviceLink(path)); text != "" {
		return text, nil
	}
	host, _ := f.at(path)
	if host == "" {
		return "", errors.ErrUnsupported
	}
	return f.v.Host.FS.Readlink(host)
}

// Access implements [host.FS] as far as permissions go; that a mount is read-only
// is no matter of theirs.
func (f *sandboxFS) Access(path string, rwx byte) bool {
	h, info := f.at(path)
	switch {
	case h == "":
		return info.Kind != host.Absent
	case path != h && policy.Within(path, "/proc"):
		// Another process than the one that asks: what everyone may do.
		i, err := host.ProcFS{FS: f.v.Host.FS}.Lstat(h)
		return err == nil && rwx != 'w' && (i.Kind == host.Dir || i.Mode&0o004 != 0)
	}
	return f.v.MayUseUnprivileged(h, rwx)
}

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

// deniedFS are files as a process inside finds them. What may not be looked at is
// taken for a directory, so that names in it are asked for as well: whether they
// are there is not kept from anyone.
type deniedFS struct {
	host.FS
	denied map[string]bool // what may not be looked at
}

// Lstat implements [host.FS].
func (f deniedFS) Lstat(path string) (host.Info, error) {
	i, err := f.FS.Lstat(path)
	if errors.Is(err, fs.ErrPermission) {
		f.denied[path] = true
		return host.Info{Kind: host.Dir}, nil
	}
	return i, err
}

// Spell implements [host.Speller].
func (f deniedFS) Spell(path string) string { return spell(f.FS, path) }

// Spell implements [host.Speller].
func (f *hostFS) Spell(path string) string { return spell(f.v.Host.FS, path) }

// spell is the path as it is on the disk, for a file system that is wrapped.
func spell(f host.FS, path string) string {
	if s, ok := f.(host.Speller); ok {
		return s.Spell(path)
	}
	return path
}
