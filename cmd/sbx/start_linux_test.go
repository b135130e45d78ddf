// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTooLittleMemory: where a limit leaves the Go runtime too little, a line
// says so, with 125; above it sbx runs.
func TestTooLittleMemory(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("only for amd64 and arm64")
	}
	bin := sbxPath
	for limit, want := range map[string]int{"-v 100000": 125, "-v 800000": 125, "-v 1200000": 125, "-v 1299999": 125, "-d 60000": 125, "-d 79999": 125, "-v 1400000": 0, "-d 90000": 0, "-v unlimited": 0} {
		cmd := exec.Command("sh", "-c", "ulimit "+limit+` && exec "$0" --version`, bin)
		out, _ := cmd.CombinedOutput()
		text := string(out)
		if status := cmd.ProcessState.ExitCode(); status != want || want == 0 && !strings.HasPrefix(text, "sbx ") ||
			want == 125 && (strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "sbx: error: ")) {
			t.Errorf("ulimit %s: status %d, want %d: %s", limit, status, want, text)
		}
	}
	// What is asked for and cannot be printed is an error; /dev/null takes all.
	for to, want := range map[string]string{">&-": "sbx: error: standard output: bad file descriptor\n", ">/dev/null": "", "1<>/dev/null": ""} {
		if out, _ := exec.Command("sh", "-c", `"$0" --version `+to, bin).CombinedOutput(); string(out) != want {
			t.Errorf("%s: %q, want %q", to, out, want)
		}
	}
}

// TestTimerSlack: what the program sets for its own threads is not the command's.
func TestTimerSlack(t *testing.T) {
	w := newWorld(t)
	for _, flags := range []string{"", "--direct", "--timeout=9m", "--engine=landlock", "--engine=landlock --timeout=9m", "--no-sandbox"} {
		t.Run(flags, func(t *testing.T) {
			switch {
			case strings.Contains(flags, "landlock"):
				needLandlock(t)
			case flags != "--no-sandbox":
				needBwrap(t)
			}
			runtime.LockOSThread() // never unlocked: it ends with the test
			must(t, unix.Prctl(unix.PR_SET_TIMERSLACK, 77777, 0, 0, 0))
			cmd := exec.Command(sbxPath, append(strings.Fields("-q "+flags), "--", "cat", "/proc/self/timerslack_ns")...)
			cmd.Dir, cmd.Env = w.proj, w.env
			if out, err := cmd.Output(); err != nil || string(out) != "77777\n" {
				t.Errorf("%q, %v", out, err)
			}
		})
	}
}
