// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
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
// [Vars], sorted.
func LentNames() []string {
	names := make([]string, len(toolMarks))
	for i := range toolMarks {
		names[i] = toolMarks[i].name
	}
	return names
}

// toolMarks says for each variable that names the directory of a toolchain, sorted,
// what is in every such directory, one of it at least: no other directory can be
// opened by giving its name. They are written as ls -F has them: "/" ends
// directories, "*" programs. PATH has none.
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
	{"PATH", nil},
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

// Lends reports whether a path starts with a variable of the tools' own. Only
// built-in profiles may have such paths.
func Lends(text string) bool {
	return text != "" && text[0] == '$' && slices.Contains(LentNames(), varName(text[1:]))
}

// addLent adds the rules of variables, less those that cannot count: where the
// others show or hide something already, or a person wrote what becomes of the
// place.
func (pol *Policy) addLent(p *layers, vars Vars) {
	if len(vars.Lent) == 0 || p.blocks {
		return
	}
	var rules []Rule
	for i := range p.parts {
		part := &p.parts[i]
		if part.replaced[Read] {
			continue
		}
		for _, it := range part.Lent {
			rules = pol.lend(rules, cmp.Or(it.Source, part.source("")), it.Text, vars.Lent)
		}
	}
	if len(rules) == 0 {
		return
	}
	for _, l := range vars.Lent {
		pol.Lent = append(pol.Lent, l.Dir)
	}
	pol.insert(rules...)
}

// lend adds the rules of one path that starts with a variable.
func (pol *Policy) lend(rules []Rule, source, text string, lent []Lent) []Rule {
	name := varName(text[1:])
	for i := range lent[:min(len(lent), maxLent)] {
		l := &lent[i]
		if l.Name != name {
			continue
		}
		for _, part := range l.parts() {
			if path := path.Clean(l.Dir + part + text[1+len(name):]); pol.free(path) {
				rules = append(rules, Rule{Path: path, Access: Read, Layer: Builtin, Source: source + ", $" + name,
					Lent: uint16(i + 1)})
			}
		}
	}
	return rules
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
