// SPDX-License-Identifier: Apache-2.0

package shims

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sbx-sandbox/sbx/internal/lookpath"
	"github.com/sbx-sandbox/sbx/internal/text"
)

// NameError is a name for which there can be no shim.
type NameError struct{ Text, Hint string }

func (e *NameError) Error() string { return e.Text }

// refused are names that a shim cannot be of use for.
var refused = []struct {
	names     []string
	why, hint string
}{
	{[]string{"sh", "bash", "zsh", "fish", "dash", "ksh", "mksh", "ash", "csh", "tcsh"},
		"is a shell: a shim would catch every script",
		"to run a program's commands in a sandbox, let it use SHELL=sbx-sh"},
	{[]string{"sudo", "su", "doas", "pkexec", "run0", "runuser", "sudoedit", "newgrp", "sg"},
		"gives other rights, and nothing inside a sandbox can get those", "put a shim in front of what it runs"},
	{[]string{"bwrap", "sandbox-exec", "unshare", "nsenter", "systemd-run"},
		"makes or leaves a sandbox, which cannot be done inside one", ""},
	{[]string{"env", "nohup", "nice", "setsid", "timeout", "xargs", "exec", "command"},
		"runs other programs, and a sandbox around each of them would surprise", "put a shim in front of these"},
	{[]string{"cd", "export", "unset", "source", "eval", "exit", "return", "set", "alias", "unalias", "read", "shift",
		"trap", "wait", "jobs", "fg", "bg", "umask", "ulimit", "hash", "type", "local"},
		"is the shell's own word, which looks for no program", ""},
	// An alias of one would break all that is typed after it.
	{[]string{"if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
		"function", "select", "coproc", "time", "repeat", "foreach", "end", "begin", "switch",
		"and", "or", "not", "nocorrect", "noglob"},
		"is a word of the shell's grammar, which looks for no program", ""},
}

// builtins are what shells have built in, though there may be a program as well:
// a link in PATH never answers. An alias does.
var builtins = []string{
	"echo", "printf", "test", "pwd", "kill", "true", "false", "let", "declare", "typeset", "readonly", "getopts",
	"times", "bind", "break", "builtin", "caller", "compgen", "complete", "compopt", "continue", "dirs", "disown",
	"enable", "fc", "help", "history", "logout", "mapfile", "popd", "pushd", "readarray", "shopt", "suspend", "print",
	"whence",
}

// CheckName returns a [*NameError] that says why there is no shim and no alias
// for a name, or nil. The names are those that [tools.NAME] can have in a config file.
func CheckName(name string) error {
	shown := text.Plain(name)
	switch {
	case name == "":
		return &NameError{"the name is empty", ""}
	case strings.IndexByte(name, '/') >= 0:
		return &NameError{shown + ": a shim has a name, not a path",
			"sbx shim add " + text.Plain(filepath.Base(name))}
	case strings.HasPrefix(name, "sbx"):
		return &NameError{shown + ": names that begin with sbx are sbx's own", ""}
	case !text.ValidName(name, NameSigns):
		return &NameError{shown +
			": a name has letters, digits and _ - . + and begins with a letter or digit, up to 64 of them", ""}
	}
	for _, r := range refused {
		if slices.Contains(r.names, name) {
			return &NameError{shown + " " + r.why, r.hint}
		}
	}
	return nil
}

// CheckShim is [CheckName] for a new shim, which a shell has to look for.
func CheckShim(name string) error {
	if slices.Contains(builtins, name) {
		return &NameError{name + " is built into shells, which then look for no program: a shim would never answer",
			"sbx alias gives an alias, which does at a prompt; sbx -- " + name + " runs the program"}
	}
	return CheckName(name)
}

// NameSigns may be in the name of a shim, besides letters and digits.
const NameSigns = "_-.+"

// Dir is the directory of a user's shims, absolute and cleaned; the one above it
// is sbx's own, too. Neither has to exist.
type Dir string

// Link is a shim.
type Link struct {
	Name   string
	Target string // what the link holds
	Broken bool   // nothing that can be executed is there
}

// Change is what [Dir.Add] did.
type Change string

const (
	Added   Change = "added"
	Kept    Change = "kept"    // it was there
	Renewed Change = "renewed" // it led to another place
)

// Check returns an error when others could put something in place of a
// shim, which the user's shells would run: whoever may write to a directory on
// the way there could. A directory that does not exist is fine where only the user can make it.
func (d Dir) Check() error {
	path := string(d)
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return fmt.Errorf("%s is not a plain absolute path", text.Plain(path))
	}
	for _, dir := range []string{filepath.Dir(path), path} {
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if why := unsafe(info); why != "" {
			return fmt.Errorf("%s %s: no place for what your shells run", text.Plain(dir), why)
		}
	}
	return checkWay(path)
}

// checkWay looks at each directory from / to a path, and of each link at those
// where it leads. The owner counts, and the right of others to write: in a
// sticky directory they can make names, but not replace those of the user or root.
func checkWay(path string) error {
	bad := func(at, why string) error {
		return fmt.Errorf("%s %s: no place for what your shells run (%s)", text.Plain(at), why, text.Plain(path))
	}
	root := uint32(0) // or who stands for it where a namespace has no number for root
	if st := new(syscall.Stat_t); syscall.Stat("/", st) == nil {
		root = st.Uid
	}
	at, rest, open := "/", strings.Split(path, "/"), false // open: others can make names in at
	for hops := 0; ; {
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			if open {
				return bad(at, "does not exist, and others can create it")
			}
			return nil
		}
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || st.Uid != 0 && st.Uid != root && int(st.Uid) != os.Geteuid() {
			return bad(at, "belongs neither to you nor to root")
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(at)
			if hops++; err != nil || hops > 40 {
				return bad(at, "is a link that leads nowhere")
			}
			rest = append(strings.Split(to, "/"), rest...)
			if at = filepath.Dir(at); filepath.IsAbs(to) {
				at = "/"
			}
			continue // where the link lies has been looked at, and is again
		case !info.IsDir():
			return bad(at, "is not a directory")
		case info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0:
			return bad(at, "is writable by others, chmod go-w helps")
		}
		open = info.Mode().Perm()&0o022 != 0
		for len(rest) > 0 && (rest[0] == "" || rest[0] == ".") {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return nil
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:] // ".." of what is no link
	}
}

func unsafe(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return "is a link"
	case !info.IsDir():
		return "is not a directory"
	case !ok || int(st.Uid) != os.Geteuid():
		return "does not belong to you"
	case info.Mode().Perm()&0o022 != 0:
		return "is writable by others"
	}
	return ""
}

// Add makes the shim of a name, a link to the target, all at once: a shell that
// looks meanwhile finds the old one or the new one.
func (d Dir) Add(name, target string) (Change, error) {
	if err := CheckShim(name); err != nil {
		return "", err
	}
	return d.link(name, target)
}

// AddShells makes links of all the names of shells: those that clients look for
// by themselves, and those that say whose they are.
func (d Dir) AddShells(target string) error {
	for _, name := range Dialects {
		for _, link := range []string{name, "sbx-" + name} {
			if _, err := d.link(link, target); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d Dir) link(name, target string) (Change, error) {
	if err := d.Check(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return "", err
	}
	if err := d.Check(); err != nil {
		return "", err
	}
	path, change := filepath.Join(string(d), name), Added
	switch old, err := os.Readlink(path); {
	case err == nil && old == target:
		return Kept, nil
	case err == nil:
		change = Renewed
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s is not a link, so it is not sbx's: move it away first", text.Plain(path))
	}
	next := filepath.Join(string(d), ".new-"+strconv.FormatUint(rand.Uint64(), 36))
	if err := os.Symlink(target, next); err != nil {
		return "", err
	}
	if err := os.Rename(next, path); err != nil {
		os.Remove(next)
		return "", err
	}
	return change, nil
}

// Remove takes a shim away; was is false when there is none.
func (d Dir) Remove(name string) (was bool, err error) {
	path := filepath.Join(string(d), name)
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist) || strings.IndexByte(name, '/') >= 0 || name == "":
		return false, nil
	case err != nil:
		return false, err
	case info.Mode()&fs.ModeSymlink == 0:
		return false, fmt.Errorf("%s is not a link, so it is not sbx's: it stays", text.Plain(path))
	}
	return true, os.Remove(path)
}

// List returns the shims in the order of their names. What is no link is not
// among them.
func (d Dir) List() ([]Link, error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []Link
	for _, e := range entries {
		path := filepath.Join(string(d), e.Name())
		if e.Type()&fs.ModeSymlink == 0 || CheckName(e.Name()) != nil {
			continue
		}
		target, err := os.Readlink(path)
		if err != nil {
			continue // gone meanwhile
		}
		info, err := os.Stat(path)
		out = append(out, Link{e.Name(), target, err != nil || info.IsDir() || info.Mode().Perm()&0o111 == 0})
	}
	return out, err
}

// Program returns the path by which links lead to sbx: the name under which a
// shell finds it, as long as that is this very program, since packages put a new
// version behind the same name. Self is where the program is now; path is PATH.
func Program(self, path string) string {
	own, err := os.Stat(self)
	if err != nil {
		return self
	}
	found := lookpath.First(path, "sbx", func(file string) bool {
		in, err := os.Stat(filepath.Dir(file))
		if err != nil || in.Mode().Perm()&0o002 != 0 {
			return false // anybody could put another program there
		}
		info, err := os.Stat(file)
		return err == nil && os.SameFile(info, own)
	})
	return cmp.Or(found, self)
}
