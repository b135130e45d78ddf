// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"path"
	"slices"
)

// Lent is a directory that a variable of the caller's names: CARGO_HOME,
// JAVA_HOME, one entry of GOPATH, the directory above one of PATH. Built-in
// profiles may open narrow parts of it, read-only. The value can be anybody's:
// a Makefile or the settings of a project may have set it. So a rule that
// comes of one (see [Rule.Lent]) only counts where no other decides, and
// whoever puts a policy into force holds it against what is hidden.
type Lent struct {
	Name  string   // of the variable
	Dir   string   // absolute and cleaned
	Parts []string // names in Dir: what the variable stands for; nil is Dir itself
}

// LentNames are the variables that built-in profiles may name, besides
// [Vars].
func LentNames() []string { return slices.Clone(lentNames) }

var lentNames = []string{
	"ASDF_DATA_DIR", "ASDF_DIR", "BUN_INSTALL", "CARGO_HOME", "COMPOSER_HOME", "CONDA_PREFIX", "DENO_INSTALL",
	"DOTNET_ROOT", "FNM_DIR", "FNM_MULTISHELL_PATH", "GEM_HOME", "GHCUP_INSTALL_BASE_PREFIX", "GOENV_ROOT", "GOPATH",
	"GOROOT", "GRADLE_HOME", "HOMEBREW_PREFIX", "JAVA_HOME", "JENV_ROOT", "M2_HOME", "MAVEN_HOME", "MISE_DATA_DIR",
	"NODENV_ROOT", "NVM_DIR", "PATH", "PIPX_HOME", "PNPM_HOME", "PYENV_ROOT", "RBENV_ROOT", "RUSTUP_HOME",
	"SDKMAN_DIR", "VIRTUAL_ENV", "VOLTA_HOME",
}

// Lends reports whether a path starts with a variable of the tools' own. Only
// built-in profiles may have such paths.
func Lends(text string) bool {
	if text == "" || text[0] != '$' {
		return false
	}
	_, found := slices.BinarySearch(lentNames, varName(text[1:]))
	return found
}

// addLent adds the rules of variables, less those that cannot count: where the
// others show or hide something already, or a person wrote what becomes of the
// place.
func (pol *Policy) addLent(p *Profile, vars Vars) {
	if len(vars.Lent) == 0 || len(p.Lent) == 0 {
		return
	}
	var rules []Rule
	for i, l := range vars.Lent[:min(len(vars.Lent), maxLent)] {
		for _, it := range p.Lent {
			name := varName(it.Text[1:])
			if name != l.Name {
				continue
			}
			rest := it.Text[1+len(name):]
			r := Rule{Access: Read, Layer: Builtin, Source: it.Source + ", $" + name, Lent: uint16(i + 1)}
			for _, part := range l.parts() {
				if r.Path = path.Clean(l.Dir + part + rest); pol.free(r.Path) {
					rules = append(rules, r)
				}
			}
		}
	}
	if len(rules) == 0 {
		return
	}
	for _, l := range vars.Lent {
		pol.Lent = append(pol.Lent, l.Dir)
	}
	pol.Add(rules...)
}

// maxLent bounds what variables can add.
const maxLent = 256

func (l *Lent) parts() []string {
	if l.Parts == nil {
		return []string{""}
	}
	out := make([]string, len(l.Parts))
	for i, part := range l.Parts {
		out[i] = "/" + part
	}
	return out
}

// free reports whether a path is one that no rule shows or hides, and of which
// no one has written that it is private.
func (pol *Policy) free(path string) bool {
	r, ok := pol.Decide(path)
	return !ok || r.Access == Private && r.Layer == Builtin && r.Path != path
}
