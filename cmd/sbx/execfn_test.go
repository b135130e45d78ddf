// SPDX-License-Identifier: Apache-2.0

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

// The test binary is started again, and says what it was executed as.
func init() {
	if os.Getenv("SBX_TEST_EXECUTED") != "" {
		name, _ := calledAs()
		fmt.Printf("executed %q\ncalled %v %q\n", executed(), name.Kind, name.Text)
		os.Exit(0)
	}
}

// TestExecuted: a program knows the link by which it was executed.
func TestExecuted(t *testing.T) {
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
		cmd := exec.Command(path)
		cmd.Args[0] = "-another" // argument 0 is not asked
		cmd.Env = append(os.Environ(), "SBX_TEST_EXECUTED=1")
		out, err := cmd.Output()
		if want := fmt.Sprintf("executed %q\n", path); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %q", path, err, out)
		}
	}
}
