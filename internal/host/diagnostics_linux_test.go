// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestUnit(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"0::/system.slice/ci-runner.service\n": "ci-runner.service",
		"0::/system.slice/system-getty.slice/getty@tty1.service\n":               "getty@tty1.service",
		"0::/system.slice/ci.service/job-1\n":                                    "ci.service",
		"0::/user.slice/user-1000.slice/session-2.scope\n":                       "",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n":   "",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.service\n": "x.service",
		"5:cpu:/docker/x.service\n1:name=systemd:/system.slice/ci.service\n":     "ci.service",
		"0::/system.slice/a;rm -rf ~.service\n":                                  "",
		"0::/system.slice/$(x).service\n":                                        "",
		"0::/system.slice/--now.service\n":                                       "",
		"0::/system.slice/.service\n":                                            "",
		"nonsense":                                                               "",
	} {
		if got := unit(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestWSL(t *testing.T) {
	for release, want := range map[string]int{
		"4.4.0-19041-Microsoft": 1, "5.15.153.1-microsoft-standard-WSL2": 2, "6.6.87.2-microsoft-standard-WSL2+": 2, "6.1.0-18-amd64": 0, "": 0,
	} {
		if got := wsl(release); got != want {
			t.Errorf("%s: %d, want %d", release, got, want)
		}
	}
}

// A variable makes no container of a host, nor another of a container.
func TestContainerIsNotForged(t *testing.T) {
	plain := GatherDiagnostics(nil).Container
	for _, env := range []string{"container=docker", "container=lxc", "KUBERNETES_SERVICE_HOST=10.0.0.1", "container=\x1b[2J"} {
		forged := GatherDiagnostics([]string{env}).Container
		first := namespaceOf("/proc/self/ns/pid") == firstPID && namespaceOf("/proc/self/ns/uts") == firstUTS && namespaceOf("/proc/self/ns/ipc") == firstIPC
		if first && forged != "" || plain != "" && forged != plain {
			t.Errorf("%s: %q, without %q", env, forged, plain)
		}
	}
}

// What leads to a bwrap of PATH counts like the place where it lies.
func TestLinksToBwrap(t *testing.T) {
	// Not below /tmp, which is everyone's.
	root, err := os.MkdirTemp(safeParent(t), "sbx-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	mk := func(name string, mode os.FileMode) string {
		dir := filepath.Join(root, name)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	mine, theirs := mk("mine", 0o755), mk("theirs", 0o777)
	for _, dir := range []string{mine, theirs} {
		if err := os.WriteFile(dir+"/real", []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, text string
		safe       bool
	}{
		{"mine/direct", "real", true},
		{"mine/there", theirs + "/real", false},
		{"theirs/back", mine + "/real", false},
		{"mine/chain", theirs + "/back", false},
		{"mine/dangling", "nowhere", false},
		{"mine/loop", "loop", false},
		{"mine/dir", mine, false},
	} {
		path := filepath.Join(root, c.name)
		if err := os.Symlink(c.text, path); err != nil {
			t.Fatal(err)
		}
		if got := safeFile(path, os.Geteuid()); got != c.safe {
			t.Errorf("%s -> %s: %v, want %v", c.name, c.text, got, c.safe)
		}
	}
	if !safeFile(mine+"/real", os.Geteuid()) || safeFile(theirs+"/real", os.Geteuid()) {
		t.Error("without links")
	}
}

// safeParent is a directory that no one else can write below.
func safeParent(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{"/var/lib", os.Getenv("HOME"), passwdHome(os.Geteuid())} {
		if real, err := filepath.EvalSymlinks(dir); err == nil && safeDir(real, os.Geteuid()) && (OS{}).Access(real, 'w') {
			return real
		}
	}
	t.Skip("others can write every place that this user can")
	return ""
}
