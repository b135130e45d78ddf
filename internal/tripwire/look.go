// SPDX-License-Identifier: Apache-2.0

package tripwire

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/gitdir"
	"github.com/sbx-sandbox/sbx/internal/openat"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Apart says which paths lie on file systems that ask another machine or program,
// which may never answer. Links in a path are followed. Nothing is looked at there, and what was
// seen there once counts as it was: no command
// in a sandbox can mount anything on the host. nil stands for "none".
var Apart func(path string) bool

// errApart is what Look says of such a path.
var errApart = errors.New("it is on a file system that may give no answer")

func apart(path string) bool { return Apart != nil && Apart(path) }

func lookName(path string) (string, error) {
	// Nearly all names are absent, and one system call says so.
	if _, err := lstat(path); unreachable(err) {
		return "", nil
	} else if err != nil {
		return "", fail(path, err)
	}
	dir, err := openDir(policy.Dir(path))
	if err != nil {
		return "", absent(err)
	}
	defer unix.Close(dir)
	state, err := stateAt(dir, base(path))
	if err != nil {
		return "", fail(path, err)
	}
	return state, nil
}

// lookPlace tells one directory from another that was put in its place.
func lookPlace(path string) (string, error) {
	st, err := lstat(path)
	if err != nil || !openat.Is(&st, unix.S_IFDIR) {
		return lookName(path)
	}
	// A number is given anew when a directory is gone; when it was made is not.
	return fmt.Sprint("place ", uint64(st.Dev), " ", st.Ino, " ", openat.Born(path)), nil
}

// lookKept is lookName with all that is in a directory, up to what a run can
// wait for: more is an error, since a part of it could be changed unseen.
func lookKept(path string) (string, error) {
	st, err := lstat(path)
	if err != nil || !openat.Is(&st, unix.S_IFDIR) {
		return lookName(path)
	}
	dir, err := openDir(policy.Dir(path))
	if err != nil {
		return "", fail(path, err)
	}
	defer unix.Close(dir)
	d := newDigest(nil)
	d.entries, d.bytes, d.depth = 20_000, 32<<20, 64
	d.sub(dir, base(path), &st, 0)
	if d.lost {
		return "", fail(path, errors.New("more than can be watched "+
			"(20,000 names, 64 directories deep, all of them readable)"))
	}
	return "dir " + d.sum(), nil
}

// stateAt is the state of a name in an open directory.
func stateAt(dir int, name string) (string, error) {
	var st unix.Stat_t
	switch err := openat.Stat(dir, name, &st); err {
	case nil:
	case unix.ENOENT:
		return "", nil
	default:
		return "", err
	}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFLNK:
		text, err := openat.Readlink(dir, name)
		return "link " + text, err
	case unix.S_IFREG:
		state := "file " + fileText(dir, name, &st, maxFile)
		if st.Mode&0o111 != 0 {
			state += " executable"
		}
		return state, nil
	case unix.S_IFDIR:
		return dirState(dir, name, &st), nil
	}
	return "other " + kindName(uint32(st.Mode)), nil
}

// lookPattern lists the names in a directory that match.
func lookPattern(path string) (string, error) {
	names, err := listDir(policy.Dir(path))
	names = slices.DeleteFunc(names, func(n string) bool { return !policy.Match(base(path), n) })
	return strings.Join(names, "/"), err
}

// lookNested lists the subdirectories that git would take for a repository, or
// for a part of one.
func lookNested(path string) (string, error) {
	names, err := listDir(path)
	names = slices.DeleteFunc(names, func(n string) bool {
		return n == ".git" || apart(join(path, n)) || !holdsGit(join(path, n))
	})
	return strings.Join(names, "/"), err
}

// holdsGit reports whether a path is a directory, or a link to one, that is or
// holds a git directory.
func holdsGit(path string) bool {
	has := func(name string) bool {
		_, err := lstat(path + "/" + name)
		// No git gets into a directory that may not be searched; when it may be,
		// what is in it is new.
		return !unreachable(err) && err != unix.EACCES
	}
	return has(".git") || gitDirectory(has)
}

// gitDirectory reports whether git may take a directory with these names for a git
// directory.
func gitDirectory(has func(name string) bool) bool {
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

// bare reports whether a directory has what git looks for in a git directory.
func bare(dir string) bool {
	return gitDirectory(func(name string) bool { _, err := lstat(join(dir, name)); return err != unix.ENOENT })
}

// nestedPath is what a name in the State of a Nested watch stands for.
func nestedPath(dir, name string) string {
	sub := join(dir, name)
	if _, err := lstat(sub + "/.git"); err == unix.ENOENT {
		return sub
	}
	return sub + "/.git"
}

// lookSettings reads a config file. One that is a link or not there has no
// settings of its own.
func lookSettings(path string) (string, error) {
	st, err := lstat(path)
	if err != nil || !openat.Is(&st, unix.S_IFREG) {
		return "", absent(err)
	}
	data, err := readFile(path, maxConfig)
	if err != nil {
		return "", fail(path, err)
	}
	return SettingsOf(data), nil
}

// maxSettings bounds the bytes of a State of Settings. A file with more than
// that is a matter of its own.
const maxSettings = 16 << 10

// SettingsOf is the State of a config file with this content.
func SettingsOf(data []byte) string {
	lines := gitdir.Notable(data)
	for i, l := range lines {
		lines[i] = escape(l)
	}
	slices.Sort(lines)
	state := strings.Join(slices.Compact(lines), "/")
	if len(state) > maxSettings {
		return escape("more than 16 KiB of settings: " + sum([]byte(state)))
	}
	return state
}

// escaped takes out of a text what separates states and entries.
var (
	escaped   = strings.NewReplacer("%", "%25", "/", "%2F", "\x00", "%00", "\n", "%0A")
	unescaped = strings.NewReplacer("%25", "%", "%2F", "/", "%00", "\x00", "%0A", "\n")
)

func escape(s string) string   { return escaped.Replace(s) }
func unescape(s string) string { return unescaped.Replace(s) }
