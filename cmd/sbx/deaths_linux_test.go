// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// passedOn are the signals that are blocked in the process that the caller
// started, so that it cannot die of them: 128+n says what the command died of.
var passedOn = []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGTERM, syscall.SIGIO}

// deadly are the signals from 1 to 31 that end a process.
func deadly() (list []syscall.Signal) {
	for n := syscall.Signal(1); n < 32; n++ {
		switch n {
		case syscall.SIGCHLD, syscall.SIGCONT, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGURG, syscall.SIGWINCH:
		default:
			list = append(list, n)
		}
	}
	return list
}

// TestDeaths: what ends a command by a signal shows to the caller as bare, but
// for the signals that are passed on; a shell cannot tell even these.
func TestDeaths(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	each(t, 4, append(deadly(), 34, 35, 63, 64), func(t *testing.T, n syscall.Signal) {
		dies := []string{"sh", "-c", fmt.Sprintf("ulimit -c 0; kill -%d $$; exit 1", n)}
		want := fmt.Sprint("signal ", int(n))
		if end := w.launch(t, "session", dies...).end(patience); end != want {
			t.Fatalf("bare: %s", end)
		}
		if slices.Contains(passedOn, n) || n > 31 {
			want = fmt.Sprint("exit ", 128+int(n))
		}
		if end := w.launch(t, "session", through("sbx", dies...)...).end(patience); end != want {
			t.Errorf("%s, want %s", end, want)
		}
		shell := []string{"bash", "-c", `"$@"; echo $?`, "bash"}
		bare, _, _ := w.run(w.proj, append(shell, dies...)...)
		out, said, _ := w.run(w.proj, append(shell, through("sbx", dies...)...)...)
		if out != bare || out != fmt.Sprintln(128+int(n)) {
			t.Errorf("a shell sees %q and bare %q: %s", out, bare, said)
		}
	})
	if found, _ := filepath.Glob(filepath.Join(w.proj, "core*")); len(found) > 0 {
		t.Error(found)
	}
}

// TestStatuses: every exit status arrives, whatever stands between.
func TestStatuses(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	statuses := []int{0, 1, 2, 3, 7, 9, 42, 63, 64, 77, 100, 123, 124, 125, 126, 127, 128, 129, 137, 143, 192, 200, 254, 255}
	if os.Getenv("SBX_TEST_SLOW") != "" {
		statuses = nil
		for n := range 256 {
			statuses = append(statuses, n)
		}
	}
	few := []int{0, 1, 42, 124, 125, 137, 255}
	type row struct {
		flags    string
		statuses []int
	}
	each(t, 2, []row{{"", statuses}, {"--timeout 10m", few}, {"--direct", few}, {"--share-pid", few}, {"--no-sandbox", few}}, func(t *testing.T, r row) {
		for _, n := range r.statuses {
			words := slices.Concat([]string{"sbx", "-q"}, strings.Fields(r.flags), []string{"--", "sh", "-c", fmt.Sprint("exit ", n)})
			if _, said, status := w.run(w.proj, words...); status != n {
				t.Errorf("%d instead of %d: %s", status, n, said)
			}
		}
	})
}

// TestNoCommand: when there was no command the status says why, as env(1) and
// timeout(1) have it.
func TestNoCommand(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	w.write(t, "bad.toml", "nonsense = 1\n")
	w.write(t, "failing", "#!/bin/sh\nexit 3\n")
	w.write(t, "proj/script", "echo as sh runs it $# \"$1\"\n")
	w.write(t, "proj/garbage", "\x7fELF garbage\x00\x01")
	for _, name := range []string{"proj/script", "proj/garbage", "failing"} {
		must(t, os.Chmod(filepath.Join(w.dir, name), 0o755))
	}
	for _, flags := range []string{"", "--timeout 10m", "--direct", "--share-pid", "--no-sandbox"} {
		for name, want := range map[string]int{"no-such-program": 127, "./nosuch": 127, "/etc/passwd": 126, "./": 126} {
			words := slices.Concat([]string{"sbx", "-q"}, strings.Fields(flags), []string{"--", name})
			if out, said, status := w.run(w.proj, words...); status != want || out != "" || !strings.Contains(said, "sbx: error: "+name+": ") {
				t.Errorf("%q: status %d, want %d: %s%s", words, status, want, out, said)
			}
		}
	}
	for _, words := range [][]string{{"sbx", "--bogus", "--", "true"}, {"sbx", "-p", "nosuch", "--", "true"}, {"sbx", "--timeout", "soon", "--", "true"}} {
		if _, said, status := w.run(w.proj, words...); status != 125 || !strings.HasPrefix(said, "sbx: error: ") {
			t.Errorf("%q: status %d: %s", words, status, said)
		}
	}
	w.write(t, "home/.config/sbx/config.toml", "nonsense = 1\n")
	if _, said, status := w.run(w.proj, "sbx", "--", "true"); status != 125 || !strings.Contains(said, "config.toml:1:1:") {
		t.Errorf("config: status %d: %s", status, said)
	}
	must(t, os.Remove(filepath.Join(w.dir, "home/.config/sbx/config.toml")))
	for _, stub := range [][]string{{"-missing"}, {"-stub", filepath.Join(w.dir, "failing")}} {
		if _, said, status := w.run(w.proj, slices.Concat([]string{"jail", "-nolandlock"}, stub, []string{sbxPath, "--", "true"})...); status != 125 || !strings.Contains(said, "sbx: error: ") {
			t.Errorf("bwrap %q: status %d: %s", stub, status, said)
		}
	}
}
