// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"
	"io/fs"

	"github.com/sbx-sandbox/sbx/internal/host"
)

// deniedFS are files as a process inside finds them. What may not be looked at is
// taken for a directory, so that names in it are asked for as well: whether they
// are there is not kept from anyone.
type deniedFS struct {
	host.FS
	denied map[string]bool // what may not be looked at
}

// Lstat implements [host.FS].
func (f deniedFS) Lstat(path string) (host.Info, error) {
	i, err := f.FS.Lstat(path)
	if errors.Is(err, fs.ErrPermission) {
		f.denied[path] = true
		return host.Info{Kind: host.Dir}, nil
	}
	return i, err
}

// Spell implements [host.Speller].
func (f deniedFS) Spell(path string) string { return spell(f.FS, path) }

// Spell implements [host.Speller].
func (f *hostFS) Spell(path string) string { return spell(f.v.Host.FS, path) }

// spell is the path as it is on the disk, for a file system that is wrapped.
func spell(f host.FS, path string) string {
	if s, ok := f.(host.Speller); ok {
		return s.Spell(path)
	}
	return path
}
