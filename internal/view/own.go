// SPDX-License-Identifier: Apache-2.0

package view

import (
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// GuardFilter refuses a file that the command could write, by whatever name, or
// replace by a link on the way to it: it would choose the filter of the next run.
func (v *View) GuardFilter(path string) error {
	to, err := v.Res.Resolve(path)
	if err != nil {
		return failed("seccomp: "+err.Error(), "")
	}
	at := []string{to.Path}
	for _, l := range to.Links {
		at = append(at, l.Path)
	}
	for _, name := range at {
		if v.writes(name) != nil {
			return failed("seccomp: "+text.Plain(path)+" could be written by the command, which would choose its "+
				"own filter ("+text.Plain(name)+" is writable in the sandbox)",
				"move the file to ~/.config/sbx, or protect it: protected_paths = ["+strconv.Quote(path)+"]; where a "+
					"project file names it, sbx trust agrees to its content")
		}
	}
	return nil
}

// writes is the entry by which the command can write what lies at a canonical path of
// the host, by any of its names; nil for none.
func (v *View) writes(path string) *Entry {
	for _, name := range append([]string{path}, v.table.Aliases(path)...) {
		if m := v.nearest(name); m != nil && m.Access == policy.Write && m.Src == "" {
			return m
		}
		for i := range v.Entries {
			if m := &v.Entries[i]; m.Src != "" && m.Access == policy.Write && !m.Redundant &&
				policy.Within(name, m.Src) {
				return m
			}
		}
	}
	return nil
}

// New lays the rules over the host. Where the command could see or even
// make a directory of sbx's own that does not exist yet, it is made before, so
// that it is hidden like one that was always there: no one reads or forges what
// sbx remembers.
func New(pol *policy.Policy, h *host.Host, res *host.Resolver, ahead bool) (*View, []string, error) {
	v, err := build(pol, h, res, ahead)
	if err != nil {
		return nil, nil, err
	}
	var made []string
	add := func(dir string, open func(policy.Access) bool) {
		to, err := res.Resolve(dir)
		reached := func(path string) bool { return open(v.Access(path)) }
		over := policy.Dir(to.Path)
		if err == nil && to.Info.Kind == host.Absent && slices.ContainsFunc(v.aliases(to.Path), reached) &&
			!slices.Contains(made, to.Path) && (slices.Contains(made, over) || h.CanCreateIn(over)) {
			made = append(made, to.Path)
		}
	}
	for _, dir := range h.Own {
		add(dir, Shows)
	}
	for _, dir := range h.Links { // no secret, but no other user's to make
		to, err := res.Resolve(dir)
		if err != nil {
			continue
		}
		// What the user has never used may lack the directories above, too.
		for _, above := range missingDirs(res, to) {
			add(above, func(a policy.Access) bool { return a == policy.Write })
		}
	}
	if len(made) == 0 {
		return v, nil, v.protectOwn()
	}
	for _, dir := range made {
		res.Make(dir, h.UID)
	}
	if v, err = build(pol, h, res, ahead); err != nil {
		return nil, nil, err
	}
	return v, made, v.protectOwn()
}

// missingDirs are the directories that do not exist on the way to a path and the
// path itself, if that does not exist, the uppermost first.
func missingDirs(res *host.Resolver, to host.Resolved) []string {
	var out []string
	for err := error(nil); err == nil && to.Info.Kind == host.Absent && to.Path != "/"; {
		out = append(out, to.Path)
		to, err = res.Resolve(policy.Dir(to.Path))
	}
	slices.Reverse(out)
	return out
}

// aliases are a canonical path and those that it has besides by mounts.
func (v *View) aliases(path string) []string {
	return append(v.table.Aliases(path), path)
}

// protectOwn refuses a policy in which the command could write where sbx keeps
// what it was told and what it saw. Every profile hides the place; a file can
// take that back (blocked_paths = ["!"], or a deeper path), and the command
// would then agree to files in the user's name.
func (v *View) protectOwn() error {
	for _, dir := range slices.Concat(v.Host.Links, v.Host.Named) {
		if to, err := v.Res.Resolve(dir); err == nil && to.Info.Kind == host.Absent &&
			slices.Contains(v.Host.Named, dir) {
			continue // nothing that anybody runs
		}
		if err := v.refuseWritable(dir, "is where sbx keeps the shims that your shells run",
			`protected_paths = ["$XDG_DATA_HOME/sbx"] makes it read-only again`); err != nil {
			return err
		}
	}
	for _, dir := range v.Host.Own {
		err := v.refuseWritable(dir, "is where sbx keeps its state",
			`blocked_paths = ["$XDG_STATE_HOME/sbx", "$HOME/.local/state/sbx", "$XDG_CACHE_HOME/sbx", `+
				`"$HOME/.cache/sbx", "$XDG_RUNTIME_DIR/sbx"] hides it again`)
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *View) refuseWritable(dir, what, hint string) error {
	to, err := v.Res.Resolve(dir)
	if err != nil {
		return nil // out of the command's reach, too
	}
	by := v.writes(to.Path)
	for i := range v.Entries {
		if m := &v.Entries[i]; m.Access == policy.Write && !m.Redundant && policy.Within(m.Path, to.Path) {
			by = m
		}
	}
	if by == nil {
		return nil
	}
	if to.Info.Kind == host.Absent {
		hint = "make it first, so that it can be hidden: mkdir -p " + text.Plain(dir) +
			"; or let the XDG variables name a place that no command writes"
	}
	return failed(text.Plain(dir)+" "+what+", and is never made writable ("+text.Plain(by.Path)+" is, by "+
		by.Rule.Source+")", hint)
}

// SelfPath is the file of sbx itself, false when it cannot be put inside.
func (v *View) SelfPath() (string, bool) {
	self, err := v.Res.Resolve(filepath.Clean(v.Host.Self))
	return self.Path, err == nil && v.Host.Self != "" && self.Info.Kind == host.File && v.OwnsRun()
}

// HasInit reports whether init will be there while the command runs.
func (v *View) HasInit(direct bool, pol *policy.Policy) bool {
	_, ok := v.SelfPath()
	return ok && !v.NoMounts && !direct && !pol.SharePID
}

// SourceCache is the source of the rule for the private cache.
const SourceCache = "cache = private"

// SourceSession is the source of the rule for what the commands of a session
// share.
const SourceSession = "sbx agent"

// ShareTmp puts a directory of the session in place of the private /tmp:
// what one command leaves there the next one finds. Not where something else is
// to be seen below /tmp: its mount point would be made in that directory, and a
// command that runs at the same time could put a link in its place.
func (v *View) ShareTmp(dir string) {
	at := -1
	for i := range v.Entries {
		switch m := &v.Entries[i]; {
		case m.Path == "/tmp" && m.Access == policy.Private && m.Info.Kind == host.Dir:
			at = i
		case policy.Within(m.Path, "/tmp") && !m.Redundant:
			return
		}
	}
	if dir == "" || at < 0 || slices.ContainsFunc(v.Links,
		func(l host.Hop) bool { return policy.Within(l.Path, "/tmp") }) {
		return
	}
	m := &v.Entries[at]
	m.Src, m.Rule = dir, &policy.Rule{Path: m.Path, Access: policy.Write, Layer: policy.Builtin, Source: SourceSession}
	v.Sort()
}

// AddOwn adds a place of this run's own, with the content of src; "" is none.
func (v *View) AddOwn(path, src string, kind host.Kind, a policy.Access, source string) {
	r := &policy.Rule{Path: path, Access: a, Layer: policy.Builtin, Source: source}
	v.Entries = append(slices.DeleteFunc(v.Entries, func(m Entry) bool { return m.Path == path }),
		Entry{Path: path, Info: host.Info{Kind: kind}, Rule: r, Src: src})
	v.Sort()
}
