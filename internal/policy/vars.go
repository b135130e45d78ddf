// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Vars are the values of the names that paths may hold, and nothing else is
// ever expanded: no command, no other variable, no pattern outside the last
// element.
type Vars struct {
	CWD     string   // the working directory, canonical
	Root    string   // root of the git work tree or workspace that holds CWD, else CWD
	Around  string   // root of the outermost work tree around Root; "" for Root itself
	Project string   // Root where it may be writable as a whole; "" for CWD
	Dirs    []string // more directories of the project: what is hidden or protected in CWD is in these, too,
	Members []Member // and in these, as far as it exists
	Home    string
	Home2   string // a second home directory to hide and protect in: passwd's, when HOME says another
	TmpDir  string // "" when TMPDIR is unset: $TMPDIR is then /tmp
	Config  string // $XDG_CONFIG_HOME, "" for the default below Home
	Cache   string // $XDG_CACHE_HOME
	Data    string // $XDG_DATA_HOME
	State   string // $XDG_STATE_HOME
	Run     string // $XDG_RUNTIME_DIR; "" when unset: rules that name it are dropped
	Lent    []Lent // directories that variables of the tools' own name
	Also    *Vars  // what variables say that are not believed: only hides and protects; nil for none
}

// Member is a directory that the file of a workspace lists.
type Member struct {
	Dir   string
	Names []string // what is in it, in lower case and sorted; nil where that cannot be read
}

// Has reports whether there is something by a name, or one that matches.
func (m *Member) Has(name string) bool {
	if name = strings.ToLower(name); m.Names == nil || strings.ContainsAny(name, "*?") {
		return m.Names == nil || slices.ContainsFunc(m.Names, func(n string) bool { return Match(name, n) })
	}
	_, ok := slices.BinarySearch(m.Names, name)
	return ok
}

// variables are those that a path may hold, with their values.
var variables = [...]struct {
	name  string
	value func(*Vars) string
}{
	{"CWD", func(v *Vars) string { return v.CWD }},
	{"HOME", func(v *Vars) string { return v.Home }},
	{"PROJECT", (*Vars).project},
	{"ROOT", func(v *Vars) string { return v.Root }},
	{"TMPDIR", func(v *Vars) string { return cmp.Or(v.TmpDir, "/tmp") }},
	{"XDG_CACHE_HOME", func(v *Vars) string { return v.inHome(v.Cache, "/.cache") }},
	{"XDG_CONFIG_HOME", func(v *Vars) string { return v.inHome(v.Config, "/.config") }},
	{"XDG_DATA_HOME", func(v *Vars) string { return v.inHome(v.Data, "/.local/share") }},
	{"XDG_RUNTIME_DIR", func(v *Vars) string { return v.Run }},
	{"XDG_STATE_HOME", func(v *Vars) string { return v.inHome(v.State, "/.local/state") }},
}

// project is what a profile can make writable as a whole, from any directory of it.
func (v *Vars) project() string { return cmp.Or(v.Project, v.CWD) }

// inHome is a directory, by default one of the home directory.
func (v *Vars) inHome(dir, byDefault string) string {
	if dir != "" || v.Home == "" {
		return dir
	}
	return v.Home + byDefault
}

// lookup returns the value of a variable; ok is false for an unknown name.
func (v *Vars) lookup(name string) (value string, ok bool) {
	for i := range variables {
		if variables[i].name == name {
			return variables[i].value(v), true
		}
	}
	return "", false
}

// Own lists the directories in which sbx keeps what it remembers, at every
// place where one may be: with and without the XDG variables, in both home
// directories. Where variables say that are not believed, there is none.
func (v *Vars) Own() []string {
	return v.everywhere("$XDG_STATE_HOME/sbx", "$XDG_CACHE_HOME/sbx", "$XDG_RUNTIME_DIR/sbx")
}

// Links lists the directories that hold sbx's links to itself (shims, shells),
// at every place where one may be.
func (v *Vars) Links() []string { return v.everywhere("$XDG_DATA_HOME/sbx") }

// everywhere expands texts in this and in the other environments of the user.
func (v *Vars) everywhere(texts ...string) []string {
	var out []string
	own := *v
	own.Also = nil
	for _, o := range append(own.others(), own) {
		for _, text := range texts {
			if dir, ok, err := o.Expand(text); ok && err == nil {
				out = append(out, dir)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// others are the variables as they would be in other environments of the same
// user: with the XDG variables unset, and with the second home directory.
func (v *Vars) others() []Vars {
	var out []Vars
	if v.Config != "" || v.Cache != "" || v.Data != "" || v.State != "" {
		out = append(out, Vars{CWD: v.CWD, Root: v.Root, Home: v.Home})
	}
	if v.Home2 != "" {
		out = append(out, Vars{CWD: v.CWD, Root: v.Root, Home: v.Home2})
	}
	if v.Also != nil {
		also := *v.Also
		also.CWD, also.Root, also.Also = v.CWD, v.Root, nil
		out = append(append(out, also), also.others()...)
	}
	return out
}

// cache reports whether a path is or lies in a directory that programs keep
// for themselves: no project is there.
func (v *Vars) cache(at string) bool {
	for _, o := range append(v.others(), *v) {
		for _, name := range []string{"XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
			if dir, _ := o.lookup(name); dir != "" && Within(at, dir) {
				return true
			}
		}
	}
	return false
}

// patternError refuses patterns that would need a walk through directories, or
// that would open more than what was meant. A flag's path is never a pattern:
// the shell has expanded those already.
func patternError(shown, text string, access Access) error {
	dir, last := text[:strings.LastIndexByte(text, '/')+1], text[strings.LastIndexByte(text, '/')+1:]
	switch {
	case strings.ContainsAny(dir, "*?") || strings.IndexByte(last, '$') >= 0:
		return errors.New(strconv.Quote(shown) + ": only the last element of a path can be a pattern")
	case access == Read && text[0] == '/': // of the system's directories, see view.expandPattern
	case access != Block && access != Protect:
		return errors.New(strconv.Quote(shown) + ": patterns are for blocked_paths and protected_paths, " +
			"and in readonly_paths for what lies in a directory of the system, as /lib*")
	}
	return nil
}

// Expand returns the absolute, cleaned path that text names. ok is false when
// a variable in it has no value on this host.
func (v *Vars) Expand(text string) (expanded string, ok bool, err error) {
	switch {
	case text == "":
		return "", false, errors.New("an empty path")
	case strings.IndexByte(text, 0) >= 0:
		return "", false, errors.New(strconv.Quote(text) + ": a path cannot hold a NUL byte")
	case text == "~" || strings.HasPrefix(text, "~/"):
		text = "$HOME" + text[1:]
	case text[0] == '~':
		return "", false, errors.New(strconv.Quote(text) + ": only ~/ is expanded, not the home of another user")
	}
	if strings.Contains(text, "..") && slices.Contains(strings.Split(text, "/"), "..") {
		return "", false, errors.New(strconv.Quote(text) + `: ".." is not allowed in a configured path`)
	}
	full, ok, err := v.expand(text)
	if err != nil || !ok {
		return "", false, err
	}
	if full == "" || full[0] != '/' {
		return "", false, errors.New(strconv.Quote(text) + `: not absolute: start it with /, ~/ or $CWD/`)
	}
	return path.Clean(full), true, nil
}

// expand expands the variables in a text. ok is false, and the text empty, when one
// has no value.
func (v *Vars) expand(text string) (expanded string, ok bool, err error) {
	var b strings.Builder
	b.Grow(len(text) + len(v.Home))
	for i := 0; i < len(text); i++ {
		if text[i] != '$' {
			b.WriteByte(text[i])
			continue
		}
		if strings.HasPrefix(text[i:], "$$") {
			b.WriteByte('$')
			i++
			continue
		}
		name := varName(text[i+1:])
		value, known := v.lookup(name)
		if !known {
			return "", false, unknownVar(text, name)
		}
		if value == "" {
			return "", false, nil
		}
		b.WriteString(value)
		i += len(name)
	}
	return b.String(), true, nil
}

func unknownVar(text, name string) error {
	s := strconv.Quote(text) + ": $" + name + " is not expanded; known are"
	for _, known := range variables {
		s += " $" + known.name
	}
	return errors.New(s + " (write $$ for a dollar sign)")
}

func varName(s string) string {
	i := 0
	for i < len(s) && (s[i] == '_' || 'A' <= s[i] && s[i] <= 'Z' || 'a' <= s[i] && s[i] <= 'z' || i > 0 &&
		'0' <= s[i] && s[i] <= '9') {
		i++
	}
	return s[:i]
}
