//go:build linux || darwin

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExecuted: a program knows the link by which it was executed.
func TestExecuted(t *testing.T) {
	if os.Getenv("SBX_TEST_EXECUTED") != "" {
		fmt.Printf("executed %q\n", executed())
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "zsh")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{self, link} {
		cmd := exec.Command(path, "-test.run=^TestExecuted$")
		cmd.Args[0] = "-another" // argument 0 is not asked
		cmd.Env = append(os.Environ(), "SBX_TEST_EXECUTED=1")
		out, err := cmd.Output()
		if want := fmt.Sprintf("executed %q\n", path); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %q", path, err, out)
		}
	}
}
