// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/credentials"
	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

const (
	maxIndex   = 32 << 20 // bytes of an index that is read
	maxTracked = 1 << 20  // bytes of a tracked file that is shown as a copy
)

// SourceTracked is the source of the rule for a hidden file whose content the
// repository has.
const SourceTracked = "git tracks it, unchanged"

// HideProjectFiles decides what stands in place of each hidden file, where mounts can
// put something there. Most cannot be opened: to a program that takes an empty
// file for a file (terraform and its state) silence does more harm than an error.
// A .env of a project is empty, since so much reads it in passing (grep -r, tar,
// make's include), and so are settings of package managers. What git tracks and has unchanged is no secret to a command
// that can read the repository, and is shown.
func (v *View) HideProjectFiles(root string, g *gitGuard) {
	tops := append([]string{root}, g.trees...)
	trees := make(map[string]*tracked, 1)
	for i := range v.Entries {
		m := &v.Entries[i]
		if m.Access != policy.Block || m.Redundant || m.Info.Kind == host.Dir {
			continue
		}
		if m.Info.Kind == host.Socket {
			m.Blank = true // to connect to it is refused, whatever it can be opened for
			continue
		}
		// Package managers stop at settings that they cannot read, and need none.
		m.Blank = m.Rule.Layer == policy.Builtin && credentials.Settings(host.Base(m.Path))
		at := slices.IndexFunc(tops, func(top string) bool {
			return len(top) > 1 && m.Path != top &&
				policy.Within(m.Path, top)
		})
		if at < 0 {
			continue
		}
		if !v.NoMounts {
			top := tops[at]
			if trees[top] == nil {
				trees[top] = g.tracked(v, top)
			}
			t, name := trees[top], m.Path[len(top)+1:]
			m.tracked = t.has(name)
			switch {
			case !m.tracked:
				m.Blank = m.Blank || host.Base(name) == ".env" || strings.HasPrefix(host.Base(name), ".env.")
			case m.Rule.Layer == policy.Builtin && t.show(v, m, name):
				v.Tracked = append(v.Tracked, m.Path)
				continue
			}
		}
		v.Hidden = append(v.Hidden, m.Path)
	}
}

// tracked is what git tracks in a work tree.
type tracked struct {
	entries []gitdir.Entry
	all     bool // the index is there and cannot be read: any file may be tracked
	open    bool // what the index names the command can read in the repository
}

// tracked reads the index of a work tree, for the names of hidden files.
func (g *gitGuard) tracked(v *View, top string) *tracked {
	dir := host.Join(top, ".git")
	info, err := g.res.Lstat(dir)
	switch {
	case err == nil && info.Kind == host.Absent:
		return &tracked{}
	case err == nil && info.Kind == host.File:
		to, ok := g.target(dir, top, info)
		if !ok {
			return &tracked{all: true}
		}
		dir = to
	case err != nil || info.Kind != host.Dir:
		return &tracked{all: true}
	}
	index := host.Join(dir, "index")
	info, err = g.res.Lstat(index)
	if err == nil && info.Kind == host.Absent {
		return &tracked{} // new: it tracks nothing yet
	}
	data, unread := g.host.FS.Content(index, info, maxIndex)
	if err != nil || unread != nil {
		return &tracked{all: true}
	}
	t := &tracked{}
	names := make(map[string]bool, 4)
	for i := range v.Entries {
		if m := &v.Entries[i]; m.Access == policy.Block && policy.Within(m.Path, top) && m.Path != top {
			names[m.Path[len(top)+1:]] = true
		}
	}
	entries, ok := gitdir.Tracked(data, names)
	t.entries, t.all = entries, !ok
	t.open = len(entries) > 0 && g.whole(v, g.common(dir))
	return t
}

// whole reports whether a repository that the command can read has its objects
// itself: one that borrows them or was cloned in part names contents that it has
// not got.
func (g *gitGuard) whole(v *View, dir string) bool {
	if !Shows(v.Access(host.Join(dir, "objects"))) || g.exists(host.Join(dir, "objects/info/alternates")) {
		return false
	}
	whole := true
	err := gitdir.Each(g.configText(host.Join(dir, "config")), func(s gitdir.Setting) {
		whole = whole && s.Name() != "extensions.partialclone" && s.Name() != "remote.promisor"
	})
	return whole && err == nil
}

func (t *tracked) has(name string) bool {
	return t.all || slices.ContainsFunc(t.entries, func(e gitdir.Entry) bool { return e.Path == name })
}

// show has a mount show a file as a copy when its content is what the index
// says. The index is the command's to write, an earlier run may have. So what
// counts is the hash: who can name that of a content has the content, and nothing
// is told to who guesses it but yes or no, once in a run. A filter changes the
// content, so one that was decrypted has another hash. The copy is what was
// looked at; what is written to the file later is not seen.
func (t *tracked) show(v *View, m *Entry, name string) bool {
	if t.all || !t.open || m.Info.Kind != host.File || m.Info.Size > maxTracked {
		return false
	}
	data, err := v.Host.FS.Head(m.Path, maxTracked+1)
	if err != nil || !slices.ContainsFunc(t.entries, func(e gitdir.Entry) bool {
		return e.Path == name && bytes.Equal(e.Hash, gitdir.Blob(data, len(e.Hash)))
	}) {
		return false
	}
	m.turn(data)
	m.Rule.Source = SourceTracked
	return true
}
