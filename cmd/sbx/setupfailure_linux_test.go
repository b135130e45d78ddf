// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbx-sandbox/sbx/internal/jailtest"
)

// vanish DIR PROGRAM WORD... removes a directory and becomes a program. It makes
// no process: a shell that does gives the signal mask up.
func vanishMain() {
	runtime.LockOSThread()
	die(os.Remove(os.Args[1]))
	die(syscall.Exec(os.Args[2], append([]string{"bwrap"}, os.Args[3:]...), os.Environ()))
}

// TestSetupFailure: whatever keeps bwrap from setting up a sandbox, sbx says so
// in its own words, before it ends, and the status is its own. What a command
// says and ends with stays the command's.
func TestSetupFailure(t *testing.T) {
	needBwrap(t)
	const hint = "sbx: hint: sbx doctor tries what bwrap can do here\n"
	const removed = "sbx: hint: it was removed or renamed on the host while the sandbox was being set up; run it again\n"
	failed := func(why, hint string) string { return "sbx: error: Failed to initialize sandbox: " + why + "\n" + hint }
	says := func(text string) string { // as bwrap does
		return "printf 'bwrap: ' >&2; printf '" + text + "' >&2; echo >&2; "
	}
	for _, c := range []struct {
		name   string
		bwrap  string // what it does instead of setting up
		args   []string
		out    string
		said   string
		status int
		late   bool // what is said may come when it has ended
	}{
		{"a source that vanishes", `exec BIN/vanish DIR/extra BIN/real "$@"`, []string{"-r", "DIR/extra"}, "", failed("Can't find source path DIR/extra: No such file or directory", removed), 125, false},
		{"a stage that cannot be executed", `shift 4; exec BIN/real --args "$n" -- /run/sbx/none "$@"`, nil, "", failed("execvp /run/sbx/none: No such file or directory", removed), 125, false},
		{"an option that is not known", `exec BIN/real --no-such "$@"`, nil, "", failed("Unknown option --no-such", hint), 125, false},
		{"at once", says("out of luck") + "exit 1", nil, "", failed("out of luck", hint), 125, false},
		{"a little later", "sleep 0.2; " + says("out of luck") + "exit 1", nil, "", failed("out of luck", hint), 125, false},
		{"another status", says("out of luck") + "exit 3", nil, "", failed("out of luck", hint), 125, false},
		{"as if nothing was", says("out of luck") + "exit 0", nil, "", failed("out of luck", hint), 125, false},
		{"memory", says("Can\\047t clone: Cannot allocate memory") + "exit 1", nil, "",
			failed("Can't clone: Cannot allocate memory", "sbx: hint: run it again; if it persists, raise the limits on processes, memory and files (ulimit -a), or end what uses them up\n"), 125, false},
		{"two of them", says("first") + says("second") + "exit 1", nil, "", failed("first", hint), 125, false},
		{"what drives the terminal", says(`\033[2Jgone`) + "exit 1", nil, "", failed(`\u001b[2Jgone`, hint), 125, false},
		{"words of another program", "echo odd >&2; echo words >&2; exit 4", nil, "", "odd\nwords\n" + failed("bwrap ended with status 4", hint), 125, false},
		{"a line of sbx's in a path", says(`no path x\nsbx: error: \033[2Jall is well`) + "exit 1", nil, "", `sbx: error: \x1b[2Jall is well` + "\n" + failed("no path x", hint), 125, false},
		// It is gone before anything can be done about it.
		{"in one write", "echo 'bwrap: out of luck' >&2; exit 1", nil, "", failed("out of luck", hint), 1, true},
		{"without a word", "exit 1", nil, "", failed("bwrap ended with status 1 without a word", hint), 1, true},
		{"killed", "kill -KILL $$", nil, "", "", 137, true},
		{"a warning", "echo 'bwrap: hm' >&2; echo odd >&2; echo words >&2; " + `exec BIN/real "$@"`, nil, "out\n", "odd\nwords\nbwrap: mine\n", 1, false},
		{"nothing", `exec BIN/real "$@"`, nil, "out\n", "bwrap: mine\n", 1, false},
		{"--direct", `exec BIN/vanish DIR/extra BIN/real "$@"`, []string{"--direct", "-r", "DIR/extra"}, "", "bwrap: Can't find source path DIR/extra: No such file or directory\n", 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, os.Geteuid())
			in := strings.NewReplacer("BIN", p.dir+"/bin", "DIR", p.dir)
			real, err := exec.LookPath("bwrap")
			must(t, err)
			data, err := os.ReadFile(real)
			must(t, err)
			must(t, os.WriteFile(p.dir+"/bin/real", data, 0o755))
			self, err := os.Executable()
			must(t, err)
			must(t, os.Symlink(self, p.dir+"/bin/vanish"))
			must(t, os.Mkdir(p.dir+"/extra", 0o755))
			probe := `case "$1 $*" in --args*) n=$2;; *) exec BIN/real "$@"; esac` + "\n"
			must(t, os.WriteFile(p.dir+"/bin/bwrap", []byte("#!/bin/sh\n"+in.Replace(probe+c.bwrap)+"\n"), 0o755))
			args := append([]string{"-q"}, c.args...)
			for i := range args {
				args[i] = in.Replace(args[i])
			}
			cmd := jailtest.Host{Bwrap: p.dir + "/bin/bwrap"}.Command(p.dir+"/sbx/sbx", append(args, "--", "sh", "-c", "echo out; echo 'bwrap: mine' >&2; exit 1")...)
			jailtest.SetEnv(cmd, p.env)
			file, err := os.Create(p.dir + "/said")
			must(t, err)
			defer file.Close()
			var out strings.Builder
			cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir+"/proj", &out, file
			status := shellStatus(cmd.Run())
			if c.name == "without a word" && !tellsEnd(t) {
				c.said = ""
			}
			if c.late {
				eventually(patience, func() bool { return readText(file.Name()) == in.Replace(c.said) })
			}
			if c.name == "in one write" && status == 125 { // where the guard was quicker
				c.status = 125
			}
			if said := readText(file.Name()); status != c.status || out.String() != c.out || said != in.Replace(c.said) {
				t.Errorf("status %d, want %d: %s%s\nwant %s", status, c.status, out.String(), said, in.Replace(c.said))
			}
		})
	}
}

// tellsEnd reports whether the kernel tells how a process ended to others than its
// parent (Linux 6.15).
func tellsEnd(t *testing.T) bool {
	cmd := exec.Command("false")
	must(t, cmd.Start())
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	_ = cmd.Wait()
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	info := [8]uint64{1 << 3}
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), 0xc040ff0b, uintptr(unsafe.Pointer(&info)))
	return errno == 0 && info[0]&(1<<3) != 0
}
