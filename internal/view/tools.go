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
// of them is opened is for the profile, and for the view (see lend): a value
// may be anybody's, and a link may lead anywhere.
func Tools(h *host.Host, environ []string) []policy.Lent {
	var out []policy.Lent
	if h.CWD == "" {
		return nil
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if name == "PATH" {
			out = append(out, inPath(h, value)...)
			continue
		}
		marks := ToolMarks(name)
		if marks == nil || len(value) > 4*host.MaxPath {
			continue
		}
		dirs := one(value)
		if name == "GOPATH" {
			dirs = list(value)
		}
		for _, dir := range dirs {
			if dir = strings.TrimRight(dir, "/"); usableToolDir(h, dir) && marked(h, dir, marks) {
				out = append(out, policy.Lent{Name: name, Dir: filepath.Clean(dir)})
			}
		}
	}
	return out
}

// toolMarks says for each variable that names the directory of a toolchain, sorted,
// what is in every such directory, one of it at least: no other directory can be
// opened by giving its name. They are written as ls -F has them: "/" ends
// directories, "*" programs.
var toolMarks = [...]struct {
	name  string
	marks []string
}{
	{"ASDF_DATA_DIR", []string{"installs/"}},
	{"ASDF_DIR", []string{"asdf.sh"}},
	{"BUN_INSTALL", []string{"bin/bun*"}},
	{"CARGO_HOME", []string{"registry/index/", "registry/cache/", "bin/cargo*"}},
	{"COMPOSER_HOME", []string{"vendor/composer/"}},
	{"CONDA_PREFIX", []string{"conda-meta/"}},
	{"DENO_INSTALL", []string{"bin/deno*"}},
	{"DOTNET_ROOT", []string{"host/fxr/"}},
	{"FNM_DIR", []string{"node-versions/"}},
	{"FNM_MULTISHELL_PATH", []string{"bin/node*"}},
	{"GEM_HOME", []string{"specifications/"}},
	{"GHCUP_INSTALL_BASE_PREFIX", []string{".ghcup/bin/"}},
	{"GOENV_ROOT", []string{"shims/", "libexec/goenv*"}},
	{"GOPATH", []string{"pkg/mod/", "pkg/sumdb/"}},
	{"GOROOT", []string{"bin/go*"}},
	{"GRADLE_HOME", []string{"bin/gradle*"}},
	{"HOMEBREW_PREFIX", []string{"bin/brew*"}},
	{"JAVA_HOME", []string{"bin/java*"}},
	{"JENV_ROOT", []string{"shims/", "libexec/jenv*"}},
	{"M2_HOME", []string{"bin/mvn*"}},
	{"MAVEN_HOME", []string{"bin/mvn*"}},
	{"MISE_DATA_DIR", []string{"installs/"}},
	{"NODENV_ROOT", []string{"shims/", "libexec/nodenv*"}},
	{"NVM_DIR", []string{"nvm.sh", "versions/node/"}},
	{"PIPX_HOME", []string{"venvs/"}},
	{"PNPM_HOME", []string{"pnpx*", "global/5/"}},
	{"PYENV_ROOT", []string{"shims/", "libexec/pyenv*"}},
	{"RBENV_ROOT", []string{"shims/", "libexec/rbenv*"}},
	{"RUSTUP_HOME", []string{"toolchains/"}},
	{"SDKMAN_DIR", []string{"bin/sdkman-init.sh"}},
	{"VIRTUAL_ENV", []string{"pyvenv.cfg"}},
	{"VOLTA_HOME", []string{"tools/image/"}},
}

// ToolMarks are the marks of the directory that a variable names, nil for one that
// names no toolchain.
func ToolMarks(name string) []string {
	for i := range toolMarks {
		if toolMarks[i].name == name {
			return toolMarks[i].marks
		}
	}
	return nil
}

// marked reports whether a directory has one of the marks in it, and it is what
// it should be.
func marked(h *host.Host, dir string, marks []string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool {
		name := strings.TrimRight(mark, "/*")
		info, err := h.FS.Lstat(dir + "/" + name)
		if err == nil && info.Kind == host.Link {
			var to host.Resolved
			to, err = host.NewResolver(h.FS).Resolve(filepath.Clean(dir + "/" + name))
			info = to.Info
		}
		switch {
		case err != nil:
			return false
		case strings.HasSuffix(mark, "/"):
			return info.Kind == host.Dir
		}
		return info.Kind == host.File && info.Size > 0 && (mark == name || info.Mode&0o111 != 0)
	})
}

// usableToolDir reports whether a value can name a toolchain: an absolute path that
// is no home directory, holds none, is not everybody's or the system's, is no
// place of many programs' data (see kept), and has nothing to do with the
// project, which a read-only rule would take writing away from.
func usableToolDir(h *host.Host, dir string) bool {
	if len(dir) < 2 || len(dir) > host.MaxPath || dir[0] != '/' || strings.Contains(dir+"/", "/../") ||
		strings.IndexByte(dir, 0) >= 0 {
		return false
	}
	dir = filepath.Clean(dir)
	if slices.Contains(host.SharedDirs, dir) || policy.Within(h.CWD, dir) || policy.Within(dir, h.CWD) {
		return false
	}
	for _, home := range h.Homes {
		if policy.Within(home, dir) {
			return false
		}
	}
	for _, tree := range []string{"/etc", "/boot", "/dev", "/proc", "/sys"} {
		if policy.Within(dir, tree) {
			return false
		}
	}
	for _, k := range reservedPaths(h) {
		if k.takes(dir) {
			return false
		}
	}
	return dir != "/usr" && dir != "/nix" && dir != "/gnu" && dir != "/gnu/store"
}

// reserved is a directory that no variable opens.
type reserved struct {
	dir  string
	deep bool // nor anything in it
}

func (k reserved) takes(path string) bool {
	return policy.Within(k.dir, path) || k.deep && policy.Within(path, k.dir)
}

// reservedPaths are the directories in which all programs keep something, and those of
// sbx's own. A command may have its own ~/.cache in place of the host's, or
// write the host's: nothing in there is a toolchain that can be believed.
func reservedPaths(h *host.Host) []reserved {
	var out []reserved
	add := func(dir string, deep bool) {
		if len(dir) > 1 && dir[0] == '/' {
			out = append(out, reserved{filepath.Clean(dir), deep})
		}
	}
	for _, home := range h.Homes {
		add(home+"/.cache", true)
		add(home+"/.local/state", true)
		add(home+"/.local/share", false)
		add(home+"/.config", false)
	}
	for _, kv := range h.Environ {
		if !strings.HasPrefix(kv, "XDG_") {
			continue
		}
		switch name, dir, _ := strings.Cut(kv, "="); name {
		case "XDG_CACHE_HOME", "XDG_STATE_HOME":
			add(dir, true)
		case "XDG_DATA_HOME", "XDG_CONFIG_HOME":
			add(dir, false)
		}
	}
	for _, dir := range slices.Concat(h.Own, h.Links, []string{h.Config}) {
		add(dir, true)
	}
	return out
}

// Bounds of what PATH may open.
const (
	MaxPathDirs  = 64 // entries that are looked at
	MaxPathFound = 12 // prefixes that are opened
)

// Siblings of bin are what the programs in it need.
var Siblings = []string{"lib", "lib64", "libexec", "share", "include", "pyvenv.cfg"}

// inPath returns the entries of a PATH that lie in the home directory and are
// called as directories of programs are. In a second home directory, the one of
// passwd when HOME says another, nothing is granted.
func inPath(h *host.Host, value string) []policy.Lent {
	if len(h.Homes) == 0 {
		return nil
	}
	var out []policy.Lent
	home := h.Homes[0]
	for i, entry := range strings.Split(value, ":") {
		entry = strings.TrimRight(entry, "/")
		if i == MaxPathDirs {
			break
		}
		part := host.Base(entry)
		if part != "bin" && part != "sbin" && part != "shims" || !usableToolDir(h, entry) {
			continue
		}
		entry = filepath.Clean(entry)
		if !policy.Within(entry, home) {
			continue
		}
		dir := policy.Dir(entry)
		switch {
		case !usableToolDir(h, dir): // ~/sbin, ~/.local/bin
			out = append(out, policy.Lent{Name: "PATH", Dir: entry})
		case part != "bin" || host.Base(dir) == "libexec":
			out = append(out, policy.Lent{Name: "PATH", Dir: dir, Parts: []string{part}})
		default:
			out = append(out, policy.Lent{Name: "PATH", Dir: dir, Parts: append([]string{part}, Siblings...)})
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
			if len(paths) == MaxPathFound {
				err = errors.New("more than " + strconv.Itoa(MaxPathFound) + " directories of PATH")
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
	if p.to.Info.Kind != host.Dir && p.to.Info.Kind != host.File {
		return errors.New("there is no directory and no file")
	}
	dir, err := v.Res.Resolve(p.toolDir)
	if err != nil {
		return err
	}
	switch {
	case !v.isToolDir(dir.Path) || !v.isToolDir(to):
		return errors.New(text.Plain(to) + " is no place of a toolchain")
	case !policy.Within(to, dir.Path) || to == dir.Path && r.Path != p.toolDir:
		return errors.New(text.Plain(r.Path) + " leads out of " + text.Plain(dir.Path))
	}
	if err := v.foreign(to); err != nil {
		return err
	}
	if !strings.HasSuffix(r.Source, "$PATH") || beside(r) {
		if err := v.sources(to); err != nil {
			return err
		}
	}
	for _, mark := range ToolMarks(r.Source[strings.LastIndexByte(r.Source, '$')+1:]) {
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
func (v *View) isToolDir(path string) bool {
	if v.reserved == nil {
		v.reserved = reservedPaths(v.Host)
		for _, home := range v.Host.Homes {
			v.reserved = append(v.reserved, reserved{dir: home})
		}
		// One that cannot be reached is no less a place to keep off.
		for i := range v.reserved {
			if to, err := v.Res.Resolve(v.reserved[i].dir); err == nil {
				v.reserved[i].dir = to.Path
			}
		}
		for _, k := range v.reserved[len(v.reserved)-len(v.Host.Homes):] {
			v.homes = append(v.homes, k.dir)
		}
	}
	return usableToolDir(v.Host, path) && !slices.ContainsFunc(v.reserved,
		func(k reserved) bool { return k.takes(path) })
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
	if slices.Contains(host.SharedDirs, path) || slices.ContainsFunc(v.homes,
		func(home string) bool { return policy.Within(home, path) }) {
		return nil
	}
	if err, ok := v.vetted[path]; ok {
		return err
	}
	err := v.sources(policy.Dir(path))
	switch {
	case err != nil:
	case slices.ContainsFunc([]string{".git", ".hg", ".svn", ".jj"},
		func(name string) bool { return exists(v.Host.FS, host.Join(path, name)) }):
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
		v.stores = make([]string, 0, 2*len(v.Host.Own))
		for _, own := range v.Host.Own {
			for _, name := range []string{"projects", "tripwire"} {
				if exists(v.Host.FS, host.Join(own, name)) {
					v.stores = append(v.stores, host.Join(own, name))
				}
			}
		}
	}
	cache, record := host.Base(CacheName(dir, v.Host.UID)), tripwire.FileName(dir)
	return slices.ContainsFunc(v.stores, func(store string) bool {
		name := cache
		if host.Base(store) == "tripwire" {
			name = record
		}
		return exists(v.Host.FS, host.Join(store, name))
	})
}

// beside reports whether a rule is about what lies beside a directory of
// PATH.
func beside(r *policy.Rule) bool {
	return strings.HasSuffix(r.Source, "$PATH") && slices.Contains(Siblings, host.Base(r.Path))
}

// Digest is the SHA-256 of data, in hexadecimal.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// CacheName is where the private cache of a project is in place of sbx's own.
func CacheName(root string, uid int) string {
	return "projects/" + Digest([]byte(host.Join(root, "") + "\x00" + strconv.Itoa(uid)))[:16]
}
