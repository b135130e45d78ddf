// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// through gives the words that run a command: bare, which is the control of
// every row, or by sbx.
func through(by string, words ...string) []string {
	before := map[string][]string{"bare": nil, "sbx": {"sbx", "-q", "--"}, "limited": {"sbx", "-q", "--timeout", "10m", "--"}}
	return slices.Concat(before[by], words)
}

// TestSignals: a signal that a caller sends runs the command's handler once,
// the handler runs to its end, and its exit status arrives. What is sent to
// the group reaches the command's whole group, each time.
func TestSignals(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	type row struct {
		how, to, by string
		n           syscall.Signal
		times       int
	}
	var rows []row
	for _, how := range []string{"session", "group", "shared"} {
		for _, to := range []string{"pid", "group"} {
			for _, n := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGTERM, syscall.SIGWINCH, 35} {
				rows = append(rows, row{how, to, "sbx", n, 1})
				if how == "session" && n != syscall.SIGALRM {
					rows = append(rows, row{how, to, "limited", n, 1})
				}
				if how != "group" {
					rows = append(rows, row{how, to, "bare", n, 1})
				}
			}
		}
		for _, by := range []string{"sbx", "bare"} {
			rows = append(rows, row{how, "group", by, syscall.SIGTERM, 2}, row{how, "group", by, syscall.SIGINT, 3})
		}
	}
	each(t, 16, rows, func(t *testing.T, r row) {
		file := filepath.Join(w.proj, mark())
		files := []string{file}
		if r.to == "group" {
			files = append(files, file+".child")
		}
		l := w.launch(t, r.how, through(r.by, append([]string{"tally"}, files...)...)...)
		if !appears(file + ".ready") {
			l.kill()
			t.Fatal("not ready", l.output())
		}
		for n := range r.times { // two that wait for a busy processor are one
			must(t, l.signal(r.to, r.n))
			for _, file := range files {
				appears(fmt.Sprint(file, ".got", n+1))
			}
		}
		end := l.end(patience)
		for _, file := range files {
			counts, err := os.ReadFile(file)
			if want := fmt.Sprintf("%d*%d", r.times, r.n); string(counts) != want || end != "exit 9" {
				t.Errorf("counted %q, want %q; %s; %v %s", counts, want, end, err, l.output())
			}
		}
	})
}

// TestEarlySignals: a signal at any moment after the start ends the run or
// reaches the command. Nothing hangs and nothing stays.
func TestEarlySignals(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	type row struct {
		to    string
		n     syscall.Signal
		delay time.Duration
	}
	var rows []row
	for _, ms := range []int{0, 1, 2, 3, 5, 8, 13, 20, 50} {
		for _, n := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGALRM, 35} {
			// What the Go runtime does with the others in its first milliseconds is its own
			// business (docs/signals.md).
			if ms < 50 && n != syscall.SIGTERM && n != syscall.SIGINT && n != syscall.SIGHUP {
				continue
			}
			rows = append(rows, row{[]string{"pid", "group"}[(ms+int(n))%2], n, time.Duration(ms) * time.Millisecond})
		}
	}
	rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	// The first run tries bwrap, and remembers.
	if _, said, status := w.run(w.proj, "sbx", "-q", "--", "true"); status != 0 {
		t.Fatal(said)
	}
	ends := map[string]int{}
	each(t, 1, rows, func(t *testing.T, r row) {
		m := mark()
		l := w.launch(t, "session", "sbx", "-q", "--", "sh", "-c", fmt.Sprintf("trap 'exit 9' %d; sleep %s & wait", r.n, m))
		time.Sleep(r.delay)
		must(t, l.signal(r.to, r.n))
		end := l.end(3 * time.Second)
		if left := survivors(m, 2*time.Second); len(left) > 0 {
			t.Errorf("%s, left over: %v", end, left)
		}
		switch end {
		case fmt.Sprint("signal ", int(r.n)), fmt.Sprint("exit ", 128+int(r.n)), "exit 9":
			ends[strings.Fields(end)[0]]++
		case "exit 2": // init's runtime, which cannot die of a signal as process 1
			ends["runtime"]++
			if r.to != "group" || l.output() != "" && r.n != syscall.SIGQUIT { // of which it prints a trace
				t.Errorf("%s: %s", end, l.output())
			}
		default:
			t.Errorf("%s: %s", end, l.output())
		}
	})
	t.Log(ends)
}

// TestStopped: who stops the process that was started stops the command.
func TestStopped(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	type row struct {
		how, to, by string
		n           syscall.Signal
	}
	var rows []row
	for _, how := range []string{"session", "group", "shared"} {
		for _, by := range []string{"bare", "sbx"} {
			rows = append(rows, row{how, "pid", by, syscall.SIGSTOP})
			// launch would be stopped as well; with sbx init would, and not the command
			// (docs/signals.md)
			if how == "session" && by == "bare" {
				rows = append(rows, row{how, "group", by, syscall.SIGSTOP})
			}
		}
	}
	each(t, 6, rows, func(t *testing.T, r row) {
		beats := filepath.Join(w.proj, mark())
		size := func() int64 {
			info, err := os.Stat(beats)
			if err != nil {
				return 0
			}
			return info.Size()
		}
		l := w.launch(t, r.how, through(r.by, "sh", "-c", "while :; do echo >>\"$0\"; sleep 0.02; done", beats)...)
		defer l.kill()
		if !eventually(patience, func() bool { return size() > 3 }) {
			t.Fatal("does not run", l.output())
		}
		must(t, l.signal(r.to, r.n))
		if e := l.next(patience); e != fmt.Sprint("stopped ", int(r.n)) {
			t.Errorf("the caller sees %q", e)
		}
		still := eventually(patience, func() bool {
			before := size()
			time.Sleep(300 * time.Millisecond)
			return size() == before
		})
		if !still {
			t.Error("the command runs on")
		}
		before := size()
		must(t, l.signal(r.to, syscall.SIGCONT))
		if e := l.next(patience); e != "continued" {
			t.Errorf("the caller sees %q", e)
		}
		if !eventually(patience, func() bool { return size() > before+3 }) {
			t.Error("the command does not go on")
		}
		must(t, l.signal("pid", syscall.SIGTERM))
		if end := l.end(patience); end != "signal 15" && end != "exit 143" {
			t.Error(end)
		}
	})
}

// TestStopsItself: a command that stops itself shows as stopped, and goes on
// with the process that was started.
func TestStopsItself(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	for _, by := range []string{"bare", "sbx", "limited"} {
		l := w.launch(t, "group", through(by, "sh", "-c", "kill -STOP $$; exit 7")...)
		if e := l.next(patience); e != "stopped 19" {
			t.Errorf("%s: the caller sees %q", by, e)
		}
		must(t, l.signal("pid", syscall.SIGCONT))
		if end := l.end(patience); end != "exit 7" {
			t.Errorf("%s: %s", by, end)
		}
	}
}
