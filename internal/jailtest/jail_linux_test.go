// SPDX-License-Identifier: Apache-2.0

package jailtest

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The test binary is the program, too: it says what it can do.
func TestMain(m *testing.M) {
	Enter()
	if len(os.Args) == 2 && os.Args[1] == "look" {
		look()
		return
	}
	os.Exit(m.Run())
}

func look() {
	var said []string
	can := func(what string, ok bool) {
		if ok {
			said = append(said, what)
		}
	}
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
	abi, _, _ := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1)
	_, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, 0)
	var root unix.Statx_t
	_ = unix.Statx(unix.AT_FDCWD, "/", 0, unix.STATX_INO, &root)
	can("bwrap", exists("/usr/bin/bwrap"))
	can("sh", exists("/usr/bin/sh"))
	can("proc", exists("/proc/self/status"))
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	can("open", err == nil && !strings.Contains(string(mounts), " /proc/"))
	can("landlock", int(abi) > 0)
	can("filters", errno == unix.EFAULT)
	can("root", root.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0)
	can("uid "+strconv.Itoa(os.Getuid()), true)
	can("userns", exec.Command("/usr/bin/env", "unshare", "--user", "true").Run() == nil)
	can("mount", exec.Command("/usr/bin/env", "unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs",
		"none", "/mnt").Run() == nil)
	os.Stdout.WriteString(strings.Join(said, ", "))
}

// TestHosts: each host lacks what it says, and nothing else but what follows.
func TestHosts(t *testing.T) {
	uid := os.Getuid()
	whole := said(t, Host{})
	for _, need := range []string{"bwrap", "sh", "proc", "open", "landlock", "filters", "root", "userns", "mount"} {
		if !strings.Contains(whole, need) {
			t.Skipf("this host has no %s: %s", need, whole)
		}
	}
	less := func(words ...string) string {
		out := whole
		for _, w := range words {
			out = strings.Replace(out, ", "+w, "", 1)
			out = strings.TrimPrefix(out, w+", ")
		}
		return out
	}
	dir := t.TempDir()
	file := dir + "/file"
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		host Host
		want string
	}{
		{"whole", Host{}, whole},
		{"no bwrap", Host{Bwrap: None}, less("bwrap", "userns", "mount")}, // nor unshare
		{"another bwrap", Host{Bwrap: file}, whole},
		{"spent", Host{Spent: true}, less("userns", "mount")},
		{"covered", Host{Covered: true}, less("open")},
		{"no /proc", Host{NoProc: true}, less("proc", "open", "mount")}, // unshare writes /proc/self/uid_map
		{"chroot", Host{Root: t.TempDir()}, less("root", "userns", "mount")},
		{"no-userns", Host{Filters: []Filter{NoUserns}}, less("userns", "mount")},
		{"docker", Host{Filters: []Filter{Docker}}, less("userns", "mount")},
		{"docker-eased", Host{Filters: []Filter{Eased}}, whole},
		{"no-landlock", Host{Filters: []Filter{NoLandlock}}, less("landlock")},
		{"no-seccomp", Host{Filters: []Filter{NoSeccomp}}, less("filters")},
	} {
		if got := said(t, c.host); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
	if uid == 0 {
		if got := said(t, Host{UID: 54321}); got != strings.Replace(whole, "uid 0", "uid 54321", 1) {
			t.Errorf("as a user: %s", got)
		}
	}
	// Nothing of it is left outside.
	if got := said(t, Host{}); got != whole {
		t.Errorf("afterwards: %s\nwant %s", got, whole)
	}
	cmd := Host{Filters: []Filter{"unheard"}}.Command("/proc/self/exe", "look")
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 99 {
		t.Errorf("an unknown filter: %v: %s", err, out)
	}
}

// said is what the program finds on a host. It is copied to where others can
// execute it, and where a covered /proc does not matter.
func said(t *testing.T, h Host) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "jailtest")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/look", data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := h.Command(dir+"/look", "look")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%+v: %v: %s", h, err, out)
	}
	return string(out)
}
