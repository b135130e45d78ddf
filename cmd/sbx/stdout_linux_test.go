// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestStdoutFull: what cannot be written is an error, for each command of sbx that
// prints; nothing panics, and the command of a run sees its own descriptors.
func TestStdoutFull(t *testing.T) {
	needBwrap(t)
	t.Parallel()
	w := newWorld(t)
	w.write(t, "proj/.env", "x")
	w.write(t, "home/bin/claude", "#!/bin/sh\n")
	if err := os.Chmod(w.dir+"/home/bin/claude", 0o755); err != nil {
		t.Fatal(err)
	}
	if out, said, status := w.run(w.dir+"/proj", "sbx", "shim", "add", "npm"); status != 0 {
		t.Fatal(out, said)
	}
	start := func(words, to string) (string, int) {
		full, err := os.OpenFile(to, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer full.Close()
		var said strings.Builder
		cmd := exec.Command(sbxPath, strings.Fields(words)...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir+"/proj", w.env, full, &said
		status := shellStatus(cmd.Run())
		return said.String(), status
	}
	for _, words := range []string{"--version", "--help", "-n -- true", "-n --json -- true", "explain", "explain --json", "explain --help", "why .env", "why --json .env", "verify", "verify --json",
		"doctor", "doctor --json", "doctor claude", "agent --list", "agent --print-env claude", "profiles", "profiles show strict", "profiles show strict --json", "agent --list --json", "config", "config --json", "config check", "config check --json", "schema", "profiles diff strict permissive", "status", "status --json",
		"tripwire", "tripwire list --json", "init", "trust --list --json", "shim list", "shim list --json", "shim doctor npm", "activate bash", "alias bash npm", "completion bash", "man", "help why", "version --json"} {
		said, status := start(words, "/dev/full")
		if strings.HasPrefix(words, "profiles diff") && status == 2 { // as diff(1) has it
			status = 125
		}
		if want := "sbx: error: standard output: no space left on device\n"; status != 125 || !strings.Contains(said, want) || strings.Count(said, "error:") != 1 || strings.Contains(said, "goroutine") {
			t.Errorf("sbx %s >/dev/full: status %d, %q", words, status, said)
		}
		if said, status := start(words, "/dev/null"); status > 1 && words != "init" && !strings.HasPrefix(words, "doctor") {
			t.Errorf("sbx %s >/dev/null: status %d, %q", words, status, said)
		}
	}
	if said, status := start("-- true", "/dev/full"); status != 0 {
		t.Errorf("sbx -- true >/dev/full: status %d, %q", status, said)
	}
}

// TestStdioClosed: sbx works with any of its three descriptors closed, and the
// command finds no file of sbx's under these numbers.
func TestStdioClosed(t *testing.T) {
	needBwrap(t)
	t.Parallel()
	w := newWorld(t)
	for _, closed := range []string{"<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"} {
		for _, words := range []string{"--version", "status --json", "explain", "-n -- true", "-- true", "--direct -- true", "--engine landlock -- true", "why /etc", "profiles"} {
			out, said, status := w.run(w.dir+"/proj", "sh", "-c", "sbx "+words+" "+closed)
			// What cannot be printed is an error; a run prints nothing.
			lost := slices.Contains(strings.Fields(closed), ">&-") && (words == "-n -- true" || !strings.HasSuffix(words, "-- true"))
			if status > 1 && !lost || lost && status != 125 || strings.Contains(said+out, "goroutine") {
				t.Errorf("sbx %s %s: status %d, %q, %q", words, closed, status, out, said)
			}
		}
		for _, flag := range []string{"", "--direct", "--engine landlock"} {
			_, said, status := w.run(w.dir+"/proj", "sh", "-c", `sbx `+flag+` -- sh -c 'for n in 0 1 2; do case $(readlink /proc/self/fd/$n) in ""|/dev/null|pipe:*|/dev/pts/*) ;; *) readlink /proc/$$/fd/$n >seen ;; esac; done' `+closed)
			if seen, err := os.ReadFile(w.dir + "/proj/seen"); err == nil || status > 1 {
				t.Errorf("sbx %s %s: the command has %q, status %d, %q", flag, closed, seen, status, said)
			}
		}
	}
}
