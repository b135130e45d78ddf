// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package host

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/tripwire"
	"golang.org/x/sys/unix"
)

// Detect gathers what a plan needs to know of this machine, the engine aside.
func Detect() (*Host, error) {
	far := newRemotes()
	h := &Host{
		Facts:  Facts{FS: OS{far}, OS: runtime.GOOS, Arch: runtime.GOARCH, Landlock: landlock.ABI()},
		Caller: Caller{UID: os.Geteuid(), GID: os.Getegid(), Environ: syscall.Environ()},
	}
	h.Homes = homes(h.Environ, h.UID)
	if err := h.settled(); err != nil {
		return nil, err
	}
	cwd := getcwd()
	if h.AnyRemote() {
		if err := far.needs(append(h.places(), cwd)...); err != nil {
			return nil, err
		}
		tripwire.Apart = h.OnRemote
	}
	h.CWD = workingDir(cwd)
	for _, home := range h.Homes { // getcwd knows no links, and secrets are not to be opened from there
		if real, err := filepath.EvalSymlinks(home); err == nil && !slices.Contains(h.Homes, real) {
			h.Homes = append(h.Homes, real)
		}
	}
	var err error
	if h.FDs, err = Descriptors(); err != nil {
		return nil, &Error{StatusFailed, "cannot list the open descriptors: " + err.Error(), noDescriptors}
	}
	h.terminal()
	h.Self = self()
	return h, nil
}

// places are the directories that each run looks into, beside the working
// directory.
func (h *Host) places() []string {
	out := slices.Clone(h.Homes)
	for _, home := range h.Homes {
		out = append(out, Join(home, ".config"), Join(home, ".cache"), Join(home, ".local/share"),
			Join(home, ".local/state"))
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
		"XDG_RUNTIME_DIR"} {
		if dir, ok := LookupEnv(h.Environ, name); ok && strings.HasPrefix(dir, "/") {
			out = append(out, filepath.Clean(dir))
		}
	}
	return out
}

// workingDir is dir, as getcwd has it, when it still is the working directory.
func workingDir(dir string) string {
	var st, here syscall.Stat_t
	if dir == "" || syscall.Lstat(dir, &st) != nil || syscall.Stat(".", &here) != nil || st.Ino != here.Ino ||
		st.Dev != here.Dev {
		return ""
	}
	return dir
}

// Gone is the error where [Host.CWD] is "".
func Gone() *Error {
	if dir := getcwd(); dir != "" && syscall.Access(dir, 1) == syscall.EACCES {
		return &Error{StatusFailed, "the working directory " + text.Plain(dir) + " may not be entered (its mode)",
			"chmod u+rwx " + text.ShellWord(dir) + " if it is yours, or cd to another directory"}
	}
	return &Error{StatusFailed, "the working directory no longer exists", "cd to a directory that exists"}
}

// settled refuses a machine on which no one knows where the secrets are.
func (h *Host) settled() error {
	if dir, ok := LookupEnv(h.Environ, "HOME"); ok && dir != "" && (dir[0] != '/' || HasDotDot(dir)) {
		return &Error{StatusFailed, "HOME is " + strconv.Quote(dir) + ", which is not a plain absolute path",
			"set it to the home directory"}
	}
	if len(h.Homes) == 0 {
		return &Error{StatusFailed, "there is no home directory: HOME is not set, and uid " + strconv.Itoa(h.UID) +
			" is not in " + userDatabase, "set HOME: secrets are hidden by where it is; where there is none, HOME=/"}
	}
	return nil
}

// terminal looks for the controlling terminal.
func (h *Host) terminal() {
	if tty, err := syscall.Open("/dev/tty", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0); err == nil {
		h.TTY, h.Front = true, h.leads(tty)
		syscall.Close(tty)
	}
}

// leads reports whether a shell started this process as a job of its own, which
// has the terminal now: it leads the group in the foreground, and no pipe leads
// from it to another member of that group.
func (h *Host) leads(tty int) bool {
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	if pid := os.Getpid(); err != nil || group != pid || syscall.Getpgrp() != pid {
		return false
	}
	return !slices.ContainsFunc(h.FDs, func(fd FD) bool {
		return (fd.Num == 1 || fd.Num == 2) && (fd.Kind == FDPipe || fd.Kind == FDPair)
	})
}

// homes returns the home directory that HOME names and, when it is another,
// the one of the user database. The first is the one that "~" means.
func homes(env []string, uid int) []string {
	var out []string
	if dir, ok := LookupEnv(env, "HOME"); ok && strings.HasPrefix(dir, "/") && !HasDotDot(dir) {
		out = append(out, filepath.Clean(dir))
	}
	if dir := passwdHome(uid); dir != "" && (len(out) == 0 || out[0] != dir) {
		out = append(out, dir)
	}
	return out
}

func HasDotDot(s string) bool { return strings.Contains(s+"/", "/../") }

// descriptor says what is known of an open descriptor, false for one that is closed.
func descriptor(n int) (FD, bool) {
	flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
	if err != nil {
		return FD{}, false
	}
	fd := FD{Num: n, CloseOn: flags&unix.FD_CLOEXEC != 0}
	if fd.CloseOn && n > 2 {
		return fd, true
	}
	mode, err := unix.FcntlInt(uintptr(n), unix.F_GETFL, 0)
	if err != nil { // on macOS a queue of events, a port: nothing that is passed on
		return fd, true
	}
	fd.Reads = mode&unix.O_ACCMODE != unix.O_WRONLY
	fd.Writes = mode&unix.O_ACCMODE != unix.O_RDONLY
	var st syscall.Stat_t
	if syscall.Fstat(n, &st) != nil {
		return fd, true
	}
	if mode&pathOnly != 0 {
		fd.Kind = FDPathRef
		return fd, true
	}
	fd.Kind = kindOfFD(uint32(st.Mode))
	if fd.Kind == FDFile {
		fd.Size, fd.Dev, fd.Ino = st.Size, uint64(st.Dev), st.Ino
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFSOCK {
		fd.describe(&st)
		return fd, true
	}
	fd.Loose = unconnected(n)
	if unnamedPair(n) {
		fd.Kind = FDPair
	}
	return fd, true
}

// kindOfFD is what a descriptor leads to, by the mode of stat(2). Of a socket
// that does not tell.
func kindOfFD(mode uint32) FDKind { return fdKinds[kindOf(mode)] }

var fdKinds = [Unknown]FDKind{Dir: FDDir, Fifo: FDPipe, File: FDFile, Device: FDDevice}

// unconnected reports whether a socket takes another address than that of its peer.
func unconnected(n int) bool {
	if kind, err := unix.GetsockoptInt(n, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_STREAM &&
		kind != unix.SOCK_SEQPACKET {
		return true
	}
	if listens, err := unix.GetsockoptInt(n, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err == nil && listens == 1 {
		return false
	}
	_, err := unix.Getpeername(n)
	return err != nil && err != unix.EINVAL // which macOS says once the other end is closed
}

func isSet(environ []string, name string) bool {
	v, _ := LookupEnv(environ, name)
	return v != ""
}
