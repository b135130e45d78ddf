// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/landlock"
)

// TestHomes runs sbx where HOME does not exist, is not the caller's, or cannot be
// written: the command runs, has a cache, and nothing is left (issue 15). The
// control is a home like others, where a cache and a record are kept.
func TestHomes(t *testing.T) {
	needBwrap(t)
	users := []int{os.Geteuid()}
	if users[0] == 0 {
		users = append(users, 54321) // in no file of users
	}
	engines := []string{"bwrap"}
	if landlock.ABI() > 0 {
		engines = append(engines, "landlock")
	}
	for _, uid := range users {
		for _, engine := range engines {
			for _, h := range homes {
				if h.user && uid == 0 || h.root && os.Geteuid() != 0 {
					continue
				}
				t.Run(map[bool]string{true: "root", false: "user"}[uid == 0]+" "+engine+" "+h.name, func(t *testing.T) {
					t.Parallel()
					h.try(t, uid, engine)
				})
			}
		}
	}
}

// homeRow is a home, made in a directory of the test's.
type homeRow struct {
	name string
	home string // below the directory of the test unless it begins with "="
	make func(dir string, uid int) error
	xdg  bool // the XDG variables name directories that do not exist
	kept bool // the cache is, and so are the records
	seen bool // the records are
	user bool // not for root, who may do all
	root bool // needs root to be made
	said string
}

var homes = []homeRow{
	{name: "plain", home: "home", kept: true, make: func(dir string, uid int) error {
		return join(os.Mkdir(dir+"/home", 0o700), os.Chown(dir+"/home", uid, uid))
	}},
	{name: "absent", home: "absent", said: "/absent does not exist"},
	{name: "absent below absent", home: "absent/er", said: "/absent does not exist"},
	{name: "in everybody's", home: "open/absent", said: "/open/absent does not exist", make: func(dir string, uid int) error {
		return join(os.Mkdir(dir+"/open", 0o777), os.Chmod(dir+"/open", 0o777|os.ModeSticky))
	}},
	{name: "the root directory", home: "=/", said: "/.local does not exist"},
	{name: "read-only", home: "home", user: true, said: "/home cannot be written", make: func(dir string, uid int) error {
		return join(os.Mkdir(dir+"/home", 0o500), os.Chown(dir+"/home", uid, uid))
	}},
	{name: "closed, of another user", home: "home", user: true, root: true, said: "belongs to another user", make: func(dir string, _ int) error {
		return os.Mkdir(dir+"/home", 0o700)
	}},
	{name: "of another user", home: "home", root: true, said: "is not watched", make: func(dir string, _ int) error {
		return join(os.Mkdir(dir+"/home", 0o755), os.Chown(dir+"/home", 4711, 4711))
	}},
	{name: "cache of another user", home: "home", seen: true, root: true, make: func(dir string, uid int) error {
		return join(os.MkdirAll(dir+"/home/.cache/sbx", 0o755), os.Chown(dir+"/home", uid, uid), os.Chown(dir+"/home/.cache", uid, uid), os.Chown(dir+"/home/.cache/sbx", 4711, 4711))
	}},
	{name: "cache closed by another user", home: "home", user: true, root: true, seen: true, make: func(dir string, uid int) error {
		return join(os.MkdirAll(dir+"/home/.cache/sbx", 0o700), os.Chmod(dir+"/home", 0o755), os.Chown(dir+"/home", uid, uid))
	}},
	{name: "/proc", home: "=/proc", root: true, said: "/proc keeps no files"},
	{name: "XDG directories absent", home: "home", xdg: true, said: "/xdg does not exist", make: func(dir string, uid int) error {
		return join(os.Mkdir(dir+"/home", 0o700), os.Chown(dir+"/home", uid, uid))
	}},
}

func join(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (h homeRow) try(t *testing.T, uid int, engine string) {
	p := newPlace(t, uid)
	must(t, os.Remove(p.dir+"/home"))
	if h.make != nil {
		must(t, h.make(p.dir, uid))
	}
	home, ok := strings.CutPrefix(h.home, "=")
	if !ok {
		home = filepath.Join(p.dir, home)
	}
	env := []string{"HOME=" + home, "PATH=" + p.dir + "/sbx:/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TERM=dumb"}
	if h.xdg {
		env = append(env, "XDG_CACHE_HOME="+p.dir+"/xdg/cache", "XDG_STATE_HOME="+p.dir+"/xdg/state")
	}
	run := func(args ...string) (stdout, stderr string, status int) {
		cmd := exec.Command(p.dir+"/sbx/sbx", args...)
		var out, said bytes.Buffer
		cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, p.dir+"/proj", &out, &said
		if uid != os.Geteuid() {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		}
		err := cmd.Run()
		return out.String(), said.String(), shellStatus(err)
	}
	before := names(t, p.dir)
	out, said, status := run("--engine", engine, "-p", "moderate", "--", "sh", "-c", `touch made && mkdir -p "$XDG_CACHE_HOME" && echo kept >"$XDG_CACHE_HOME/f" && cat "$XDG_CACHE_HOME/f"`)
	if status != 0 || out != "kept\n" {
		t.Fatalf("status %d, %q: %s", status, out, said)
	}
	if !strings.Contains(said, h.said) || (said == "") != (h.said == "") {
		t.Errorf("it says: %s", said)
	}
	// A second run finds what the first left, or nothing of it.
	out, said, status = run("-v", "--engine", engine, "-p", "moderate", "--", "sh", "-c", `cat "$XDG_CACHE_HOME/f" 2>/dev/null; true`)
	if status != 0 || (out == "kept\n") != h.kept {
		t.Errorf("the second run: status %d, %q: %s", status, out, said)
	}
	if n := strings.Count(said, "cache: of this run alone"); n != map[bool]int{true: 0, false: 1}[h.kept] {
		t.Errorf("-v says %d times that the cache is of this run alone: %s", n, said)
	}
	must(t, os.Remove(p.dir+"/proj/made"))
	if after := names(t, p.dir); (h.kept || h.seen) == (after == before) {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if h.kept || h.seen {
		return
	}
	// Who wants to be told asks for it.
	must(t, os.WriteFile(p.dir+"/proj/.sbx.toml", []byte("tripwire = \"required\"\n"), 0o644))
	must(t, os.Chown(p.dir+"/proj/.sbx.toml", uid, uid))
	if out, said, status = run("--engine", engine, "-p", "moderate", "--", "echo", "ran"); status != 125 || out != "" || !strings.Contains(said, "cannot be watched") {
		t.Errorf("tripwire = required: status %d, %q: %s", status, out, said)
	}
}

// names lists a tree, and what would be made in a home that is the root.
func names(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		out.WriteString(path + "\n")
		if os.IsPermission(err) {
			return nil
		}
		return err
	}))
	for _, name := range []string{"/.cache", "/.local", "/nonexistent"} {
		if _, err := os.Lstat(name); err == nil {
			out.WriteString(name + "\n")
		}
	}
	return out.String()
}

// TestHomeOnReadOnlyMount is the same for a mount that nothing can be written to,
// which root, too, has to put up with.
func TestHomeOnReadOnlyMount(t *testing.T) {
	needBwrap(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	p := newPlace(t, 0)
	home := p.dir + "/home"
	must(t, os.MkdirAll(home+"/.cache/sbx/projects", 0o700))
	cmd := exec.Command(sbxPath, "-v", "--", "sh", "-c", `mkdir -p "$XDG_CACHE_HOME" && echo x >"$XDG_CACHE_HOME/f" && echo ran`)
	cmd = exec.Command("sh", append([]string{"-c", `mount --bind "$HOME" "$HOME" && mount -o remount,ro,bind "$HOME" && ! touch "$HOME/x" 2>/dev/null && exec "$@"`, "sh"}, cmd.Args...)...)
	cmd.Env, cmd.Dir = []string{"HOME=" + home, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, p.dir+"/proj"
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "ran\n") || !strings.Contains(string(out), "cache: of this run alone") {
		t.Errorf("%v: %s", err, out)
	}
}
