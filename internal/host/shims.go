// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/lookpath"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// ShimDirs are the canonical paths of those directories of sbx's links that are
// there.
func (h *Host) ShimDirs(res *Resolver) []string {
	var out []string
	for _, dir := range h.Shims {
		if to, err := res.Resolve(dir); err == nil && to.Info.Kind == Dir {
			out = append(out, to.Path)
		}
	}
	return out
}

// IsShim reports whether what was found for a name is no program of that name but
// sbx: a link of its own, one that someone made, a hard link, a copy. Another
// version of sbx cannot be told from any program; see [Host.Tool].
func (h *Host) IsShim(res *Resolver, full, name string, to Resolved) bool {
	if strings.HasPrefix(name, "sbx") {
		return false
	}
	if dir, err := res.Resolve(policy.Dir(full)); err == nil && slices.Contains(h.ShimDirs(res), dir.Path) {
		return true
	}
	if to.Path[strings.LastIndexByte(to.Path, '/')+1:] == "sbx" {
		return true
	}
	self, err := res.Resolve(filepath.Clean(h.Self))
	if h.Self == "" || err != nil || self.Info.Kind != File || to.Info.Kind != File {
		return false
	}
	return self.Info.Dev == to.Info.Dev && self.Info.Ino == to.Info.Ino || h.copied(self, to)
}

// copied reports whether two files are the same build of sbx: the build ID that
// Go writes, a hash, stands in the first page.
func (h *Host) copied(self, other Resolved) bool {
	const page = 4096
	if self.Info.Size != other.Info.Size || self.Info.Size < page {
		return false
	}
	a, err := h.FS.Head(self.Path, page)
	b, oerr := h.FS.Head(other.Path, page)
	return err == nil && oerr == nil && bytes.Equal(a, b)
}

// Tool returns the program that a name stands for in a search path when sbx's
// own links are left out, as well as relative directories: outside of a sandbox
// they would run what a project brings along. The error is an [*Error].
//
// Another version of sbx by that name is found like any program, and would look
// for the tool anew: who starts what it returned has to count.
func (h *Host) Tool(name, path string) (string, error) { return h.look(name, path, false) }

// Program returns the file that a shell of the caller's would execute for a name,
// but for sbx's own links. The error is an [*Error].
func (h *Host) Program(name string) (string, error) {
	if strings.IndexByte(name, '/') < 0 {
		return h.look(name, h.Path(), true)
	}
	to, err := NewResolver(h.FS).Resolve(h.absolute(name))
	if err != nil || to.Info.Kind == Absent {
		return "", &Error{StatusNotFound, text.Plain(name) + ": no such file or directory", ""}
	}
	return name, h.executable(name, to)
}

func (h *Host) look(name, path string, relative bool) (string, error) {
	res := NewResolver(h.FS)
	found, err := lookpath.Find(path, name, func(file string) error {
		full := h.absolute(file)
		to, err := res.Resolve(full)
		if err != nil || to.Info.Kind == Absent || to.Info.Kind == Dir || file[0] != '/' && !relative ||
			h.IsShim(res, full, name, to) {
			return lookpath.ErrNone
		}
		return h.executable(name, to)
	})
	if err == lookpath.ErrNone {
		err = &Error{StatusNotFound, text.Plain(name) + ": command not found", ""}
	}
	return found, err
}

// executable reports why a file cannot be executed without a sandbox.
func (h *Host) executable(name string, to Resolved) error {
	if to.Info.Kind != File || !h.FS.Access(to.Path, 'x') {
		return &Error{StatusNoExec, text.Plain(name) + ": permission denied", ""}
	}
	return nil
}

func (h *Host) absolute(path string) string {
	if !strings.HasPrefix(path, "/") {
		path = Join(h.StartDir(), path)
	}
	return filepath.Clean(path)
}

// Path is the caller's search path, and what stands for it when there is none.
func (h *Host) Path() string {
	if path, ok := LookupEnv(h.Environ, "PATH"); ok {
		return path
	}
	return DefaultPath
}

// WithoutShims takes the directories of sbx's links out of PATH: what runs
// without a sandbox because someone said so is not to end up in one by the next
// program it calls, nor to call itself. All else stays byte for byte.
func (h *Host) WithoutShims() []string {
	res := NewResolver(h.FS)
	env := slices.Clone(h.Environ)
	for i, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			env[i] = "PATH=" + h.dropShims(res, path)
		}
	}
	return env
}

func (h *Host) dropShims(res *Resolver, path string) string {
	dirs, shims := strings.Split(path, ":"), h.ShimDirs(res)
	kept := slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		if !strings.HasPrefix(dir, "/") {
			return false
		}
		to, err := res.Resolve(filepath.Clean(dir))
		return err == nil && slices.Contains(shims, to.Path)
	})
	if len(kept) == 0 && len(dirs) > 0 { // an empty PATH would mean the working directory
		return DefaultPath
	}
	return strings.Join(kept, ":")
}
