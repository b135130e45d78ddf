// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"slices"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// CheckOwnDir says why sbx can have no directory of its own at a path, nil when it is
// there or can be made. The directory above it is one of the user's that the
// system or the user names ($XDG_CACHE_HOME, ~/.local/state). That is made
// inside of a home directory only, and a home directory never is: what is not
// there has no user, and "/" is no one's home.
func (h *Host) CheckOwnDir(dir string) error {
	if dir == "" {
		return errors.New("there is no home directory")
	}
	at, missing, res := dir, "", NewResolver(h.FS)
	to, err := res.Resolve(at)
	for ; err == nil && to.Info.Kind == Absent && at != "/"; to, err = res.Resolve(at) {
		at, missing = policy.Dir(at), at
	}
	var link Info
	if err == nil && missing != "" {
		link, err = h.FS.Lstat(Join(to.Path, Base(missing)))
	}
	var denied DeniedError
	switch {
	case errors.As(err, &denied):
		return errors.New(text.Plain(denied.Dir) + " may not be searched")
	case err == ErrDenied:
		return errors.New(text.Plain(at) + " may not be searched")
	case err != nil:
		return err
	case link.Kind == Link:
		return errors.New(text.Plain(missing) + " is a link that leads nowhere")
	case to.Info.Kind != Dir:
		return errors.New(text.Plain(at) + " is not a directory")
	case policy.Within(to.Path, "/proc") || policy.Within(to.Path, "/sys"):
		return errors.New(text.Plain(at) + " keeps no files")
	case missing != "" && missing != dir && !h.inHome(at, dir):
		return errors.New(text.Plain(missing) + " does not exist")
	case to.Info.UID != h.UID && (at == dir || h.UID == 0 && to.Info.Mode&0o1000 == 0):
		return errors.New(text.Plain(at) + " belongs to another user")
	case !h.FS.Access(to.Path, 'w'):
		return errors.New(text.Plain(at) + " cannot be written")
	}
	return nil
}

// inHome reports whether dir is meant for a home directory that exists, by the
// directory at which the way there ends.
func (h *Host) inHome(at, dir string) bool {
	holds := func(home string) bool { return home != "/" && policy.Within(dir, home) }
	return slices.ContainsFunc(h.Homes, holds) &&
		!slices.ContainsFunc(h.Homes, func(home string) bool { return holds(home) && !policy.Within(at, home) })
}

// Foreign reports whether a path cannot be reached since the home directory, or
// one above it, is another user's and may not be searched. Nothing that is
// there is the user's.
func (h *Host) Foreign(path string) bool {
	var denied DeniedError
	_, err := NewResolver(h.FS).Resolve(path)
	return errors.As(err, &denied) && denied.UID != h.UID &&
		slices.ContainsFunc(h.Homes, func(home string) bool { return policy.Within(home, denied.Dir) && policy.Within(path, home) })
}

// RunsIn is where the directories of runs are in sbx's own cache, "" without
// one. Rules follow no links, and the home or its cache may be one.
func RunsIn(cacheDir string) string {
	if cacheDir == "" {
		return ""
	}
	above, err := NewResolver(OS{}).Resolve(policy.Dir(cacheDir))
	if err != nil {
		return ""
	}
	return Join(Join(above.Path, Base(cacheDir)), "runs")
}
