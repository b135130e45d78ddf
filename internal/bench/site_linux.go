// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// site is a home directory with a project in it, for one row.
type site struct {
	home    string
	project string
}

func newSite(dir, name string) (site, error) {
	s := site{home: filepath.Join(dir, name)}
	s.project = filepath.Join(s.home, "project")
	for _, d := range []string{".ssh", ".config/sbx", ".cache", "run", "tmp", "out", "data", "project/gen"} {
		if err := os.MkdirAll(filepath.Join(s.home, d), 0o700); err != nil {
			return s, err
		}
	}
	return s, s.write(".gitconfig", "[user]\n\tname = Bench\n\temail = bench@example.org\n")
}

func (s site) write(name, text string) error {
	path := filepath.Join(s.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// env is what a desktop's terminal has, some of it secret: the environment is
// filtered by pattern, so its size counts. It is the same on every machine.
func (s site) env() []string {
	return []string{
		"HOME=" + s.home, "PWD=" + s.project, "TMPDIR=" + s.home + "/tmp",
		"XDG_RUNTIME_DIR=" + s.home + "/run", "XDG_SESSION_TYPE=wayland", "XDG_CURRENT_DESKTOP=GNOME",
		"XDG_SESSION_ID=3",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"SHELL=/bin/bash", "USER=bench", "LOGNAME=bench", "LANG=C.UTF-8", "LC_TIME=C.UTF-8", "TERM=xterm-256color",
		"COLORTERM=truecolor",
		"EDITOR=vi", "VISUAL=vi", "PAGER=less", "LESS=-FRX", "MANPAGER=less", "SHLVL=2", "_=/usr/local/bin/sbx",
		"OLDPWD=" + s.home,
		"LS_COLORS=rs=0:di=01;34:ln=01;36:mh=00:pi=40;33:so=01;35:do=01;35:bd=40;33;01:cd=40;33;01:or=40;31;01",
		"GOFLAGS=-trimpath",
		"DISPLAY=:0", "WAYLAND_DISPLAY=wayland-0", "DBUS_SESSION_BUS_ADDRESS=unix:path=" + s.home + "/run/bus",
		"SSH_AUTH_SOCK=" + s.home + "/run/ssh", "SSH_AGENT_PID=4711", "GPG_TTY=/dev/pts/0", "VTE_VERSION=7006",
		"DESKTOP_SESSION=gnome",
		"GH_TOKEN=none", "AWS_SECRET_ACCESS_KEY=none", "NPM_TOKEN=none", "CI_JOB=none", "HISTSIZE=10000",
		"MAKEFLAGS=-j2", "PYTHONUNBUFFERED=1",
	}
}

// fill makes a repository of n files in nested directories, with an index.
func (s site) fill(n int) error {
	const perDir, perTop = 50, 20
	for i := range n {
		dir := filepath.Join(s.project, fmt.Sprintf("part%02d/piece%02d", i/perDir/perTop, i/perDir%perTop))
		if i%perDir == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%02d.go", i%perDir)), nil, 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-qm", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = s.project, s.env()
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}

// One file in TOML, with a profile of the user's own.
const userTOML = `default_profile = "work"

[profiles.work]
extends = ["moderate"]
allow_network = false
writable_paths = ["$HOME/out"]
blocked_paths = ["$HOME/data/private"]
env_pass = ["GH_TOKEN"]
env_set = { CI = "1" }
`

// Two files in HCL, between the built-in profiles and the flags.
const (
	userHCL = `default_profile = "work"
min_tier        = "full"

profiles "base" {
  extends        = ["moderate"]
  allow_network  = false
  readonly_paths = ["$HOME/data"]
  env_pass       = ["GH_TOKEN", "GIT_CONFIG_*"]
}

profiles "work" {
  extends        = ["base"]
  writable_paths = ["$HOME/out"]
  env_set        = { CI = "1" }
}
`
	projectTOML = `[profiles.moderate]
extends = ["moderate"]
writable_paths = ["$HOME/out"]
blocked_paths = ["$CWD/private"]
env_pass = ["GH_TOKEN"]
`
	projectHCL = `profiles "work" {
  extends         = ["base"]
  blocked_paths   = ["$CWD/private"]
  protected_paths = ["$CWD/gen"]
  env_drop        = ["*_LICENSE"]
}
`
)
