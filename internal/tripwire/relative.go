// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/openat"
	"golang.org/x/sys/unix"
)

// relative tells of what the settings of a repository name by a relative path, and
// what is another thing in a linked work tree than in the main one, where it is
// protected.
func (s *survey) relative(at, common, tree string) {
	main := treeOf(common)
	data, _ := regular(join(common, "config"))
	_ = gitdir.Each(data, func(set gitdir.Setting) {
		hooks := set.Name() == "core.hookspath"
		var names []string
		switch {
		case hooks:
			names = []string{set.Value}
		case gitdir.Runs(&set):
			names = gitdir.Words(set.Value)
		}
		for _, n := range names {
			if n == "" || strings.Contains("/~%-$", n[:1]) {
				continue
			}
			here, there := filepath.Clean(join(tree, n)), filepath.Clean(join(main, n))
			state, err := lookName(here)
			if err == nil && (state == "" || !hooks && strings.HasPrefix(state, "dir ") || alike(here, there, state)) {
				continue
			}
			text := "config: " + set.Full() + "=" + set.Value
			s.add(at, text+", which is not the same here as in "+strconv.Quote(main), state)
		}
	})
}

// alike reports whether two files, or directories of files, have the same content.
// A link in them can lead to something else from the one than from the other.
func alike(a, b, state string) bool {
	other, err := lookName(b)
	if err != nil || other != state || strings.HasSuffix(state, "truncated") {
		return false
	}
	names := []string{""}
	if strings.HasPrefix(state, "dir ") {
		if names, err = namesAt(a); err != nil {
			return false
		}
	}
	return !slices.ContainsFunc(names, func(n string) bool {
		st, err := lstat(filepath.Clean(join(a, n)))
		return err != nil || openat.Is(&st, unix.S_IFLNK)
	})
}
