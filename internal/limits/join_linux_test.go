// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Only what a dead process of sbx's left is swept away.
func TestSweep(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	gone, here := strconv.Itoa(dead.Process.Pid), strconv.Itoa(os.Getpid())
	keep := []string{"other", "sbx-" + gone, "sbx-" + gone + "-full0000", "sbx-" + here + "-12345678", "sbx-x-12345678",
		"sbx-0-12345678", "sbx--1-12345678", "sbx-" + gone + "-123"}
	dir := t.TempDir()
	for _, name := range append([]string{"sbx-" + gone + "-12345678"}, keep...) {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// A group with processes cannot be removed, as a directory with a file cannot.
	if err := os.WriteFile(filepath.Join(dir, "sbx-"+gone+"-full0000", "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sweep(dir)
	sweep(dir + "/nowhere")
	got := map[string]bool{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		got[e.Name()] = true
	}
	want := map[string]bool{}
	for _, name := range keep {
		want[name] = true
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A directory that is no control group is not entered, and nothing is left.
func TestJoinFails(t *testing.T) {
	dir := t.TempDir()
	m := Means{Cgroups: []Cgroup{{Parent: dir, Files: []File{{Name: "memory.swap.max", Data: "0", Optional: true},
		{Name: "memory.max", Data: "1"}}}}}
	if fd, err := m.Join(); fd != -1 || !errors.Is(err, os.ErrNotExist) {
		t.Error(fd, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Error(entries, err)
	}
	m.Cgroups[0].Parent = dir + "/nowhere"
	if _, err := m.Join(); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	m = Means{OOM: dir + "/nowhere"}
	if fd, err := m.Join(); fd != -1 || err != nil {
		t.Error(fd, err)
	}
}

// What this machine has can be looked at, and is consistent.
func TestLookHere(t *testing.T) {
	f := Look(os.Geteuid())
	if os.Geteuid() == 0 && f.Counted && f.Root {
		t.Error("root counts and does not count")
	}
	for _, p := range append(f.Unified, f.Legacy...) {
		if _, err := os.Stat(p.Dir + "/cgroup.procs"); err != nil || len(p.Controllers) == 0 {
			t.Error(p, err)
		}
	}
}
