// SPDX-License-Identifier: Apache-2.0

package host

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/lookpath"
	"github.com/sbx-sandbox/sbx/internal/openat"
	"github.com/sbx-sandbox/sbx/internal/procfs"
	"github.com/sbx-sandbox/sbx/internal/seccomp"
)

const (
	userDatabase  = "/etc/passwd"
	noDescriptors = "is /proc mounted?"
)

func self() string {
	path, _ := procfs.Readlink("/proc/self/exe")
	return path
}

// getcwd is getcwd(2), "" when the directory was deleted or cannot be reached
// from the root ("(unreachable)"). It looks at no file.
func getcwd() string {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Getcwd(buf)
	if err != nil || n < 2 || buf[0] != '/' {
		return ""
	}
	return string(buf[:n-1])
}

// passwdHome reads the home directory of a user out of /etc/passwd. Users that
// only a directory service knows have HOME alone.
func passwdHome(uid int) string { return passwdField(users(), uid, 5) }

func users() string {
	text, _ := procfs.Head("/etc/passwd", 1<<20)
	return text
}

// passwdField returns a path in a user's line (passwd(5)), "" when it does not exist.
func passwdField(text string, uid, field int) string {
	id := strconv.Itoa(uid)
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 7)
		if len(f) == 7 && f[2] == id && strings.HasPrefix(f[field], "/") {
			return filepath.Clean(f[field])
		}
	}
	return ""
}

// Home is the home directory that the user database has for a user, "" for
// none. Whom only a directory service knows, getent(1) is asked about.
func Home(uid int) string {
	if dir := passwdHome(uid); dir != "" {
		return dir
	}
	getent := lookpath.First(strings.Join(binDirs, ":"), "getent", func(file string) bool {
		return unix.Access(file, unix.X_OK) == nil
	})
	if out, _, err := runProbe(nil, getent, "passwd", strconv.Itoa(uid)); err == nil {
		return passwdField(out, uid, 5)
	}
	return ""
}

// PasswdShell returns the login shell of a user, or "".
func PasswdShell(uid int) string { return passwdField(users(), uid, 6) }

// Descriptors lists what is open, sbx's own descriptors included; those have
// close-on-exec set. The one by which the list is read is closed by then.
func Descriptors() ([]FD, error) {
	names, err := procfs.Names("/proc/self/fd")
	fds := make([]FD, 0, len(names))
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			if fd, ok := descriptor(n); ok {
				fds = append(fds, fd)
			}
		}
	}
	return fds, err
}

// pathOnly is the flag of a descriptor that gives no access to what it leads to.
const pathOnly = unix.O_PATH

// describe adds what is known of a descriptor that is no socket.
func (fd *FD) describe(st *syscall.Stat_t) {
	if fd.Kind != FDFile {
		return
	}
	fd.Path, _ = OS{}.Readlink("/proc/self/fd/" + strconv.Itoa(fd.Num))
	fd.Deleted = st.Nlink == 0 && strings.HasSuffix(fd.Path, " (deleted)")
	fd.Kernel = kernels(fd.Num, st.Dev)
}

// kernels reports whether a regular file is one that the kernel makes up: by
// reading or writing it one asks or tells the kernel something, for instance the
// memory of another process. Where that is not known it is taken for one.
func kernels(n int, dev uint64) bool {
	if unix.Major(dev) != 0 {
		return false // on a disk
	}
	var fs unix.Statfs_t
	return unix.Fstatfs(n, &fs) != nil || slices.Contains(kernelFS[:], uint32(fs.Type))
}

// kernelFS are the magic numbers of the file systems that hold nothing but
// interfaces of the kernel's (linux/magic.h, and the sources of those that it
// does not name).
var kernelFS = [...]uint32{
	unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.NSFS_MAGIC, unix.PID_FS_MAGIC, unix.ANON_INODE_FS_MAGIC,
	unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.RDTGROUP_SUPER_MAGIC, unix.DEBUGFS_MAGIC,
	unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.SELINUX_MAGIC, unix.SMACK_MAGIC, unix.AAFS_MAGIC,
	unix.BPF_FS_MAGIC, unix.BINFMTFS_MAGIC, unix.EFIVARFS_MAGIC, unix.PSTOREFS_MAGIC, unix.DEVPTS_SUPER_MAGIC,
	unix.XENFS_SUPER_MAGIC, unix.USBDEVICE_SUPER_MAGIC, unix.OPENPROM_SUPER_MAGIC, unix.BINDERFS_SUPER_MAGIC,
	unix.DAXFS_MAGIC,
	0x6e667364, // nfsd
	unix.DMA_BUF_MAGIC, unix.SECRETMEM_MAGIC, unix.SOCKFS_MAGIC, unix.PIPEFS_MAGIC,
	0x62656570, // configfs
	0x65735543, // fusectl
	0x19800202, // mqueue: message queues of this host
	0x67596969, // rpc_pipefs
	0x0187,     // autofs
	0x0a647361, // functionfs
	0xaee71ee7, // gadgetfs
	0x474d454d, // guest_memfd
	0x76a9f425, // ocfs2_dlmfs
}

// unnamedPair reports whether a descriptor is one end of a socketpair(2):
// neither end has a name, so it leads to no service of the host. The length of
// an address is all that tells no name from an abstract one.
func unnamedPair(n int) bool {
	for _, call := range []uintptr{unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME} {
		var addr unix.RawSockaddrAny
		length := uint32(unix.SizeofSockaddrAny)
		_, _, errno := unix.RawSyscall(call, uintptr(n), uintptr(unsafe.Pointer(&addr)),
			uintptr(unsafe.Pointer(&length)))
		if errno != 0 || addr.Addr.Family != unix.AF_UNIX || length > 2 {
			return false
		}
	}
	return true
}

// Inside is the engine of the sandbox that this process runs in, "" outside of any.
// That of bwrap is told by a file that only root can put there on a host, on a
// read-only mount. A variable would not do: who sets it in a project's .envrc would
// turn the sandbox off. That of Landlock is told by its filter, which answers a call
// with an error that no kernel gives. Who can put such a filter around sbx runs it,
// and could as well run something else.
func Inside() string {
	const path = ManifestDir + "/policy.json"
	var fs unix.Statfs_t
	info, err := OS{}.Lstat(path)
	switch {
	case err == nil && info.Kind == File && unix.Statfs(path, &fs) == nil && fs.Flags&unix.ST_RDONLY != 0:
		return EngineBwrap
	case unix.Prctl(seccomp.MarkOption, 0, 0, 0, 0) == syscall.Errno(seccomp.Mark):
		return EngineLandlock
	}
	return ""
}

// Memfd returns a close-on-exec descriptor that reads as data.
func Memfd(data []byte) (int, error) {
	fd, err := unix.MemfdCreate("sbx", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, err
	}
	if err = openat.Write(fd, data); err == nil {
		_, err = unix.Seek(fd, 0, unix.SEEK_SET)
	}
	if err != nil {
		syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Seal makes the content of a memfd unchangeable.
func Seal(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS,
		unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	return err
}
