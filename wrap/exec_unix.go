//go:build linux || darwin

package wrap

import (
	"errors"
	"os"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

func failed(reason string) error {
	return &Error{StatusFailed, "Failed to initialize sandbox: " + reason, ""}
}

// makeDirs makes the directories of a plan and, where one is for the run alone,
// removes those of earlier runs.
func (p *Plan) makeDirs(h *Host) error {
	for _, dir := range p.Dirs {
		if err := makeDir(dir, h.UID); err != nil {
			return failed("a directory of sbx's own: " + err.Error())
		}
	}
	if p.Session != "" {
		h.sweep()
	}
	return nil
}

// makeDir makes a directory of sbx's own, its parents as the user's umask has
// them, and refuses one that somebody else put there.
func makeDir(dir string, uid int) error {
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

// writeFiles makes the planned files.
func (p *Plan) writeFiles() error {
	for _, f := range p.Files {
		if err := writeNew(f); err != nil {
			return failed(err.Error())
		}
	}
	return nil
}

// writeNew makes a file that was not there. A run that has the number and the
// start of another cannot be, so what is there is not sbx's.
func writeNew(f OwnFile) error {
	out, err := os.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o400)
	if err != nil {
		return err
	}
	_, err = out.Write(f.Data)
	return errors.Join(err, out.Close())
}

// runsIn is where the directories of runs are in sbx's own cache, "" without
// one. Rules follow no links, and the home or its cache may be one.
func runsIn(cacheDir string) string {
	if cacheDir == "" {
		return ""
	}
	above, err := newResolver(OS{}).resolve(policy.Dir(cacheDir))
	if err != nil {
		return ""
	}
	return join(join(above.Path, base(cacheDir)), "runs")
}
