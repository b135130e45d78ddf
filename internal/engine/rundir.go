// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

func Whence(pol *policy.Policy, key string) string {
	if where := pol.Where[key]; where != "" {
		return where
	}
	return "profile " + strings.Join(pol.Profiles, "+")
}

// Workspace names the setting that shows the working directory elsewhere as the person
// wrote it.
func Workspace(pol *policy.Policy) string {
	const flag = "--workspace"
	if where := cmp.Or(pol.Where["workspace"], flag); where != flag {
		return where + ": workspace"
	}
	return flag
}

// ManifestName is the file in the directory of a run that says what
// policy.json does elsewhere.
const ManifestName = "policy.json"

// OwnDir plans the private cache and the directory of the run, for engines
// without mounts: mode 0700, with the manifest in it and the directory for
// temporary files. No process is left to remove it when the command has ended; a
// later run does. The first of the variables is TMPDIR.
func (r *Run) OwnDir(c Chosen) ([]policy.Var, error) {
	_, cache, err := r.Cache()
	switch {
	case err != nil:
		return nil, err
	case cache != "": // used where it is
		r.View.Entries = slices.DeleteFunc(r.View.Entries,
			func(m view.Entry) bool { return policy.Within(m.Path, cache) })
		r.AddCache(cache, cache, policy.Write)
	}
	if c.Runtime == "" {
		return nil, Fail("there is no place for the command's own temporary files: no home directory, no XDG_RUNTIME_DIR, "+
			"and others can replace what is in /tmp", "set HOME")
	}
	r.Session = c.Runtime + "/" + c.Instance
	tmp := r.Session + "/tmp"
	r.Dirs = append(r.Dirs, c.Runtime, r.Session, tmp)
	if r.Report.Unkept != "" {
		r.CacheDst = tmp + "/cache"
		r.Dirs = append(r.Dirs, r.CacheDst)
	}
	return []policy.Var{{Name: "TMPDIR", Value: tmp}, {Name: "SBX_MANIFEST", Value: r.Session + "/" + ManifestName}},
		nil
}
