// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"strings"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Bounds of a record. More than that is an error.
const (
	maxNodes = 2048
	maxBytes = 4 << 20
	maxDirs  = 64 // of which a descriptor is kept
)

// record is what a run keeps.
type record struct {
	Kept []kept
	Dirs []keptDir
}

type kept struct {
	Path string
	Node *node
}

// keptDir is a directory that the command could move away, or make. FD leads to it as
// long as the run lasts; -1 is none.
type keptDir struct {
	Path     string
	Dev, Ino uint64
	Mode     uint32
	FD       int
}

// adopt takes the directory that another run knows by the path, and reports whether that
// is not the one that is there now, or that this one belongs elsewhere.
func (k *keptDir) adopt(from []*record) bool {
	for _, r := range from {
		for _, d := range r.Dirs {
			switch same := d.Ino == k.Ino && d.Dev == k.Dev; {
			case d.Path == k.Path && d.Ino != 0 && !same:
				*k = d
				return true
			case d.Path != k.Path && same: // it was moved here, and goes back there
				return true
			}
		}
	}
	return false
}

// node is a file as it was.
type node struct {
	Kind  kind
	Mode  uint32 `json:",omitempty"` // permissions
	Links uint64 `json:",omitempty"` // names that a file has
	Data  []byte `json:",omitempty"` // of a file, or the text of a link
	Below map[string]*node
}

type kind byte

const (
	absent kind = iota
	file
	link
	dir
	other
)

// adopt takes what another run keeps in place of what is there now.
func (k *kept) adopt(from []kept) {
	for _, f := range from {
		switch {
		case policy.Within(k.Path, f.Path):
			k.Node = f.Node.at(strings.TrimPrefix(k.Path[len(f.Path):], "/"))
		case policy.Within(f.Path, k.Path):
			k.Node.put(strings.TrimPrefix(f.Path[len(k.Path):], "/"), f.Node)
		}
	}
}

// at is the node at a path below, an absent one when there is none.
func (n *node) at(path string) *node {
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, "/")
		if n = n.Below[name]; n == nil {
			return &node{}
		}
	}
	return n
}

// put replaces the node at a path below where its directory is there.
func (n *node) put(path string, is *node) {
	up, name := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		up, name = path[:i], path[i+1:]
	}
	switch n = n.at(up); {
	case n.Kind != dir:
	case is.Kind == absent:
		delete(n.Below, name)
	default:
		n.Below[name] = is
	}
}
