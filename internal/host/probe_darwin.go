// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Find fails: bwrap is Linux's.
func Find(*Host, string) (Bwrap, error) { return Bwrap{}, OtherEngine(EngineBwrap) }

// seatbeltWorks is what a saved verdict says.
const seatbeltWorks = "works\n"

// ChooseSeatbelt says why sandbox-exec cannot be had, nil when it can. A failure is
// never kept.
func ChooseSeatbelt(h *Host, dir string) *Unavailable {
	if InSeatbelt() {
		return NestedSeatbelt()
	}
	key, u := findSandboxExec(h.UID)
	if u != nil {
		return u
	}
	kept := verdict{dir, h.UID, key}
	if dir != "" && !inOtherSandbox(h.Environ) {
		if rest, ok := kept.read(); ok && rest == seatbeltWorks {
			return nil
		}
	}
	if u := probeSeatbelt(runOnce); u != nil {
		return u
	}
	if h.CheckOwnDir(dir) == nil {
		kept.keep(seatbeltWorks)
	}
	return nil
}

// findSandboxExec looks at the program that a run becomes and returns what a saved
// verdict on it stands under.
func findSandboxExec(uid int) (key string, u *Unavailable) {
	var st syscall.Stat_t
	switch err := syscall.Lstat(SandboxExec, &st); {
	case err == syscall.ENOENT, err == syscall.ENOTDIR:
		return "", NoSandboxExec()
	case err == syscall.EPERM:
		return "", NestedSeatbelt()
	case err != nil:
		return "", seatbeltFailure(0, "", err)
	case st.Mode&syscall.S_IFMT != syscall.S_IFREG || st.Uid != 0 || st.Mode&0o022 != 0:
		return "", &Unavailable{causeUnsafe, SandboxExec + " is not the system's: it belongs to another user, or others can write it", []string{"an update of macOS fixes it"}}
	}
	if err := unix.Access(SandboxExec, unix.X_OK); err != nil {
		return "", seatbeltFailure(0, "", err)
	}
	numbers := []int64{int64(st.Dev), int64(st.Ino), st.Size, st.Mtimespec.Nano(), st.Ctimespec.Nano(), int64(st.Mode)}
	return seatbeltKey(uid, numbers, BootID(), systemVersion()), nil
}

// runOnce is how [probeSeatbelt] runs a program here.
func runOnce(argv []string) (status int, said string, err error) {
	_, said, err = runProbe(nil, argv[0], argv[1:]...)
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return 0, said, err
	}
	if ws, ok := ended.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), said, nil
	}
	return ended.ExitCode(), said, nil
}

// Forget removes a saved verdict that does not hold any more, and reports
// whether there was one that a run would have believed.
func Forget(h *Host, dir string) bool {
	key, u := findSandboxExec(h.UID)
	if u != nil || dir == "" {
		return false
	}
	kept := verdict{dir, h.UID, key}
	rest, ok := kept.read()
	return ok && rest == seatbeltWorks && kept.remove()
}

// RefreshSockets does nothing: the engine of this system goes by paths.
func (h *Host) RefreshSockets(string, Bwrap) {}
