// SPDX-License-Identifier: Apache-2.0

package access

import (
	"strings"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/view"
)

// addRemedies says how to have more, or why there is no way.
func (c *Checker) addRemedies(v *Verdict, p place) {
	path, exists := c.target(v)
	own := ownPlace(p)
	switch {
	case p == shown && v.Rule.Source == view.SourceCache:
		if v.To == v.Rule.Path {
			v.add(Remedy{To: "hide", Flags: []string{"--cache", "none"}})
		}
		return
	case c.engine.remedy(v, p, path, exists):
		return
	case !exists:
		c.addAbsentRemedies(v, p)
		return
	case own && c.hostMay(path, 'r'):
		v.add(c.openRemedy(v, "read", "-r", path))
	case own:
		v.Fixed = OwnUser
	case v.Kind == host.Socket && !v.Connect, v.Kind != host.Socket && !v.Read && len(v.Remedies) == 0:
		v.Fixed = OwnUser
		return
	}
	e, walled := c.engine.(*rules)
	if v.Kind != host.Socket && (!v.Write || p == private) && !(walled && e.writeRemedy(v, p, path)) {
		c.addWriteRemedies(v, path, own)
	}
	if walled {
		e.remark(v, p)
	}
	if !own && c.hideable(v, path) {
		hide := Remedy{To: "hide", Flags: []string{"--block", path}}
		if r := v.Rule; r != nil && r.Layer == policy.Flag && r.Path == v.To { // the two contradict each other
			hide = Remedy{To: "hide", Text: "leave out " + r.Source + " " + text.Plain(r.Written)}
		}
		v.add(hide)
	}
}

func (v *Verdict) add(r Remedy) { v.Remedies = append(v.Remedies, r) }

// hideable reports whether --block would hide a path and leave a sandbox that
// can be used.
func (c *Checker) hideable(v *Verdict, path string) bool {
	if policy.Within(c.Host.CWD, path) || v.Kind == host.Dir && c.Host.Writable(path) != nil {
		return false
	}
	for i := range c.Rules {
		// A deeper rule would open some of it again.
		if r := &c.Rules[i]; !r.Pinned && r.Path != v.To && policy.Within(r.Path, v.To) && r.Access < policy.Protect {
			return false
		}
	}
	return true
}

// target is the path that a flag would have to name: the host's file, with no
// links on the way, which grants do not follow everywhere.
func (c *Checker) target(v *Verdict) (path string, there bool) {
	if c.Beyond == nil {
		// For want of a look at the host: it may have something where a sandbox of mounts has nothing.
		return v.To, v.Kind != host.Absent || c.Ruleset == nil && !c.Seatbelt &&
			ownPlace(c.engine.place(v.To, c.ruleFor(v.To)))
	}
	h, ok := c.Beyond.Outside(v.Path)
	if !ok {
		return v.To, false
	}
	if shown, ok := c.Beyond.Outside(v.To); ok && v.Kind != host.Absent {
		h = shown
	}
	to, err := c.Beyond.Res.Resolve(h)
	return to.Path, err == nil && to.Info.Kind != host.Absent
}

// openRemedy is the remedy that shows what the host has.
func (c *Checker) openRemedy(v *Verdict, to, flag, path string) Remedy {
	if r := v.Rule; r != nil && r.Layer == policy.Flag && r.Path == v.To {
		switch {
		case r.Access == policy.Block:
			return Remedy{To: to, Text: "leave out " + r.Source + " " + text.Plain(r.Written)}
		case flag == "-w" && r.Access == policy.Read:
			return Remedy{To: to, Text: "use -w " + text.Plain(path) + " instead of " + r.Source}
		}
	}
	return Remedy{To: to, Flags: []string{flag, path}}
}

// addWriteRemedies finds what makes a path writable.
func (c *Checker) addWriteRemedies(v *Verdict, path string, own bool) {
	if err := c.Host.Writable(path); err != nil {
		v.Fixed = err.Error()
		return
	}
	if !own && v.Rule.Access == policy.Write || !c.hostMay(path, 'w') {
		v.Fixed = OwnUser
		return
	}
	if level := c.gitRemedy(v); level != "" {
		v.add(Remedy{To: "write", Flags: []string{"--git", level}})
		return
	}
	v.add(c.openRemedy(v, "write", "-w", path))
}

// gitRemedy is the setting of git that opens what another one protects. A .git
// that is no plain directory of the caller's own is not opened by any.
func (c *Checker) gitRemedy(v *Verdict) string {
	if v.Rule == nil {
		return ""
	}
	level, ok := strings.CutPrefix(v.Rule.Source, "git = ")
	if !ok || level == "full" {
		return ""
	}
	if level == "commit" {
		if host.Base(v.Rule.Path) == ".git" {
			return ""
		}
		return "full"
	}
	if git, err := c.FS.Lstat(v.Rule.Path); err != nil || git.Kind != host.Dir || git.UID != c.Host.UID {
		return ""
	}
	if guarded(v.To[len(v.Rule.Path):]) {
		return "full"
	}
	return "commit"
}

// guarded reports whether git = "commit" keeps a path below .git read-only.
func guarded(rel string) bool {
	inner := strings.HasPrefix(rel, "/modules/") || strings.HasPrefix(rel, "/worktrees/")
	for i := 0; i < len(rel); i++ {
		if rel[i] != '/' {
			continue
		}
		for _, name := range gitdir.Executed {
			if policy.Within(rel[i:], "/"+name) {
				return true
			}
		}
		if !inner {
			break
		}
	}
	return false
}

// addAbsentRemedies is about what is nowhere: only the directory that it would lie
// in can be named, and none is opened for that which is not visible now.
func (c *Checker) addAbsentRemedies(v *Verdict, p place) {
	switch {
	case ownPlace(p):
		v.Fixed = "the host has no such file that could be opened"
		return
	case v.Write:
		return
	}
	dir, kind := c.nearest(v.To)
	if kind != host.Dir {
		v.Fixed = text.Plain(dir) + " is not a directory"
		return
	}
	there, path := Verdict{To: dir, Kind: kind, Rule: c.ruleFor(dir)}, dir
	if c.Beyond != nil {
		path, _ = c.Beyond.Outside(dir)
	}
	c.addWriteRemedies(&there, path, false)
	v.Remedies, v.Fixed = there.Remedies, there.Fixed
}

// hostMay reports whether the caller may do something with a file of the host
// at all. Inside a sandbox a read-only mount stands before the answer, and the
// permission bits have to do.
func (c *Checker) hostMay(path string, rwx byte) bool {
	if c.Beyond != nil {
		return c.Beyond.MayUse(path, rwx)
	}
	if c.Ruleset != nil {
		return c.FS.Access(path, rwx)
	}
	i, err := c.FS.Lstat(path)
	switch {
	case err != nil || c.engine.place(path, c.ruleFor(path)) != shown:
		return true // nothing of the host's is to be seen
	case i.UID == c.Host.UID:
		return i.Mode>>6&view.Bit(rwx) != 0
	}
	return (i.Mode>>3|i.Mode)&view.Bit(rwx) != 0
}
