// SPDX-License-Identifier: Apache-2.0

package host

import (
	"path/filepath"
	"strings"

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
	GID     int   // effective
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

	// Unpinned says that a client chose CWD, and the last command may have: no one
	// named it as a root.
	Unpinned bool

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
	Overlay bool // it can lay a directory for changes over one of the home directory's file system
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

// StartDir is where the command starts.
func (h *Host) StartDir() string {
	if h.Dir != "" {
		return h.Dir
	}
	return h.CWD
}

// Logical is where the command starts by the name that the caller's shell has for it
// ($PWD), and the links in that name. The resolver may be nil.
func (h *Host) Logical(res *Resolver) (pwd string, links []Hop) {
	pwd, _ = LookupEnv(h.Environ, "PWD")
	if pwd != h.StartDir() && strings.HasPrefix(pwd, "/") && filepath.Clean(pwd) == pwd {
		if res == nil {
			res = NewResolver(h.FS)
		}
		if to, err := res.Resolve(pwd); err == nil && to.Path == h.StartDir() {
			return pwd, to.Links
		}
	}
	return h.StartDir(), nil
}

// Shown is a path as a message has it: short where it lies in the home directory.
func (h *Host) Shown(path string) string {
	if len(h.Homes) > 0 && h.Homes[0] != "/" && policy.Within(path, h.Homes[0]) {
		if short := "~" + path[len(h.Homes[0]):]; text.Plain(short) == short {
			return short
		}
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

// ManifestDir holds policy.json, by which a program knows that it runs inside.
const ManifestDir = "/run/sbx"

// Names of engines.
const (
	EngineBwrap    = "bwrap"
	EngineLandlock = "landlock"
)

// Names of tiers.
const (
	TierFull    = "full"
	TierReduced = "reduced"
)

// EngineSeatbelt is the engine of macOS.
const EngineSeatbelt = "sandbox-exec"

// SandboxExec is the only place where sandbox-exec is looked for: the system
// keeps others from writing there.
const SandboxExec = "/usr/bin/sandbox-exec"

// DefaultPath is where commands are looked for when PATH is unset.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func LookupEnv(env []string, name string) (string, bool) {
	for _, kv := range env {
		if len(kv) > len(name) && kv[len(name)] == '=' && kv[:len(name)] == name {
			return kv[len(name)+1:], true
		}
	}
	return "", false
}

// SocketTops are the directories that are looked into for sockets: services that
// did not come with the system put theirs there, and profiles show them.
var SocketTops = [...]string{"/opt", "/srv", "/usr/local", "/etc"}
