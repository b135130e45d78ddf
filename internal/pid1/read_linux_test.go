// SPDX-License-Identifier: Apache-2.0

package pid1

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestParseStatus(t *testing.T) {
	const text = "Name:\tState:\tZ (\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t1\nSigQ:\t0/1\nSigPnd:\t0000000000000000\nShdPnd:\t8000000000004200\nSigBlk:\t0\n"
	for in, want := range map[string]state{
		text: {false, false, 1<<63 | bit(sigTERM) | bit(sigUSR1)},
		strings.Replace(text, "S (sleeping)", "T (stopped)", 1): {false, true,
			1<<63 | bit(sigTERM) | bit(sigUSR1)},
		strings.Replace(text, "S (sleeping)", "t (tracing stop)", 1): {false, false,
			1<<63 | bit(sigTERM) | bit(sigUSR1)},
		strings.Replace(text, "S (sleeping)", "Z (zombie)", 1): {true, false,
			1<<63 | bit(sigTERM) | bit(sigUSR1)},
		// It was continued between the two lines.
		strings.NewReplacer("S (sleeping)", "T (stopped)", "ShdPnd:\t8000000000004200",
			"ShdPnd:\t0000000000020000").Replace(text): {false, false, bit(sigCONT)},
		"":       {gone: true},
		"State:": {gone: true},
	} {
		if got := parseStatus(in); got != want {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
	}
	// The kernel's own, of this process: it runs, and nothing is pending that is
	// passed on.
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	if s := parseStatus(string(data)); s.gone || s.stopped {
		t.Errorf("%+v", s)
	}
}

func TestParseFront(t *testing.T) {
	for in, want := range map[string]bool{
		"12 (bwrap) S 1 12 3 34816 12 4194560 1 0\n":       true,
		"12 (bwrap) S 1 12 3 34816 99 4194560 1 0\n":       false,
		"12 (a) S 1 5 5 5 (b) S 1 12 3 0 -1 4194560 1 0\n": false,
		"12 (x) y) T 1 12 3 34816 12 0\n":                  true,
		"12 (x) S 1 12":                                    false,
		"":                                                 false,
	} {
		if got := parseFront(in); got != want {
			t.Errorf("%q: %t", in, got)
		}
	}
}

func TestProgramPages(t *testing.T) {
	for line, want := range map[string]bool{
		"00400000-0084e000 r-xp 00000000 fe:00 123 /run/sbx/sbx":            true,
		"0084e000-00c00000 r--p 0044e000 fe:00 123 /run/sbx/sbx":            true,
		"00c00000-00cc0000 rw-p 00800000 fe:00 123 /run/sbx/sbx":            false,
		"7ffe00000000-7ffe00002000 r-xp 00000000 00:00 0 [vdso]":            false,
		"3f4f9c000000-3f4fa0000000 ---p 00000000 00:00 0 ":                  false,
		"7f8056ec1000-7f8056f01000 r--p 00000000 00:00 0                  ": false,
		"": false,
	} {
		if from, to, ok := program(line); ok != want || ok && to <= from {
			t.Errorf("%q: %x-%x %t", line, from, to, ok)
		}
	}
}

// The new process has the mask, the group and the limits that were asked for,
// and exactly the words and variables.
func TestStart(t *testing.T) {
	if os.Getenv("SBX_TEST_START") == "" {
		// In a process of its own: signals are blocked in the one that starts.
		cmd := exec.Command(os.Args[0], "-test.run", "^TestStart$", "-test.v")
		cmd.Env = append(os.Environ(), "SBX_TEST_START=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Dup3(int(w.Fd()), 1, 0); err != nil {
		t.Fatal(err)
	}
	setMask(2, everySignal)
	c := &child{path: "/bin/sh", argv: []string{"-odd", "-c",
		`echo "$0|$1|$X|$(ulimit -f)|$(grep SigBlk /proc/self/status)|$(cut -d' ' -f1,6 /proc/$$/stat)"`, "a b", ""},
		env: []string{"X=y z"}, group: NewSession, mask: bit(sigUSR2), rlimits: []Rlimit{{1, 512 * 8}}}
	pid, err := c.start()
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := r.Read(buf)
	reapOne(pid)
	got := strings.TrimSpace(string(buf[:n]))
	want := "a b||y z|8|SigBlk:\t0000000000000800|" + strconv.Itoa(int(pid)) + " " + strconv.Itoa(int(pid))
	if got != want {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
	c.path = "/proc/nonexistent"
	if _, err := c.start(); err != syscall.ENOENT {
		t.Error(err)
	}
	c.path, c.rlimits = "/bin/sh", []Rlimit{{99, 1}}
	if _, err := c.start(); err == nil || !strings.HasPrefix(err.Error(), "system call ") {
		t.Error(err)
	}
}
