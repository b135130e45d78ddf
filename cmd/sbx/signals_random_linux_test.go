// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// subject is a command that random signals are sent to, a script for a shell.
// $0 is the file that it appends a line to every few milliseconds, "$0.got" where
// its handlers write.
type subject struct {
	name, shell, script string
	handles             bool // every signal but STOP, TSTP and CONT has a handler
}

const beat = `while :; do echo >>"$0"; sleep 0.01; done`

var subjects = []subject{
	{"sleeper", "sh", `echo >>"$0"; exec sleep 600`, false},
	{"forks", "sh", beat, false},
	{"pipeline", "sh", `while :; do echo x; sleep 0.01; done | while read x; do echo >>"$0"; done; echo`, false},
	{"nested", "sh", `sh -c 'sh -c '\''while :; do echo >>"$0"; sleep 0.01; done; echo'\'' "$0"; echo' "$0"; echo`, false},
	{"jobs", "bash", `set -m; (` + beat + `) & while :; do /bin/true; sleep 0.01; done`, false},
	{"handlers", "sh", `exec heed "$0"`, true},
	{"handlers in a nest", "sh", `heed "$0"; echo`, false},
	{"traps", "bash", `for n in HUP TERM USR1 USR2 WINCH; do trap "echo >>'$0'" $n; done; ` + beat, false},
}

// sent is one signal of a sequence, and how long to wait before it.
type sent struct {
	n     syscall.Signal
	group bool
	delay time.Duration
}

func (s sent) String() string {
	return fmt.Sprintf("%v %s%s", s.delay, strings.TrimPrefix(signalName(s.n), "SIG"), map[bool]string{true: " group"}[s.group])
}

func signalName(n syscall.Signal) string {
	names := map[syscall.Signal]string{syscall.SIGSTOP: "STOP", syscall.SIGCONT: "CONT", syscall.SIGTSTP: "TSTP", syscall.SIGTERM: "TERM", syscall.SIGINT: "INT", syscall.SIGHUP: "HUP", syscall.SIGUSR1: "USR1", syscall.SIGUSR2: "USR2", syscall.SIGWINCH: "WINCH"}
	return names[n]
}

// someSignals is a random sequence. Stops and continuations come in quick
// succession. Of the signals that may end a command without handlers there is one
// at most, apart from the others: the outcome must not depend on which was faster.
func someSignals(handles bool) (list []sent) {
	stops := []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT, syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGSTOP}
	others := []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}
	rand.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	if !handles {
		others = others[:rand.IntN(2)]
	}
	if rand.IntN(3) == 0 { // nothing but stopped and continued, at once
		for range 1 + rand.IntN(6) {
			list = append(list, sent{syscall.SIGSTOP, false, time.Duration(rand.IntN(20_000)) * time.Microsecond}, sent{syscall.SIGCONT, false, time.Duration(rand.IntN(1000)) * time.Microsecond})
		}
		return list
	}
	groups := []int{3, 1000}[rand.IntN(2)] // one in so many goes to the group
	for range 1 + rand.IntN(8) {
		s := sent{n: stops[rand.IntN(len(stops))], group: rand.IntN(groups) == 0}
		switch k := rand.IntN(5); {
		case k == 0:
			s.n = syscall.SIGWINCH
		case k == 1 && len(others) > 0:
			s.n, others = others[0], others[1:]
		}
		if rand.IntN(3) > 0 {
			s.delay = time.Duration(rand.IntN(20_000)) * time.Microsecond
		}
		if ends := func(n syscall.Signal) bool { return slices.Contains(passedOn, n) }; ends(s.n) || len(list) > 0 && ends(list[len(list)-1].n) {
			s.delay += 50 * time.Millisecond
		}
		list = append(list, s)
	}
	return list
}

// column is a command that signals are sent to, bare or by sbx.
type column struct {
	*launched
	file string
	ends string // how it ended, "" while it has not
}

// state is what a caller sees: how the process that it started ended, whether it
// is stopped.
func (c *column) state() string {
	for c.ends == "" {
		select {
		case e := <-c.events:
			if strings.HasPrefix(e, "exit ") || strings.HasPrefix(e, "signal ") {
				c.ends = asStatus(e)
			}
			continue
		default:
		}
		break
	}
	if c.ends != "" {
		return c.ends
	}
	stat := readText(fmt.Sprintf("/proc/%d/stat", c.pid))
	switch rest := stat[strings.LastIndexByte(stat, ')')+1:]; {
	case len(rest) > 1 && rest[1] == 'T':
		return "stopped"
	case len(rest) > 1 && rest[1] != 'Z':
		return "runs"
	}
	return "ending"
}

// asStatus gives the death by a signal that sbx passes on as it does.
func asStatus(end string) string {
	if n, ok := strings.CutPrefix(end, "signal "); ok && slices.Contains(passedOn, syscall.Signal(atoi(n))) {
		return "exit " + strconv.Itoa(128+atoi(n))
	}
	return end
}

// beats reports whether the command does something.
func (c *column) beats() bool {
	size := func() int64 {
		if info, err := os.Stat(c.file); err == nil {
			return info.Size()
		}
		return 0
	}
	before := size()
	return eventually(500*time.Millisecond, func() bool { return size() > before })
}

// got are the signals that handlers have noted.
func (c *column) got() string {
	lines := strings.Fields(readText(c.file + ".got"))
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), " ")
}

// TestRandomSignals sends random sequences of signals to a command, bare and by
// sbx, and compares what a caller sees: running, stopped or ended, and how; what
// handlers noted; and, once everything was continued, that the command goes on
// as the bare one does. SBX_TEST_SIGNALS is how many sequences.
func TestRandomSignals(t *testing.T) {
	needBwrap(t)
	needProgram(t, "bash")
	rounds := 40
	if n, err := strconv.Atoi(os.Getenv("SBX_TEST_SIGNALS")); err == nil {
		rounds = n
	}
	w := newWorld(t)
	if _, said, status := w.run(w.proj, "sbx", "-q", "--", "true"); status != 0 {
		t.Fatal(said)
	}
	type row struct {
		subject int
		how     string
		list    []sent
	}
	rows := make([]row, rounds)
	for i := range rows {
		k := i % len(subjects)
		rows[i] = row{k, []string{"session", "group"}[rand.IntN(2)], someSignals(subjects[k].handles)}
	}
	var mu sync.Mutex
	ends := map[string]int{}
	each(t, 3, rows, func(t *testing.T, r row) {
		end := w.compareSignals(t, subjects[r.subject], r.how, r.list)
		mu.Lock()
		defer mu.Unlock()
		ends[end]++
	})
	t.Log(ends)
}

func (w *world) compareSignals(t *testing.T, s subject, how string, list []sent) string {
	var both [2]*column
	for i, by := range []string{"bare", "sbx"} {
		m := mark()
		c := &column{file: filepath.Join(w.proj, m)}
		c.launched = w.launch(t, how, through(by, s.shell, "-c", s.script, c.file)...)
		defer func() {
			c.kill()
			for _, p := range processList(m) { // stopped, or in groups of their own
				_ = syscall.Kill(p.pid, syscall.SIGKILL)
			}
			if left := survivors(m, patience); len(left) > 0 {
				t.Errorf("%s: left over: %v", by, left)
			}
		}()
		both[i] = c
	}
	for _, c := range both {
		if !appears(c.file) {
			t.Fatal("does not start", c.output())
		}
	}
	time.Sleep(20 * time.Millisecond)
	var done sync.WaitGroup
	for _, c := range both {
		done.Go(func() {
			for _, x := range list {
				time.Sleep(x.delay)
				if c.state() == "runs" || c.state() == "stopped" {
					_ = c.signal(map[bool]string{true: "group", false: "pid"}[x.group], x.n)
				}
			}
		})
	}
	done.Wait()
	check := func(what string, is func(bare, sbx string) bool, of func(*column) string) string {
		var bare, sbx string
		if !eventually(patience, func() bool {
			bare, sbx = of(both[0]), of(both[1])
			return is(bare, sbx) && bare != "ending"
		}) {
			t.Errorf("%s, %s: bare %q, sbx %q %s%s", s.name, what, bare, sbx, both[1].output(), stageOf(both[1].pid))
		}
		return bare
	}
	same := func(bare, sbx string) bool { return bare == sbx }
	time.Sleep(50 * time.Millisecond)
	// Where a stop follows at once upon what ends the command, the outer process may
	// stop first. It ends when it is continued.
	check("after the signals", func(bare, sbx string) bool {
		return bare == sbx || sbx == "stopped" && bare != "runs"
	}, (*column).state)
	for _, c := range both {
		if c.state() == "runs" || c.state() == "stopped" {
			_ = c.signal(map[bool]string{true: "group", false: "pid"}[stopsGroup(list)], syscall.SIGCONT)
		}
	}
	time.Sleep(50 * time.Millisecond)
	end := check("continued", same, (*column).state)
	if end != "runs" {
		return end // and with the command all that it started, by sbx
	}
	check("handlers", same, (*column).got)
	if s.name != "sleeper" && both[0].beats() && !eventually(patience, func() bool { return both[1].beats() || both[1].state() != "runs" }) {
		t.Errorf("%s: hangs; the stage: %s", s.name, stageOf(both[1].pid))
	}
	return end
}

// stopsGroup reports whether a whole group was told to stop: a SIGCONT to one of
// it would not continue the others then.
func stopsGroup(list []sent) bool {
	return slices.ContainsFunc(list, func(s sent) bool { return s.group && (s.n == syscall.SIGSTOP || s.n == syscall.SIGTSTP) })
}

// stageOf describes what runs below an outer process.
func stageOf(pid int) (list string) {
	for _, p := range family(pid) {
		list += fmt.Sprintf("\n%d child of %d %c %s", p.pid, p.ppid, p.state, p.args)
	}
	return list
}
