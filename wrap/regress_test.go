// SPDX-License-Identifier: Apache-2.0

package wrap

import (
	"errors"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/policy"
)

// Links that lead in circles, planted beside a secret, must not unmask it.
func TestPlantedChainUnmasksNothing(t *testing.T) {
	m := shapes[0].m
	m.more = chain("/home/u/src/app", "a.key.", 40, "tls.key") + "/home/u/src/app/0.key -> a.key.01\n"
	p, fs, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range judge(newOracle(fs, p.Report.Policy), p) {
		t.Error(b)
	}
}

// A link that cannot be followed leads nowhere, whatever comes after it.
func TestResolveDotDotOfNothing(t *testing.T) {
	fs := newFS(t, 0, "/a -> nosuch/../b\n/c -> file/../b\n/b/\n/file")
	for _, p := range []string{"/a", "/c"} {
		if res, err := host.NewResolver(fs).Resolve(p); err != nil || res.Info.Kind != host.Absent {
			t.Errorf("%s: %+v, %v; the kernel says ENOENT or ENOTDIR", p, res, err)
		}
	}
}

// A link in a writable directory to / or to a private directory.
func TestProtectThroughLinkShowsNothing(t *testing.T) {
	for _, name := range []string{"alpine", "debian"} {
		for _, to := range []string{"/", "/run", "/tmp", "/home/u", "/home", "/var"} {
			for _, prof := range []string{"strict", "moderate", "permissive"} {
				var m machine
				for _, s := range shapes {
					if s.name == name {
						m = s.m
					}
				}
				m.profiles = []string{prof}
				m.more = "/home/u/src/app/.idea -> " + to
				p, fs, err := m.plan(t)
				if err != nil {
					t.Logf("%s %s %s: %v", name, prof, to, err)
					continue
				}
				for _, b := range judge(newOracle(fs, p.Report.Policy), p) {
					t.Errorf("%s %s %s: %s", name, prof, to, b)
				}
			}
		}
	}
}

// ~/.local is writable in permissive; on Silverblue /home is a link.
func TestPlantedLinkBelowLinkedHome(t *testing.T) {
	m := shapes[5].m
	m.profiles = []string{"permissive"}
	m.more = "/var/home/u/.local/pipx -> /run"
	p, fs, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range judge(newOracle(fs, p.Report.Policy), p) {
		t.Error(b)
	}
}

// The private home does not exist.
func TestNoHomeOnHost(t *testing.T) {
	m := user(debian + home("/home/u", "1000"))
	m.cwd, m.home = "/home/u/src/app", "/usr/share/nohome"
	p, fs, err := m.plan(t)
	if err != nil {
		var e *host.Error
		t.Fatal(err, errors.As(err, &e), policy.Block)
	}
	for _, b := range judge(newOracle(fs, p.Report.Policy), p) {
		t.Error(b)
	}
}

// PWD with ".." means another directory to the kernel than to Clean.
func TestPWDWithDotDot(t *testing.T) {
	m := user(debian + home("/home/u", "1000"))
	m.more = "/home/u/src/l -> /usr/share"
	m.profiles = []string{"permissive"}
	m.env = []string{"PATH=/usr/bin", "PWD=/home/u/src/l/../app"}
	p, fs, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	box, _ := read(p)
	s, _ := simulate(fs, p)
	if at, _, _ := s.walk(box.chdir, true); at.hostPath() != "/home/u/src/app" {
		t.Errorf("--chdir %s leads to %q", box.chdir, at.hostPath())
	}
}

// --env PWD=… or env_set must not move the command.
func TestPWDSet(t *testing.T) {
	m := user(debian + home("/home/u", "1000"))
	m.over.EnvSet = []policy.Var{{Name: "PWD", Value: "/usr"}}
	p, fs, err := m.plan(t)
	if err != nil {
		t.Fatal(err)
	}
	box, _ := read(p)
	s, _ := simulate(fs, p)
	if at, _, _ := s.walk(box.chdir, true); at.hostPath() != "/home/u/src/app" {
		t.Errorf("--chdir %s leads to %q", box.chdir, at.hostPath())
	}
}
