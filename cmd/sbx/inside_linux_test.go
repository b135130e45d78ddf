// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestFirstProcess: process 1 of the sandbox, which can signal the process
// outside, can neither be looked into nor signalled by the command.
func TestFirstProcess(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	// The control: the same on a process of its own does all of it.
	want := "read mem\nread environ\nread maps\nread cwd\nread root\nread exe\nread fd\nread map_files\nptrace\nprocess_vm_readv\npidfd_getfd\nstopped\nkilled\n"
	complete := func(out string, lines []string) bool {
		return !slices.ContainsFunc(lines, func(line string) bool { return !strings.Contains(out, line) })
	}
	bare, said, status := w.run(w.proj, "assail", "0")
	for range 5 { // the child may be between two programs
		if complete(bare, strings.SplitAfter(want, "\n")) {
			break
		}
		bare, said, status = w.run(w.proj, "assail", "0")
	}
	for _, line := range strings.SplitAfter(want, "\n") {
		if !strings.Contains(bare, line) {
			t.Errorf("outside, %q of a child does not work: %s%s", strings.TrimSpace(line), bare, said)
		}
	}
	if status != 42 {
		t.Errorf("outside: status %d", status)
	}
	for _, flags := range []string{"", "--timeout 10m", "--seccomp dev", "--seccomp off", "-p permissive", "-p strict -r ~/bin"} {
		t.Run(flags, func(t *testing.T) {
			words := slices.Concat([]string{"sbx", "-q"}, strings.Fields(strings.ReplaceAll(flags, "~", w.dir+"/home")), []string{"--", w.dir + "/home/bin/assail", "1"})
			if out, said, status := w.run(w.proj, words...); out != "" || status != 42 {
				t.Errorf("status %d: %s%s", status, out, said)
			}
		})
	}
	out, said, status := w.run(w.proj, "sbx", "-q", "--seccomp", "dev", "--", "assail", "0")
	most := []string{"read mem\n", "read environ\n", "read fd\n", "ptrace\n", "stopped\n", "killed\n"}
	for range 5 {
		if complete(out, most) {
			break
		}
		out, said, status = w.run(w.proj, "sbx", "-q", "--seccomp", "dev", "--", "assail", "0")
	}
	for _, line := range most {
		if !strings.Contains(out, line) {
			t.Errorf("inside, %q of a child does not work: %s%s", strings.TrimSpace(line), out, said)
		}
	}
	if status != 42 {
		t.Errorf("inside: status %d", status)
	}
}

// TestKillAll: kill(-1) and kill(0) end at the walls.
func TestKillAll(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	var rows [][3]string
	for _, how := range []string{"session", "group", "shared"} {
		for _, target := range []string{"-1", "0"} {
			rows = append(rows, [3]string{how, target, "KILL"}, [3]string{how, target, "TERM"})
		}
	}
	each(t, 4, rows, func(t *testing.T, r [3]string) {
		how, target, name, m := r[0], r[1], r[2], mark()
		l := w.launch(t, how, "sh", "-c", "sleep "+m+` & "$@"; echo status $?; kill -0 $! && echo alive; kill $!`, "sh", sbxPath, "-q", "--", "sh", "-c",
			`trap : TERM; sleep 600 & sleep 0.2; kill -`+name+" "+target+"; wait; exit 42")
		end, out := l.end(patience), l.output()
		// KILL to its own group ends the command itself.
		want := "status 42\nalive\n"
		if target != "-1" && name == "KILL" {
			want = "status 137\nalive\n"
		}
		if !strings.HasSuffix(out, want) || end != "exit 0" {
			t.Errorf("%s: kill -%s %s: %s: %q, want %q", how, name, target, end, out, want)
		}
		survivors(m, 0)
	})
	// The control: bare, kill(0) reaches what stands beside the command.
	m := mark()
	l := w.launch(t, "group", "sh", "-c", "trap : TERM; sleep "+m+" & sleep 0.2; kill -TERM 0; wait $!; exit 3")
	if end := l.end(patience); end != "exit 3" || len(survivors(m, patience)) > 0 {
		t.Error(end)
	}
	_ = syscall.Kill(-l.pid, syscall.SIGKILL)
}
