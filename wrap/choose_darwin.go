package wrap

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Choose finds the engine for a run and notes it in h: there is one. Whether it
// works is tried, and kept in a file below dir ("" for nowhere); a verdict that is
// wrong makes a run fail and never weaker. The error is an [*Unavailable].
func Choose(h *Host, dir, name, tier string) error {
	if u := otherEngine(name); u != nil {
		return u
	}
	h.settle(dir) // what a run would be is shown where there can be none, too
	if u := chooseSeatbelt(h, dir); u != nil {
		h.Lack = u
		return u
	}
	h.Engine = EngineSeatbelt
	return nil
}

// Find fails: bwrap is Linux's.
func Find(*Host, string) (Bwrap, error) { return Bwrap{}, otherEngine(EngineBwrap) }

// seatbeltWorks is what a kept verdict says.
const seatbeltWorks = "works\n"

// chooseSeatbelt says why sandbox-exec cannot be had, nil when it can. A failure is
// never kept.
func chooseSeatbelt(h *Host, dir string) *Unavailable {
	if InSeatbelt() {
		return nestedSeatbelt()
	}
	key, u := sandboxExec(h.UID)
	if u != nil {
		return u
	}
	file := verdictFile(dir, h.UID)
	if dir != "" && !hemmed(h.Environ) {
		if rest, ok := keptUnder(file, key, h.UID); ok && rest == seatbeltWorks {
			return nil
		}
	}
	if u := probeSeatbelt(runOnce); u != nil {
		return u
	}
	if h.Keeps(dir) == nil {
		remember(dir, file, key+seatbeltWorks, h.UID)
	}
	return nil
}

// sandboxExec looks at the program that a run becomes and returns what a kept
// verdict on it stands under.
func sandboxExec(uid int) (key string, u *Unavailable) {
	var st syscall.Stat_t
	switch err := syscall.Lstat(SandboxExec, &st); {
	case err == syscall.ENOENT, err == syscall.ENOTDIR:
		return "", noSandboxExec()
	case err == syscall.EPERM:
		return "", nestedSeatbelt()
	case err != nil:
		return "", seatbeltFailure(0, "", err)
	case st.Mode&syscall.S_IFMT != syscall.S_IFREG || st.Uid != 0 || st.Mode&0o022 != 0:
		return "", &Unavailable{CauseUnsafe, SandboxExec + " is not the system's: it belongs to somebody else, or others can write it", []string{"an update of macOS mends it"}}
	}
	if err := unix.Access(SandboxExec, unix.X_OK); err != nil {
		return "", seatbeltFailure(0, "", err)
	}
	numbers := []int64{int64(st.Dev), int64(st.Ino), st.Size, st.Mtimespec.Nano(), st.Ctimespec.Nano(), int64(st.Mode)}
	return seatbeltKey(uid, numbers, bootID(), systemVersion()), nil
}

// runOnce is how [probeSeatbelt] runs a program here.
func runOnce(argv []string) (status int, said string, err error) {
	_, said, err = try(nil, argv[0], argv[1:]...)
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return 0, said, err
	}
	if ws, ok := ended.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), said, nil
	}
	return ended.ExitCode(), said, nil
}

// Forget removes a kept verdict that does not hold any more, and reports
// whether there was one that a run would have believed.
func Forget(h *Host, dir string) bool {
	key, u := sandboxExec(h.UID)
	if u != nil || dir == "" {
		return false
	}
	file := verdictFile(dir, h.UID)
	if rest, ok := keptUnder(file, key, h.UID); !ok || rest != seatbeltWorks {
		return false
	}
	return syscall.Unlink(file) == nil
}

// settle finds where the directories of runs are: the directory for temporary
// files that the system makes for each user, else sbx's own cache. TMPDIR is
// believed only where it leads to one of those.
func (h *Host) settle(cacheDir string) {
	if dir, ok := lookupEnv(h.Environ, "TMPDIR"); ok && len(dir) > 0 && dir[0] == '/' && !hasDotDot(dir) {
		to, err := newResolver(OS{}).resolve(policy.Clean(dir)) // /var is a link
		if err == nil && userTemp(to.Path) && to.Info.Kind == Dir && to.Info.UID == h.UID && to.Info.Mode&0o077 == 0 && unix.Access(to.Path, unix.W_OK) == nil {
			h.Runtime = to.Path + "/sbx"
		}
	}
	if h.Runtime == "" && h.Keeps(cacheDir) == nil {
		h.Runtime = runsIn(cacheDir)
	}
	pid := os.Getpid()
	h.Instance = macInstance(pid, started(pid), bootID())
}

// LookForSockets does nothing: the engine of this system goes by paths.
func (h *Host) LookForSockets(string) {}
