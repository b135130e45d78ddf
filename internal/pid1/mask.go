// SPDX-License-Identifier: Apache-2.0

package pid1

import "slices"

// Mask is a mount that hides something of the host, or makes it read-only. Its
// mount point is a name in a directory that the host has, too, and the kernel
// takes the mount away when that name is renamed over or removed outside.
type Mask struct {
	Kind MaskKind
	Path string // as seen inside
	Top  string // the directory above it in which the host's names begin: what is above that, the sandbox has made
}

// MaskKind is what a mask is for, and what follows when it is gone.
type MaskKind byte

const (
	Hides      MaskKind = iota // the run ends, with status 125
	HidesWarn                  // as Hides, but a warning is all
	Copies                     // as Hides, of a file that is shown as it was, or in part
	CopiesWarn                 // as Copies, but a warning is all
	Protects                   // a warning, and what changes from then on is told at the end
	maskKinds
)

// valid reports whether the top is a directory above the path.
func (m *Mask) valid() bool {
	return m.Kind < maskKinds && m.Top != "" && m.Path != "" && m.Path[0] == '/' && m.Path != m.Top && below(m.Path, m.Top)
}

// below reports whether a path is a directory or lies in it.
func below(path, dir string) bool {
	n := len(dir)
	return dir == "/" || len(path) >= n && path[:n] == dir && (len(path) == n || path[n] == '/')
}

// watchedDirs lists the directories in which a mask can be taken away, each once:
// those that hold one, and those on the way to them. A directory comes after the
// one that holds it: who begins to watch in this order misses nothing that is
// made meanwhile.
func watchedDirs(masks []Mask) (dirs []string) {
	for i := range masks {
		known := len(dirs)
		for path := masks[i].Path; path != masks[i].Top && path != "/"; {
			path = dirOf(path)
			if slices.Contains(dirs, path) { // and so what is above it
				break
			}
			dirs = append(dirs, path)
		}
		slices.Reverse(dirs[known:])
	}
	return dirs
}

func dirOf(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return "/"
}
