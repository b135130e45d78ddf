// SPDX-License-Identifier: Apache-2.0

package landlock

import (
	"syscall"
	"unsafe"
)

// Numbers are the same on all architectures since Linux 5.1.
const (
	sysCreateRuleset = 444
	sysAddRule       = 445
	sysOpenat2       = 437

	createVersion = 1 // LANDLOCK_CREATE_RULESET_VERSION
	pathBeneath   = 1 // LANDLOCK_RULE_PATH_BENEATH

	oPath               = 0x200000
	atFDCWD             = ^uintptr(99) // -100
	resolveNoMagicLinks = 0x2
	resolveNoSymlinks   = 0x4
)

// ABI returns the version of the interface that the kernel has, 0 when it has
// none or when it is off (lsm= without landlock).
func ABI() int {
	n, _, errno := syscall.RawSyscall(sysCreateRuleset, 0, 0, createVersion)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// stepError is a step that failed.
type stepError struct {
	Step string // what was being done
	Path string // "" when it was not about a path
	Err  syscall.Errno
}

func (e *stepError) Error() string {
	if e.Path != "" {
		return e.Step + " " + e.Path + ": " + e.Err.Error()
	}
	return e.Step + ": " + e.Err.Error()
}

// Unwrap returns the errno.
func (e *stepError) Unwrap() error { return e.Err }

// Open returns a close-on-exec descriptor of the ruleset. The kernel has to
// know all rights in it, see [Ruleset.For]. What a rule names has to be there
// and be what it says, else the error is ESTALE: whoever can replace a path
// does not choose what is opened. The error wraps a [syscall.Errno].
func (r *Ruleset) Open() (int, error) {
	attr := [3]uint64{uint64(r.FS), uint64(r.Net), uint64(r.Scope)}
	// Older kernels refuse a longer attribute unless the rest is zero, and take it then.
	fd, _, errno := syscall.RawSyscall(sysCreateRuleset, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return -1, &stepError{"landlock_create_ruleset", "", errno}
	}
	for i := range r.Rules {
		if err := r.Rules[i].add(fd, r.FS); err != nil {
			_ = syscall.Close(int(fd))
			return -1, err
		}
	}
	return int(fd), nil
}

// add opens what the rule names, so that it is about that and not about a path.
func (rule *Rule) add(ruleset uintptr, handled FS) error {
	at := uintptr(rule.FD)
	if rule.Path != "" {
		var errno syscall.Errno
		at, errno = open(rule.Path)
		if rule.Fleeting && (errno == syscall.ENOENT || errno == syscall.ENOTDIR || errno == syscall.ELOOP) {
			return nil
		}
		if errno != 0 {
			return &stepError{"landlock: open", rule.Path, errno}
		}
		defer syscall.Close(int(at))
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(int(at), &st); err != nil {
		return &stepError{"landlock: stat", rule.Path, err.(syscall.Errno)}
	}
	if rule.Ino != 0 && (st.Ino != rule.Ino || st.Dev != rule.Dev) {
		return &stepError{"landlock: replaced meanwhile:", rule.Path, syscall.ESTALE}
	}
	allow, kind := rule.Allow&handled, st.Mode&syscall.S_IFMT
	if kind != syscall.S_IFDIR {
		allow &= OfFile
	}
	if kind == syscall.S_IFLNK || allow == 0 {
		return nil
	}
	// struct landlock_path_beneath_attr is packed: 8 bytes and 4.
	attr := [2]uint64{uint64(allow), uint64(uint32(at))}
	_, _, errno := syscall.RawSyscall6(sysAddRule, ruleset, pathBeneath, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 && (errno != syscall.EBADFD || rule.Path != "") { // see Add
		return &stepError{"landlock_add_rule", rule.Path, errno}
	}
	return nil
}

// Add allows something beneath what an open descriptor leads to, in a ruleset
// that was opened and handles these rights. Pipes, sockets, memory and the like
// have no place in the tree of files and stay open to whoever has them.
func Add(ruleset, fd int, allow FS) error {
	rule := Rule{FD: fd, Allow: allow}
	return rule.add(uintptr(ruleset), allow)
}

// open opens a path that has no links in it, by one call where a filter of a
// container's lets openat2 through.
func open(path string) (fd uintptr, errno syscall.Errno) {
	p, err := syscall.BytePtrFromString(path)
	if err != nil || path[0] != '/' {
		return 0, syscall.EINVAL
	}
	how := [3]uint64{oPath | syscall.O_CLOEXEC, 0, resolveNoSymlinks | resolveNoMagicLinks}
	fd, _, errno = syscall.Syscall6(sysOpenat2, atFDCWD,
		uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	if errno == syscall.ENOSYS || errno == syscall.EPERM {
		return walk(path)
	}
	return fd, errno
}

// walk opens one element after the other, and no link among them.
func walk(path string) (uintptr, syscall.Errno) {
	const flags = oPath | syscall.O_CLOEXEC | syscall.O_NOFOLLOW
	at, errno := openat(atFDCWD, "/", flags)
	for i := 1; i < len(path) && errno == 0; {
		end, last := i, flags|uintptr(syscall.O_DIRECTORY)
		for end < len(path) && path[end] != '/' {
			end++
		}
		if end == len(path) {
			last = flags
		}
		var next uintptr
		next, errno = openat(at, path[i:end], last)
		_ = syscall.Close(int(at))
		at, i = next, end+1
	}
	return at, errno
}

func openat(dir uintptr, name string, flags uintptr) (uintptr, syscall.Errno) {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return 0, syscall.EINVAL
	}
	fd, _, errno := syscall.Syscall6(syscall.SYS_OPENAT, dir, uintptr(unsafe.Pointer(p)), flags, 0, 0, 0)
	return fd, errno
}
