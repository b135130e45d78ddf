// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// mounts answers what the plan gives at a path.
type mounts []engine.Mounted

// access is the mount that decides about a path, with the rule it comes from; it is
// empty where none does.
type access engine.Mounted

// at returns the deepest mount that holds a canonical path.
func (m mounts) at(path string) (a access) {
	for i := range m { // parents first
		if policy.Within(path, m[i].Path) {
			a = access(m[i])
		}
	}
	return a
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
