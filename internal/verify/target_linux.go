// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// target is what there is to prove about one run: its policy, laid on a host,
// with what was planted there for the purpose.
type target struct {
	Inside     bool // looked at from inside: nothing is known of the host
	UID        int
	Nonce      string // part of every name that the probe may make
	CWD        string
	Remap      string // where the working directory is seen; "" is where it is
	Network    bool
	SharePID   bool
	OwnSession bool
	Seccomp    string   // default, strict, dev, off
	Filter     bool     // a file adds to what the level refuses
	Feigned    bool     // that file may answer a call as if it had been made
	Scoped     []string // what Landlock keeps the command from, as [engine.Plan.Scoped] has it

	Walls   bool     // the engine is Landlock
	Gaps    []string // that the plan owns up to
	Frozen  []string // with Walls, writable directories in which nothing can be made
	Closed  []string // with Walls, directories that are private in tier full
	Devices []string // with Walls, of the host's, which outside can be opened
	Given   []string // of the host's, which the policy opens
	Mode    string   // with Walls, a path of the caller's own that does not matter

	Hidden  []secret
	Guarded []guardedPath
	Moves   []string // directories between a protected path and the top of the writable tree, the top included
	Unborn  []string // protected names that do not exist, in writable directories
	Scratch string   // a private directory, or "" for none
	Places  []place
	Plan    mounts   // what is mounted, parents first
	Host    []string // mount points of the host, which a bind brings along
	Servers []server
	Sockets []socket
	Spaces  map[string]string // namespaces of the caller
	Helper  int               // process id of a process outside
	Word    string            // on its command line
	Env     variables
	Pass    []int // descriptors that are to be there beside 0, 1, 2
	Own     ownFiles
}

// Paths that only a run with Landlock knows begin with this name of its
// directory.
const (
	runDir      = "@run"
	runTmp      = runDir + "/tmp"
	runManifest = runDir + "/policy.json"
)

// Names in target.Scoped.
const (
	scopedAbstract = "abstract-unix-socket"
	scopedSignal   = "signal"
)

func (s *target) scoped(name string) bool { return slices.Contains(s.Scoped, name) }

// secret is a path that has to be hidden.
type secret struct {
	Path    string
	Out     fileInfo // outside
	Private bool     // it lies in a place of the sandbox's own, where another file may have its name
	Shown   []string // of a directory: the names that deeper rules show
	Inner   []string // of a directory, with Walls: some paths in it that can be read outside
	Opened  string   // the rule that shows it all the same; "" when it has to be hidden
}

// guardedPath is a path that must not change.
type guardedPath struct {
	Path   string
	Kind   string   // as in [fileInfo]
	Tops   []string // writable directories in which to try a hard link of it
	Able   bool     // outside it can be written, or its owner can make it so
	Opened string   // the rule that makes it writable all the same
	Loose  bool     // its name is a link in a writable directory
	Hidden bool     // it is to be hidden, and not to be kept as it is
}

// place is a directory in which nothing must appear.
type place struct {
	Path    string
	Able    bool   // outside a file can be made in it
	Private bool   // it is a place of the sandbox's own
	Opened  string // the rule that makes it writable
}

// server is an address at which this process listens.
type server struct {
	Name     string // for people
	question        // by which it is reached
	Shared   bool   // reachable with the network shared
	Opened   string // the rule that shows it
	Absent   string // why there is no such server here
	Heard    func() bool
}

func (s *server) abstract() bool { return s.Act == actConnect && s.Path[0] == 0 }

// socket is a service of the host.
type socket struct {
	Name   string
	Path   string // a leading NUL byte is an abstract name
	Opened string // the rule that names it
}

// variables is what has to become of the environment.
type variables struct {
	Dropped []string // names
	Kept    []string // names that pass or are set
	Planted map[string]string
	Mark    string // in the values of all planted variables
	MayShow string // the rule by which a planted variable passes; "" for none
}

// ownFiles are sbx's own files.
type ownFiles struct {
	Manifest string // path inside, "" when there is none
	Sum      string // SHA-256 of its first 64 KiB; "" when it is not known
	Dir      string
	Programs map[string]string // sbx and bwrap, each with the rule that lets the command write it, or ""
}

// at is where a path of the host is seen inside.
func (s *target) at(path string) string {
	if s.Remap == "" || !policy.Within(path, s.CWD) {
		return path
	}
	return s.Remap + path[len(s.CWD):]
}

// outsidePath is where a path of the sandbox is on the host.
func (s *target) outsidePath(path string) string {
	if s.Remap == "" || !policy.Within(path, s.Remap) {
		return path
	}
	return s.CWD + path[len(s.Remap):]
}

// fixture begins the names of the probe's, before the nonce of the run.
const fixture = ".sbx-verify-"

// free returns a name in a directory that nothing has. Each tag gives another.
func (s *target) free(dir, tag string) string {
	return strings.TrimSuffix(dir, "/") + "/" + fixture + s.Nonce + "-" + tag
}

// spoken is a path as people know it.
func spoken(path string) string {
	names := map[string]string{runTmp: "$TMPDIR", runManifest: "$SBX_MANIFEST", runDir: "the directory of the run"}
	return cmp.Or(names[path], path)
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// mounts answers what the plan gives at a path.
type mounts []engine.Mounted

// access is the mount that decides about a path, with the rule it comes from; it is
// empty where none does.
type access engine.Mounted

// at returns the deepest mount that holds a canonical path.
func (m mounts) at(path string) (a access) {
	for i := range m {
		if policy.Within(path, m[i].Path) && len(m[i].Path) >= len(a.Path) {
			a = access(m[i])
		}
	}
	return a
}

// shownIn are the names in a directory of which deeper mounts show something, and
// those that are only on the way to it.
func (m mounts) shownIn(dir string) (shown, way []string) {
	for i := range m {
		if m[i].Path == dir || !policy.Within(m[i].Path, dir) || m[i].Access == policy.Block || m[i].Access == policy.Unseen {
			continue
		}
		name, _, deeper := strings.Cut(strings.TrimPrefix(m[i].Path[len(dir):], "/"), "/")
		shown = append(shown, name)
		if deeper {
			way = append(way, name)
		}
	}
	return slices.Compact(shown), slices.Compact(way)
}

func (a access) shows() bool {
	return a.Access == policy.Read || a.Access == policy.Write || a.Access == policy.Protect
}

// shared reports whether it is the private cache of the project.
func (a access) shared() bool { return a.Source == view.SourceCache }

// own reports whether what is there is the sandbox's and not the host's.
func (a access) own() bool { return a.Access == policy.Private || a.shared() }

// named returns the rule that shows a path because a person or a profile named it,
// and not only a directory above.
func (a access) named(path string) string {
	if a.shows() && (a.Path == path || a.Layer > policy.Builtin) {
		return a.Source
	}
	return ""
}

// writableTree returns the directories of the writable tree that path lies in, the
// nearest first and the top last.
func (m mounts) writableTree(path string) []string {
	var out []string
	for dir := path; dir != "/"; {
		dir = policy.Dir(dir)
		if m.at(dir).Access != policy.Write {
			break
		}
		out = append(out, dir)
	}
	return out
}
