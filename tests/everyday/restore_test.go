// SPDX-License-Identifier: Apache-2.0

//go:build linux

package everyday

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stamp changes whenever a file does: no program can set back the time of the last change.
type stamp struct {
	inode   uint64
	mode    uint32
	size    int64
	changed syscall.Timespec
}

func stampOf(info fs.FileInfo) stamp {
	s := info.Sys().(*syscall.Stat_t)
	return stamp{s.Ino, s.Mode, s.Size, s.Ctim}
}

// walk calls f with what is in the home directory, caches left out.
func (l *lane) walk(top string, f func(path string, s stamp) error) error {
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == l.home+"/.cache" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return f(path, stampOf(info))
	})
}

// stamp takes down how everything is before a run.
func (l *lane) stamp(t *testing.T) {
	t.Helper()
	// The clock of files is a coarse one.
	time.Sleep(10 * time.Millisecond)
	l.stamps, l.states = map[string]stamp{}, map[string][]string{}
	must(t, l.walk(l.home, func(path string, s stamp) error {
		l.stamps[path] = s
		return nil
	}))
}

// untouched says whether a tree is as restore has left it.
func (l *lane) untouched(top string) bool {
	return l.walk(top, func(path string, s stamp) error {
		if l.stamps[path] != s {
			return fs.ErrInvalid
		}
		return nil
	}) == nil
}

// restore puts the home back as it was prepared: what was touched is made again.
func (l *lane) restore(t *testing.T) {
	t.Helper()
	var dirs []string
	seen := map[string]bool{l.home + "/.cache": true}
	touched := false
	must(t, l.walk(l.home, func(path string, s stamp) error {
		was, known := l.stamps[path]
		dir := s.mode&syscall.S_IFMT == syscall.S_IFDIR
		if s == was || known && dir && s.mode == was.mode {
			seen[path] = true
		}
		if s == was {
			return nil
		}
		touched = true
		if seen[path] { // what is in it is looked at
			dirs = append(dirs, path)
			return nil
		}
		dirs = append(dirs, filepath.Dir(path))
		if err := remove(path); err != nil || !dir {
			return err
		}
		return fs.SkipDir
	}))
	if !touched {
		return
	}
	copies := []string{"-a", "--parents"}
	for path := range l.stamps {
		if !seen[path] && seen[filepath.Dir(path)] {
			copies = append(copies, strings.TrimPrefix(path, l.home+"/"))
		}
	}
	if len(copies) > 2 {
		cp := exec.Command("cp", append(copies, l.home)...)
		cp.Dir = l.dir + "/saved"
		must(t, cp.Run())
	}
	for _, path := range dirs { // the time of their last change
		info, err := os.Stat(l.dir + "/saved" + strings.TrimPrefix(path, l.home))
		must(t, err)
		must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	}
	l.stamp(t)
}
