package wrap

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-sandbox/sbx/policy"
)

// Tools returns the directories that PATH and the variables of toolchains name
// in an environment, as far as they may be lent to a sandbox at all. Whether one
// of them is opened is for the profile, and for the view (see lend): a value
// may be anybody's, and a link may lead anywhere.
func Tools(h *Host, environ []string) []policy.Lent {
	var out []policy.Lent
	if h.CWD == "" {
		return nil
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if name == "PATH" {
			out = append(out, h.inPath(value)...)
			continue
		}
		marks := toolMarks(name)
		if marks == nil || len(value) > 4*maxPath {
			continue
		}
		dirs := one(value)
		if name == "GOPATH" {
			dirs = list(value)
		}
		for _, dir := range dirs {
			if dir = strings.TrimRight(dir, "/"); h.lendable(dir) && h.marked(dir, marks) {
				out = append(out, policy.Lent{Name: name, Dir: policy.Clean(dir)})
			}
		}
	}
	return out
}

// toolMarks says for a variable that names the directory of a toolchain what is
// in every such directory, one of it at least: no other directory can be opened
// by giving its name. It is nil for all other variables.
func toolMarks(name string) []string {
	switch name {
	case "ASDF_DATA_DIR", "MISE_DATA_DIR":
		return []string{"installs"}
	case "ASDF_DIR":
		return []string{"asdf.sh"}
	case "BUN_INSTALL":
		return []string{"bin/bun"}
	case "CARGO_HOME":
		return []string{"registry/index", "registry/cache", "bin/cargo"}
	case "COMPOSER_HOME":
		return []string{"vendor/composer"}
	case "CONDA_PREFIX":
		return []string{"conda-meta"}
	case "DENO_INSTALL":
		return []string{"bin/deno"}
	case "DOTNET_ROOT":
		return []string{"host/fxr"}
	case "FNM_DIR":
		return []string{"node-versions"}
	case "FNM_MULTISHELL_PATH":
		return []string{"bin/node"}
	case "GEM_HOME":
		return []string{"specifications"}
	case "GHCUP_INSTALL_BASE_PREFIX":
		return []string{".ghcup/bin"}
	case "GOENV_ROOT":
		return []string{"shims", "libexec/goenv"}
	case "GOMODCACHE":
		return []string{"cache/download"}
	case "GOPATH":
		return []string{"pkg/mod", "pkg/sumdb"}
	case "GOROOT":
		return []string{"bin/go"}
	case "GRADLE_HOME":
		return []string{"bin/gradle"}
	case "HOMEBREW_PREFIX":
		return []string{"bin/brew"}
	case "JAVA_HOME":
		return []string{"bin/java"}
	case "JENV_ROOT":
		return []string{"shims", "libexec/jenv"}
	case "M2_HOME", "MAVEN_HOME":
		return []string{"bin/mvn"}
	case "NODENV_ROOT":
		return []string{"shims", "libexec/nodenv"}
	case "NVM_DIR":
		return []string{"nvm.sh", "versions/node"}
	case "PIPX_HOME":
		return []string{"venvs"}
	case "PNPM_HOME":
		return []string{"pnpx", "global/5"}
	case "PYENV_ROOT":
		return []string{"shims", "libexec/pyenv"}
	case "RBENV_ROOT":
		return []string{"shims", "libexec/rbenv"}
	case "RUSTUP_HOME":
		return []string{"toolchains"}
	case "SDKMAN_DIR":
		return []string{"bin/sdkman-init.sh"}
	case "VIRTUAL_ENV":
		return []string{"pyvenv.cfg"}
	case "VOLTA_HOME":
		return []string{"tools/image"}
	}
	return nil
}

// marked reports whether a directory has one of the names in it.
func (h *Host) marked(dir string, marks []string) bool {
	return slices.Contains(h.FS.Exist(dir, marks), true)
}

// lendable reports whether a value can name a toolchain: an absolute path that
// is no home directory, holds none, is not everybody's or the system's, and has
// nothing to do with the project, which a read-only rule would take writing
// away from.
func (h *Host) lendable(dir string) bool {
	if len(dir) < 2 || len(dir) > maxPath || dir[0] != '/' || strings.Contains(dir+"/", "/../") || strings.IndexByte(dir, 0) >= 0 {
		return false
	}
	dir = policy.Clean(dir)
	if slices.Contains(sharedDirs, dir) || policy.Within(h.CWD, dir) || policy.Within(dir, h.CWD) {
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
	return dir != "/usr" && dir != "/nix" && dir != "/gnu" && dir != "/gnu/store"
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
func (h *Host) inPath(value string) []policy.Lent {
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
		part := base(entry)
		if part != "bin" && part != "sbin" && part != "shims" || !h.lendable(entry) {
			continue
		}
		entry = policy.Clean(entry)
		if !policy.Within(entry, home) || h.written(entry, home) {
			continue
		}
		dir := policy.Dir(entry)
		switch {
		case !h.lendable(dir): // ~/sbin
			out = append(out, policy.Lent{Name: "PATH", Dir: entry})
		case part != "bin" || dir == join(home, ".local") || base(dir) == "libexec":
			out = append(out, policy.Lent{Name: "PATH", Dir: dir, Parts: []string{part}})
		default:
			out = append(out, policy.Lent{Name: "PATH", Dir: dir, Parts: append([]string{part}, siblings...)})
		}
	}
	return out
}

// written reports whether some built-in profile lets commands write a path.
func (h *Host) written(path, home string) bool {
	cache, _ := lookupEnv(h.Environ, "XDG_CACHE_HOME")
	for _, dir := range []string{join(home, ".cache"), join(home, ".local/state"), cache} {
		if dir != "" && policy.Within(path, dir) {
			return true
		}
	}
	return false
}

// lend settles the rules that come of variables, which so far are left out:
// each counts where the others show nothing, or the same, leads where it says,
// and is about nothing that is hidden.
func (v *view) lend(found []place) {
	var paths []string
	lent := false
	for i := range found {
		p := &found[i]
		if p.rule.Lent == 0 {
			continue
		}
		err := v.vetLent(found, p)
		if err == nil && strings.HasSuffix(p.rule.Source, "$PATH") && !slices.Contains(paths, p.lent) {
			if len(paths) == maxPathFound {
				err = errors.New("more than " + strconv.Itoa(maxPathFound) + " directories of PATH")
			} else if !shows(v.access(p.to.Path)) {
				paths = append(paths, p.lent)
			}
		}
		if err != nil {
			if v.refused == nil {
				v.refused = make(map[string]string, 4)
			}
			v.refused[p.name] = "not opened: " + err.Error()
			continue
		}
		p.skip, lent = false, true
	}
	if lent {
		v.settle(found)
	}
}

// vetLent says why a place that a variable named is not opened.
func (v *view) vetLent(found []place, p *place) error {
	r, to := p.rule, p.to.Path
	if p.to.Info.Kind != Dir && p.to.Info.Kind != File {
		return errors.New("there is no directory and no file")
	}
	dir, err := v.res.resolve(p.lent)
	if err != nil {
		return err
	}
	switch {
	case !v.lendable(dir.Path) || !v.lendable(to):
		return errors.New(policy.Plain(to) + " is no place of a toolchain")
	case !policy.Within(to, dir.Path) || to == dir.Path && r.Path != p.lent:
		return errors.New(policy.Plain(r.Path) + " leads out of " + policy.Plain(dir.Path))
	case beside(r) && v.worktree(dir.Path):
		return errors.New(policy.Plain(dir.Path) + " is a work tree")
	}
	for i := range found {
		b := &found[i]
		if b.rule.Access == policy.Block && b.to.Info.Kind != Absent && policy.Within(to, b.to.Path) {
			return errors.New(policy.Plain(b.to.Path) + " is hidden (" + b.rule.Source + ")")
		}
	}
	for _, l := range p.to.Links {
		if v.access(policy.Dir(l.Path)) == policy.Write || v.host.shared(l) {
			return errors.New(policy.Plain(l.Path) + " is a link in a directory that sandboxes may have written")
		}
	}
	switch i, ok := v.over(to); {
	case !ok || v.mounts[i].eff == policy.Unseen || v.mounts[i].eff == policy.Read:
	case v.mounts[i].eff != policy.Private:
		return errors.New("it is there already, to " + v.mounts[i].eff.String())
	case v.mounts[i].rule.Layer != policy.Builtin || v.mounts[i].path == to:
		return errors.New(policy.Plain(v.mounts[i].path) + " is private (" + v.mounts[i].rule.Source + ")")
	}
	return nil
}

// lendable is the same for a canonical path: home directories may be links.
func (v *view) lendable(path string) bool {
	return v.host.lendable(path) && !slices.ContainsFunc(v.host.Homes, func(home string) bool {
		to, err := v.res.resolve(home)
		return err != nil || policy.Within(to.Path, path)
	})
}

// beside reports whether a rule is about what lies beside a directory of
// PATH.
func beside(r *policy.Rule) bool {
	return strings.HasSuffix(r.Source, "$PATH") && slices.Contains(siblings, base(r.Path))
}

// worktree reports whether a directory holds somebody's sources rather than
// what was installed.
func (v *view) worktree(dir string) bool {
	return slices.Contains(v.host.FS.Exist(dir, []string{".git", ".hg", ".svn"}), true)
}
