// SPDX-License-Identifier: Apache-2.0

//go:build linux

package everyday

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// system is what moderate shows of the machine, beside /proc and /dev.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/libexec", "/etc", "/opt", "/snap", "/nix", "/gnu",
	"/run/current-system", "/var/lib/dpkg", "/var/lib/rpm", "/var/lib/pacman", "/var/lib/gems", "/sys/devices/system", "/proc", "/dev"}

// toolchains is what it shows of a home directory: programs, what they downloaded, and
// git's settings.
var toolchains = []string{".asdf", ".bun", ".cargo/bin", ".cargo/env", ".cargo/git", ".cargo/registry", ".config/git/config", ".config/git/ignore",
	".config/git/attributes", ".deno", ".dotnet", ".ghcup", ".gitconfig", ".local/bin", ".local/lib", ".local/share/fnm", ".local/share/mise", ".local/share/pnpm",
	".local/share/virtualenvs", ".local/share/gem", ".gem", ".m2/repository", ".nix-profile", ".npm/_cacache", ".nuget/packages", ".nvm", ".pyenv", ".rbenv",
	".rustup", ".rvm", ".sdkman", ".volta", "bin", "go/bin", "go/pkg", "sdk"}

// personal is what no command may see there, and lies beside it.
var personal = []string{"Documents", "Pictures", "Downloads", "Mail", "notes", "src/other", "src", ".ssh", ".gnupg", ".aws", ".kube", ".docker",
	".mozilla", ".config/Code", ".config/google-chrome", ".config/gh", ".local/share/keyrings", ".local/state", ".claude", ".codex", ".vim", ".emacs.d",
	".bashrc", ".profile", ".bash_history", ".netrc", ".npmrc", ".pypirc", ".m2/settings.xml", ".cargo/credentials.toml", ".cache/other", "go/src"}

// TestModerateReadsNoMore: in a home that has everything, moderate opens the project,
// the system and toolchains, and nothing else, from the top of the project and from
// a directory in it.
func TestModerateReadsNoMore(t *testing.T) {
	dir, err := os.MkdirTemp("", "grants")
	must(t, err)
	t.Cleanup(func() { remove(dir) })
	l := &lane{dir: dir, home: dir + "/home", project: dir + "/home/src/app"}
	l.env = environment(l)
	for _, name := range slices.Concat(toolchains, personal) {
		path := filepath.Join(l.home, name)
		if base := filepath.Base(name); strings.Contains(base[1:], ".") || slices.Contains([]string{".gitconfig", "config", "ignore", "attributes", "env", ".bashrc", ".profile",
			".bash_history", ".netrc", ".npmrc", ".pypirc"}, base) {
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(t, os.WriteFile(path, []byte("# x\n"), 0o644))
			continue
		}
		must(t, os.MkdirAll(path, 0o755))
	}
	must(t, os.MkdirAll(l.project+"/sub", 0o755))
	if out := l.run(l.project, nil, nil, []string{"sh", "-c", "git init -q && echo '{}' >package.json && touch Cargo.toml go.mod pom.xml Gemfile pyproject.toml && git add . && git -c user.name=x -c user.email=x@example.com commit -qm first"}); out.status != 0 {
		t.Fatal(out.stderr)
	}
	own := []string{l.project, sbxPath, l.home + "/.cache/sbx", l.home + "/.local/state/sbx/shared"}
	for _, name := range toolchains {
		own = append(own, filepath.Join(l.home, name))
	}
	open := func(dir string, flags ...string) (strange []string) {
		t.Helper()
		out := l.run(dir, nil, append(flags, "-n", "--json"), []string{"true"})
		paths := readable(t, out.stdout)
		if !slices.Contains(paths, "/usr") || len(paths) < 30 {
			t.Fatalf("%v: only %d paths: %q\n%s", flags, len(paths), paths, out.stderr)
		}
		return slices.DeleteFunc(paths, func(path string) bool {
			return slices.ContainsFunc(slices.Concat(system, own), func(top string) bool { return path == top || strings.HasPrefix(path, top+"/") })
		})
	}
	for _, engine := range []string{"bwrap", "landlock"} {
		for _, dir := range []string{l.project, l.project + "/sub"} {
			if strange := open(dir, "--engine", engine); len(strange) > 0 {
				t.Errorf("%s, in %s: can be read: %q", engine, dir, strange)
			}
		}
		// The control: what is opened shows.
		if strange := open(l.project, "--engine", engine, "-r", l.home+"/Documents"); !slices.Equal(strange, []string{l.home + "/Documents"}) {
			t.Errorf("%s, with -r: %q", engine, strange)
		}
	}
}

// readable are the paths that a plan opens.
func readable(t *testing.T, plan string) (out []string) {
	t.Helper()
	var p struct {
		FDs []struct {
			Name  string
			Words []string
		}
		Confined *struct {
			Rules []struct{ Path, Allow string }
		}
	}
	must(t, json.Unmarshal([]byte(plan), &p))
	for _, fd := range p.FDs {
		for i, word := range fd.Words {
			if fd.Name == "bwrap options" && strings.Contains(word, "bind") && !strings.Contains(word, "data") && !strings.HasSuffix(word, "-fd") {
				out = append(out, fd.Words[i+1])
			}
		}
	}
	if p.Confined != nil && out == nil {
		for _, r := range p.Confined.Rules {
			if r.Path == "" {
				continue // a descriptor that the caller opened
			}
			const readFile, readDir = 1 << 2, 1 << 3
			if n, err := strconv.ParseUint(r.Allow, 0, 64); err != nil || n&readFile != 0 || n&readDir != 0 {
				out = append(out, r.Path)
			}
		}
	}
	return out
}
