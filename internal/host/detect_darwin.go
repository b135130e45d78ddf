// SPDX-License-Identifier: Apache-2.0

package host

import (
	"os"
	directory "os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/text"
)

const (
	userDatabase  = "the user database"
	noDescriptors = "ls /dev/fd shows them where nothing is in the way"
)

// newRemotes returns none: no table says which file systems ask elsewhere.
func newRemotes() *remotes { return nil }

// self is the canonical path of this program. The kernel keeps the path by which
// it was executed, links included.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	to, err := NewResolver(OS{}).Resolve(filepath.Clean(path))
	if err != nil || to.Info.Kind != File {
		return ""
	}
	return OS{}.Spell(to.Path)
}

// getcwd is the working directory as it is spelled on the disk, "" when it was deleted.
func getcwd() string {
	dir, err := syscall.Getwd()
	if err != nil || !strings.HasPrefix(dir, "/") {
		return ""
	}
	return OS{}.Spell(filepath.Clean(dir))
}

// passwdHome asks the C library, and with it the directory services.
func passwdHome(uid int) string {
	u, err := directory.LookupId(strconv.Itoa(uid))
	if err != nil || !strings.HasPrefix(u.HomeDir, "/") || HasDotDot(u.HomeDir) {
		return ""
	}
	return filepath.Clean(u.HomeDir)
}

// Home is the home directory that the user database has for a user, "" for
// none.
func Home(uid int) string { return passwdHome(uid) }

// PasswdShell returns the login shell of a user, or "". It starts dscl(1), which
// alone says it without the C compiler.
func PasswdShell(uid int) string {
	u, err := directory.LookupId(strconv.Itoa(uid))
	if err != nil || !plainUser(u.Username) {
		return ""
	}
	out, _, err := runProbe(nil, "/usr/bin/dscl", "/Search", "-read", "/Users/"+u.Username, "UserShell")
	if shell := dsclValue(out, "UserShell"); err == nil && strings.HasPrefix(shell, "/") {
		return filepath.Clean(shell)
	}
	return ""
}

// Inside is the engine of the sandbox that this process runs in, "" outside of any.
// The profile of sbx lets everybody read sandbox-exec and denies to look at its inode,
// and at that one alone, which no other does: what is open cannot be asked about
// (fstat(2)).
func Inside() string {
	looked := func(path string) (opened bool, err error) {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return false, err
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		return true, unix.Fstat(fd, &st)
	}
	// A profile that lets nothing there be looked at is another user's.
	opened, err := looked(SandboxExec)
	other, otherErr := looked(probed)
	if opened && err == unix.EPERM && other && otherErr == nil {
		return EngineSeatbelt
	}
	return ""
}

// GatherDiagnostics reads what a diagnosis needs.
func GatherDiagnostics(environ []string) Diagnostics {
	f := Diagnostics{Root: os.Geteuid() == 0, MacOS: systemVersion()}
	translated, err := unix.SysctlUint32("sysctl.proc_translated")
	f.Translated = err == nil && translated == 1
	if isSet(environ, "GITHUB_ACTIONS") {
		f.CI = "github"
	}
	return f
}

// systemVersion is that of macOS ("15.1").
func systemVersion() string {
	v, err := unix.Sysctl("kern.osproductversion")
	if err != nil || text.Plain(v) != v {
		return "of an unknown version"
	}
	return v
}

// BootID tells one start of the machine from others. Unlike the time of it, it
// does not change with the clock.
func BootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// Proc is true: nothing here needs a /proc.
func Proc() bool { return true }
