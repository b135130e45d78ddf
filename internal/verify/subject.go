package verify

import (
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// Subject is a run to be verified.
type Subject struct {
	Host    *host.Host
	Bwrap   string                       // path of bwrap, with that engine
	Plan    func() (*engine.Plan, error) // of a run of the probe, with what Host has by then
	Flags   []string                     // of sbx, as the run has them: the child gets the same
	Root    string                       // of the work tree
	Remap   string                       // where the working directory is seen; "" is where it is
	Cache   string                       // sbx's own cache directory, which a run may change
	OwnDirs []string                     // sbx's own directories; need not exist
}

// InterruptedError is a verification that a signal ended. What the probe had
// changed was put back before.
type InterruptedError struct{ Signal syscall.Signal }

func (e *InterruptedError) Error() string { return "interrupted: " + e.Signal.String() }

// access is what a mount amounts to, with the rule it comes from.
type access struct {
	policy.Access
	rule   string
	layer  policy.Layer
	mount  string // where it stands
	shared bool   // it is the private cache of the project
}

// mounts answers what the plan gives at a path.
type mounts []engine.Mounted

// at returns the deepest mount that holds a canonical path.
func (m mounts) at(path string) (a access) {
	for i := range m { // parents first
		if policy.Within(path, m[i].Path) {
			a = access{m[i].Access, m[i].Source, m[i].Layer, m[i].Path, m[i].Source == view.SourceCache}
		}
	}
	return a
}

func (a access) shows() bool {
	return a.Access == policy.Read || a.Access == policy.Write || a.Access == policy.Protect
}

// own reports whether what is there is the sandbox's and not the host's.
func (a access) own() bool { return a.Access == policy.Private || a.shared }

// named returns the rule that shows a path because a person or a profile named
// it, and not only a directory above.
func (a access) named(path string) string {
	if a.shows() && (a.mount == path || a.layer > policy.Builtin) {
		return a.rule
	}
	return ""
}

// writableTree returns the directories of the writable tree that path lies in,
// the nearest first and the top last.
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
