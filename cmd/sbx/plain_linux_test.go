// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-sandbox/sbx/internal/testenv"
)

// lookAt1 says how process 1 is, and whether it can be looked into.
const lookAt1 = `grep -hE '^(Threads|VmRSS):' /proc/1/status
for f in environ mem maps auxv; do head -c 1 /proc/1/$f >/dev/null 2>&1 && echo open: $f; done
for f in exe root cwd fd/2 fd/3 fd/21; do readlink /proc/1/$f >/dev/null 2>&1 && echo open: $f; done
true
`

// TestPlain: in a plain run process 1 is one thread and small. A signal starts the Go
// runtime in it, which hands it to the command that runs. Nothing inside can look into
// it, before, meanwhile or after.
func TestPlain(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	w.write(t, "proj/look", lookAt1)
	for _, words := range [][]string{{"sbx", "--"}, {"sbx", "--net", "--"}} {
		stdout, stderr, status := w.run(w.proj, append(words, "sh", "look")...)
		var threads, rss int
		_, err := fmt.Sscanf(strings.Join(strings.Fields(stdout), " "), "VmRSS: %d kB Threads: %d", &rss, &threads)
		if err != nil || status != 0 || threads != 1 || rss > 600 || strings.Contains(stdout, "open") {
			t.Errorf("%v: status %d, %d threads, %d kB: %s%s", words, status, threads, rss, stdout, stderr)
		}
	}
	file := filepath.Join(w.proj, "ready")
	l := w.launch(t, "session", "sbx", "-q", "--", "sh", "-c", `trap 'echo usr1' USR1
trap 'echo term; sh look; exit 7' TERM
echo >`+file+`
while :; do sh look | grep open; sleep 0.01; done`)
	if !appears(file) {
		t.Fatal("not ready")
	}
	must(t, syscall.Kill(l.pid, syscall.SIGUSR1))
	time.Sleep(100 * time.Millisecond)
	must(t, syscall.Kill(l.pid, syscall.SIGTERM))
	last := l.next(patience)
	out, _ := os.ReadFile(l.out)
	if text := string(out); last != "exit 7" || !strings.HasPrefix(text, "usr1\nterm\n") || strings.Contains(text, "open") || strings.Contains(text, "Threads:\t1\n") {
		t.Errorf("%s: %s", last, text)
	}
}

// fillTable starts processes until there are no more, and ends with status 3. What is
// left keeps the table of the user full.
const fillTable = `import os, signal
for i in range(1100):
    try:
        if os.fork() == 0:
            signal.pause()
    except OSError:
        break
os._exit(3)
`

// TestTableFull: a command that has filled the caller's table of processes ends as any
// other. Go's runtime would find no room for its threads.
func TestTableFull(t *testing.T) {
	needBwrap(t)
	needProgram(t, "python3")
	w := newWorld(t)
	w.write(t, "proj/fill.py", fillTable)
	stdout, stderr, status := w.run(w.proj, "bash", "-c", "ulimit -u 1000 && exec sbx -- python3 fill.py")
	if status != 3 || stdout != "" || strings.Contains(stderr, "runtime") {
		t.Errorf("status %d, %q %q", status, stdout, stderr)
	}
}

// TestHandedOver: signals at any time, some of them while the runtime starts, reach the
// command's handler.
func TestHandedOver(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	type row struct {
		how, to string
		n       int
	}
	var rows []row
	for n := range 12 {
		rows = append(rows, row{"session", "group", n}, row{"session", "pid", n})
	}
	each(t, 4, rows, func(t *testing.T, r row) {
		file := filepath.Join(w.proj, mark())
		l := w.launch(t, r.how, "sbx", "-q", "--", "sh", "-c", "trap 'exit 3' TERM; echo >"+file+"; while :; do sleep 0.02; done")
		if !appears(file) {
			t.Fatal("not ready")
		}
		pid := l.pid
		if r.to == "group" {
			pid = -pid
		}
		for range 3 {
			_ = syscall.Kill(pid, syscall.SIGTERM)
			time.Sleep(time.Duration(r.n) * 100 * time.Microsecond)
		}
		if last := l.next(patience); last != "exit 3" {
			out, _ := os.ReadFile(l.out)
			t.Errorf("%s: %s", last, out)
		}
	})
}

// TestWithoutEntry: a program that go install built has Go's process 1 from the beginning,
// and does the same.
func TestWithoutEntry(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	bin := filepath.Join(t.TempDir(), "sbx")
	must(t, testenv.Build(bin, "."))
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "exec nothing-of-that-name": 127, "(sleep 0.01 &); sleep 0.05": 0,
		"test $(sed -n 's/^Threads:.//p' /proc/1/status) -gt 1": 0} {
		if stdout, stderr, status := w.run(w.proj, bin, "-q", "--", "sh", "-c", script); status != want {
			t.Errorf("%s: status %d, want %d: %s%s", script, status, want, stdout, stderr)
		}
	}
	l := w.launch(t, "session", bin, "-q", "--", "sh", "-c", "trap 'exit 3' TERM; echo >ready; while :; do sleep 0.02; done")
	if !appears(filepath.Join(w.proj, "ready")) {
		t.Fatal("not ready")
	}
	must(t, syscall.Kill(l.pid, syscall.SIGTERM))
	if last := l.next(patience); last != "exit 3" {
		t.Error(last)
	}
}
