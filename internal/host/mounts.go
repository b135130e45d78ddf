// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/procfs"
)

// Mount is a line of the mount table.
type Mount = procfs.Mount

// MountTable finds the other names of a file: those that it has because its
// file system, or a directory of it, is mounted more than once.
type MountTable struct {
	mounts []Mount
	Twice  map[string]bool // devices with several mounts
}

func NewMountTable(mounts []Mount) *MountTable {
	t := &MountTable{mounts: mounts}
	for i, m := range mounts {
		for _, o := range mounts[:i] {
			if o.Dev == m.Dev {
				if t.Twice == nil {
					t.Twice = make(map[string]bool, 4)
				}
				t.Twice[m.Dev] = true
				break
			}
		}
	}
	return t
}

// owner is the mount that a canonical path lies on, -1 for none. Of two at one
// place the later covers the earlier.
func owner(mounts []Mount, path string) int {
	best := -1
	for i := range mounts {
		if p := mounts[i].Point; policy.Within(path, p) && (best < 0 || len(p) >= len(mounts[best].Point)) {
			best = i
		}
	}
	return best
}

// Aliases are the other paths at which a canonical path, or something in it,
// can be seen.
func (t *MountTable) Aliases(path string) []string {
	if len(t.Twice) == 0 {
		return nil
	}
	own := owner(t.mounts, path)
	if own < 0 || !t.Twice[t.mounts[own].Dev] {
		return nil
	}
	m := &t.mounts[own]
	inside := rebase(path, m.Point, m.Root)
	var out []string
	for i := range t.mounts {
		n := &t.mounts[i]
		alias := n.Point
		switch {
		case i == own || n.Dev != m.Dev:
			continue
		case policy.Within(inside, n.Root):
			alias = rebase(inside, n.Root, n.Point)
		case !policy.Within(n.Root, inside):
			continue
		}
		if alias != path && owner(t.mounts, alias) == i {
			out = append(out, alias)
		}
	}
	return out
}

// rebase moves a path from below one directory to below another.
func rebase(path, from, to string) string {
	rest := strings.TrimPrefix(path, from)
	if rest != "" && rest[0] != '/' {
		rest = "/" + rest
	}
	if to == "/" && rest != "" {
		return rest
	}
	return to + rest
}
