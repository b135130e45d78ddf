// SPDX-License-Identifier: Apache-2.0

//go:build unix

package config

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// exists reports whether anything is at path, dangling links included. Only
// plain absence is absence: a directory that cannot be searched might hold
// the administrator's word.
func exists(path string) (bool, error) {
	var st syscall.Stat_t
	switch err := syscall.Lstat(path, &st); err {
	case nil:
		return true, nil
	case syscall.ENOENT, syscall.ENOTDIR:
		return false, nil
	default:
		return false, &FileError{Path: path, Text: "cannot look for a config file", Err: err}
	}
}

// readSafe reads a file that no one but those the layer trusts can have
// written. All but the links is checked on the opened file. One that has to be
// alone has no other name: that would be a way to write the file, in a directory
// that a command may write.
func readSafe(layer policy.Layer, path string, alone bool) ([]byte, error) {
	c := &candidate{layer: layer, path: path, real: path, alone: alone}
	if err := c.follow(); err != nil {
		return nil, err
	}
	// O_NONBLOCK: a fifo would hang the open.
	f, err := os.OpenFile(c.real, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, c.bad("cannot be opened", errors.Unwrap(err))
	}
	defer f.Close()
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		return nil, c.bad("cannot be looked at", err)
	}
	if err := c.check(&st); err != nil {
		return nil, err
	}
	if err := c.checkDirs(); err != nil {
		return nil, err
	}
	// What fstat said of the size may be no longer true, and is 0 for files of the
	// kernel.
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	switch {
	case err != nil:
		return nil, c.bad("cannot be read", errors.Unwrap(err))
	case len(data) > maxSize:
		return nil, c.tooLarge()
	}
	return data, nil
}

// candidate is a file that may become configuration.
type candidate struct {
	layer policy.Layer
	path  string // as named
	real  string // where a link leads, else path
	away  bool   // the link leads out of its directory
	alone bool   // a second name is refused
}

func (c *candidate) bad(text string, err error) error {
	return &FileError{Path: c.path, Text: text, Err: err}
}

func (c *candidate) tooLarge() error {
	return c.bad("larger than "+strconv.Itoa(maxSize)+" bytes", nil)
}

// follow resolves a symbolic link. One that stays in its own directory is as
// good as a file there.
func (c *candidate) follow() error {
	var st syscall.Stat_t
	if err := syscall.Lstat(c.path, &st); err != nil {
		return c.bad("cannot be read", err)
	}
	if uint32(st.Mode)&syscall.S_IFMT != syscall.S_IFLNK {
		return nil
	}
	real, err := filepath.EvalSymlinks(c.path)
	if err != nil {
		return c.bad("a symbolic link that leads nowhere", err)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(c.path))
	if err != nil {
		return c.bad("cannot be read", err)
	}
	c.real, c.away = real, !policy.Within(real, dir)
	return nil
}

func (c *candidate) check(st *syscall.Stat_t) error {
	mode := uint32(st.Mode)
	switch {
	case mode&syscall.S_IFMT == syscall.S_IFDIR:
		return c.bad("is a directory, not a file", nil)
	case mode&syscall.S_IFMT != syscall.S_IFREG:
		return c.bad("not a regular file", nil)
	// Home managers link to files of root's. A project has no business to:
	// as root, its errors would quote files that only root can read.
	case c.away && (st.Uid != 0 || c.layer == policy.Project):
		return &FileError{Path: c.path, Text: "a symbolic link to elsewhere, " + text.Plain(c.real),
			Hint: "put the file itself there"}
	case !c.owner(st.Uid):
		return &FileError{Path: c.path, Text: c.ownedBy(st.Uid), Hint: "look at what it says, then chown it"}
	case mode&0o002 != 0 || mode&0o020 != 0 && !c.ownGroup(st.Gid):
		return &FileError{Path: c.path, Text: "writable by others", Hint: "chmod go-w " + text.Plain(c.real)}
	// Root's may have more, as in the store of Nix: what others cannot write by
	// one name they cannot write by another.
	case c.alone && st.Nlink > 1 && int(st.Uid) == syscall.Geteuid():
		return &FileError{Path: c.path, Text: "has another name (a hard link), by which a command could write it",
			Hint: "cp it to a new file, and name that"}
	case st.Size > maxSize:
		return c.tooLarge()
	}
	return nil
}

// ownGroup reports whether writing by a group is writing by the user: a clone
// under umask 002 is writable by the user's own group. Only a project's file
// may be: it can only tighten, or is trusted for the very bytes that are read
// here.
func (c *candidate) ownGroup(gid uint32) bool {
	return c.layer == policy.Project && int(gid) == syscall.Getegid()
}

// owner reports whether the layer may be written by uid.
func (c *candidate) owner(uid uint32) bool {
	return uid == 0 || c.layer != policy.System && int(uid) == syscall.Geteuid()
}

func (c *candidate) ownedBy(uid uint32) string {
	wanted := "not by you or root"
	if c.layer == policy.System {
		wanted = "not by root"
	}
	return "owned by uid " + strconv.FormatUint(uint64(uid), 10) + ", " + wanted
}

// checkDirs looks at the directories of the link and of the file: who may
// write there may put another file in its place. A project's directory is
// left out; who owns the new file would be noticed.
func (c *candidate) checkDirs() error {
	if c.layer == policy.Project {
		return nil
	}
	for _, path := range []string{c.path, c.real} {
		dir := filepath.Dir(path)
		var st syscall.Stat_t
		if err := syscall.Stat(dir, &st); err != nil {
			return c.bad("its directory cannot be looked at", err)
		}
		mode := uint32(st.Mode)
		switch {
		case !c.owner(st.Uid):
			return c.bad("its directory "+text.Plain(dir)+" is "+c.ownedBy(st.Uid), nil)
		case mode&0o022 != 0 && mode&syscall.S_ISVTX == 0:
			return &FileError{Path: c.path, Text: "its directory " + text.Plain(dir) + " is writable by others",
				Hint: "chmod go-w " + text.Plain(dir)}
		}
	}
	return nil
}
