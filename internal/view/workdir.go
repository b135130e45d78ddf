// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// workdir decides what becomes of the rules that are about the working
// directory: a place that must not be writable is refused, and one that must
// not be opened as a whole is not opened.
func workdir(pol *policy.Policy, h *host.Host) (*policy.Policy, error) {
	r, ok := pol.Decide(h.CWD)
	if hidden, b := hides(pol, h.CWD, holdsProject(h)); hidden {
		return nil, hiddenDir(h.CWD, &b)
	}
	if !ok || r.Path != h.CWD || r.Access != policy.Write && r.Access != policy.Read {
		return pol, nil
	}
	var place *host.PlaceError
	if err := h.Grantable(h.CWD); !errors.As(err, &place) || place.Named && (r.Access == policy.Read || !OnlyAsCWD(pol, h.CWD)) {
		return pol, nil
	}
	if r.Access == policy.Write {
		hint := "cd to a project first, or use --read-only"
		if place.Named {
			hint = "cd to a project, or name it: -w ."
		} else if h.ByName {
			hint = "cd to a project first, or say less in SBX_FLAGS and the config file: neither makes it writable"
		}
		return nil, failed("the working directory "+place.Error(), hint)
	}
	// A read-only grant of the working directory alone would open everything at the
	// root of everything. What a person named stays.
	return without(pol, func(r policy.Rule) bool { return r.OfCWD && r.Access == policy.Read }), nil
}

// OnlyAsCWD reports whether the policy gives more of a directory for being the
// working directory or its project than it would otherwise.
func OnlyAsCWD(pol *policy.Policy, dir string) bool {
	r, ok := pol.Decide(dir)
	return ok && r.OfCWD && IsGrant(&r) &&
		wider(r.Access, without(pol, func(r policy.Rule) bool { return r.OfCWD }).Access(dir))
}

// hides reports whether path is or lies below a blocked path that nothing deeper
// opens. One that a person blocked does not count where open, if any, says so.
func hides(pol *policy.Policy, path string, open func(dir string) bool) (bool, policy.Rule) {
	for dir := path; dir != "/"; dir = policy.Dir(dir) {
		r, ok := pol.Decide(dir)
		if !ok {
			return false, r
		}
		if r.Access == policy.Block {
			if dir = r.At(dir); r.Layer <= policy.System || open == nil || !open(dir) {
				return true, r
			}
			continue
		}
		// The default rule of a profile is about any working directory; only a
		// rule that a person wrote opens what sbx or the administrator hides.
		if r.Access != policy.Private && r.Layer > policy.Builtin {
			return false, r
		}
	}
	return false, policy.Rule{}
}

func hiddenDir(cwd string, b *policy.Rule) error {
	return failed("the working directory "+text.Plain(cwd)+" is hidden ("+b.Source+": blocked "+text.Plain(b.Path)+")",
		"cd to a project first")
}

// hidesDir is [hides] by where the rules lead: a home directory may be a link.
func (v *View) hidesDir(cwd string) *policy.Rule {
	for m := v.nearest(cwd); m != nil; m = v.parent(m) {
		switch r := m.Rule; {
		case m.Pinned:
		case r.Access != policy.Block:
			if r.Access != policy.Private && r.Layer > policy.Builtin {
				return nil
			}
		case r.Layer <= policy.System || !holdsProject(v.Host)(m.Path):
			return r
		}
	}
	return nil
}

// holdsProject reports whether the project of a run lies below a directory: where
// that is hidden, the project is not. What a client chose as its project is none.
func holdsProject(h *host.Host) func(dir string) bool {
	return func(dir string) bool {
		root := h.Project(h.CWD).Root
		return !h.Unpinned && root != dir && policy.Within(root, dir)
	}
}

// without is a policy without some of its rules.
func without(pol *policy.Policy, drop func(policy.Rule) bool) *policy.Policy {
	out := *pol
	out.Rules = slices.DeleteFunc(slices.Clone(pol.Rules), drop)
	return &out
}

// Prepare refuses what cannot be enforced and settles the working directory.
func Prepare(pol *policy.Policy, h *host.Host) (*policy.Policy, error) {
	if h.CWD == "" {
		return nil, host.Gone()
	}
	if pol.TimeoutSeconds > 0 && pol.SharePID {
		return nil, failed("a time limit needs a process namespace of its own",
			"leave out share_pid, or timeout_seconds")
	}
	// The cache of a tool that has none of its own is read-only in runs without the
	// network only: where it downloads it has to write.
	offline := func(r policy.Rule) bool { return r.Offline }
	if pol.Network && slices.ContainsFunc(pol.Rules, offline) {
		pol = without(pol, offline)
	}
	return workdir(pol, h)
}

// KeepPWD returns the working directory by the name that the caller's shell
// has for it, and keeps the links in that name, so that pwd says the same
// inside. bwrap sets PWD to it.
func (v *View) KeepPWD() string {
	pwd, links := v.Host.Logical(v.Res)
	v.addLinks(links)
	if !v.carriesAll(links) {
		return v.Host.StartDir()
	}
	return pwd
}

// CheckWorkingDir refuses a working directory that the sandbox would not have: bwrap
// would silently start in the home directory.
func (v *View) CheckWorkingDir(cwd string) error {
	if b := v.hidesDir(v.Host.CWD); b != nil {
		return hiddenDir(v.Host.CWD, b)
	}
	if _, ok := v.Visible(cwd); ok || cwd == "/" || v.Access(cwd) == policy.Private && v.Has(cwd) {
		return nil
	}
	how := "with -r " + text.Plain(cwd)
	switch {
	case v.Host.Client: // which has no flags
		how = "in the config file: roots, or readonly_paths of a profile"
	case v.Host.ByName:
		how = "with SBX_FLAGS='-r " + text.Plain(cwd) + "'"
	}
	return failed("the working directory "+text.Plain(cwd)+" is not visible in the sandbox",
		"cd to a project, or open it "+how)
}

// CheckHome refuses a home directory of the command's own that would not exist: the
// policy makes a private one where it shows nothing.
func (v *View) CheckHome(pol *policy.Policy) error {
	home := pol.Home()
	if !strings.HasPrefix(home, "/") {
		return nil
	}
	at, _ := v.Outside(filepath.Clean(home))
	to, err := v.Res.Resolve(at)
	if err != nil {
		return failed(pol.Where["env_set.HOME"]+": HOME: "+err.Error(), "")
	}
	where, name := pol.Where["env_set.HOME"]+": HOME is ", text.Plain(home)
	switch a := v.Access(to.Path); {
	case at == "/", Shows(a) && to.Info.Kind == host.Dir, a == policy.Private && !v.NoMounts && v.Has(to.Path):
		return nil
	case Shows(a):
		return failed(where+name+", which is not a directory", "make it first: mkdir -p "+text.ShellWord(home)+
			"; or name one that does not exist, such as /tmp/home: it is made inside")
	case v.NoMounts && a != policy.Block:
		v.Once = append(v.Once, "HOME is "+name+", which does not exist inside: there are no private directories here")
		return nil
	}
	return failed(where+name+", which does not exist inside",
		"name another directory, such as /tmp/home: it is made inside")
}
