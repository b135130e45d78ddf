// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/config"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
	"github.com/sbx-sandbox/sbx/profiles"
)

// inProject is the caller with the tree that the command may write ($CWD of
// the profiles) and the toolchains that are lent.
func (c *Caller) inProject() (*Caller, error) {
	out, err := c.Inv.root(*c)
	if err != nil {
		return nil, err
	}
	environ := out.Host.Environ
	if c.Inv.Client { // PATH opens parts of any directory it names: it is the one that the session began with
		environ = setEnv(environ, "PATH", c.Inv.path)
	}
	out.Vars.Lent = view.Tools(out.Host, environ)
	if out.Boundary == "" {
		out.Boundary = out.outermost()
	}
	if out.Vars.Around = out.Boundary; out.Boundary != "" {
		out.Vars.Dirs = append(slices.Clip(out.Vars.Dirs), out.Boundary) // a command can make a repository below
	}
	return out, nil
}

// at is the caller with another working directory and project; "" is none. The
// command starts where it was called: names are hidden on the way there, too.
func (c Caller) at(cwd, project string) *Caller {
	h := *c.Host
	h.Dir = h.CWD
	c.Host, c.Vars.CWD, c.Vars.Project, c.Vars.Root = &h, cwd, project, ""
	c.Vars.Dirs, c.Vars.Members = nil, nil
	if cwd == "" {
		return &c
	}
	h.CWD = cwd
	p := h.Project(project)
	c.Vars.Root, c.Vars.Members = p.Root, p.Members
	c.Vars.Dirs = slices.Concat(p.Dirs, host.Between(project, cwd), host.Between(project, h.Dir))
	if policy.Within(h.Dir, project) {
		c.Vars.Dirs = append(c.Vars.Dirs, h.Dir)
	}
	return &c
}

// workingDirectory is the root of a run by sbx's own name.
func workingDirectory(c Caller) (*Caller, error) { return &c, nil }

// toolDirectory lets a tool run where no tree can be writable, such as the home
// directory: the working directory grants nothing there, and with that it is
// as little to be seen as anything else that the profile does not open.
func toolDirectory(c Caller) (*Caller, error) {
	h := *c.Host
	h.ByName = true
	c.Host = &h
	if h.CWD == "" {
		return &c, nil // refused when the plan is made
	}
	err := h.Grantable(h.CWD)
	if err == nil {
		return &c, nil
	}
	c.nowhere = err.Error() + "; being there opens nothing of it"
	if slices.ContainsFunc(h.Homes, func(home string) bool { return policy.Within(home, h.CWD) }) {
		c.nowhere = err.Error() + "; inside, the home directory is empty but for what the profile opens, and what is written there is lost"
	}
	return c.at("", ""), nil
}

// clientRoot decides which tree the commands of a client may write. The
// directory that a command is started in is up to the client, and the last
// command may have chosen it: where a root is pinned, it grants nothing.
func clientRoot(c Caller) (*Caller, error) {
	cwd := c.Host.CWD
	if cwd == "" {
		return &c, nil // refused when the plan is made
	}
	root, at, by := "", "", "the session"
	if ses := c.Inv.session; ses != nil {
		root, at = ses.Root, cmp.Or(ses.CWD, ses.Root)
	} else {
		var err error
		c.Boundary = c.outermost()
		if root, by, err = c.pinned(cwd); err != nil {
			return nil, err
		}
		if at = root; by != "roots" && policy.Within(cwd, root) {
			at = cwd
		}
	}
	if root == "" {
		return c.at("", ""), nil
	}
	if real, err := filepath.EvalSymlinks(root); err != nil || real != root {
		return nil, Failed(text.Plain(root)+", the root of what may be written ("+by+"), no longer exists, or leads elsewhere now",
			"something was renamed or put in its place; start again from the right directory")
	}
	if err := c.Host.Writable(root); err != nil {
		return nil, Failed("the root of what may be written ("+by+") "+err.Error(), "")
	}
	out := c.at(at, root)
	out.Host.Unpinned = by != "roots" && c.Inv.session == nil
	return out, nil
}

// pinned is the writable root of a run without a session: one of those that the
// configuration names, SBX_ROOT, or the working directory, if that can be one.
func (c *Caller) pinned(cwd string) (root, by string, err error) {
	asked, of := os.Getenv("SBX_ROOT"), cwd
	if asked != "" {
		if asked, err = filepath.EvalSymlinks(asked); err != nil || !filepath.IsAbs(asked) {
			return "", "", Failed("SBX_ROOT is "+strconv.Quote(os.Getenv("SBX_ROOT"))+", which is not the absolute path of a directory", "")
		}
		of = asked
	}
	roots, err := c.roots(of)
	if err != nil {
		return "", "", err
	}
	if roots == nil {
		root, by = c.unpinned(asked)
		return root, by, nil
	}
	for _, r := range roots {
		if asked == "" && policy.Within(cwd, r) && len(r) > len(root) {
			root = r
		}
		if asked != "" && policy.Within(asked, r) {
			root = asked
		}
	}
	if asked != "" && root == "" {
		return "", "", Failed("SBX_ROOT is "+text.Plain(asked)+", which is in none of the roots of the config file", "")
	}
	return root, "roots", nil
}

// unpinned is the writable root where the configuration names none: the project of
// the working directory, as far as it lies in SBX_ROOT, or that as far as it lies in
// the project. A variable narrows, and never makes anything writable.
func (c *Caller) unpinned(asked string) (root, by string) {
	root, by = c.Vars.Project, "the project"
	switch {
	case asked == "" || policy.Within(root, asked):
	case policy.Within(asked, root):
		root, by = asked, "SBX_ROOT"
	default:
		return "", ""
	}
	if c.Host.Grantable(root) != nil {
		return "", ""
	}
	return root, by
}

// checkWay refuses a working directory to which the caller came by a link that a
// command could have made: one in place of a directory of the project would open
// whatever it leads to. Where nothing is known against a link, a notice names it.
func (c *Context) checkWay() (told []string, err error) {
	h := c.Host
	if h.Client && !h.Unpinned || h.CWD == "" {
		return nil, nil // where a command starts opens nothing
	}
	_, links := h.Logical(nil)
	strays := slices.DeleteFunc(slices.Clone(links), func(l host.Hop) bool { return !h.Strays(l) })
	if len(strays) == 0 || !view.OnlyAsCWD(c.Policy, h.CWD) {
		return nil, nil
	}
	for _, l := range strays {
		line := "the working directory is " + text.Plain(h.StartDir()) + ": " + text.Plain(l.Path) + " is a link"
		if h.Unpinned || h.Suspect(l, c.records().Has) {
			return nil, Failed(line+", and a command could have made it",
				"if you mean to be there: cd "+text.ShellWord(h.StartDir()))
		}
		told = append(told, line)
	}
	return told, nil
}

// roots are the trees that the configuration names, canonical, and of a pattern
// the one that holds a path; nil when it names none at all. Files of the project have no say.
func (c *Caller) roots(of string) ([]string, error) {
	if err := c.misled(); err != nil {
		return nil, err
	}
	places := c.places("")
	places.Root = ""
	files, err := config.Find(places)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	settings, err := config.Load(profiles.Builtin(), files, c.Vars)
	if err != nil || settings.Roots == nil {
		return nil, err
	}
	roots, written := []string{}, []string{}
	for _, pattern := range settings.Roots {
		top, all := strings.CutSuffix(pattern, "/*")
		path, ok, err := c.Vars.Expand(top)
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
				return nil, Failed("roots: "+text.Plain(path)+" lies in another root and leads to "+text.Plain(roots[i]),
					"name the directory itself, or remove the link")
			}
		}
	}
	return roots, nil
}
