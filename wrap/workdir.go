package wrap

import (
	"errors"
	"slices"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// WorkTree returns the root of the git work tree that holds cwd: the nearest
// directory upwards, cwd included, that has a .git and belongs to the caller.
// It returns cwd itself when there is none. A home directory, its ancestors
// and shared directories are no work trees here: a .git planted in /tmp would
// otherwise open all of /tmp.
func WorkTree(fs FS, cwd string, uid int, homes []string) string {
	if dir, ok := workTree(fs, cwd, uid, homes); ok {
		return dir
	}
	return cwd
}

// Outermost returns the root of the outermost work tree around root: a command
// can make a repository of a subdirectory, and what a project file above says
// has to hold all the same.
func Outermost(fs FS, root string, uid int, homes []string) string {
	for dir, ok := root, true; ok && dir != "/"; {
		root = dir
		dir, ok = workTree(fs, policy.Dir(dir), uid, homes)
	}
	return root
}

func workTree(fs FS, cwd string, uid int, homes []string) (string, bool) {
	h := Host{UID: uid, Homes: homes}
	for dir := cwd; dir != "/"; dir = policy.Dir(dir) {
		if h.writable(dir) != nil {
			break
		}
		git, err := fs.Lstat(join(dir, ".git"))
		if err != nil {
			break
		}
		if git.Kind != Dir && git.Kind != File {
			continue
		}
		own, err := fs.Lstat(dir)
		if err == nil && own.UID == uid && git.UID == uid {
			return dir, true
		}
	}
	return "", false
}

// workdir decides what becomes of the rules that are about the working
// directory: a place that must not be writable is refused, and one that must
// not be opened as a whole is not opened.
func workdir(pol *policy.Policy, h *Host) (*policy.Policy, error) {
	r, ok := pol.Decide(h.CWD)
	if hidden, b := hides(pol, h.CWD); hidden {
		return nil, &Error{StatusFailed, "the working directory " + policy.Plain(h.CWD) + " is hidden (" + b.Source + ": blocked " + policy.Plain(b.Path) + ")",
			"cd to a project first"}
	}
	if !ok || r.Path != h.CWD || r.Access != policy.Write && r.Access != policy.Read {
		return pol, nil
	}
	var place *placeError
	if err := h.writable(h.CWD); !errors.As(err, &place) {
		return pol, nil
	}
	if r.Access == policy.Write {
		hint := "cd to a project first, or use --read-only"
		if h.ByName {
			hint = "cd to a project first, or say less in SBX_FLAGS and the config file: neither makes it writable"
		}
		return nil, &Error{StatusFailed, "the working directory " + place.Error(), hint}
	}
	return withoutCWD(pol), nil
}

// hides reports whether path is or lies below a blocked path that nothing
// deeper opens.
func hides(pol *policy.Policy, path string) (bool, policy.Rule) {
	for dir := path; dir != "/"; dir = policy.Dir(dir) {
		r, ok := pol.Decide(dir)
		if !ok {
			return false, r
		}
		if r.Access == policy.Block {
			return true, r
		}
		// The default rule of a profile is about any working directory; only a
		// rule that a person wrote opens a hidden one.
		if r.Access != policy.Private && r.Layer > policy.Builtin {
			return false, r
		}
	}
	return false, policy.Rule{}
}

// withoutCWD takes back a read-only grant of the working directory alone: at
// the root of everything it would open everything. What a person named stays.
func withoutCWD(pol *policy.Policy) *policy.Policy {
	out := *pol
	out.Rules = slices.DeleteFunc(slices.Clone(pol.Rules), func(r policy.Rule) bool {
		return r.OfCWD && r.Access == policy.Read
	})
	return &out
}
