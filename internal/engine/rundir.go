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

// Session plans the directory of the run: 0700, with the manifest in it and the
// directory for temporary files. Nobody is there to remove it when the command
// has ended; the next run does it, see sweep.
func Session(p *Plan, c Chosen) (dir, tmp string, err error) {
	if c.Runtime == "" {
		return "", "", &host.Error{Status: host.StatusFailed, Text: "there is no place for temporary files of the command's own: no home directory, no XDG_RUNTIME_DIR, and others can replace what is in /tmp", Hint: "set HOME"}
	}
	dir = c.Runtime + "/" + c.Instance
	tmp = dir + "/tmp"
	p.Dirs = append(p.Dirs, c.Runtime, dir, tmp)
	if p.Report.Unkept != "" {
		p.CacheDst = tmp + "/cache"
		p.Dirs = append(p.Dirs, p.CacheDst)
	}
	return dir, tmp, nil
}

// PrivateCache is [Plan.cache] without mounts: the directory is used where it
// is.
func PrivateCache(p *Plan, req Request, v *view.View, pol *policy.Policy) error {
	if pol.Cache != "private" || req.Cache == "" || len(v.Host.Homes) == 0 {
		return nil
	}
	home, err := v.Res.Resolve(v.Host.Homes[0])
	if err != nil || v.Access(home.Path) != policy.Private {
		return nil
	}
	if _, taken := v.Find(host.Join(home.Path, ".cache")); taken {
		return nil
	}
	src, err := p.CacheDir(req, v)
	if err != nil || p.Report.Unkept != "" { // then it is with the temporary files, see session
		return err
	}
	r := &policy.Rule{Path: src, Access: policy.Write, Layer: policy.Builtin, Source: view.SourceCache}
	v.Entries = append(slices.DeleteFunc(v.Entries, func(m view.Entry) bool { return policy.Within(m.Path, src) }),
		view.Entry{Path: src, Info: host.Info{Kind: host.Dir}, Rule: r, Src: src})
	v.Sort()
	p.CacheDst = src
	return nil
}
