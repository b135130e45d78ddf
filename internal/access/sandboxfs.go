// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// sandboxFS is the file system that the command of a plan will find, worked out
// without starting anything. Names are the sandbox's. As the resolver asks,
// what lies above the last element of a path holds no links.
type sandboxFS struct {
	v     *view.View
	made  map[string]bool   // directories that hold mount points and links, made by bwrap
	links map[string]string // made by bwrap, with what they hold
	self  bool              // sbx itself lies in ManifestDir
	files map[string]string // what process 1 reopens, with the names on the host
}

func NewSandboxFS(v *view.View, self bool, files map[string]string) host.FS {
	f := &sandboxFS{v: v, made: map[string]bool{"/": true}, links: make(map[string]string, len(v.Links)), self: self, files: files}
	for _, m := range v.InForceEntries() {
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

// at finds what lies at a path: the host's file of that name, or, when host is
// "", something of the sandbox's own.
func (f *sandboxFS) at(path string) (h string, own host.Info) {
	dir := host.Info{Kind: host.Dir, Mode: 0o755, UID: f.v.Host.UID}
	if text, ok := f.links[path]; ok {
		return "", host.Info{Kind: host.Link, Mode: 0o777, UID: f.v.Host.UID, Size: int64(len(text))}
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
			return "", host.Info{Kind: host.File, Mode: 0o444, UID: f.v.Host.UID}
		}
		return "", host.Info{Kind: host.File, UID: f.v.Host.UID}
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
		return host.Info{Kind: host.Dir, Mode: 0o755, UID: f.v.Host.UID}
	case path == host.ManifestDir+"/policy.json":
		return host.Info{Kind: host.File, Mode: 0o444, UID: f.v.Host.UID}
	case path == host.ManifestDir+"/sbx" && f.self:
		return host.Info{Kind: host.File, Mode: 0o755, UID: f.v.Host.UID}
	case path == pid1.ReopenDir && len(f.files) > 0:
		return host.Info{Kind: host.Dir, Mode: 0o700, UID: f.v.Host.UID}
	}
	return host.Info{}
}

// proc takes the kernel's files from the host's /proc, and of the processes
// only the one that asks and the sandbox's first.
func (f *sandboxFS) proc(path string) (h string, own host.Info) {
	if path == "/proc" {
		return "", host.Info{Kind: host.Dir, Mode: 0o555, UID: f.v.Host.UID}
	}
	pid, rest := host.Cut(path[len("/proc/"):])
	switch {
	case !host.Digits(pid):
		return path, host.Info{}
	case pid != "1":
		return "", host.Info{}
	case rest == "":
		return "/proc/self", host.Info{}
	}
	return "/proc/self/" + rest, host.Info{}
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
	switch path {
	case "/dev/fd":
		return "/proc/self/fd"
	case "/dev/stdin":
		return "/proc/self/fd/0"
	case "/dev/stdout":
		return "/proc/self/fd/1"
	case "/dev/stderr":
		return "/proc/self/fd/2"
	case "/dev/core":
		return "/proc/kcore"
	case "/dev/ptmx":
		return "pts/ptmx"
	}
	return ""
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
	if text, ok := f.links[path]; ok {
		return text, nil
	}
	if text := deviceLink(path); text != "" {
		return text, nil
	}
	host, _ := f.at(path)
	if host == "" {
		return "", errors.ErrUnsupported
	}
	return f.v.Host.FS.Readlink(host)
}

// ReadDir implements [host.FS]. It is never asked.
func (f *sandboxFS) ReadDir(string) ([]host.Entry, error) { return nil, errors.ErrUnsupported }

// Exist implements [host.FS]. It is never asked.
func (f *sandboxFS) Exist(_ string, below []string) []bool { return make([]bool, len(below)) }

// Mounts implements [host.FS]. It is never asked.
func (f *sandboxFS) Mounts() ([]host.Mount, error) { return nil, errors.ErrUnsupported }

// Head implements [host.FS]. It is never asked.
func (f *sandboxFS) Head(string, int) ([]byte, error) { return nil, errors.ErrUnsupported }

// Content implements [host.FS]. It is never asked.
func (f *sandboxFS) Content(string, host.Info, int) ([]byte, error) {
	return nil, errors.ErrUnsupported
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
