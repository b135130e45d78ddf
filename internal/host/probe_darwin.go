// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// seatbeltWorks is what a saved verdict says.
const seatbeltWorks = "works\n"

// ChooseSeatbelt says why sandbox-exec cannot be had, nil when it can. A failure is
// never kept.
func ChooseSeatbelt(h *Host, dir string) *Unavailable {
	if Inside() != "" {
		return NestedSeatbelt()
	}
	kept, u := findSandboxExec(h, dir)
	if u != nil || !inOtherSandbox(h.Environ) && kept.works() {
		return u
	}
	if u := probeSeatbelt(runOnce); u != nil {
		return u
	}
	kept.keep(h, seatbeltWorks)
	return nil
}

func (v *verdict) works() bool {
	rest, ok := v.read()
	return ok && rest == seatbeltWorks
}

// findSandboxExec looks at the program that a run becomes and returns where it is
// kept below dir that it works.
func findSandboxExec(h *Host, dir string) (*verdict, *Unavailable) {
	var st syscall.Stat_t
	switch err := syscall.Lstat(SandboxExec, &st); {
	case err == syscall.ENOENT, err == syscall.ENOTDIR:
		return nil, NoSandboxExec()
	case err == syscall.EPERM:
		return nil, NestedSeatbelt()
	case err != nil:
		return nil, seatbeltFailure(0, "", err)
	case st.Mode&syscall.S_IFMT != syscall.S_IFREG || st.Uid != 0 || st.Mode&0o022 != 0:
		return nil, because(causeUnsafe, "mac-unsafe", SandboxExec,
			" is not the system's: it belongs to another user, or others can write it")
	}
	if err := unix.Access(SandboxExec, unix.X_OK); err != nil {
		return nil, seatbeltFailure(0, "", err)
	}
	numbers := []int64{int64(st.Dev), int64(st.Ino), st.Size, st.Mtimespec.Nano(), st.Ctimespec.Nano(), int64(st.Mode)}
	return &verdict{dir, h.UID, seatbeltKey(h.UID, numbers, BootID(), systemVersion())}, nil
}

// runOnce is how [probeSeatbelt] runs a program here.
func runOnce(argv []string) (status int, said string, err error) {
	_, said, err = runProbe(nil, argv[0], argv[1:]...)
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return 0, said, err
	}
	if signal := endedBy(ended); signal != 0 {
		return 128 + signal, said, nil
	}
	return ended.ExitCode(), said, nil
}

// BwrapVersion returns nothing: macOS has no bwrap.
func BwrapVersion(*Host) (path, version string) { return "", "" }

// Forget removes a saved verdict that does not hold any more, and reports
// whether there was one that a run would have believed.
func Forget(h *Host, dir string) bool {
	kept, u := findSandboxExec(h, dir)
	return u == nil && kept.works() && kept.remove()
}

// RefreshSockets does nothing: the engine of this system goes by paths.
func (h *Host) RefreshSockets(string, Bwrap) {}
