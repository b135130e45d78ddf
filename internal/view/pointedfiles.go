// SPDX-License-Identifier: Apache-2.0

package view

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// BlockPointedFiles returns the policy with a mask for each secret and socket that a
// variable of the caller's says is elsewhere: KUBECONFIG, SSH_AUTH_SOCK and
// their like. One that is let through by name is wanted inside; one that is
// only inherited is not.
func BlockPointedFiles(pol *policy.Policy, h *host.Host) *policy.Policy {
	var rules []policy.Rule
	eachPointer(pol, h, func(name, path string, let bool) {
		if !let && maskable(h, path) {
			rules = append(rules, policy.Rule{Path: path, Access: policy.Block, Layer: policy.Builtin,
				Source: "$" + name})
		}
	})
	return withRules(pol, rules)
}

// withRules is a policy with more rules.
func withRules(pol *policy.Policy, rules []policy.Rule) *policy.Policy {
	if len(rules) == 0 {
		return pol
	}
	out := *pol
	out.Add(rules...)
	return &out
}

// eachPointer calls do for the paths that variables of the caller's name; let is
// one that a person lets through by name.
func eachPointer(pol *policy.Policy, h *host.Host, do func(name, path string, let bool)) {
	for _, kv := range h.Environ {
		name, value, _ := strings.Cut(kv, "=")
		split, suffixes := pointer(name)
		if split == nil || value == "" {
			continue
		}
		v := pol.Env(name)
		for _, path := range split(value) {
			for _, s := range suffixes {
				if path == "" {
					continue
				}
				if path[0] != '/' && h.CWD != "" { // programs look from where they are
					path = host.Join(h.StartDir(), path)
				}
				if path[0] == '/' {
					do(name, filepath.Clean(path+s), v.Pass && v.Layer > policy.Builtin)
				}
			}
		}
	}
}

// maskable reports whether hiding a path leaves the run what it is about.
func maskable(h *host.Host, path string) bool {
	if policy.WithinAny(path, "/dev", "/proc", "/sys", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix") {
		return false
	}
	needed := append([]string{h.CWD, "/tmp", "/run"}, h.Homes...)
	return !slices.ContainsFunc(needed, func(dir string) bool { return policy.Within(dir, path) })
}

// pointer says how the value of a variable names files, and what in them is
// secret: nil for a variable that names none.
func pointer(name string) (split func(string) []string, suffixes []string) {
	switch name {
	case "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "AZURE_CONFIG_DIR", "DOCKER_CONFIG", "DOCKER_CERT_PATH",
		"REGISTRY_AUTH_FILE", "NETRC", "PGPASSFILE", "GNUPGHOME", "PASSWORD_STORE_DIR", "NPM_CONFIG_USERCONFIG",
		"npm_config_userconfig", "PIP_CONFIG_FILE", "BOTO_CONFIG", "HF_TOKEN_PATH", "GH_CONFIG_DIR", "GLAB_CONFIG_DIR",
		"CLAUDE_CONFIG_DIR", "CODEX_HOME", "RCLONE_CONFIG", "SOPS_AGE_KEY_FILE", "TF_CLI_CONFIG_FILE",
		"ANSIBLE_VAULT_PASSWORD_FILE", "PULUMI_HOME", "VAULT_CONFIG_PATH", "HISTFILE", "XAUTHORITY", "ICEAUTHORITY",
		"MYSQL_TEST_LOGIN_FILE", "SSH_AUTH_SOCK", "NVIM", "NVIM_LISTEN_ADDRESS", "VSCODE_IPC_HOOK",
		"VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE", "I3SOCK", "SWAYSOCK", "ALACRITTY_SOCKET",
		"WEZTERM_UNIX_SOCKET", "EMACS_SOCKET_NAME", "WAYLAND_DISPLAY", "NOTIFY_SOCKET", "GNOME_KEYRING_CONTROL",
		"ZELLIJ_SOCKET_DIR", "XDG_RUNTIME_DIR", "AZURE_FEDERATED_TOKEN_FILE", "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE",
		"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", "GOOGLE_GHA_CREDS_PATH", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
		"TALOSCONFIG", "PGSERVICEFILE", "OCI_CLI_CONFIG_FILE", "HELM_REGISTRY_CONFIG", "ANSIBLE_PRIVATE_KEY_FILE",
		"RESTIC_PASSWORD_FILE", "BORG_KEY_FILE", "VAULT_TOKEN_FILE", "SNOWFLAKE_HOME", "DATABRICKS_CONFIG_FILE",
		"FLY_CONFIG_DIR", "POETRY_CONFIG_DIR", "GOPASS_HOMEDIR", "MYSQL_HISTFILE", "PSQL_HISTORY", "SQLITE_HISTORY",
		"NODE_REPL_HISTORY", "PYTHON_HISTORY", "LESSHISTFILE", "SSH_KEY_PATH":
		return one, []string{""}
	case "KUBECONFIG":
		return list, []string{""}
	case "GPG_AGENT_INFO", "TMUX", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "DOCKER_HOST",
		"CONTAINER_HOST", "KITTY_LISTEN_ON", "PULSE_SERVER", "KRB5CCNAME":
		return address, []string{""}
	case "CARGO_HOME":
		return one, []string{"/credentials", "/credentials.toml"}
	case "HF_HOME":
		return one, []string{"/token", "/stored_tokens"}
	case "GRADLE_USER_HOME":
		return one, []string{"/gradle.properties"}
	case "COMPOSER_HOME":
		return one, []string{"/auth.json"}
	}
	return nil, nil
}

func one(value string) []string  { return []string{value} }
func list(value string) []string { return strings.Split(value, ":") }

// address reads "unix:path=/run/bus,guid=…;unix:…", "unix:///var/run/x.sock",
// "FILE:/tmp/krb5cc" and "/tmp/tmux-1000/default,4711,0".
func address(value string) []string {
	parts := strings.FieldsFunc(value, func(r rune) bool { return r == ';' || r == ' ' })
	for i, p := range parts {
		if _, path, ok := strings.Cut(p, "path="); ok && strings.HasPrefix(p, "unix:") {
			p = path // unix:guid=…,path=…
		}
		p, _, _ = strings.Cut(p, ",")
		for _, scheme := range []string{"unix:path=", "unix://", "unix:", "FILE:", "DIR:"} {
			p = strings.TrimPrefix(p, scheme)
		}
		if j := strings.IndexByte(p, ':'); j > 0 && p[0] == '/' {
			p = p[:j] // GPG_AGENT_INFO=/path:pid:1
		}
		parts[i] = p
	}
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" })
}
