// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noLongerHidden is what a run says that ended for a hidden file.
const noLongerHidden = "sbx: error: .env was replaced on the host; it is no longer hidden\n" +
	"sbx: hint: the run was ended because a hidden file was replaced, and nothing can hide it again before the next run: start it again; with on_unmasked = \"warn\" in a profile it goes on\n"

// snoop LOG THREADS FILE... reads the files all the time, and keeps a record in
// LOG, which is shared with who looks on: when it saw something there for the
// first time, and the last moment at which it still ran. With "hinder" it keeps
// process 1 busy besides, as far as a command can.
func snoopMain() {
	log, threads, files := record(os.Args[1]), os.Args[2], os.Args[3:]
	n, err := strconv.Atoi(threads)
	die(err)
	if files[0] == "hinder" {
		files = files[1:]
		hinder()
	}
	for range n {
		go func() {
			var buf [64]byte
			for {
				for _, name := range files {
					if k := read(name, buf[:]); k > 0 {
						log[first].CompareAndSwap(0, monotonic())
						for {
							log[last].Store(monotonic())
						}
					}
				}
			}
		}()
	}
	log[ready].Store(1)
	time.Sleep(20 * time.Second)
}

func read(name string, buf []byte) int {
	fd, err := syscall.Open(name, syscall.O_RDONLY, 0)
	if err != nil {
		return 0
	}
	defer syscall.Close(fd)
	k, _ := syscall.Read(fd, buf)
	return k
}

// hinder does what a command can do to slow process 1 down: it crowds the first
// processor, keeps it there if it may, and goes to the others itself.
func hinder() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var one, others unix.CPUSet
	one.Set(0)
	for i := 1; i < runtime.NumCPU(); i++ {
		others.Set(i)
	}
	_ = unix.SchedSetaffinity(1, &one)
	_ = unix.SchedSetaffinity(0, &one)
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 1, 19)
	_ = syscall.Setpriority(syscall.PRIO_PGRP, 0, 19)
	_ = syscall.Setpriority(syscall.PRIO_USER, 0, 19)
	_, _, _ = syscall.Syscall(unix.SYS_SCHED_SETSCHEDULER, 1, unix.SCHED_IDLE, uintptr(unsafe.Pointer(new(int32))))
	go func() { // names that go, in a directory that is watched
		for i := 0; ; i++ {
			name := "gone" + strconv.Itoa(i%50)
			_ = os.WriteFile(name, nil, 0o600)
			_ = os.Remove(name)
		}
	}()
	go func() {
		for {
			_ = syscall.Kill(1, syscall.SIGUSR1)
			_ = syscall.Kill(1, syscall.SIGPWR)
		}
	}()
	for range 30 {
		c := exec.Command("/bin/sh", "-c", "while :; do :; done")
		_ = c.Start()
	}
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil && others.Count() > 0 {
			_ = unix.SchedSetaffinity(tid, &others)
		}
	}
}

// Fields of a record.
const (
	ready = iota
	first
	last
)

// record maps a file of three numbers.
func record(name string) []atomic.Int64 {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	die(err)
	defer f.Close()
	die(f.Truncate(4096))
	b, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	die(err)
	return unsafe.Slice((*atomic.Int64)(unsafe.Pointer(&b[0])), 4096/8)
}

func monotonic() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// A command that does nothing but wait for the moment at which the host replaces
// what is hidden gets some time with it: from the rename until nothing of the
// command runs any more. SBX_TEST_WINDOW says in how many runs that is measured.
func TestUnmaskedWindow(t *testing.T) {
	needBwrap(t)
	runs := 10
	if n, err := strconv.Atoi(os.Getenv("SBX_TEST_WINDOW")); err == nil {
		runs = n
	}
	for _, c := range []struct {
		name  string
		words []string
	}{
		{"one thread", []string{"1", ".env"}},
		{"as many as there are processors, and more", []string{"8", ".env"}},
		{"process 1 is hindered", []string{"4", "hinder", ".env"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			var windows []time.Duration
			seen := 0
			for range runs {
				window, saw := w.window(t, c.words)
				windows = append(windows, window)
				if saw {
					seen++
				}
			}
			slices.Sort(windows)
			at := func(q float64) time.Duration { return windows[int(q*float64(len(windows)-1))].Round(time.Microsecond) }
			t.Logf("%d runs, the new content was read in %d; from the call of rename to the stop: least %v, median %v, 95 %% %v, 99 %% %v, most %v", runs, seen, at(0), at(.5), at(.95), at(.99), at(1))
		})
	}
}

// window runs snoop, replaces .env, and says how long after the call of rename(2)
// something that saw the content still ran, and whether it did.
func (w *world) window(t *testing.T, words []string) (time.Duration, bool) {
	t.Helper()
	w.write(t, "proj/.env", "OLD")
	w.write(t, "proj/new", "NEW")
	name := filepath.Join(w.proj, "log")
	_ = os.Remove(name)
	log := record(name)
	cmd := exec.Command(sbxPath, append([]string{"-q", "--", "snoop", "log"}, words...)...)
	var said strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = w.proj, w.env, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); log[ready].Load() == 0 && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	if log[ready].Load() == 0 || log[first].Load() != 0 {
		t.Fatalf("not ready, or the file was not hidden before: %s", said.String())
	}
	time.Sleep(20 * time.Millisecond)
	renamed := monotonic()
	if err := os.Rename(filepath.Join(w.proj, "new"), filepath.Join(w.proj, ".env")); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 125 || said.String() != noLongerHidden {
		t.Errorf("%v, %q", err, said.String())
	}
	return time.Duration(max(log[last].Load()-renamed, 0)), log[first].Load() > 0
}

// Whatever the host replaces while a run starts, it does not come into view:
// either the new file is hidden, or the run ends. And when one ends, it ends with
// all that it started, however that holds on.
func TestReplacedWhileStarting(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	runs := 40
	if testing.Short() {
		runs = 10
	}
	outcomes := map[string]int{}
	for range runs {
		w.write(t, "proj/.env", "OLD\n")
		w.write(t, "proj/new", "NEW\n")
		m := mark()
		script := "(trap '' TERM HUP INT; setsid sleep " + m + " & exec sleep " + m + ") & (sleep " + m + " & kill -STOP $!); sleep 0.5; cat .env; exit 7"
		cmd := exec.Command(sbxPath, "-q", "--", "sh", "-c", script)
		var out strings.Builder
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.proj, w.env, &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(40_000)) * time.Microsecond)
		if err := os.Rename(filepath.Join(w.proj, "new"), filepath.Join(w.proj, ".env")); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		text := out.String()
		outcome := ""
		switch status := cmd.ProcessState.ExitCode(); {
		case strings.Contains(text, "NEW") || strings.Contains(text, "OLD"):
			t.Errorf("read: %q", text)
		case status == 7 && text == "":
			outcome = "replaced before, and hidden"
		case status == 125 && strings.Contains(text, "while the sandbox was being set up") && strings.Count(text, "sbx: error: ") == 1:
			outcome = "noticed in the set-up"
		case status == 125 && strings.Contains(text, "Failed to initialize sandbox: Can't bind mount") && strings.Count(text, "sbx: error: ") == 1:
			outcome = "bwrap itself noticed"
		case status == 125 && text == noLongerHidden:
			outcome = "ended"
		default:
			t.Errorf("status %d, %q", status, text)
		}
		outcomes[outcome]++
		if left := gone(m, patience); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	t.Log(outcomes)
	if runs >= 40 && outcomes["ended"] == 0 {
		t.Error("no run was there when the file was replaced: this test has shown nothing")
	}
}
