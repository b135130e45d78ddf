package engine

import (
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

func Whence(pol *policy.Policy, key string) string {
	if where := pol.Where[key]; where != "" {
		return where
	}
	return "profile " + strings.Join(pol.Profiles, "+")
}

// ManifestName is the file in the directory of a run that says what
// policy.json does elsewhere.
const ManifestName = "policy.json"

// OwnDir plans the private cache and the directory of the run, for engines
// without mounts: mode 0700, with the manifest in it and the directory for
// temporary files. No process is left to remove it when the command has ended; a
// later run does. The first of the variables is TMPDIR.
func (r *Run) OwnDir(c Chosen) ([]policy.Var, error) {
	if err := r.privateCache(); err != nil {
		return nil, err
	}
	if c.Runtime == "" {
		return nil, Fail("there is no place for temporary files of the command's own: no home directory, no XDG_RUNTIME_DIR, "+
			"and others can replace what is in /tmp", "set HOME")
	}
	r.Session = c.Runtime + "/" + c.Instance
	tmp := r.Session + "/tmp"
	r.Dirs = append(r.Dirs, c.Runtime, r.Session, tmp)
	if r.Report.Unkept != "" {
		r.CacheDst = tmp + "/cache"
		r.Dirs = append(r.Dirs, r.CacheDst)
	}
	return []policy.Var{{Name: "TMPDIR", Value: tmp}, {Name: "SBX_MANIFEST", Value: r.Session + "/" + ManifestName}}, nil
}

// privateCache uses the project's cache where it is.
func (r *Run) privateCache() error {
	p, req, v, pol := r.Plan, r.Request, r.View, r.Policy
	if pol.Cache != "private" || req.Cache == "" || len(v.Host.Homes) == 0 {
		return nil
	}
	home, err := v.Res.Resolve(v.Host.Homes[0])
	if err != nil || v.Access(home.Path) != policy.Private {
		return nil
	}
	if v.At(host.Join(home.Path, ".cache")) != nil {
		return nil
	}
	src, err := p.CacheDir(req, v)
	if err != nil || p.Report.Unkept != "" { // then it is with the temporary files, see session
		return err
	}
	rule := &policy.Rule{Path: src, Access: policy.Write, Layer: policy.Builtin, Source: view.SourceCache}
	v.Entries = append(slices.DeleteFunc(v.Entries, func(m view.Entry) bool { return policy.Within(m.Path, src) }),
		view.Entry{Path: src, Info: host.Info{Kind: host.Dir}, Rule: rule, Src: src})
	v.Sort()
	p.CacheDst = src
	return nil
}
