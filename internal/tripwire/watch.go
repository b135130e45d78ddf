// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/text"
)

// Kind is what a Watch is about.
type Kind uint8

const (
	Name Kind = iota // one path: State is "" while it does not exist, else what it is (see Look)

	// Pattern: the last element of Path is a pattern (policy.Match). State is the
	// sorted matching names, joined by "/".
	Pattern

	// Nested: Path is a directory. State is the sorted names of its subdirectories
	// that are or hold a git directory (X/.git exists, or X has HEAD, objects and
	// refs), joined by "/".
	Nested

	// Settings is about a git config file: State is what in it makes git run or
	// read something (gitdir.Notable), one escaped setting beside the other. The
	// file is protected while a command runs, but for what git on the host puts
	// in its place meanwhile.
	Settings

	// Repository is about a git directory: State is the work tree that belongs to
	// it, "" for none. What makes git in the work tree run something and was not
	// there is reported, at any depth: in repositories that its index names, in new
	// submodules and work trees, in steps of a rebase that waits. Its own settings
	// and hooks, which are protected while a command runs, only when the whole of it
	// is new.
	Repository

	// Place is about a directory that something watched lies in and that could be
	// moved away: State is which one it is, and as for a Name when it is none.
	Place

	// Kept is about what exists and has to stay as it is, and could not be made
	// read-only: State is as for a Name, of a directory with all that is in it.
	// That it is gone is a change, too.
	Kept

	// Listed is about the names in the directory Path that tools obey by
	// themselves, see names.toml. It has Open and Shut in place of a State.
	Listed

	// obeyed is one of them. It has no watch of its own: the record has one entry
	// for each that was seen.
	obeyed
)

// Watch is a name that a run could make or replace, with what was there when
// the run was planned.
type Watch struct {
	Kind  Kind
	Path  string // absolute, canonical but for the last element
	State string

	// Of Listed: the names that are there, as [Pick] returns them, that the command
	// can change, and those that it cannot.
	Open, Shut []string
}

// Look returns the State of a watch as it is now. For a Name that is
//
//	""                    nothing is there
//	link TEXT             a symbolic link
//	file SHA256           a file of up to 1 MiB; "executable" follows when it is
//	file SIZE MTIME CTIME a larger or an unreadable one, times in nanoseconds
//	dir SHA256            names, kinds, texts of links and contents below it;
//	                      "truncated" follows when there is more than 512
//	                      entries, depth 4 or 4 MiB
//	other KIND            fifo, socket or device
//
// It follows no link, in the last element or above, and waits for nothing. A
// path that leads through a link to something is an error, as is one that
// cannot be looked at: whoever asks must not take either for "nothing there".
func Look(kind Kind, path string) (string, error) {
	if !strings.HasPrefix(path, "/") || strings.IndexByte(path, 0) >= 0 {
		return "", errors.New(strconv.Quote(path) + ": not an absolute path")
	}
	if path = filepath.Clean(path); apart(path) {
		return "", errApart
	}
	if int(kind) >= len(looks) {
		return "", errors.New(text.Plain(path) + ": no such kind of watch")
	}
	return looks[kind](path)
}

var looks = [...]func(path string) (string, error){
	Name: lookName, Pattern: lookPattern, Nested: lookNested, Settings: lookSettings, Place: lookPlace, Kept: lookKept,
	Repository: func(path string) (string, error) { return treeOf(path), nil },
}

// split is the inverse of joining names by "/", which no name holds.
func split(state string) []string {
	if state == "" {
		return nil
	}
	return strings.Split(state, "/")
}
