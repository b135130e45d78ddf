// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestHead(t *testing.T) {
	path := t.TempDir() + "/f"
	if err := os.WriteFile(path, []byte(strings.Repeat("0123456789", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 10, 8 << 10, 49_999, 50_000, 60_000} {
		if got, err := Head(path, n); err != nil || len(got) != min(n, 50_000) {
			t.Errorf("%d: %d bytes, %v", n, len(got), err)
		}
	}
	if got, err := Read(path); err != nil || len(got) != 50_000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := os.Truncate(path, largest+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err != syscall.EFBIG {
		t.Errorf("of a file that is too large: %v", err)
	}
	if _, err := Read(path + "x"); err != syscall.ENOENT {
		t.Errorf("without a file: %v", err)
	}
}

// TestSelf compares with what others say about this process.
func TestSelf(t *testing.T) {
	pid := os.Getpid()
	if got := Status("Pid"); got != strconv.Itoa(pid) {
		t.Errorf("Status: %q", got)
	}
	if got, err := exec.Command("readlink", "/proc/"+strconv.Itoa(pid)+"/ns/pid").Output(); err != nil ||
		string(got) != "pid:["+Namespace("pid")+"]\n" {
		t.Errorf("Namespace: %q, %s", Namespace("pid"), got)
	}
	if got := Namespace("none"); got != "0" {
		t.Errorf("Namespace: %q", got)
	}
	if a, b := Started(pid), Started(os.Getppid()); a == "" || b == "" || Started(1<<30-1) != "" {
		t.Errorf("Started: %q, %q", a, b)
	}
	pids, err := Processes()
	if err != nil || !slices.Contains(pids, pid) || slices.Contains(pids, 0) {
		t.Errorf("Processes: %v, %v", pids, err)
	}
	if names, err := Names("/proc/self/fd"); err != nil || !slices.Contains(names, "2") || slices.Contains(names, ".") {
		t.Errorf("Names: %v, %v", names, err)
	}
	if _, err := Names("/proc/self/none"); err != syscall.ENOENT {
		t.Errorf("Names: %v", err)
	}
	proc, err := os.Open("/proc/self")
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	text, err := Read("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for m := range Mounts(text) {
		if m.ID == MountID(int(proc.Fd())) && m.Type == "proc" {
			return
		}
	}
	t.Errorf("no mount of type proc has the number %s", MountID(int(proc.Fd())))
}
