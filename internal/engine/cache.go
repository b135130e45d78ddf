// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// Cache plans the private cache of the project: src is sbx's own directory,
// dst the place in the home directory where programs look for it. Dst is "" where
// there is no such cache, src where none can be kept.
func (r *Run) Cache() (dst, src string, err error) {
	v := r.View
	if r.Policy.Cache != "private" || r.Request.Cache == "" || len(v.Host.Homes) == 0 {
		return "", "", nil
	}
	home, err := v.Res.Resolve(v.Host.Homes[0])
	if err != nil || v.Access(home.Path) != policy.Private {
		return "", "", nil
	}
	dst = host.Join(home.Path, ".cache")
	if v.At(dst) != nil {
		return "", "", nil
	}
	src, err = r.cacheDir()
	return dst, src, err
}

// AddCache adds the cache to the view.
func (r *Run) AddCache(path, src string, a policy.Access) {
	r.View.AddOwn(path, src, host.Dir, a, view.SourceCache)
	r.CacheDst, r.cacheSrc = path, src
}

// cacheDir is the directory of the project's cache, by its canonical path. Where
// none can be kept it notes why.
func (r *Run) cacheDir() (string, error) {
	dir, v := r.Request.Cache, r.View
	name := "/" + view.CacheName(r.Request.Root, v.Host.UID)
	unkept := func(why string) (string, error) {
		r.Report.Unkept = why
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
			return "", Fail("private cache: "+text.Plain(dir+elem)+" is not a directory of the caller's own",
				"move it away, or use --cache none")
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
	r.Dirs, r.CacheDir, r.CacheOf = append(r.Dirs, missing...), dir+name, r.Request.Root
	return host.Join(parent.Path, host.Base(dir)) + name, nil
}
