// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
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

// TestKills kills runs at any moment, from the first to well after the command
// has started, in every way. No process may stay, and nothing in the project.
// SBX_TEST_KILLS is how many runs with init, and as many without it.
func TestKills(t *testing.T) {
	needBwrap(t)
	kills := 100
	if n, err := strconv.Atoi(os.Getenv("SBX_TEST_KILLS")); err == nil {
		kills = n
	}
	w := newWorld(t)
	for _, name := range []string{"proj/.env", "proj/.git/config", "proj/.git/hooks/x", "proj/main.go", "proj/key.pem", "home/.ssh/id_rsa"} {
		w.write(t, name, "as it was\n")
	}
	// The first run makes sbx's own directories.
	if _, said, status := w.run(w.proj, "sbx", "-q", "--", "true"); status != 0 {
		t.Fatal(said)
	}
	before := treeOf(t, w.proj)
	var mu sync.Mutex
	tally := map[string]int{}
	rows := make([]kill, 2*kills)
	for i := range rows {
		rows[i] = someKill(i%2 == 1)
	}
	each(t, 3, rows, func(t *testing.T, k kill) {
		outcome := w.killed(t, k)
		mu.Lock()
		defer mu.Unlock()
		tally[map[bool]string{true: "direct, "}[k.plain]+outcome]++
	})
	t.Log(tally)
	slow := 0
	for outcome, n := range tally {
		if strings.HasSuffix(outcome, " late") {
			slow += n
		}
	}
	if slow > len(rows)/50 {
		t.Errorf("%d of %d were gone late", slow, len(rows))
	}
	if left := survivors(fmt.Sprint("600.", os.Getpid()), patience); len(left) > 0 {
		t.Errorf("left over after all: %v", left)
	}
	if after := treeOf(t, w.proj); after != before {
		t.Errorf("residue:\n%s\nbefore:\n%s", after, before)
	}
}

// kill is one way to end a run.
type kill struct {
	delay time.Duration
	n     syscall.Signal
	to    string
	limit bool
	plain bool // --direct
}

func someKill(plain bool) kill {
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGUSR1}
	k := kill{delay: time.Duration(rand.IntN(15_000)) * time.Microsecond, n: signals[rand.IntN(len(signals))], to: []string{"pid", "pid", "group", "child", "stage", "guard", "command"}[rand.IntN(7)], limit: !plain && rand.IntN(4) == 0, plain: plain}
	if rand.IntN(4) == 0 {
		k.delay = time.Duration(15_000+rand.IntN(45_000)) * time.Microsecond
	}
	if rand.IntN(3) == 0 {
		k.n = syscall.SIGKILL
	}
	return k
}

// killed starts a run, kills it, and says how that went.
func (w *world) killed(t *testing.T, k kill) string {
	m := mark()
	words := []string{"sbx", "-q", "--", "sh", "-c", "sleep " + m + " & exec sleep " + m}
	if k.limit {
		words = append([]string{"sbx", "--timeout", "10m"}, words[1:]...)
	}
	if k.plain {
		words = append([]string{"sbx", "--direct"}, words[1:]...)
	}
	l := w.launch(t, "session", words...)
	time.Sleep(k.delay)
	target := k.to
	pid := roleOf(l.pid, k.to)
	if pid == 0 {
		target = "pid" // it does not exist yet
	}
	// Until sbx has become bwrap, the Go runtime swallows USR1.
	swallowed := k.n == syscall.SIGUSR1 && readText(fmt.Sprintf("/proc/%d/comm", l.pid)) != "bwrap\n"
	sent := time.Now()
	if pid != 0 {
		_ = syscall.Kill(pid, k.n)
	} else {
		_ = l.signal(map[bool]string{true: "group", false: "pid"}[k.to == "group"], k.n)
	}
	end := l.next(prompt)
	if end == "nothing" && (swallowed || (target == "child" || target == "stage") && k.n != syscall.SIGKILL || target == "guard") {
		// Process 1 of a sandbox does not die of a signal that it has no handler for,
		// whoever sends it, and no process waits for the guard. Then the run goes on, and
		// ends with the outer process.
		target += " (went on)"
		sent = time.Now()
		l.kill()
		end = l.next(prompt)
	}
	if end == "nothing" { // a hang is one that does not end by itself
		before := states(l.pid)
		end = l.next(late - prompt)
		t.Logf("slow: %v after %v; it was\n%s", end, time.Since(sent), before)
	}
	left := gone(m, late)
	if end != "nothing" && len(left) == 0 {
		if time.Since(sent) > prompt+500*time.Millisecond {
			return target + ": gone late"
		}
		return target + ": gone"
	}
	if len(left) == 1 && left[0].comm == "bwrap" && left[0].ppid != l.pid {
		// bwrap's child waits without end for a parent that was killed while it set
		// the sandbox up: bwrap asks late for the signal that would end it, too.
		// Nothing of the command has run, or will.
		t.Errorf("stuck after %v: %s", k, left[0].about("syscall"))
		_ = syscall.Kill(left[0].pid, syscall.SIGKILL)
		return target + ": bwrap stuck in its set-up"
	}
	if len(left) == 0 {
		t.Errorf("it does not end:\n%s", states(l.pid))
	}
	for _, p := range left {
		t.Errorf("left over: %d, child of %d, %c, %s (%s), waits in %s\n%s", p.pid, p.ppid, p.state, p.comm, p.args, p.about("wchan"), p.about("syscall")+p.about("stack"))
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
	l.kill()
	return target + ": left over"
}

// A run that was killed is gone promptly, and on a busy machine late. What is
// there then stays.
const (
	prompt = 1500 * time.Millisecond
	late   = 8 * time.Second
)

// states tells of a process, its threads and its descendants.
func states(pid int) string {
	var b strings.Builder
	for _, p := range family(pid) {
		fmt.Fprintf(&b, "%d, child of %d, %c, %s (%s)\n", p.pid, p.ppid, p.state, p.comm, p.args)
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.pid))
		for _, task := range tasks {
			fmt.Fprintf(&b, "\t%s waits in %s\n", filepath.Base(task), readText(task+"/wchan"))
		}
	}
	return b.String()
}

// roleOf finds the guard, bwrap's child, the init that it becomes, or the
// command below the outer process; 0 when there is none at the moment.
func roleOf(pid int, role string) int {
	for _, p := range family(pid) {
		staged := strings.Contains(p.args, "--stage-of-sandbox")
		is := "command"
		switch {
		case p.pid == pid:
			is = "pid"
		case p.ppid == pid && p.comm == "bwrap":
			is = "child"
		case p.ppid == pid && staged:
			is = "stage"
		case p.ppid == pid:
			is = "guard"
		}
		if is == role {
			return p.pid
		}
	}
	return 0
}

// gone waits until no process with a mark is left, and returns those that are.
func gone(mark string, within time.Duration) (left []process) {
	eventually(within, func() bool {
		left = slices.DeleteFunc(processList(mark), func(p process) bool { return p.comm == "launch" })
		return len(left) == 0
	})
	return left
}

func (p process) about(name string) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.pid, name))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// treeOf describes everything below a directory.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		line, err := describe(path)
		lines = append(lines, line)
		return err
	}))
	return strings.Join(lines, "\n")
}
