//go:build linux || darwin

package host

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// MakeDir makes a directory of sbx's own, its parents as the user's umask has
// them, and refuses one that somebody else put there.
func MakeDir(dir string, uid int) error {
	err := os.Mkdir(dir, 0o700)
	if os.IsNotExist(err) {
		if err := os.MkdirAll(policy.Dir(dir), 0o700); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil && !os.IsExist(err) {
		return err
	}
	info, err := OS{}.Lstat(dir)
	if err == nil && (info.Kind != Dir || info.UID != uid) {
		return &os.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	}
	return err
}

// RunsIn is where the directories of runs are in sbx's own cache, "" without
// one. Rules follow no links, and the home or its cache may be one.
func RunsIn(cacheDir string) string {
	if cacheDir == "" {
		return ""
	}
	above, err := NewResolver(OS{}).Resolve(policy.Dir(cacheDir))
	if err != nil {
		return ""
	}
	return Join(Join(above.Path, Base(cacheDir)), "runs")
}

func OpenDir(at int, name string) (int, error) {
	return unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
}
