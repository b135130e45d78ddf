// SPDX-License-Identifier: Apache-2.0

package shims

import (
	"errors"
	"slices"
	"strings"
)

// Choice is what a real shell is chosen by.
type Choice struct {
	Asked     string            // SBX_SHELL, "" when unset
	Shell     string            // of the configuration, absolute; "" for none
	Shells    map[string]string // of the configuration: dialect to absolute path
	Passwd    string            // login shell in the user database, "" for none
	Terminal  bool              // standard input and standard error are terminals
	Runs      func(path string) bool
	Ourselves func(path string) bool // the file is sbx, by whatever name
}

// ErrOurselves says that the shell that was asked for is sbx itself.
var ErrOurselves = errors.New("it is sbx itself")

// NotFoundError says that there is no shell of a name.
type NotFoundError struct{ Name string }

func (e *NotFoundError) Error() string { return e.Name + ": there is no such shell on this machine" }

// NotShellError says that a setting names what cannot be a shell.
type NotShellError struct {
	Setting, Path string
	Err           error
}

func (e *NotShellError) Error() string { return e.Setting + " is " + e.Path + ": " + e.Err.Error() }
func (e *NotShellError) Unwrap() error { return e.Err }

// dirs are where shells are looked for. PATH is not asked: it holds the names
// of sbx, and is the caller's.
var dirs = []string{"/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/", "/run/current-system/sw/bin/"}

// Real is the absolute path of the shell that does the work of a name. A dialect
// that was asked for is never replaced by another.
func Real(n Name, c Call, o Choice) (string, error) {
	if n.Text != "" {
		if path := o.Shells[n.Text]; path != "" {
			return o.usable("shells."+n.Text, path)
		}
		return o.find(n.Text)
	}
	if o.Asked != "" {
		return o.usable("SBX_SHELL", o.Asked)
	}
	if o.Shell != "" {
		return o.usable("shell", o.Shell)
	}
	// make and npm pass text in the language of sh, whatever the user's own
	// shell is.
	person := c.Mode == Stdin && (n.Login || c.Login || c.Interactive || o.Terminal)
	if person && strings.HasPrefix(o.Passwd, "/") && o.Runs(o.Passwd) && !o.Ourselves(o.Passwd) {
		return o.Passwd, nil
	}
	return o.find("sh")
}

func (o *Choice) usable(setting, path string) (string, error) {
	switch {
	case !strings.HasPrefix(path, "/"):
		return "", &NotShellError{setting, path, errors.New("want an absolute path")}
	case o.Ourselves(path):
		return "", &NotShellError{setting, path, ErrOurselves}
	case !o.Runs(path):
		return "", &NotShellError{setting, path, errors.New("there is no such program")}
	}
	return path, nil
}

func (o *Choice) find(name string) (string, error) {
	i := slices.IndexFunc(dirs, func(dir string) bool { return o.Runs(dir+name) && !o.Ourselves(dir+name) })
	if i < 0 {
		return "", &NotFoundError{name}
	}
	return dirs[i] + name, nil
}
