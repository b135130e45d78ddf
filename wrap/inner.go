package wrap

import (
	"errors"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// inner is the file system that the command of a plan will find, worked out
// without starting anything. Names are the sandbox's. As the resolver asks,
// what lies above the last element of a path holds no links.
type inner struct {
	v     *view
	made  map[string]bool   // directories that hold mount points and links, made by bwrap
	links map[string]string // made by bwrap, with what they hold
	stage bool              // sbx itself lies in ManifestDir
	files map[string]string // what the stage opens anew, with the names on the host
}

func newInner(v *view, stage bool) *inner {
	f := &inner{v: v, made: map[string]bool{"/": true}, links: make(map[string]string, len(v.links)), stage: stage}
	for i := range v.mounts {
		if m := &v.mounts[i]; v.inForce(m) {
			f.hold(v.inside(m.path))
		}
	}
	for _, l := range v.links {
		f.links[v.inside(l.Path)] = l.Text
		f.hold(v.inside(l.Path))
	}
	for _, path := range []string{"/proc", "/dev"} {
		f.hold(path)
	}
	if v.ownRun() {
		f.hold(ManifestDir)
	}
	return f
}

// hold notes the directories above a path.
func (f *inner) hold(path string) {
	for path != "/" {
		path = policy.Dir(path)
		f.made[path] = true
	}
}

// inForce reports whether a mount decides about what lies at it, also when
// what lies above gives the same and bwrap is asked for nothing.
func (v *view) inForce(m *mount) bool {
	if m.idle || m.eff == policy.Unseen || m.path == "/" && !shows(m.eff) {
		return false // the root is the sandbox's own and read-only without a rule
	}
	if v.ahead && m.needless(v) {
		return false
	}
	if m.eff == policy.Block && !v.ahead {
		return v.masked(m)
	}
	return true
}

// at finds what lies at a path: the host's file of that name, or, when host is
// "", something of the sandbox's own.
func (f *inner) at(path string) (host string, own Info) {
	dir := Info{Kind: Dir, Mode: 0o755, UID: f.v.host.UID}
	if text, ok := f.links[path]; ok {
		return "", Info{Kind: Link, Mode: 0o777, UID: f.v.host.UID, Size: int64(len(text))}
	}
	host, ok := f.v.outside(path)
	m := f.v.decides(host)
	switch {
	case policy.Within(path, "/proc"):
		return f.proc(path)
	case policy.Within(path, "/dev") && (m == nil || !policy.Within(m.path, "/dev")):
		return "", deviceInfo(path)
	case policy.Within(path, ManifestDir) && f.v.ownRun():
		return f.files[path], f.manifest(path)
	case !ok || m == nil:
	case shows(m.eff):
		if m.src != "" {
			if host == m.path {
				return "", dir // may have to be made yet
			}
			host = m.src + host[len(m.path):]
		}
		return host, Info{}
	case host == m.path && m.eff == policy.Block && m.info.Kind != Dir:
		if m.blank {
			return "", Info{Kind: File, Mode: 0o444, UID: f.v.host.UID}
		}
		return "", Info{Kind: File, UID: f.v.host.UID}
	case host == m.path:
		return "", dir
	}
	if f.made[path] {
		return "", dir
	}
	return "", Info{}
}

// outside is where on the host a path of the sandbox lies; ok is false for the
// place that the working directory was taken away from.
func (v *view) outside(path string) (host string, ok bool) {
	switch {
	case v.remap == "":
		return path, true
	case policy.Within(path, v.remap):
		return v.host.CWD + path[len(v.remap):], true
	}
	return path, !policy.Within(path, v.host.CWD)
}

// decides is the mount that governs a path of the host, nil for none.
func (v *view) decides(path string) *mount {
	for {
		if i, ok := v.find(path); ok && v.inForce(&v.mounts[i]) {
			return &v.mounts[i]
		}
		if path == "/" {
			return nil
		}
		path = policy.Dir(path)
	}
}

func (f *inner) manifest(path string) Info {
	switch {
	case path == ManifestDir:
		return Info{Kind: Dir, Mode: 0o755, UID: f.v.host.UID}
	case path == ManifestDir+"/policy.json":
		return Info{Kind: File, Mode: 0o444, UID: f.v.host.UID}
	case path == ManifestDir+"/sbx" && f.stage:
		return Info{Kind: File, Mode: 0o755, UID: f.v.host.UID}
	case path == pid1.Files && len(f.files) > 0:
		return Info{Kind: Dir, Mode: 0o700, UID: f.v.host.UID}
	}
	return Info{}
}

// proc takes the kernel's files from the host's /proc, and of the processes
// only the one that asks and the sandbox's first.
func (f *inner) proc(path string) (host string, own Info) {
	if path == "/proc" {
		return "", Info{Kind: Dir, Mode: 0o555, UID: f.v.host.UID}
	}
	pid, rest := cut(path[len("/proc/"):])
	switch {
	case !digits(pid):
		return path, Info{}
	case pid != "1":
		return "", Info{}
	case rest == "":
		return "/proc/self", Info{}
	}
	return "/proc/self/" + rest, Info{}
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// deviceInfo is what bwrap puts into /dev (bwrap(1), option --dev).
func deviceInfo(path string) Info {
	switch path {
	case "/dev", "/dev/shm", "/dev/pts":
		return Info{Kind: Dir, Mode: 0o755}
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts/ptmx":
		return Info{Kind: Device, Mode: 0o666}
	}
	if deviceLink(path) != "" {
		return Info{Kind: Link, Mode: 0o777}
	}
	return Info{}
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

// Lstat implements [FS].
func (f *inner) Lstat(path string) (Info, error) {
	host, info := f.at(path)
	if host == "" {
		return info, nil
	}
	if !policy.Within(path, "/proc") && path != "/" && f.files[path] == "" {
		if up, _ := f.at(policy.Dir(path)); up != "" && !f.v.allowed(up, 'x') {
			return Info{}, ErrDenied
		}
	}
	return ProcFS{f.v.host.FS}.Lstat(host)
}

// Readlink implements [FS].
func (f *inner) Readlink(path string) (string, error) {
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
	return f.v.host.FS.Readlink(host)
}

// ReadDir implements [FS]. Nobody asks.
func (f *inner) ReadDir(string) ([]Entry, error) { return nil, errors.ErrUnsupported }

// Exist implements [FS]. Nobody asks.
func (f *inner) Exist(_ string, below []string) []bool { return make([]bool, len(below)) }

// Mounts implements [FS]. Nobody asks.
func (f *inner) Mounts() ([]Mount, error) { return nil, errors.ErrUnsupported }

// Head implements [FS]. Nobody asks.
func (f *inner) Head(string, int) ([]byte, error) { return nil, errors.ErrUnsupported }

// Content implements [FS]. Nobody asks.
func (f *inner) Content(string, Info, int) ([]byte, error) { return nil, errors.ErrUnsupported }

// Access implements [FS] as far as permissions go; that a mount is read-only
// is no matter of theirs.
func (f *inner) Access(path string, rwx byte) bool {
	host, info := f.at(path)
	switch {
	case host == "":
		return info.Kind != Absent
	case path != host && policy.Within(path, "/proc"):
		// Another process than the one that asks: what everyone may do.
		i, err := ProcFS{f.v.host.FS}.Lstat(host)
		return err == nil && rwx != 'w' && (i.Kind == Dir || i.Mode&0o004 != 0)
	}
	return f.v.allowed(host, rwx)
}

// mayUse reports whether permissions let the command use a file of the host.
func (v *view) mayUse(path string, rwx byte) bool {
	if v.ahead {
		return v.host.FS.Access(path, rwx) // sandbox-exec takes no privileges from root
	}
	return v.allowed(path, rwx)
}

// allowed reports whether the command may use a file of the host. Root has no
// privileges inside and is held to the permission bits; access control lists
// are not looked at then.
func (v *view) allowed(host string, rwx byte) bool {
	h := v.host
	if !h.FS.Access(host, rwx) {
		return false
	}
	if h.UID != 0 || policy.Within(host, "/proc") {
		return true
	}
	i, err := h.FS.Lstat(host)
	return err == nil && i.Mode>>shift(i, h)&bit(rwx) != 0
}

// shift is where the permission bits of the class of the caller begin.
func shift(i Info, h *Host) uint {
	switch {
	case i.UID == h.UID:
		return 6
	case slices.Contains(h.Groups, i.GID):
		return 3
	}
	return 0
}

func bit(rwx byte) uint32 {
	switch rwx {
	case 'r':
		return 4
	case 'w':
		return 2
	}
	return 1
}

// ProcFS shows /proc/self as a directory: the number behind it is another for
// each process. Of the links of the kernel in it only the working directory and
// the root are followed, which are those of the command, too.
type ProcFS struct{ FS }

// Lstat implements [FS].
func (f ProcFS) Lstat(path string) (Info, error) {
	info, err := f.FS.Lstat(path)
	if info.Kind != Link || !policy.Within(path, "/proc") {
		return info, err
	}
	switch path {
	case "/proc/self", "/proc/thread-self":
		info.Kind, info.Mode = Dir, 0o555
	case "/proc/self/cwd", "/proc/self/root", "/proc/thread-self/cwd", "/proc/thread-self/root":
	default:
		if top, rest := cut(path[len("/proc/"):]); rest != "" && (digits(top) || top == "self" || top == "thread-self") {
			info.Kind = File
		}
	}
	return info, err
}
