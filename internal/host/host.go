// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"

	"github.com/sbx-sandbox/sbx/bwrapargs"
	"github.com/sbx-sandbox/sbx/internal/limits"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// Host is what is known of the machine and of the caller, and where sbx keeps
// what is its own.
type Host struct {
	Facts
	Caller
	Places
}

// Facts are of the machine.
type Facts struct {
	FS       FS
	OS       string       // GOOS
	Arch     string       // GOARCH
	Limits   limits.Facts // only looked at when there is a limit for all processes together
	Sockets  []string     // paths of the host's sockets, as far as they are known: absolute, as they were bound or found
	Landlock int          // version of Landlock, 0 for none
	Modelled bool         // this is another system, seen as a Mac: nothing can be executed
}

// Caller is who started sbx, and how.
type Caller struct {
	UID     int   // effective
	Groups  []int // the effective one included; only [Report.Ask] wants them
	Homes   []string
	CWD     string // canonical, as getcwd(2) gives it: the project that the run is about
	Dir     string // canonical: where the command starts, when that is not CWD; "" when it is
	Environ []string
	FDs     []FD   // open descriptors, in order; 0, 1, 2 and what was inherited
	TTY     bool   // there is a controlling terminal
	Front   bool   // this process alone is the job that has the terminal, as far as can be seen
	Shell   string // what SHELL is inside, "" for the caller's
	ByName  bool   // sbx was called by the name of a tool: flags are in SBX_FLAGS

	// Client says that the variables are those of a client that called its shell,
	// and perhaps a project's: they lead neither to a bwrap nor to a place that sbx
	// keeps anything in.
	Client bool
}

// Places are sbx's own files and directories.
type Places struct {
	Self   string   // absolute path of sbx itself, "" when it is not known
	Config string   // directory of the user's config file, which need not exist; "" for none
	Own    []string // directories of sbx's own, at every place where one may be
	Links  []string // what holds the user's own of Shims, at every place where it may be: never writable inside
	Named  []string // more of Links, which only a variable that is not believed leads to: as little to be written, and never made
	Shims  []string // directories of links to sbx by other names: not in PATH inside, and no program is looked for in them
	Store  string   // directory of the user's sessions: what their commands may do is written there
	Tmp    string   // in it, the one that the commands of this run's session may write; "" for none
}

// Bwrap is the program that will be executed, as found and probed.
type Bwrap struct {
	Path    string
	Version bwrapargs.Version
}

// FD is an open descriptor of the caller.
type FD struct {
	Num     int
	Kind    FDKind
	Path    string // of a regular file, as /proc/self/fd has it; on macOS of devices and named pipes, too
	Deleted bool   // no name leads to the file: it is in memory, or was removed by every name
	Kernel  bool   // the file is the kernel's own: of procfs, sysfs, a namespace, …
	Reads   bool   // open for reading
	Writes  bool   // open for writing
	Loose   bool   // a socket that can still be pointed elsewhere: for datagrams, or not connected
	Size    int64  // bytes, of a regular file
	Dev     uint64 // with Ino, what tells regular files apart
	Ino     uint64
	CloseOn bool // close-on-exec is set: it would not have been passed on anyway
}

// FDKind is what a descriptor leads to.
type FDKind uint8

const (
	FDOther   FDKind = iota // block device, named socket, O_PATH, epoll, pidfd, …
	FDFile                  // regular file
	FDPipe                  // pipe or fifo
	FDPair                  // unnamed socket pair
	FDDir                   // directory
	FDPathRef               // opened with O_PATH
	FDDevice                // character device, a terminal mostly
)

// SharedDirs are never writable roots: everyone's files are in them, or the
// system's. What lies below /home, /opt, /srv, /mnt, /var and /tmp is fine.
var SharedDirs = []string{"/", "/home", "/opt", "/srv", "/mnt", "/media", "/var", "/tmp", "/var/tmp", "/var/lib", "/var/cache", "/Users", "/Applications", "/Volumes", "/opt/homebrew", "/private", "/private/tmp", "/private/var", "/private/var/tmp", "/private/var/folders"}

// SystemTrees are never writable at any depth: the host runs what is in them.
var SystemTrees = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/boot", "/dev", "/proc", "/sys", "/run", "/nix", "/gnu/store", "/System", "/Library", "/private/etc", "/private/var/db", "/private/var/run"}

// Replaceable reports whether a canonical path lies where someone whose work
// runs in sandboxes may have put something else in its place a moment ago.
func Replaceable(path string) bool {
	for _, d := range systemExceptions {
		if policy.Within(path, d) {
			return true
		}
	}
	for _, d := range SystemTrees {
		if policy.Within(path, d) {
			return false
		}
	}
	return true
}

// exceptions of systemTrees: places where people do keep sources.
var systemExceptions = []string{"/usr/src", "/usr/local/src"}

// StartDir is where the command starts.
func (h *Host) StartDir() string {
	if h.Dir != "" {
		return h.Dir
	}
	return h.CWD
}

// Writable returns an error that says why a canonical path cannot be a
// writable tree.
func (h *Host) Writable(path string) error {
	for _, d := range SharedDirs {
		if path == d {
			return &PlaceError{path, "is shared with everything else on this machine"}
		}
	}
	for _, home := range h.Homes {
		if policy.Within(home, path) {
			return &PlaceError{path, "is or holds the home directory"}
		}
	}
	if h.Config != "" && (policy.Within(h.Config, path) || policy.Within(path, h.Config)) {
		return &PlaceError{path, "is or holds the place of sbx's own configuration (" + text.Plain(h.Config) + ")"}
	}
	if h.Store != "" && path != h.Tmp && (policy.Within(h.Store, path) || policy.Within(path, h.Store)) {
		return &PlaceError{path, "is or holds the place of sbx's sessions (" + text.Plain(h.Store) + ")"}
	}
	for _, d := range systemExceptions {
		if policy.Within(path, d) && path != d {
			return nil
		}
	}
	for _, d := range SystemTrees {
		if policy.Within(path, d) {
			return &PlaceError{path, "belongs to the system (" + d + ")"}
		}
	}
	return nil
}

// Shared reports whether a link lies where some built-in profile lets commands
// write, whatever the profile of this run says: another run may have left it.
func (h *Host) Shared(l Hop) bool {
	for _, home := range h.Homes {
		if policy.Within(l.Path, home+"/.cache") || policy.Within(l.Path, home+"/.local") {
			return true
		}
	}
	return false
}

type PlaceError struct{ path, why string }

func (e *PlaceError) Error() string {
	return fmt.Sprintf("%s %s and is never made writable", text.Plain(e.path), e.why)
}

// TrustedLink reports whether a link was made by the system rather than by
// someone whose work runs in sandboxes: root owns it and
// the directory it lies in, and when the caller is
// root, too, it lies outside the places where root's own work lies.
func (h *Host) TrustedLink(l Hop) bool {
	if l.UID != 0 || l.Dir != 0 {
		return false
	}
	if h.UID != 0 {
		return true
	}
	work := append([]string{h.CWD, "/tmp", "/var/tmp", "/srv", "/opt"}, h.Homes...)
	for _, d := range work {
		if policy.Within(l.Path, d) {
			return false
		}
	}
	return true
}

// tilde shortens a path in the home directory.
func (h *Host) tilde(path string) (rest string, ok bool) {
	if len(h.Homes) > 0 && h.Homes[0] != "/" && policy.Within(path, h.Homes[0]) {
		return path[len(h.Homes[0]):], true
	}
	return path, false
}

// Shown is a path as a message has it: short where it lies in the home directory.
func (h *Host) Shown(path string) string {
	if rest, ok := h.tilde(path); ok && text.Plain("~"+rest) == "~"+rest {
		return "~" + rest
	}
	return text.Plain(path)
}

// Error is a run that cannot be, with the exit status that says so.
type Error struct {
	Status int
	Text   string // one line, ready for a person
	Hint   string // what to do; may be empty
}

// Exit statuses of sbx itself, as env(1) and timeout(1) have them.
const (
	StatusTimeout  = 124
	StatusFailed   = 125
	StatusNoExec   = 126
	StatusNotFound = 127
)

func (e *Error) Error() string { return e.Text }

// CanCreateIn reports whether the caller, and so the command, can make something
// in a directory.
func (h *Host) CanCreateIn(dir string) bool {
	info, err := h.FS.Lstat(dir)
	return err == nil && info.Kind == Dir && h.FS.Access(dir, 'w')
}
