// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what takes no time on an idle machine.
const patience = 15 * time.Second

// launched is a program that launch started, in a session without a terminal.
type launched struct {
	launcher *exec.Cmd
	how      string
	pid      int
	events   chan string
	out      string // file with what it wrote
}

// launch starts a program of the world's PATH as launch says.
func (w *world) launch(t *testing.T, how string, words ...string) *launched {
	t.Helper()
	out, err := os.CreateTemp(filepath.Join(w.dir, "out"), "launched")
	must(t, err)
	defer out.Close()
	r, report, err := os.Pipe()
	must(t, err)
	cmd := exec.Command(filepath.Join(w.dir, "home/bin/launch"), append([]string{how}, words...)...)
	cmd.Dir, cmd.Env = w.proj, append(slices.Clone(w.env), "PWD="+w.proj)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = out, out, []*os.File{report}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	report.Close()
	must(t, err)
	l := &launched{launcher: cmd, how: how, events: make(chan string, 1000), out: out.Name()}
	go func() {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			l.events <- lines.Text()
		}
		r.Close()
		_ = cmd.Wait()
		close(l.events)
	}()
	if pid, ok := strings.CutPrefix(l.next(patience), "pid "); ok {
		l.pid, err = strconv.Atoi(pid)
	}
	if err != nil || l.pid == 0 {
		t.Fatalf("launch %s %q: %v", how, words, l.output())
	}
	return l
}

// next returns what happened next, "nothing" when the time is up.
func (l *launched) next(within time.Duration) string {
	select {
	case e := <-l.events:
		return e
	case <-time.After(within):
		return "nothing"
	}
}

// end waits until the program has ended and returns "exit N", "signal N", or
// "nothing" after it had to be killed.
func (l *launched) end(within time.Duration) string {
	over := time.Now().Add(within)
	for {
		e := l.next(time.Until(over))
		if strings.HasPrefix(e, "exit ") || strings.HasPrefix(e, "signal ") {
			return e
		}
		if e == "nothing" || e == "" {
			l.kill()
			return "nothing"
		}
	}
}

// kill ends what is left, the hard way.
func (l *launched) kill() {
	_ = syscall.Kill(l.pid, syscall.SIGKILL)
	_ = syscall.Kill(-l.launcher.Process.Pid, syscall.SIGKILL)
}

// signal sends a signal to the "pid" or to its "group".
func (l *launched) signal(to string, n syscall.Signal) error {
	switch {
	case to == "pid":
		return syscall.Kill(l.pid, n)
	case l.how == "shared":
		return syscall.Kill(-l.launcher.Process.Pid, n)
	}
	return syscall.Kill(-l.pid, n)
}

func (l *launched) output() string {
	data, err := os.ReadFile(l.out)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// appears waits for a file.
func appears(path string) bool {
	return eventually(patience, func() bool {
		_, err := os.Lstat(path)
		return err == nil
	})
}

// eventually reports whether something comes true.
func eventually(within time.Duration, is func() bool) bool {
	for over := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		if is() {
			return true
		}
		if time.Now().After(over) {
			return false
		}
	}
}

// each runs a subtest for every row, n at a time: the tests here wait more than
// they work.
func each[T any](t *testing.T, n int, rows []T, f func(*testing.T, T)) {
	var next atomic.Int64
	var done sync.WaitGroup
	for range n {
		done.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(rows); i = int(next.Add(1)) - 1 {
				t.Run(strings.Trim(fmt.Sprint(rows[i]), "{}"), func(t *testing.T) { f(t, rows[i]) })
			}
		})
	}
	done.Wait()
}

var marks atomic.Int64

// mark returns a number of seconds that no other run sleeps, by which all
// processes of this one are known.
func mark() string { return fmt.Sprintf("600.%d%04d", os.Getpid(), marks.Add(1)) }

// process is one of this host's.
type process struct {
	pid, ppid int
	state     byte
	comm      string
	args      string // separated by spaces
}

// processList lists what has a text in its arguments; every process has "".
func processList(text string) (list []process) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		args, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err != nil || !bytes.Contains(args, []byte(text)) {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		open, shut := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
		if err != nil || shut < 0 {
			continue
		}
		fields := strings.Fields(string(stat[shut+1:]))
		p := process{pid: pid, state: fields[0][0], comm: string(stat[open+1 : shut]), args: string(bytes.ReplaceAll(args, []byte{0}, []byte(" ")))}
		p.ppid, _ = strconv.Atoi(fields[1])
		list = append(list, p)
	}
	return list
}

// survivors waits until no process with a mark is left, and kills those that
// are left when the time is up.
func survivors(mark string, within time.Duration) []process {
	left := gone(mark, within)
	for _, p := range left {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
	return left
}

// family returns a process and its descendants, parents first.
func family(pid int) (tree []process) {
	all := processList("")
	var walk func(pid int)
	walk = func(pid int) {
		for _, p := range all {
			if p.pid == pid {
				tree = append(tree, p)
			}
		}
		for _, p := range all {
			if p.ppid == pid && p.pid != pid {
				walk(p.pid)
			}
		}
	}
	walk(pid)
	return tree
}

// readText returns a file's text, nothing when there is none.
func readText(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}
