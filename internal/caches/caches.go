// SPDX-License-Identifier: Apache-2.0

// Package caches knows whose the private caches are that runs leave: beside each
// stands a link that says of which directory it is. A cache does not outlive that
// directory, and another one that is made in its place begins with an empty cache.
package caches

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sbx-sandbox/sbx/internal/openat"
	"github.com/sbx-sandbox/sbx/internal/ownfile"
)

// Store is the directory that holds the caches of a user.
type Store struct {
	Dir string
	UID int
}

// Cache is the cache of one project.
type Cache struct {
	Name    string `json:"name"`              // in the store
	Project string `json:"project,omitempty"` // "" where that is not known
	Bytes   int64  `json:"bytes"`             // on the disk
	More    bool   `json:"more,omitempty"`    // at least, since there were too many files to look at all
	Gone    bool   `json:"removed,omitempty"` // the project's directory does not exist any more
}

// of ends the name of the link beside a cache, which holds when the project's
// directory was made, and its path. It leads nowhere.
const of = ".of"

// Note says of which directory the cache called name is, and reports whether that is
// new. What an earlier directory at the same path left is removed.
func (s Store) Note(name, project string) (fresh bool, err error) {
	path := s.Dir + "/" + name
	want := strconv.FormatInt(openat.Born(project), 36) + project
	have, err := os.Readlink(path + of)
	if have == want {
		return false, nil
	}
	if err == nil && remade(have, want) {
		dir, err := ownfile.Open(s.Dir, s.UID)
		if err != nil {
			return false, err
		}
		err = dir.SetAside(name)
		dir.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if _, err := ownfile.Make(path, s.UID); err != nil {
			return false, err
		}
	}
	_ = os.Remove(path + of)
	return os.Symlink(want, path+of) == nil, nil // without, no one knows whose it is, and it stays
}

// split parts what a link holds.
func split(link string) (born, project string) {
	i := max(strings.IndexByte(link, '/'), 0)
	return link[:i], link[i:]
}

// remade reports whether two links are about directories that were made at different
// times. File systems that do not tell say 0.
func remade(a, b string) bool {
	x, _ := split(a)
	y, _ := split(b)
	return x != y && x != "0" && y != "0"
}

// gone reports whether the directory of a link is known not to exist any more.
func gone(link string) bool {
	_, project := split(link)
	info, err := os.Lstat(project)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return true
	case err != nil:
		return false
	}
	return !info.IsDir() || remade(link, strconv.FormatInt(openat.Born(project), 36)+project)
}

// List returns the caches by their projects. Those that reached says no of are not
// looked for: a file system that gives no answer would keep whoever asks.
func (s Store) List(reached func(path string) bool) ([]Cache, error) {
	names, err := s.names()
	var out []Cache
	for _, name := range names {
		c := Cache{Name: name}
		if link, err := os.Readlink(s.Dir + "/" + name + of); err == nil {
			_, c.Project = split(link)
			c.Gone = c.Project != "" && reached(c.Project) && gone(link)
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Cache) int { return strings.Compare(a.Project+a.Name, b.Project+b.Name) })
	return out, err
}

// names are those of the caches.
func (s Store) names() ([]string, error) {
	dir, err := ownfile.Open(s.Dir, s.UID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Names()
	other := func(name string) bool { return len(name) != 16 || strings.Trim(name, "0123456789abcdef") != "" }
	return slices.DeleteFunc(names, other), err
}

// maxFiles bounds how many files of a cache are looked at, and maxDepth how deep: from
// each file on the way leads through all directories above it.
const maxFiles, maxDepth = 300_000, 64

// Measure adds up what a cache takes. It follows no link.
func (s Store) Measure(c *Cache) {
	root, err := os.OpenRoot(s.Dir + "/" + c.Name)
	if err != nil {
		return
	}
	defer root.Close()
	n := 0
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if n++; n > maxFiles {
			c.More = true
			return fs.SkipAll
		}
		if d == nil {
			return nil
		}
		if info, e := d.Info(); e == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				c.Bytes += st.Blocks * 512
			}
		}
		if strings.Count(name, "/") >= maxDepth && d.IsDir() {
			c.More = true
			return fs.SkipDir
		}
		if err != nil { // it cannot be read
			return fs.SkipDir
		}
		return nil
	})
}

// Remove removes caches until the time is up; what is left then no one uses, and the
// next call goes on.
func (s Store) Remove(limit time.Duration, caches ...Cache) error {
	dir, err := ownfile.Open(s.Dir, s.UID)
	if err != nil {
		return err
	}
	defer dir.Close()
	var first error
	for _, c := range caches {
		if err := dir.SetAside(c.Name); err != nil && first == nil {
			first = err
			continue
		}
		_ = dir.Remove(c.Name + of)
		_ = dir.Remove(c.Name + seeded)
	}
	ownfile.Sweep(s.Dir, s.UID, limit, func(string, func() time.Duration) bool { return false })
	return first
}

// Sweep removes the caches whose project is gone, as far as that goes in a short
// time.
func (s Store) Sweep(reached func(path string) bool) {
	const most, limit = 200, 300 * time.Millisecond
	list, _ := s.List(reached)
	list = slices.DeleteFunc(list[:min(len(list), most)], func(c Cache) bool { return !c.Gone })
	_ = s.Remove(limit, list...)
}
