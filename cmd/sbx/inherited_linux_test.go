// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var signalSets = regexp.MustCompile(`(?m)^Sig(Blk|Ign):.*$`)

// TestSignalSets: the command has the caller's blocked signals, and of those
// that the caller ignores it ignores HUP and INT.
func TestSignalSets(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	for _, caller := range []string{"", "block=15", "block=1,2,3,10,12,14,15,17,18,28", "block=34,35,64", "ignore=1", "ignore=2", "ignore=1,2", "ignore=1 block=1,15", "ignore=17"} {
		t.Run(caller, func(t *testing.T) {
			sets := func(by string) string {
				l := w.launch(t, "session", slices.Concat([]string{"inherit"}, strings.Fields(caller), through(by, "cat", "/proc/self/status"))...)
				if end := l.end(patience); end != "exit 0" {
					t.Error(by, end)
				}
				return strings.Join(signalSets.FindAllString(l.output(), -1), "\n")
			}
			bare := sets("bare")
			if caller == "ignore=17" {
				bare = sets("sbx") // a known difference: only HUP and INT stay ignored
			}
			if got := sets("sbx"); got != bare || strings.Count(got, "Sig") != 2 {
				t.Errorf("sbx: %s\nbare: %s", got, bare)
			}
			if got := sets("limited"); got != bare {
				t.Errorf("with a limit: %s\nbare: %s", got, bare)
			}
		})
	}
	out, said, status := w.run(w.proj, "inherit", "ignore=17", "sbx", "-q", "--", "sh", "-c", "true; sleep 0.1; exit 42")
	if status != 42 {
		t.Errorf("CHLD ignored: status %d: %s%s", status, out, said)
	}
}

// TestSignalQueue: the queue of signals is one for all processes of a user, and
// a command in one sandbox can fill it. Runs go on without it.
func TestSignalQueue(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	var rows [][2]string
	for _, to := range []string{"", "pid", "group"} {
		rows = append(rows, [2]string{to, ""}, [2]string{to, "--timeout 10m"})
	}
	each(t, 3, rows, func(t *testing.T, r [2]string) {
		to, flags := r[0], r[1]
		words := slices.Concat([]string{"inherit", "sigpending=0", "sbx", "-q"}, strings.Fields(flags), []string{"--"})
		if to == "" {
			if out, said, status := w.run(w.proj, append(words, "sh", "-c", "sleep 0.3; exit 7")...); status != 7 {
				t.Errorf("%s: status %d: %s%s", flags, status, out, said)
			}
			return
		}
		file := filepath.Join(w.proj, mark())
		l := w.launch(t, "session", append(words, "tally", file)...)
		if !appears(file + ".ready") {
			l.kill()
			t.Fatal(l.output())
		}
		must(t, l.signal(to, syscall.SIGTERM))
		if end := l.end(patience); end != "exit 9" || readText(file) != "1*15" {
			t.Errorf("%s: TERM to the %s: %s, counted %q", flags, to, end, readText(file))
		}
	})
}

// TestNohup: what a shell started with nohup outlives that shell's session.
func TestNohup(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	each(t, 4, [][2]string{{"bare", "nohup"}, {"bare", ""}, {"sbx", "nohup"}, {"sbx", ""}}, func(t *testing.T, r [2]string) {
		by, nohup := r[0], r[1]
		m, file := mark(), filepath.Join(w.proj, by+nohup)
		l := w.launch(t, "group", slices.Concat([]string{"bash", "-c", nohup + ` "$@" </dev/null >/dev/null 2>&1 & trap exit TERM; wait`, "bash"},
			through(by, "sh", "-c", "echo >"+file+".ready; sleep 0.6; echo >"+file+"; : "+m))...)
		if !appears(file + ".ready") {
			t.Fatal(l.output())
		}
		must(t, l.signal("group", syscall.SIGHUP)) // as the terminal's end would
		_ = l.end(patience)
		survived := eventually(map[bool]time.Duration{true: patience, false: 1500 * time.Millisecond}[nohup != ""], func() bool {
			_, err := os.Lstat(file)
			return err == nil
		})
		if survived != (nohup != "") {
			t.Errorf("%s %s: survived: %v", by, nohup, survived)
		}
		if left := survivors(m, patience); len(left) > 0 {
			t.Errorf("%s %s: left over: %v", by, nohup, left)
		}
	})
}
