// SPDX-License-Identifier: Apache-2.0

package view

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/text"
	"github.com/sbx-sandbox/sbx/internal/tripwire"
)

// Tools returns the directories that PATH and the variables of toolchains name
// in an environment, as far as they may be lent to a sandbox at all. Whether one
// of them is opened is for the profile, and for the view (see openToolDirs): a value
// may be anybody's, and a link may lead anywhere.
func Tools(h *host.Host, environ []string) []policy.Lent {
	var out []policy.Lent
	if h.CWD == "" {
		return nil
	}
	places, res := reservedPlaces(h), host.NewResolver(h.FS)
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if name == "PATH" {
			out = append(out, inPath(h, places, value)...)
			continue
		}
		marks := policy.ToolMarks(name)
		if marks == nil || len(value) > 4*host.MaxPath {
			continue
		}
		dirs := one(value)
		if name == "GOPATH" {
			dirs = list(value)
		}
		for _, dir := range dirs {
			if dir = strings.TrimRight(dir, "/"); usableToolDir(places, name, dir) && marked(res, dir, marks) {
				out = append(out, policy.Lent{Name: name, Dir: filepath.Clean(dir)})
			}
		}
	}
	return out
}

// marked reports whether a directory has one of the marks in it, and it is what
// it should be.
func marked(res *host.Resolver, dir string, marks []string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool {
		name := strings.TrimRight(mark, "/*")
		to, err := res.Resolve(filepath.Clean(dir + "/" + name))
		if err != nil || strings.HasSuffix(mark, "/") {
			return err == nil && to.Info.Kind == host.Dir
		}
		return to.Info.Kind == host.File && to.Info.Size > 0 && (mark == name || to.Info.Mode&0o111 != 0)
	})
}

// usableToolDir reports whether the value of a variable can name a toolchain: an
// absolute path that is none of the reserved places. Environments of Python may lie in
// ~/.cache, where poetry makes them.
func usableToolDir(places []reserved, variable, dir string) bool {
	if len(dir) < 2 || len(dir) > host.MaxPath || dir[0] != '/' || strings.Contains(dir+"/", "/../") ||
		strings.IndexByte(dir, 0) >= 0 {
		return false
	}
	dir = filepath.Clean(dir)
	takes := func(k reserved) bool {
		return policy.Within(k.dir, dir) || k.deep && policy.Within(dir, k.dir) &&
			!(k.cache && variable == "VIRTUAL_ENV")
	}
	return !slices.Contains(host.SharedDirs, dir) && !slices.ContainsFunc(systemPlaces[:], takes) &&
		!slices.ContainsFunc(places, takes)
}

// reserved is a directory that no variable opens.
type reserved struct {
	dir   string
	deep  bool // nor anything in it
	cache bool // of all programs
}

// systemPlaces are those that each machine has, besides what is everybody's.
var systemPlaces = [...]reserved{{dir: "/etc", deep: true}, {dir: "/boot", deep: true}, {dir: "/dev", deep: true},
	{dir: "/proc", deep: true}, {dir: "/sys", deep: true}, {dir: "/usr"}, {dir: "/nix"}, {dir: "/gnu/store"}}

// reservedPlaces are home directories; the project, which a read-only rule would
// take writing away from; the directories in which all programs keep something,
// and those of sbx's own. A command may have its own ~/.cache in place of the
// host's, or write the host's: nothing in there is a toolchain that can be believed.
func reservedPlaces(h *host.Host) []reserved {
	out := []reserved{{dir: h.CWD, deep: true}}
	add := func(k reserved) {
		if len(k.dir) > 1 && k.dir[0] == '/' {
			k.dir = filepath.Clean(k.dir)
			out = append(out, k)
		}
	}
	for _, home := range h.Homes {
		add(reserved{dir: home})
	}
	for _, d := range []struct {
		variable string
		reserved // below the home directory
	}{{"XDG_CACHE_HOME", reserved{"/.cache", true, true}}, {"XDG_STATE_HOME", reserved{"/.local/state", true, false}},
		{"XDG_DATA_HOME", reserved{dir: "/.local/share"}}, {"XDG_CONFIG_HOME", reserved{dir: "/.config"}}} {
		for _, home := range h.Homes {
			add(reserved{home + d.dir, d.deep, d.cache})
		}
		dir, _ := host.LookupEnv(h.Environ, d.variable)
		add(reserved{dir, d.deep, d.cache})
	}
	for _, dir := range slices.Concat(h.Own, h.Links, []string{h.Config}) {
		add(reserved{dir: dir, deep: true})
	}
	return out
}

// Bounds of what PATH may open.
const (
	maxPathDirs  = 64 // entries that are looked at
	maxPathFound = 12 // prefixes that are opened
)

// siblings of bin are what the programs in it need.
var siblings = []string{"lib", "lib64", "libexec", "share", "include", "pyvenv.cfg"}

// inPath returns the entries of a PATH that lie in the home directory and are
// called as directories of programs are. In a second home directory, the one of
// passwd when HOME says another, nothing is granted.
func inPath(h *host.Host, places []reserved, value string) []policy.Lent {
	if len(h.Homes) == 0 {
		return nil
	}
	var out []policy.Lent
	home := h.Homes[0]
	for i, entry := range strings.Split(value, ":") {
		entry = strings.TrimRight(entry, "/")
		if i == maxPathDirs {
			break
		}
		part := host.Base(entry)
		if part != "bin" && part != "sbin" && part != "shims" || !usableToolDir(places, "PATH", entry) {
			continue
		}
		entry = filepath.Clean(entry)
		if !policy.Within(entry, home) {
			continue
		}
		dir := policy.Dir(entry)
		switch {
		case !usableToolDir(places, "PATH", dir): // ~/sbin, ~/.local/bin
			out = append(out, policy.Lent{Name: "PATH", Dir: entry})
		case part != "bin" || host.Base(dir) == "libexec":
			out = append(out, policy.Lent{Name: "PATH", Dir: dir, Parts: []string{part}})
		default:
			out = append(out, policy.Lent{Name: "PATH", Dir: dir, Parts: append([]string{part}, siblings...)})
		}
	}
	return out
}

// openToolDirs settles the rules that come of variables, which so far are left out:
// each counts where the others show nothing, or the same, leads where it says,
// and is about nothing that is hidden.
func (v *View) openToolDirs(found []resolvedRule) {
	var paths []string
	lent := false
	for i := range found {
		p := &found[i]
		if p.rule.Lent == 0 {
			continue
		}
		err := v.validateToolDir(found, p)
		if err == nil && strings.HasSuffix(p.rule.Source, "$PATH") && !slices.Contains(paths, p.toolDir) {
			if len(paths) == maxPathFound {
				err = errors.New("more than " + strconv.Itoa(maxPathFound) + " directories of PATH")
			} else if !Shows(v.Access(p.to.Path)) {
				paths = append(paths, p.toolDir)
			}
		}
		if err != nil {
			v.refuse(p, err)
			continue
		}
		p.skip, lent = false, true
	}
	if lent {
		v.merge(found)
	}
}

// validateToolDir says why a place that a variable named is not opened.
func (v *View) validateToolDir(found []resolvedRule, p *resolvedRule) error {
	r, to := p.rule, p.to.Path
	variable := r.Source[strings.LastIndexByte(r.Source, '$')+1:]
	if p.to.Info.Kind != host.Dir && p.to.Info.Kind != host.File {
		return errors.New("there is no directory and no file")
	}
	dir, err := v.Res.Resolve(p.toolDir)
	if err != nil {
		return err
	}
	switch {
	case !v.isToolDir(variable, dir.Path) || !v.isToolDir(variable, to):
		return errors.New(text.Plain(to) + " is no place of a toolchain")
	case !policy.Within(to, dir.Path) || to == dir.Path && r.Path != p.toolDir:
		return errors.New(text.Plain(r.Path) + " leads out of " + text.Plain(dir.Path))
	}
	if err := v.foreign(to); err != nil {
		return err
	}
	if variable != "PATH" || slices.Contains(siblings, host.Base(r.Path)) {
		if err := v.sources(to); err != nil {
			return err
		}
	}
	for _, mark := range policy.ToolMarks(variable) {
		at, err := v.Res.Resolve(filepath.Clean(host.Join(dir.Path, strings.TrimRight(mark, "/*"))))
		if err == nil {
			err = v.sources(at.Path)
		}
		if err != nil {
			return err
		}
	}
	for i := range found {
		b := &found[i]
		if b.rule.Access == policy.Block && b.to.Info.Kind != host.Absent && policy.Within(to, b.to.Path) {
			return errors.New(text.Plain(b.to.Path) + " is hidden (" + b.rule.Source + ")")
		}
	}
	for _, l := range p.to.Links {
		if v.Access(policy.Dir(l.Path)) == policy.Write || v.Host.Shared(l) {
			return errors.New(text.Plain(l.Path) + " is a link in a directory that sandboxes may have written")
		}
	}
	switch m := v.nearest(to); {
	case m == nil || m.Access == policy.Unseen || m.Access == policy.Read:
	case m.Access != policy.Private:
		return errors.New("it exists already, to " + m.Access.String())
	case m.Rule.Layer != policy.Builtin || m.Path == to:
		return errors.New(text.Plain(m.Path) + " is private (" + m.Rule.Source + ")")
	}
	return nil
}

// isToolDir is the same for a canonical path: home directories may be links, and
// what is in them.
func (v *View) isToolDir(variable, path string) bool {
	if v.reserved == nil {
		v.reserved = reservedPlaces(v.Host)
		for _, k := range v.reserved {
			// One that cannot be reached is no less a place to keep off.
			if to, err := v.Res.Resolve(k.dir); err == nil && to.Path != k.dir {
				v.reserved = append(v.reserved, reserved{to.Path, k.deep, k.cache})
			}
		}
	}
	return usableToolDir(v.reserved, variable, path)
}

// foreign says why a canonical path is another user's: it, or a directory above,
// belongs to neither the caller nor root.
func (v *View) foreign(path string) error {
	for ; path != "/"; path = policy.Dir(path) {
		to, err := v.Res.Resolve(path)
		if err != nil {
			return err
		}
		if uid := to.Info.UID; uid != 0 && uid != v.Host.UID {
			return errors.New(text.Plain(path) + " belongs to another user")
		}
	}
	return nil
}

// sources says why a canonical path holds a user's sources rather than what
// was installed: it, or a directory above, is a work tree, or sandboxes ran in it
// and could write there what a toolchain is known by. The home directory and
// those of everybody say nothing about what is below.
func (v *View) sources(path string) error {
	if slices.Contains(host.SharedDirs, path) || slices.ContainsFunc(v.Host.Homes, func(home string) bool {
		to, err := v.Res.Resolve(home)
		return policy.Within(home, path) || err == nil && policy.Within(to.Path, path)
	}) {
		return nil
	}
	if err, ok := v.vetted[path]; ok {
		return err
	}
	err := v.sources(policy.Dir(path))
	switch {
	case err != nil:
	case slices.ContainsFunc([]string{".git", ".hg", ".svn", ".jj"},
		func(name string) bool { return exists(v.Res, host.Join(path, name)) }):
		err = errors.New(text.Plain(path) + " is a work tree")
	case v.ran(path):
		err = errors.New(text.Plain(path) + " is a directory that sandboxes ran in")
	}
	if v.vetted == nil {
		v.vetted = make(map[string]error, 8)
	}
	v.vetted[path] = err
	return err
}

// ran reports whether sbx remembers a run in a directory: it has a private cache,
// or a record of what was there before.
func (v *View) ran(dir string) bool {
	if v.stores == nil {
		v.stores = slices.DeleteFunc(slices.Clone(v.Host.Own), func(own string) bool { return !exists(v.Res, own) })
	}
	cache, record := CacheName(dir, v.Host.UID), "tripwire/"+tripwire.FileName(dir)
	return slices.ContainsFunc(v.stores, func(own string) bool {
		return exists(v.Res, host.Join(own, cache)) || exists(v.Res, host.Join(own, record))
	})
}

// CacheName is where the private cache of a project is in place of sbx's own.
func CacheName(root string, uid int) string {
	sum := sha256.Sum256([]byte(host.Join(root, "") + "\x00" + strconv.Itoa(uid)))
	return "projects/" + hex.EncodeToString(sum[:8])
}
