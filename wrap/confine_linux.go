// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/procfs"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// confineSelf puts the walls of a plan around this process and makes it the command.
// It returns only when that fails, with an [*Error].
func confineSelf(p *engine.Plan) error {
	c := p.Confined
	if err := writeFiles(p); err != nil {
		return err
	}
	// What sbx itself writes is done.
	if p.Init != nil {
		p.Init.Rlimits = p.Limits.Rlimits
	} else if err := p.Limits.SetRlimits(); err != nil {
		return failed("limits: " + err.Error())
	}
	wall, err := c.Ruleset.Open()
	if err != nil {
		return failed(text.Plain(err.Error()))
	}
	// From here on this thread alone counts: it executes the command.
	pid1.Lock()
	if err := dropCaps(); err != nil {
		return failed("capabilities: " + err.Error())
	}
	var filters [][]byte
	for _, f := range c.Filters {
		filters = append(filters, f.Code)
	}
	if p.Init != nil {
		p.Init.Wall, p.Init.Own = wall, filters[0]
		if len(filters) > 1 {
			p.Init.Filter = filters[1]
		}
		return failed("parent: " + stay(p).Error())
	}
	err = pid1.Confine(p.Path, p.Argv, p.Env, wall, filters...)
	if _, ok := err.(syscall.Errno); !ok {
		return failed(err.Error())
	}
	return &host.Error{Status: host.StatusNoExec, Text: text.Plain(p.Path) + ": " + err.Error()}
}

// timed runs a command without a sandbox until its time is up. It returns only when it
// could not start.
func timed(p *engine.Plan) error {
	p.Init = &pid1.InitConfig{Group: pid1.Beside, Limit: p.Limit, OOM: -1, Parent: pid1.NoParentFDs, Leaves: true}
	return stay(p)
}

// stay makes this process the parent of the command. It returns only when that fails.
func stay(p *engine.Plan) error {
	p.Init.Path, p.Init.Argv = p.Path, p.Argv
	for _, fd := range append(p.Init.Held, p.Init.Wall) {
		if fd > 0 {
			_ = putAt(fd, fd)
		}
	}
	return pid1.Stay(p.Init, p.Env)
}

// dropCaps gives up all capabilities for good, as bwrap does: root is then a
// user to whom the system's files belong.
func dropCaps() error {
	// Those of the ambient set go with the permitted ones.
	for c := uintptr(0); c < 64; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			break // no further one; or no right to, and then no_new_privs alone keeps them away
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// runDir finds where the directories of runs with Landlock are: the directory
// for such things that the system makes for each user, else sbx's own cache.
func runDir(h *host.Host, cacheDir string) (place, instance string) {
	dirs := []string{"/run/user/" + strconv.Itoa(h.UID)}
	if dir, ok := host.LookupEnv(h.Environ, "XDG_RUNTIME_DIR"); ok && !h.Client {
		dirs = append([]string{dir}, dirs...)
	}
	for _, dir := range dirs {
		var st syscall.Stat_t
		if strings.HasPrefix(dir, "/") && filepath.Clean(dir) == dir && syscall.Lstat(dir, &st) == nil &&
			st.Mode&syscall.S_IFMT == syscall.S_IFDIR &&
			int(st.Uid) == h.UID && st.Mode&0o077 == 0 && canonical(dir) && unix.Access(dir, unix.W_OK) == nil {
			place = dir + "/sbx"
			break
		}
	}
	if place == "" && h.CheckOwnDir(cacheDir) == nil {
		place = host.RunsIn(cacheDir)
	}
	if place == "" {
		place = runsInTemp(h.FS, h.UID)
	}
	pid := os.Getpid()
	return place, strconv.Itoa(pid) + "." + started(pid) + "." + processes()
}

// runsInTemp is where the directories of runs are when the user has no place of
// their own: in /tmp, where others cannot replace what one made. What stands
// there already is looked at when the run makes its directories.
func runsInTemp(fs host.FS, uid int) string {
	tmp, err := fs.Lstat("/tmp")
	if err != nil || tmp.Kind != host.Dir || tmp.UID != 0 && tmp.UID != uid ||
		tmp.Mode&0o022 != 0 && tmp.Mode&0o1000 == 0 {
		return ""
	}
	return "/tmp/sbx-runs-" + strconv.Itoa(uid)
}

func canonical(dir string) bool {
	to, err := host.NewResolver(host.OS{}).Resolve(dir)
	return err == nil && to.Path == dir
}

// processes tells the namespaces of processes and time of this machine and of one
// start of it apart.
func processes() string {
	boot, _, _ := strings.Cut(procfs.Line("/proc/sys/kernel/random/boot_id"), "-")
	return procfs.Namespace("pid") + "." + procfs.Namespace("time") + "." + boot
}
