package verify

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// residueRoots are the trees whose upper levels are compared.
func residueRoots(sub *Subject) []string {
	roots := []string{canonical(sub.Host.CWD), canonical(sub.Root)}
	for _, home := range sub.Host.Homes {
		roots = append(roots, canonical(home))
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// snapshot looks at two levels of each root. sbx's own cache, which a run may
// change, and the directory of this process are left out.
func snapshot(roots []string, cache, own string) tree {
	t := make(tree)
	for _, root := range roots {
		t.add(root, []string{canonical(cache), canonical(own)}, 2)
	}
	return t
}

func (t tree) add(path string, skip []string, levels int) {
	if _, done := t[path]; slices.Contains(skip, path) || len(t) >= maxEntries || done && levels < 2 {
		return
	}
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return
	}
	e := entry{Kind: kindOf(st.Mode), Mode: st.Mode, UID: int(st.Uid), Mtime: st.Mtim.Nano(), Size: st.Size}
	switch e.Kind {
	case kindDir:
		e.Size = 0
	case kindLink:
		e.Target, _ = os.Readlink(path)
	}
	t[path] = e
	if e.Kind != kindDir || levels == 0 {
		return
	}
	for _, n := range Look(path).Names {
		t.add(strings.TrimSuffix(path, "/")+"/"+string(n), skip, levels-1)
	}
}
