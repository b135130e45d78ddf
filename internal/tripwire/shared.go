// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
)

// maxShared bounds the files that are looked at before something is accepted.
const maxShared = 20_000

// Shared is a file of a change that has another name as well (link(2)), "" when
// there is none. Once it is accepted the file is read-only by this name, and a
// command could still change it by the other. The objects of a repository do not
// count: a local clone shares them.
func (c *Change) Shared() (string, error) {
	found, left := "", maxShared
	err := filepath.WalkDir(c.Path, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if left--; left < 0 {
			return errMany
		}
		if d.IsDir() {
			if d.Name() == "objects" {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil // it is gone
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() && st.Nlink > 1 {
			found = path
			return fs.SkipAll
		}
		return nil
	})
	return found, err
}
