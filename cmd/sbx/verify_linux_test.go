// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/landlock"
	"github.com/sbx-sandbox/sbx/internal/ptytest"
)

// TestVerifyOnTerminal: at a prompt sbx verify finds what it finds in a script.
func TestVerifyOnTerminal(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	for _, words := range [][]string{{"sbx", "verify"}, {"sbx", "verify", "-p", "permissive"}, {"sbx", "verify", "--new-session=yes"}, {"sh", "-c", "sbx verify; exit $?"}, {"bash", "-ic", "sbx verify"}} {
		path := sbxPath
		if words[0] != "sbx" {
			path, _ = exec.LookPath(words[0])
		}
		cmd := exec.Command(path, words[1:]...)
		cmd.Dir, cmd.Env = w.proj, slices.Concat(w.env, []string{"PWD=" + w.proj, "PATH=" + filepath.Dir(sbxPath) + ":/usr/bin:/bin"})
		out := string(ptytest.Output(t, cmd, ""))
		if status := cmd.ProcessState.ExitCode(); status != 0 || !strings.Contains(out, ", 0 holes, 0 not checked") || !strings.Contains(out, "processes") {
			t.Errorf("%q: status %d: %s", words, status, out)
		}
	}
}

// TestVerifyBelowRun: what the host has mounted below /run, where the sandbox
// has a directory of its own, is out of reach and no hole.
func TestVerifyBelowRun(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root: it mounts")
	}
	unshare := []string{"unshare", "-m"}
	const mounts = "mount -t tmpfs x /run && mkdir -p /run/snapd/ns /run/docker/netns/x /run/user/1000/doc && mount -t tmpfs x /run/snapd/ns && mount -t tmpfs y /run/docker/netns/x && mount -t tmpfs z /run/docker && " +
		"mount -t proc p /run/user/1000/doc && exec \"$@\""
	for _, profile := range []string{"permissive", "moderate", "strict"} {
		out, said, status := w.run(w.proj, slices.Concat(unshare, []string{"sh", "-c", mounts, "sh", "sbx", "verify", "-v", "-p", profile})...)
		if status != 0 || !strings.Contains(out, "only what was planned is mounted") {
			t.Errorf("%s: status %d: %s%s", profile, status, said, out)
		}
	}
}

// TestVerifyFindsSockets: a service that sbx does not know of is a hole, as it is
// one for a command, until it is hidden by name.
func TestVerifyFindsSockets(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	dir := filepath.Join(w.dir, "home/a/b/c/d")
	must(t, os.MkdirAll(dir, 0o755))
	l, err := net.Listen("unix", dir+"/first")
	must(t, err)
	defer l.Close()
	at := dir + "/s"
	must(t, os.Rename(dir+"/first", at)) // a name that sbx does not know
	out, said, status := w.run(w.proj, "sbx", "verify", "-p", "permissive")
	if status != 1 || !strings.Contains(out, "service "+at+": it can be connected to") {
		t.Errorf("status %d: %s%s", status, said, out)
	}
	if out, said, status := w.run(w.proj, "sbx", "verify", "-p", "permissive", "--block", at); status != 0 {
		t.Errorf("hidden by name: status %d: %s%s", status, said, out)
	}
	must(t, os.Rename(at, dir+"/first"))
	if out, said, status := w.run(w.proj, "sbx", "verify", "-p", "permissive", "-v"); status != 0 || !strings.Contains(out, "service "+dir+"/first: ") {
		t.Errorf("by its own name: status %d: %s%s", status, said, out)
	}
}

// TestVerifyFreshHome: what sbx makes for each run is no residue of the command.
func TestVerifyFreshHome(t *testing.T) {
	if landlock.ABI() == 0 {
		t.Skip("the kernel has no Landlock")
	}
	p := newPlace(t, os.Geteuid())
	must(t, os.RemoveAll(p.dir+"/home/.cache"))
	cmd := exec.Command(sbxPath, "verify", "-p", "strict", "--engine", "landlock", "--min-tier", "reduced")
	cmd.Dir, cmd.Env = p.dir+"/proj", p.env
	if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), " 0 holes") {
		t.Errorf("%s", out)
	}
}
