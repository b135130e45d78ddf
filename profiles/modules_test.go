// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/policy"
)

// modules are those of them that are modules.
func modules() []string {
	return slices.DeleteFunc(Builtin().Names(), func(name string) bool { return !Builtin().Module(name) })
}

// A module adds paths to read and names of variables to a profile, and nothing
// else: put on top of any profile, strict included, it leaves the rest as it is.
func TestModulesOnlyOpen(t *testing.T) {
	for _, goos := range systems {
		t.Run(goos, func(t *testing.T) { modulesOnlyOpen(t, goos) })
	}
}

func modulesOnlyOpen(t *testing.T, goos string) {
	if names := modules(); len(names) < 17 || slices.Contains(names, "moderate") || Builtin().Module("nosuch") {
		t.Fatal(names)
	}
	for _, name := range modules() {
		p := For(goos)[name][0]
		if !For(goos).Module(name) || len(p.Scalars()) > 0 || len(p.EnvSet) > 0 {
			t.Errorf("%s: %+v", name, p.Scalars())
		}
		for _, key := range policy.ListKeys() {
			if l := p.List(key); l.Replace || len(l.Items) > 0 && key != "readonly_paths" && key != "env_pass" {
				t.Errorf("%s has %s", name, key)
			}
		}
		for _, parent := range p.Extends {
			if !Builtin().Module(parent) {
				t.Errorf("%s extends %s, which is no module", name, parent)
			}
		}
		strict, both := resolveOn(t, goos, stands["project"], "strict"),
			resolveOn(t, goos, stands["project"], "strict", name)
		for _, c := range policy.WiderOnly(policy.Diff(strict, both)) {
			if c.Key != "env_pass" && (c.Key != "readonly_paths" || c.To != "read") {
				t.Errorf("strict with %s: %+v", name, c)
			}
		}
	}
}

// moderate has every module, once, and strict has none.
func TestWhoExtendsModules(t *testing.T) {
	for _, goos := range systems {
		t.Run(goos, func(t *testing.T) { whoExtendsModules(t, goos) })
	}
}

func whoExtendsModules(t *testing.T, goos string) {
	flat, err := For(goos).Flatten("moderate")
	if err != nil {
		t.Fatal(err)
	}
	seen, sources := map[string]bool{}, map[string]bool{}
	for _, it := range flat.Read.Items {
		if seen[it.Text] {
			t.Errorf("%s stands in moderate twice", it.Text)
		}
		seen[it.Text], sources[it.Source] = true, true
	}
	for _, name := range modules() {
		if agent := strings.HasSuffix(name, "-agent"); agent && slices.Contains(Builtin()["moderate"][0].Extends, name) {
			t.Errorf("moderate has %s", name)
		} else if !agent && !sources[name] {
			t.Errorf("moderate has not %s", name)
		}
	}
	flat, err = For(goos).Flatten("strict")
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range flat.Read.Items {
		if Builtin().Module(strings.TrimSuffix(it.Source, " on macOS")) {
			t.Errorf("strict has %s of %s", it.Text, it.Source)
		}
	}
	if len(flat.Lent) > 0 {
		t.Errorf("strict has %v", flat.Lent)
	}
}

// What a module lets through by name is nothing that secrets drops by pattern.
func TestModulesPassNoSecrets(t *testing.T) {
	for _, goos := range systems {
		t.Run(goos, func(t *testing.T) { modulesPassNoSecrets(t, goos) })
	}
}

func modulesPassNoSecrets(t *testing.T, goos string) {
	for _, name := range modules() {
		if strings.HasSuffix(name, "-agent") {
			continue // that is what they are for, and why no profile includes them
		}
		for _, it := range For(goos)[name][0].EnvPass.Items {
			if v := resolveOn(t, goos, stands["project"], "secrets").Env(it.Text); strings.Contains(v.Source,
				"drops") || strings.Contains(it.Text, "*") {
				t.Errorf("%s passes %s: %s", name, it.Text, v.Source)
			}
		}
	}
}

// Variables of the tools' own are named in modules only, to be read only, and
// stand for narrow parts of a directory; PATH's are narrowed where they are read.
func TestLentPaths(t *testing.T) {
	for _, goos := range systems {
		t.Run(goos, func(t *testing.T) { lentPaths(t, goos) })
	}
}

func lentPaths(t *testing.T, goos string) {
	used, whole := map[string]bool{}, []string{"PATH"}
	for name, stack := range For(goos) {
		for _, key := range policy.ListKeys() {
			for _, it := range stack[0].List(key).Items {
				if policy.Lends(strings.TrimPrefix(it.Text, "!")) {
					t.Errorf("%s: %s: %s", name, key, it.Text)
				}
			}
		}
		for _, it := range stack[0].Lent {
			v, rest, _ := strings.Cut(it.Text[1:], "/")
			used[v] = true
			if !Builtin().Module(name) && !Builtin().Module(it.Source) || strings.ContainsAny(rest, "*?$") ||
				slices.Contains(strings.Split(rest, "/"), "..") || !policy.Lends(it.Text) {
				t.Errorf("%s: %s", name, it.Text)
			}
			if rest == "" != slices.Contains(whole, v) {
				t.Errorf("%s: %s opens all of it", name, it.Text)
			}
		}
	}
	for _, v := range policy.LentNames() {
		if !used[v] {
			t.Errorf("no module names $%s", v)
		}
	}
	if !slices.IsSorted(policy.LentNames()) {
		t.Error("LentNames is not sorted")
	}
}

// What moderate opened before there were modules is open still.
func TestModerateStillOpens(t *testing.T) {
	p := resolve(t, "moderate", stands["project"])
	for _, path := range strings.Fields(`/nix /gnu /snap /opt /run/current-system /home/linuxbrew/.linuxbrew
		~/.asdf ~/.bun ~/.cargo/bin ~/.cargo/registry ~/.cargo/git ~/.cargo/env ~/.deno ~/.dotnet ~/.elan ~/.fnm ~/.ghcup ~/.goenv ~/.jenv ~/.juliaup
		~/.krew/bin ~/.linuxbrew ~/.local/bin ~/.local/share/fnm ~/.local/share/mise ~/.local/share/pnpm ~/.local/share/uv ~/.local/share/pipx
		~/.local/lib ~/.local/pipx ~/.m2/repository ~/.nix-profile ~/.nodenv ~/.npm-global ~/.nvm ~/.opam ~/.pyenv ~/.rbenv ~/.rustup ~/.rvm ~/.sdkman
		~/.volta ~/.yarn ~/bin ~/go/bin ~/go/pkg/mod ~/go/pkg/sumdb ~/sdk ~/miniconda3 ~/anaconda3`) {
		path = strings.Replace(path, "~", "/home/u", 1)
		if a := p.Access(path); a != policy.Read {
			t.Errorf("%s: %s", path, a)
		}
	}
	for _, path := range strings.Fields("~/.cargo/credentials.toml ~/.cargo ~/.m2/settings.xml ~/.gem/credentials ~/.composer ~/.composer/auth.json ~/.config/composer/auth.json ~/.nuget/NuGet ~/.npm ~/.npmrc ~/.npm-global/etc/npmrc ~/.yarn/berry/index ~/.local/share/uv/credentials ~/.config/mise") {
		path = strings.Replace(path, "~", "/home/u", 1)
		if a := p.Access(path); a == policy.Read || a == policy.Write {
			t.Errorf("%s: %s", path, a)
		}
	}
}

// What files say under the name of a module leaves moderate as it is, however
// the two extend each other.
func TestFilesChangeNoModuleOfModerate(t *testing.T) {
	for _, extends := range [][]string{nil, {"moderate"}, {"node"}, {"permissive", "go"}} {
		set := Builtin()
		for _, name := range []string{"node", "nvm"} {
			set[name] = append(set[name], &policy.Profile{Name: name, Layer: policy.User, Extends: extends,
				AllowNetwork: policy.Yes, Write: policy.Words("/srv/out")})
		}
		for _, name := range []string{"moderate", "go"} {
			p, err := policy.Resolve(set, []string{name}, stands["project"])
			if err != nil || p.Network || p.Access("/srv/out") == policy.Write {
				t.Errorf("%v: %s: %v", extends, name, err)
			}
		}
		p, err := policy.Resolve(set, []string{"moderate", "node"}, stands["project"])
		if err != nil || !p.Network || p.Access("/srv/out") != policy.Write || p.Access("/home/u/.nvm") != policy.Read {
			t.Errorf("%v: %v", extends, err)
		}
	}
}

// A module stays one when a file adds to it, and is none any more when a file
// makes a profile of it.
func TestModuleInFiles(t *testing.T) {
	for _, tt := range []struct {
		name    string
		extends []string
		want    bool
	}{
		{"node", nil, true}, {"node", []string{"go", "node"}, true}, {"node", []string{"moderate"}, false},
		{"node", []string{"mine"}, false},
		{"node", []string{"nosuch"}, false}, {"moderate", nil, false}, {"other", []string{"node"}, false},
	} {
		set := Builtin()
		set["mine"] = []*policy.Profile{{Name: "mine", Layer: policy.User}}
		set[tt.name] = append(set[tt.name], &policy.Profile{Name: tt.name, Layer: policy.User, Extends: tt.extends})
		if got := set.Module(tt.name); got != tt.want {
			t.Errorf("%s with extends %v: %v", tt.name, tt.extends, got)
		}
	}
}

// What a profile has of modules, put into it by genprofiles, is what they have.
func TestModulesAreTakenOver(t *testing.T) {
	for _, goos := range systems {
		t.Run(goos, func(t *testing.T) { modulesAreTakenOver(t, goos) })
	}
}

func modulesAreTakenOver(t *testing.T, goos string) {
	lists := map[string]func(p *policy.Profile) []policy.Item{
		"readonly_paths": func(p *policy.Profile) []policy.Item { return p.Read.Items },
		"lent":           func(p *policy.Profile) []policy.Item { return p.Lent },
		"env_pass":       func(p *policy.Profile) []policy.Item { return p.EnvPass.Items },
	}
	for name, stack := range For(goos) {
		for key, list := range lists {
			var want []policy.Item
			for _, parent := range stack[0].Extends {
				if !Builtin().Module(parent) || key == "env_pass" && stack[0].Environment == "inherit" {
					continue
				}
				for _, it := range list(For(goos)[parent][0]) {
					if it.Source == "" {
						it.Source = parent
					}
					want = append(want, it)
				}
			}
			got := slices.DeleteFunc(slices.Clone(list(stack[0])),
				func(it policy.Item) bool { return it.Source == "" || it.Source == name+" on macOS" })
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s: %v, want %v", name, key, got, want)
			}
		}
	}
}
