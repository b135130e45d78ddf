// SPDX-License-Identifier: Apache-2.0

// Package testenv makes tests independent of who runs them. A test package that
// starts programs imports it for its effect:
//
//	import _ "github.com/sbx-sandbox/sbx/internal/testenv"
//
// Before a test runs, of the environment only what names programs, temporary files,
// the Go toolchain and the tests' own switches is left; HOME leads nowhere, so that
// no settings of the user's count; TMPDIR is where sbx has projects; the umask is 022;
// no signal is ignored, as under nohup(1), since programs that are started would
// inherit that.
package testenv

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// kept are names of variables, or beginnings of names.
var kept = []string{"PATH", "TMPDIR", "USER", "LOGNAME", "TERM", "GO*", "CGO_*", "SBX_TEST_*", "SBX_BENCH_*",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}

const done = "SBX_TEST_ENV"

func init() {
	// Tests start the test binary again, as a program whose environment they choose;
	// this flag comes from the go command alone.
	if !slices.Contains(os.Args[1:], "-test.paniconexit0") || os.Getenv(done) != "" {
		return
	}
	defer os.Setenv(done, "1")
	syscall.Umask(0o022)
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE,
		syscall.SIGALRM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCHLD, syscall.SIGTSTP, syscall.SIGTTIN,
		syscall.SIGTTOU} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s) // caught signals are reset by execve(2)
		}
	}
	goDirs()
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(kept, func(k string) bool {
			start, pattern := strings.CutSuffix(k, "*")
			return name == k || pattern && strings.HasPrefix(name, start)
		}) {
			os.Unsetenv(name)
		}
	}
	os.Setenv("HOME", "/dev/null")
	if dir := TempDir(); dir != os.TempDir() {
		os.Setenv("TMPDIR", dir)
	}
	os.Setenv("LANG", "C.UTF-8")
}

// goDirs names the directories that the go command takes from HOME.
func goDirs() {
	set := func(name, dir string, err error, below ...string) {
		if os.Getenv(name) == "" && err == nil {
			os.Setenv(name, filepath.Join(append([]string{dir}, below...)...))
		}
	}
	cache, err := os.UserCacheDir()
	set("GOCACHE", cache, err, "go-build")
	config, err := os.UserConfigDir()
	set("GOENV", config, err, "go", "env")
	home, err := os.UserHomeDir()
	set("GOPATH", home, err, "go")
}

// TempDir is TMPDIR, or else /tmp or /var/tmp: sbx runs nothing in a directory of the
// system's, as /dev/shm is, and the tests execute programs that they make.
func TempDir() string {
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if full, err := filepath.EvalSymlinks(dir); err == nil &&
			!slices.ContainsFunc([]string{"/dev", "/run", "/proc", "/sys", "/usr", "/etc"}, func(top string) bool {
				return strings.HasPrefix(full+"/", top+"/")
			}) && executes(dir) {
			return dir
		}
	}
	return os.TempDir()
}

// executes reports whether a program in a directory can be executed.
func executes(dir string) bool {
	sub, err := os.MkdirTemp(dir, "sbx-test")
	if err != nil {
		return false
	}
	defer os.RemoveAll(sub)
	file := filepath.Join(sub, "true")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o700); err != nil {
		return false
	}
	err = exec.Command(file).Run()
	return err == nil || errors.Is(err, syscall.ETXTBSY)
}
