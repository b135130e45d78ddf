package engine

import (
	"errors"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// CacheDir is the directory of sbx's own that is the private cache of the
// project, by its canonical path. Where none can be kept it notes why.
func (p *Plan) CacheDir(req Request, v *view.View) (string, error) {
	dir, name := req.Cache, "/"+view.CacheName(req.Root, v.Host.UID)
	unkept := func(why string) (string, error) {
		p.Report.Unkept = why
		return "", nil
	}
	parent, err := v.Res.Resolve(policy.Dir(dir))
	if errors.As(err, new(host.DeniedError)) {
		return unkept(err.Error())
	}
	if err != nil || parent.Info.Kind != host.Absent && parent.Info.Kind != host.Dir {
		return "", Fail("private cache: "+text.Plain(policy.Dir(dir))+" is not a directory", "")
	}
	var missing []string
	for _, elem := range []string{"", "/projects", name} {
		info, err := v.Host.FS.Lstat(dir + elem)
		switch {
		case err == nil && info.Kind == host.Dir && info.UID != v.Host.UID:
			return unkept(text.Plain(dir+elem) + " belongs to another user")
		case err == host.ErrDenied:
			return unkept(text.Plain(policy.Dir(dir+elem)) + " may not be searched")
		case err != nil || info.Kind != host.Absent && info.Kind != host.Dir:
			return "", Fail("private cache: "+text.Plain(dir+elem)+" is not a directory of the caller's own", "move it away, or use --cache none")
		case info.Kind == host.Absent:
			missing = append(missing, dir+elem)
		}
	}
	switch {
	case len(missing) > 0:
		if why := v.Host.CheckOwnDir(dir); why != nil {
			return unkept(why.Error())
		}
	case !v.Host.FS.Access(dir+name, 'w'):
		return unkept(text.Plain(dir+name) + " cannot be written")
	}
	p.Dirs = append(p.Dirs, missing...)
	return host.Join(parent.Path, host.Base(dir)) + name, nil
}
