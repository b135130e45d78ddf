// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limited is a command and its time limit.
type limited struct {
	name, limit, command, shown string
	before                      []string
	long                        bool // it takes the time of grace
}

func (l limited) String() string { return l.name }

// TestTimeLimit: when the time is up everything in the sandbox is told to end,
// and what does not is killed after the time of grace.
func TestTimeLimit(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	const said = "sbx: error: Command timed out after %ss in sandbox\n"
	rows := []limited{
		{name: "plain", limit: "0.2s", command: "sleep MARK"},
		{name: "milliseconds", limit: "50ms", command: "sleep MARK", shown: "0.05"},
		{name: "one millisecond", limit: "1ms", command: "sleep MARK", shown: "0.001"},
		{name: "seconds", limit: "1", command: "sleep MARK"},
		{name: "handler", limit: "0.3s", command: "trap 'sleep 0.5; echo cleaned; exit 3' TERM; sleep MARK & wait"},
		{name: "everybody is told", limit: "0.3s", command: "(trap 'echo cleaned' TERM; sleep MARK & wait) & (trap 'echo cleaned' TERM; sleep MARK & wait) & trap 'sleep 0.5' TERM; wait; wait"},
		{name: "stopped", limit: "0.5s", command: "trap 'echo cleaned; exit' TERM; kill -STOP $$; echo never"},
		{name: "frozen child", limit: "0.5s", command: "sleep MARK & kill -STOP $!; trap exit TERM; wait"},
		{name: "ALRM blocked", limit: "0.2s", command: "sleep MARK", before: []string{"inherit", "block=14"}},
		{name: "ALRM ignored", limit: "0.2s", command: "sleep MARK", before: []string{"inherit", "ignore=14"}},
		{name: "TERM blocked", limit: "0.2s", command: "exec inherit block=15 sleep MARK", long: true},
		{name: "here", limit: "0.3s", command: "exec stubborn here MARK", long: true},
		{name: "setsid", limit: "0.3s", command: "stubborn setsid MARK & trap '' TERM; wait", long: true},
		{name: "daemon", limit: "0.3s", command: "exec stubborn daemon MARK", long: true},
		{name: "daemon, and the command ends", limit: "0.3s", command: "stubborn daemon MARK & sleep MARK"},
	}
	each(t, 8, rows, func(t *testing.T, r limited) {
		m := mark()
		start := time.Now()
		l := w.launch(t, "session", append(r.before, "sbx", "-q", "--timeout", r.limit, "--", "sh", "-c", strings.ReplaceAll(r.command, "MARK", m))...)
		end, took := l.end(time.Minute), time.Since(start)
		if left := survivors(m, time.Second); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
		if r.shown == "" {
			r.shown = strings.TrimSuffix(r.limit, "s")
		}
		out := l.output()
		if end != "exit 124" || strings.Count(out, fmt.Sprintf(said, r.shown)) != 1 {
			t.Errorf("%s: %s", end, out)
		}
		if strings.Count(out, "cleaned\n") != strings.Count(r.command, "echo cleaned") || strings.Contains(out, "never") {
			t.Error(out)
		}
		if r.long != (took > 5*time.Second) && (r.long || took < 20*time.Second) {
			t.Errorf("took %v", took)
		}
	})
	out, errs, status := w.run(w.proj, "sbx", "--timeout", "10m", "--", "sh", "-c", "sleep 0.3; echo in time")
	if out != "in time\n" || errs != "" || status != 0 {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
	w.write(t, "home/.config/sbx/config.toml", "[profiles.moderate]\ntimeout_seconds = 1\n")
	if _, errs, status := w.run(w.proj, "sbx", "--", "sleep", "60"); status != 124 || errs != fmt.Sprintf(said, "1") {
		t.Errorf("timeout_seconds: status %d: %s", status, errs)
	}
}

// TestAlarm: a timer that the caller set ends the command as bare.
func TestAlarm(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	// Without a limit its handler runs.
	handler := w.launch(t, "session", "inherit", "alarm=1", "sbx", "-q", "--", "sh", "-c", "trap 'echo handled; exit 3' ALRM; sleep 600 & wait")
	each(t, 3, [][2]string{{"bare", "signal 14"}, {"sbx", "exit 142"}, {"limited", "signal 14"}}, func(t *testing.T, r [2]string) {
		by, want, m := r[0], r[1], mark()
		l := w.launch(t, "session", append([]string{"inherit", "alarm=1"}, through(by, "sleep", m)...)...)
		if end := l.end(patience); end != want {
			t.Errorf("%s: %s, want %s", by, end, want)
		}
		if left := survivors(m, 2*time.Second); len(left) > 0 {
			t.Errorf("%s: left over: %v", by, left)
		}
	})
	if end := handler.end(patience); end != "exit 3" || handler.output() != "handled\n" {
		t.Errorf("%s: %s", end, handler.output())
	}
}

// TestBackstop: when init cannot end a run whose time is up, the kernel
// does. It takes 11 seconds, so it wants SBX_TEST_SLOW=1.
func TestBackstop(t *testing.T) {
	needBwrap(t)
	if os.Getenv("SBX_TEST_SLOW") == "" {
		t.Skip("takes 11 seconds: SBX_TEST_SLOW=1 runs it")
	}
	t.Parallel()
	w := newWorld(t)
	m := mark()
	l := w.launch(t, "session", "sbx", "-q", "--timeout", "1s", "--", "sleep", m)
	var tree []process
	if !eventually(patience, func() bool {
		tree = family(l.pid)
		return len(tree) == 3 && tree[2].comm == "sleep"
	}) {
		t.Fatal(tree)
	}
	stage := tree[1]
	must(t, syscall.Kill(stage.pid, syscall.SIGSTOP))
	start := time.Now()
	end := l.end(time.Minute)
	if left := survivors(m, 2*time.Second); len(left) > 0 || end != "signal 14" {
		t.Errorf("%s after %v, left over: %v", end, time.Since(start), left)
	}
}
