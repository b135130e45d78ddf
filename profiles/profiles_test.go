// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/testenv"
)

// go generate would change nothing.
func TestGeneratedFileIsUpToDate(t *testing.T) {
	tmp := t.TempDir()
	sources, err := filepath.Glob("*.toml")
	if err != nil || len(sources) < 4 {
		t.Fatal(sources, err)
	}
	besides, err := filepath.Glob("darwin/*.toml")
	if err != nil || len(besides) < 4 {
		t.Fatal(besides, err)
	}
	if err := os.Mkdir(filepath.Join(tmp, "darwin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(sources, besides...) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tmp, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tool := filepath.Join(t.TempDir(), "genprofiles")
	if err := testenv.Build(tool, "../internal/tools/genprofiles"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool)
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"builtin_gen.go", "darwin_gen.go"} {
		want, err := os.ReadFile(filepath.Join(tmp, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what go generate writes", name)
		}
	}
}

// The paths of a profile are sorted when it is generated.
func TestSorted(t *testing.T) {
	for _, goos := range systems {
		for name, stack := range For(goos) {
			if len(stack) != 1 || !slices.Equal(stack[0].Sorted, policy.SortPaths(stack[0])) {
				t.Errorf("%s on %s: go generate sorts anew", name, goos)
			}
		}
	}
}

// stands are the places that runs are made from.
var stands = map[string]policy.Vars{
	"project":           {CWD: "/home/u/src/app", Root: "/home/u/src/app", Home: "/home/u"},
	"subdirectory":      {CWD: "/home/u/src/app/sub", Root: "/home/u/src/app", Home: "/home/u"},
	"home":              {CWD: "/home/u", Root: "/home/u", Home: "/home/u"},
	"root":              {CWD: "/", Root: "/", Home: "/root"},
	"elsewhere":         {CWD: "/srv/app", Root: "/srv/app", Home: "/home/u", Home2: "/var/lib/u"},
	"in /etc":           {CWD: "/etc/x", Root: "/etc/x", Home: "/home/u"},
	"in the toolchains": {CWD: "/home/u/go/pkg/mod/x", Root: "/home/u/go/pkg/mod/x", Home: "/home/u"},
	"in .config":        {CWD: "/home/u/.config/nvim", Root: "/home/u/.config/nvim", Home: "/home/u"},
	"in .local":         {CWD: "/home/u/.local/share/x", Root: "/home/u/.local/share/x", Home: "/home/u"},
	"in .ssh":           {CWD: "/home/u/.ssh", Root: "/home/u/.ssh", Home: "/home/u"},
	"XDG": {CWD: "/w", Root: "/w", Home: "/h", Config: "/xc", Cache: "/xk", Data: "/xd", State: "/xs",
		Run: "/run/user/1", TmpDir: "/h/tmp"},
	"no home": {CWD: "/w", Root: "/w"},
	"odd":     {CWD: "/w p/$HOME *", Root: "/w p", Home: "/h\n\xff"},
	"on macOS": {CWD: "/Users/u/src/app", Root: "/Users/u/src/app", Home: "/Users/u",
		TmpDir: "/private/var/folders/x/y/T"},
	"on another disk": {CWD: "/Volumes/d/app", Root: "/Volumes/d/app", Home: "/Users/u"},
	"in ~/Library": {CWD: "/Users/u/Library/Mobile Documents/app", Root: "/Users/u/Library/Mobile Documents/app",
		Home: "/Users/u"},
	"in TMPDIR": {CWD: "/private/var/folders/x/y/T/app", Root: "/private/var/folders/x/y/T/app",
		Home: "/Users/u", TmpDir: "/private/var/folders/x/y/T"},
}

// systems are those whose built-in profiles differ.
var systems = []string{"linux", "darwin"}

// resolve resolves a profile as it is on Linux.
func resolve(t *testing.T, name string, vars policy.Vars) *policy.Policy {
	t.Helper()
	return resolveOn(t, "linux", vars, name)
}

func resolveOn(t *testing.T, goos string, vars policy.Vars, names ...string) *policy.Policy {
	t.Helper()
	p, err := policy.Resolve(For(goos), names, vars)
	if err != nil {
		t.Fatalf("%s: %v: %v", goos, names, err)
	}
	return p
}

func TestEveryProfileResolves(t *testing.T) {
	for _, goos := range systems {
		for _, name := range For(goos).Names() {
			for stand, vars := range stands {
				p := resolveOn(t, goos, vars, name)
				for _, r := range p.Rules {
					if !strings.HasPrefix(r.Path, "/") || filepath.Clean(r.Path) != r.Path || r.Must ||
						r.Layer != policy.Builtin || r.Source == "" {
						t.Errorf("%s: %s, %s: %+v", goos, name, stand, r)
					}
				}
				if !slices.IsSortedFunc(p.Rules, func(a,
					b policy.Rule) int {
					return strings.Compare(a.Path, b.Path)
				}) {
					t.Errorf("%s: %s, %s: rules are not sorted", goos, name, stand)
				}
			}
		}
	}
}

// What is written is a path that expands or a pattern in its last element, and
// is written once.
func TestEveryPathIsWellFormed(t *testing.T) {
	for _, goos := range systems {
		t.Run(goos, func(t *testing.T) { everyPathIsWellFormed(t, For(goos)) })
	}
}

func everyPathIsWellFormed(t *testing.T, set policy.Set) {
	full := policy.Vars{CWD: "/w/s", Root: "/w", Home: "/h", Run: "/r"}
	for name, stack := range set {
		for _, p := range stack {
			for _, key := range policy.ListKeys() {
				seen := map[string]bool{}
				for _, it := range p.List(key).Items {
					if seen[it.Text] {
						t.Errorf("%s: %s: %q stands there twice", name, key, it.Text)
					}
					seen[it.Text] = true
					if strings.HasPrefix(key, "env_") {
						continue
					}
					path, ok, err := full.Expand(strings.TrimPrefix(it.Text, "!"))
					if err != nil || !ok || path == "" {
						t.Errorf("%s: %s: %q: %v", name, key, it.Text, err)
					}
				}
			}
		}
	}
}

func TestEnvironmentPatterns(t *testing.T) {
	for _, goos := range systems {
		t.Run(goos, func(t *testing.T) { environmentPatterns(t, For(goos)) })
	}
}

func environmentPatterns(t *testing.T, set policy.Set) {
	for name, stack := range set {
		for _, it := range append(slices.Clone(stack[0].EnvPass.Items), stack[0].EnvDrop.Items...) {
			if !policy.ValidName(strings.ReplaceAll(it.Text, "*", "_")) || it.Text == "*" {
				t.Errorf("%s: %q is no pattern of names", name, it.Text)
			}
		}
		for _, v := range stack[0].EnvSet {
			if !policy.ValidName(v.Name) {
				t.Errorf("%s: %q is no name", name, v.Name)
			}
		}
	}
}

// strict gives nothing that moderate does not give, nor moderate than
// permissive, wherever one stands.
func TestProfilesAreInOrder(t *testing.T) {
	for _, goos := range systems {
		t.Run(goos, func(t *testing.T) { profilesAreInOrder(t, goos) })
	}
}

func profilesAreInOrder(t *testing.T, goos string) {
	order := []string{"strict", "moderate", "permissive"}
	for stand, vars := range stands {
		if stand == "home" || stand == "root" {
			continue // where what $CWD opens is refused, or not opened at all
		}
		for i := range order {
			for j := range i {
				for _, c := range policy.WiderOnly(policy.Diff(resolveOn(t, goos, vars, order[i]),
					resolveOn(t, goos, vars, order[j]))) {
					if c.Key == "cache" && order[i] == "permissive" {
						continue // it has the real ~/.cache, and needs no private one
					}
					t.Errorf("%s: %s gives more than %s: %+v", stand, order[j], order[i], c)
				}
			}
		}
	}
}

// Secrets by name, in every profile that runs commands.
func TestSecretsAreHidden(t *testing.T) {
	files := []string{
		"/home/u/.ssh/id_rsa", "/home/u/.gnupg/x", "/home/u/.aws/credentials", "/home/u/.config/gcloud/x",
		"/home/u/.kube/config", "/home/u/.docker/config.json",
		"/home/u/.netrc", "/home/u/.git-credentials", "/home/u/.npmrc", "/home/u/.pypirc",
		"/home/u/.cargo/credentials.toml", "/home/u/.config/gh/hosts.yml",
		"/home/u/.bash_history", "/home/u/.python_history", "/home/u/.node_repl_history", "/home/u/.zsh_history",
		"/home/u/.psql_history", "/home/u/.local/share/keyrings/login.keyring",
		"/home/u/.mozilla/firefox/x", "/home/u/.config/google-chrome/Default/Cookies", "/home/u/.password-store/x",
		"/home/u/.vault-token", "/home/u/.claude/.credentials.json", "/home/u/.claude.json",
		"/home/u/.codex/auth.json", "/home/u/.config/sbx/config.toml", "/home/u/.local/state/sbx/x",
		"/home/u/wallet.kdbx", "/home/u/.pgpass", "/home/u/.my.cnf",
		"/home/u/src/app/.env", "/home/u/src/app/.env.local", "/home/u/src/app/tls.key", "/home/u/src/app/cert.pem",
		"/home/u/src/app/x.p12", "/home/u/src/app/id_ed25519",
		"/etc/shadow", "/etc/sudoers", "/etc/ssh/ssh_host_rsa_key", "/etc/NetworkManager/system-connections/x",
		"/run/docker.sock", "/run/user/1000/bus", "/tmp/.X11-unix/X0", "/tmp/ssh-x/agent.1",
	}
	open := []string{"/usr/bin/env", "/etc/hosts", "/etc/ssl/certs/x", "/home/u/src/app/main.go",
		"/home/u/src/app/.env.example", "/home/u/src/app/.env.sample"}
	for _, name := range []string{"strict", "moderate", "permissive"} {
		p := resolve(t, name, stands["project"])
		for _, f := range files {
			if a := p.Access(f); a == policy.Read || a == policy.Write || a == policy.Protect {
				t.Errorf("%s: %s: %s", name, f, a)
			}
		}
		for _, f := range open {
			if a := p.Access(f); a != policy.Read && a != policy.Write {
				t.Errorf("%s: %s: %s", name, f, a)
			}
		}
	}
}

func TestHostRunsNothingThatWasWritten(t *testing.T) {
	for _, name := range []string{"moderate", "permissive"} {
		p := resolve(t, name, stands["project"])
		for _, f := range []string{
			".envrc", ".sbx.toml", ".sbx.hcl", ".gitmodules", ".husky/pre-commit", "lefthook.yml",
			".pre-commit-config.yaml", ".vscode/tasks.json", ".idea/x", ".devcontainer/devcontainer.json",
			".mcp.json", ".claude/settings.json", ".cursor/mcp.json", ".codex/x", ".gemini/x", "x.code-workspace",
			".bashrc", ".zshenv",
		} {
			if a := p.Access("/home/u/src/app/" + f); a != policy.Protect {
				t.Errorf("%s: %s: %s", name, f, a)
			}
		}
		for _, f := range []string{"/home/u/.bashrc", "/home/u/.profile", "/home/u/.config/autostart/x",
			"/home/u/.local/bin/x", "/home/u/.cargo/bin/cargo", "/home/u/.local/share/systemd/user/x",
			"/home/u/.gitconfig", "/usr/bin/x", "/etc/profile"} {
			if a := p.Access(f); a == policy.Write {
				t.Errorf("%s: %s: %s", name, f, a)
			}
		}
	}
}

func TestEnvironmentOfProfiles(t *testing.T) {
	secrets := []string{
		"GH_TOKEN", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "OPENAI_API_KEY", "api_key",
		"DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "DATABASE_URL", "VAULT_ADDR", "npm_config__authToken",
		"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "TMUX", "KUBECONFIG",
		"DOCKER_HOST", "LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV", "ENV", "PROMPT_COMMAND",
		"BASH_FUNC_x%%", "SBX_FLAGS", "SBX_TIER", "GLIBC_TUNABLES", "PERL5OPT", "NODE_OPTIONS", "SUDO_ASKPASS",
		"VSCODE_IPC_HOOK_CLI", "GPG_AGENT_INFO", "XDG_RUNTIME_DIR",
		// What popular tools and CI systems keep credentials in.
		"KUBECONFIG_DATA", "KUBECONFIG_BASE64", "KUBE_CONFIG_DATA", "MY_KUBECONFIG", "GITLAB_TOKEN", "CI_JOB_JWT_V2",
		"CI_REGISTRY_PASSWORD", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL", "SYSTEM_ACCESSTOKEN",
		"DRONE_NETRC_PASSWORD",
		"NODE_AUTH_TOKEN", "npm_config__auth", "YARN_NPM_AUTH_IDENT", "TWINE_PASSWORD", "UV_INDEX_FOO_PASSWORD",
		"POETRY_HTTP_BASIC_FOO_PASSWORD", "HATCH_INDEX_AUTH", "CARGO_REGISTRIES_FOO_TOKEN", "GEM_HOST_API_KEY",
		"BUNDLE_GEMS__CONTRIBSYS__COM",
		"RAILS_MASTER_KEY", "SECRET_KEY_BASE", "HEX_API_KEY", "COMPOSER_AUTH", "ARM_CLIENT_SECRET",
		"GOOGLE_CREDENTIALS", "GCS_SA_JSON", "SERVICE_ACCOUNT_JSON", "TF_TOKEN_app_terraform_io",
		"PULUMI_ACCESS_TOKEN", "CONSUL_HTTP_AUTH", "NOMAD_TOKEN",
		"ANSIBLE_BECOME_PASS", "SSHPASS", "SOPS_AGE_KEY", "BORG_PASSPHRASE", "RESTIC_PASSWORD", "RCLONE_CONFIG_PASS",
		"DOCKER_AUTH_CONFIG", "CR_PAT", "HELM_REPO_PASSWORD", "ARGOCD_AUTH_TOKEN", "SUPABASE_SERVICE_ROLE",
		"SENTRY_DSN", "KAFKA_SASL_JAAS_CONFIG",
		"CONNECTION_STRING", "ConnectionStrings__Default", "AzureWebJobsStorage", "STRIPE_SECRET_KEY",
		"SLACK_WEBHOOK_URL", "DD_APP_KEY", "FLY_API_TOKEN", "HEROKU_API_KEY", "BW_SESSION", "OP_SESSION_my",
		"DOPPLER_TOKEN", "MAVEN_GPG_PASSPHRASE",
		"ORG_GRADLE_PROJECT_signingKey", "ORG_GRADLE_PROJECT_signingPassword", "MATCH_PASSWORD", "ANDROID_KEYSTORE",
		"KEYSTORE_BASE64", "P12_BASE64", "CSC_LINK", "CSC_KEY_PASSWORD", "MACOS_CERTIFICATE", "NUGET_API_KEY",
		"VSS_NUGET_EXTERNAL_FEED_ENDPOINTS", "VSS_NUGET_ACCESSTOKEN", "JFROG_ACCESS_TOKEN", "NETRC_CONTENT",
		"GIT_HTTP_EXTRAHEADER", "GIT_CONFIG_COUNT", "GIT_CONFIG_VALUE_0", "GIT_CONFIG_PARAMETERS", "ID_RSA",
		"DEPLOY_ID_ED25519", "SSH_PRIVATE_KEY", "CONAN_PASSWORD", "GF_SECURITY_ADMIN_PASSWORD",
	}
	fine := []string{"PATH", "HOME", "LANG", "LC_ALL", "TERM", "USER", "TZ", "CI", "MAKEFLAGS", "NO_COLOR"}
	if got := resolve(t, "moderate", stands["project"]); got != nil { // strict passes few names at all
		for _, v := range []string{"GOPROXY", "PIP_INDEX_URL", "NIX_CONFIG", "BUNDLE_PATH", "BUNDLE_BUILD__NOKOGIRI",
			"RESTIC_REPOSITORY", "KUBE_EDITOR", "GIT_AUTHOR_NAME", "NODE_ENV", "VIRTUAL_ENV", "CARGO_TARGET_DIR",
			"JAVA_HOME"} {
			if !got.Env(v).Pass {
				t.Errorf("moderate: %s is dropped (%s)", v, got.Env(v).Source)
			}
		}
	}
	for _, name := range []string{"strict", "moderate", "permissive"} {
		p := resolve(t, name, stands["project"])
		for _, v := range secrets {
			if p.Env(v).Pass {
				t.Errorf("%s: %s passes", name, v)
			}
		}
		for _, v := range fine {
			if !p.Env(v).Pass {
				t.Errorf("%s: %s is dropped (%s)", name, v, p.Env(v).Source)
			}
		}
	}
}

// Section 5 of the design, line by line.
func TestProfilesAsDesigned(t *testing.T) {
	for _, c := range []struct {
		name                                   string
		network                                bool
		git, cache, environment, seccomp, tier string
		access                                 map[string]policy.Access
	}{
		{"strict", false, "none", "none", "list", "strict", "full",
			map[string]policy.Access{"/home/u/src/app/x": policy.Read, "/home/u": policy.Private,
				"/tmp": policy.Private, "/run": policy.Private, "/etc/fstab": policy.Unseen, "/opt": policy.Unseen,
				"/usr/bin": policy.Read}},
		{"moderate", false, "commit", "private", "inherit", "default", "reduced",
			map[string]policy.Access{"/home/u/src/app/x": policy.Write, "/home/u": policy.Private,
				"/tmp": policy.Private, "/etc/fstab": policy.Read, "/opt": policy.Read, "/srv": policy.Unseen,
				"/home/u/.gitconfig": policy.Read, "/home/u/.cargo/bin": policy.Read}},
		{"permissive", true, "commit", "none", "inherit", "default", "reduced",
			map[string]policy.Access{"/home/u/src/app/x": policy.Write, "/home/u": policy.Read,
				"/home/u/.cache/x": policy.Write, "/home/u/.local/state/x": policy.Write,
				"/home/u/.local/share/x": policy.Read, "/home/u/.local/bin": policy.Read, "/tmp": policy.Private,
				"/run": policy.Private, "/srv": policy.Read, "/home/u/other": policy.Read}},
	} {
		p := resolve(t, c.name, stands["project"])
		if p.Network != c.network || p.Git != c.git || p.Cache != c.cache || p.Environment != c.environment ||
			p.Seccomp != c.seccomp || p.MinTier != c.tier || p.SharePID || p.TimeoutSeconds != 0 {
			t.Errorf("%s: %+v", c.name, p.Scalars())
		}
		for path, want := range c.access {
			if a := p.Access(path); a != want {
				t.Errorf("%s: %s: %s, want %s", c.name, path, a, want)
			}
		}
	}
}

func TestText(t *testing.T) {
	for _, name := range Builtin().Names() {
		if text, ok := Text(name); !ok || !strings.HasPrefix(text, "# "+name+": ") {
			t.Errorf("%s: %v, %.20q", name, ok, text)
		}
		text, ok := TextFor("linux", name)
		data, err := os.ReadFile(name + ".toml")
		if !ok || err != nil || text != string(data) {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
		if s := Summary(name); s == "" || strings.Contains(s, "\n") || strings.HasPrefix(s, name) ||
			strings.HasPrefix(s, "#") {
			t.Errorf("%s: summary %q", name, s)
		}
	}
	for _, name := range []string{"", "nosuch", "darwin", "darwin/strict", "../profiles/strict", "/etc/passwd",
		"strict.toml", ".", "strict\x00"} {
		if text, ok := Text(name); ok || text != "" {
			t.Errorf("%q is %q", name, text)
		}
		if s := Summary(name); s != "" {
			t.Errorf("%q: %q", name, s)
		}
	}
}

func TestBuiltinIsShared(t *testing.T) {
	for _, goos := range systems {
		a := fmt.Sprintf("%+v", For(goos)["strict"][0])
		resolveOn(t, goos, stands["project"], "strict")
		if b := fmt.Sprintf("%+v", For(goos)["strict"][0]); a != b {
			t.Error("resolving changed a built-in profile")
		}
	}
}
