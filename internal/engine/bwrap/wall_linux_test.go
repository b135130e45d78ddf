// SPDX-License-Identifier: Apache-2.0

package bwrap

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-sandbox/sbx/internal/engine"
	"github.com/sbx-sandbox/sbx/internal/host"
	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/pid1"
	"github.com/sbx-sandbox/sbx/internal/policy"
	"github.com/sbx-sandbox/sbx/internal/view"
)

const wallDir = "SBX_TEST_WALL_DIR"

// The wall of a strict run is put around a command in a mount namespace in which
// hardly anything is mounted that the plan mounts: all files of the host lie
// open but for the wall. The control is the same command without it.
func TestWallWithoutMounts(t *testing.T) {
	if dir := os.Getenv(wallDir); dir != "" {
		os.Exit(brokenSandbox(dir))
	}
	if abi := landlock.ABI(); abi < engine.ABIScope {
		if slices.Contains(strings.Split(os.Getenv("SBX_TEST_REQUIRE"), ","), "landlock") {
			t.Fatalf("SBX_TEST_REQUIRE: Landlock has version %d here, and this needs %d", abi, engine.ABIScope)
		}
		t.Skipf("Landlock has version %d here", abi)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"read/sub", "write/a/d", "write/b", "private", "hidden"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"read/f", "read/sub/f", "write/f", "write/a/f", "hidden/secret", "private/real"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("text\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h := &host.Host{
		Facts:  host.Facts{FS: host.OS{}, OS: "linux", Arch: "amd64", Landlock: landlock.ABI()},
		Caller: host.Caller{UID: os.Geteuid(), Homes: []string{filepath.Join(dir, "hidden")}, CWD: filepath.Join(dir, "read"), Environ: []string{"PATH=/usr/bin:/bin"}},
	}
	pol := &policy.Policy{Profiles: []string{"test"}, Seccomp: "strict", Git: "none", Cache: "none"}
	for path, a := range map[string]policy.Access{"/usr": policy.Read, "/bin": policy.Read, "/lib": policy.Read, "/lib64": policy.Read, "/etc/ld.so.cache": policy.Read, "/etc/passwd": policy.Read,
		dir + "/read": policy.Read, dir + "/write": policy.Write, dir + "/private": policy.Private} {
		pol.Add(policy.Rule{Path: path, Access: a, Source: "test"})
	}
	v, _, err := view.New(pol, h, host.NewResolver(h.FS), false)
	if err != nil {
		t.Fatal(err)
	}
	wall := Ruleset(v, pol, h)

	// Each act prints its number and whether it could be done.
	var outside string
	for _, path := range []string{"/etc/login.defs", "/etc/fstab", "/var/lib/dpkg/status", "/etc/shells", "/etc/hosts"} {
		if f, err := os.Open(path); err == nil {
			f.Close()
			outside = path
			break
		}
	}
	if outside == "" {
		t.Fatal("no file of the system that the policy does not name")
	}
	acts := []struct {
		sh    string
		given bool
	}{
		{"cat read/f read/sub/f /etc/passwd", true},
		{"ls read /usr/bin /", true},
		{"cat write/f && echo more >>write/f && echo new >write/n && : >write/f", true},
		{"mkdir write/x && mv write/a/f write/b/f && mv write/a/d write/b/d && ln write/b/f write/a/g && rmdir write/x", true},
		{"ln -s /etc/passwd write/l && mkfifo write/p && cat write/l", true},
		{"echo x >private/f && mkdir private/d && mv private/f private/d/f", true},
		{"echo x >/dev/null && head -c1 /dev/urandom && cat /proc/self/comm && echo 500 >/proc/self/oom_score_adj", true},
		{"cp /bin/ls write/ls && write/ls /usr", true},
		{"kill -0 $$", true},
		{"cat hidden/secret", false},
		{"cat " + outside, false},
		{"cat /proc/self/cwd/hidden/secret", false},
		{"cat /proc/$$/root" + dir + "/hidden/secret", false},
		{"echo x >>read/f", false},
		{"echo x >read/new", false},
		{"truncate -s 0 read/f", false},
		{"rm read/sub/f", false},
		{"mv read/sub read/sub2 && mv read/sub2 read/sub", false},
		{"ln read/f write/hard && rm write/hard", false},
		{"mv hidden/secret write/s && mv write/s hidden/secret", false},
		{"cp /bin/ls hidden/ls && hidden/ls /usr && rm hidden/ls", false},
		{"echo x >hidden/new && rm hidden/new", false},
		{"echo y >/proc/self/cwd/read/new && rm /proc/self/cwd/read/new", false},
		{"kill -0 $OUTSIDE", false},
	}
	var script strings.Builder
	for i, a := range acts {
		fmt.Fprintf(&script, "(%s) >/dev/null 2>&1 && echo %d yes || echo %d no\n", a.sh, i, i)
	}
	o := &pid1.InitConfig{Path: "/bin/sh", Argv: []string{"sh", "-c", script.String()}, Group: pid1.NoInit, OOM: -1, Parent: pid1.NoParentFDs}
	expected := expectPrivate(v, nil)

	var all, want strings.Builder
	for i, a := range acts {
		fmt.Fprintf(&all, "%d yes\n", i)
		fmt.Fprintf(&want, "%d %s\n", i, map[bool]string{true: "yes", false: "no"}[a.given])
	}
	undo := func() {
		for _, f := range []string{"write/x", "write/l", "write/p", "write/n", "write/ls", "write/a/g"} {
			os.Remove(filepath.Join(dir, f))
		}
		_ = os.Rename(filepath.Join(dir, "write/b/f"), filepath.Join(dir, "write/a/f"))
		_ = os.Rename(filepath.Join(dir, "write/b/d"), filepath.Join(dir, "write/a/d"))
		_ = os.Remove(filepath.Join(dir, "read/new"))
		_ = os.WriteFile(filepath.Join(dir, "read/sub/f"), nil, 0o644)
	}
	if out, status := runBroken(t, dir, o, true); status != 0 || out != all.String() {
		t.Errorf("without the wall: %d\n%s", status, cmp.Diff(strings.Split(all.String(), "\n"), strings.Split(out, "\n")))
	}
	undo()
	o.Ruleset, o.Expected = wall, expected
	if out, status := runBroken(t, dir, o, true); status != 0 || out != want.String() {
		t.Errorf("with the wall: %d\n%s", status, cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(out, "\n")))
	}
	// The private directory is not mounted either: the wall would be about the
	// host's, and init starts nothing.
	if out, status := runBroken(t, dir, o, false); status != 125 || !strings.Contains(out, "private: replaced") {
		t.Errorf("without the private directory: %d %q", status, out)
	}
	o.Expected = nil
	if out, status := runBroken(t, dir, o, false); status != 0 || !strings.Contains(out, "5 yes") {
		t.Errorf("the control: %d %q", status, out)
	}
}

// runBroken starts this program as init of an order, in namespaces of its
// own.
func runBroken(t *testing.T, dir string, o *pid1.InitConfig, private bool) (string, int) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "order"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(o.Encode()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestWallWithoutMounts$")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", wallDir + "=" + dir, fmt.Sprintf("OUTSIDE=%d", os.Getpid()), fmt.Sprintf("PRIVATE=%v", private)}
	cmd.ExtraFiles = []*os.File{f}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, GidMappingsEnableSetgroups: false,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err = cmd.Run()
	if exit, ok := err.(*exec.ExitError); ok {
		return out.String(), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), 0
}

// brokenSandbox mounts the least without which no init starts a command, and is
// init.
func brokenSandbox(dir string) int {
	mount := func(path string) {
		if err := syscall.Mount("tmpfs", path, "tmpfs", 0, "mode=755"); err != nil {
			fmt.Println(path, err)
			os.Exit(99)
		}
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		fmt.Println(err)
		return 99
	}
	mount("/run")
	if err := os.Mkdir(host.ManifestDir, 0o755); err != nil {
		fmt.Println(err)
		return 99
	}
	if os.Getenv("PRIVATE") == "true" {
		mount(dir + "/private")
	}
	return pid1.Run([]string{pid1.InitName, "3"})
}
