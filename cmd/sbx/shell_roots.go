package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/profiles"
)

// settle decides which tree the commands may write: $CWD of the profiles. The
// directory that a command is started in is up to the client, and the last
// command may have chosen it: where a root is pinned, it grants nothing.
func (s *state) settle() error {
	c, here := s.opts.shell, s.host.CWD
	if here == "" {
		return nil // refused when the plan is made
	}
	root, by := "", ""
	if c.session != nil {
		root, by = c.session.Root, "the session"
	} else {
		var err error
		if root, by, err = s.pinned(here); err != nil {
			return err
		}
	}
	s.host.Dir = here
	if root == "" {
		s.vars.CWD, s.vars.Root = "", ""
		return nil
	}
	if real, err := filepath.EvalSymlinks(root); err != nil || real != root {
		return &host.Error{Status: host.StatusFailed, Text: policy.Plain(root) + ", the root of what may be written (" + by + "), is not there any more, or leads elsewhere now",
			Hint: "something was renamed or put in its place; start again from the right directory"}
	}
	if err := s.host.WritableRoot(root); err != nil {
		return &host.Error{Status: host.StatusFailed, Text: "the root of what may be written (" + by + ") " + err.Error()}
	}
	s.host.CWD, s.vars.CWD = root, root
	s.vars.Root = host.WorkTree(s.host.FS, root, s.host.UID, s.host.Homes)
	return nil
}

// pinned is the writable root of a run without a session: one of those that the
// configuration names, SBX_ROOT, or the working directory, if that can be one.
func (s *state) pinned(here string) (root, by string, err error) {
	asked, of := os.Getenv("SBX_ROOT"), here
	if asked != "" {
		if asked, err = filepath.EvalSymlinks(asked); err != nil || !filepath.IsAbs(asked) {
			return "", "", &host.Error{Status: host.StatusFailed, Text: "SBX_ROOT is " + policy.Quote(os.Getenv("SBX_ROOT")) + ", which is not the absolute path of a directory"}
		}
		of = asked
	}
	roots, err := s.roots(of)
	if err != nil {
		return "", "", err
	}
	if roots == nil {
		return s.unpinned(here, asked)
	}
	for _, r := range roots {
		if asked == "" && policy.Within(here, r) && len(r) > len(root) {
			root = r
		}
		if asked != "" && policy.Within(asked, r) {
			root = asked
		}
	}
	if asked != "" && root == "" {
		return "", "", &host.Error{Status: host.StatusFailed, Text: "SBX_ROOT is " + policy.Plain(asked) + ", which is in none of the roots of the config file"}
	}
	return root, "roots", nil
}

// unpinned is the writable root where the configuration names none: the working
// directory, as far as it lies in SBX_ROOT, or that as far as it lies in the
// working directory. A variable narrows, and never makes anything writable.
func (s *state) unpinned(here, asked string) (root, by string, err error) {
	root, by = here, "the working directory"
	switch {
	case asked == "" || policy.Within(here, asked):
	case policy.Within(asked, here):
		root, by = asked, "SBX_ROOT"
	default:
		return "", "", nil
	}
	if s.host.WritableRoot(root) != nil {
		return "", "", nil
	}
	return root, by, nil
}

// roots are the trees that the configuration names, canonical, and of a pattern
// the one that holds a path; nil when it names none at all. Files of the project have no say.
func (s *state) roots(of string) ([]string, error) {
	places, err := s.places()
	if err != nil {
		return nil, err
	}
	places.CWD, places.Root = "", ""
	files, err := config.Find(places)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	vars := s.vars
	settings, err := config.Load(profiles.Builtin(), files, vars)
	if err != nil || settings.Roots == nil {
		return nil, err
	}
	roots, written := []string{}, []string{}
	for _, text := range settings.Roots {
		top, all := strings.CutSuffix(text, "/*")
		path, ok, err := vars.Expand(top)
		if err != nil || !ok {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if all {
			rest, in := strings.CutPrefix(of, strings.TrimSuffix(real, "/")+"/")
			if !in {
				continue
			}
			child, _, _ := strings.Cut(rest, "/")
			real, path = strings.TrimSuffix(real, "/")+"/"+child, path+"/"+child
		}
		roots, written = append(roots, real), append(written, path)
	}
	// A command that may write one of them can put a link in the way to another.
	for i, path := range written {
		for j, outer := range roots {
			if i != j && path != roots[i] && (policy.Within(path, outer) || policy.Within(path, written[j])) {
				return nil, &host.Error{Status: host.StatusFailed, Text: "roots: " + policy.Plain(path) + " lies in another root and leads to " + policy.Plain(roots[i]), Hint: "name the directory itself, or remove the link"}
			}
		}
	}
	return roots, nil
}
