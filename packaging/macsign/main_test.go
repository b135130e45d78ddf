// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// build is this program for macOS, as the linker leaves it.
func build(t *testing.T, arch string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, "./testdata/hello")
	cmd.Env = append(os.Environ(), "GOOS=darwin", "GOARCH="+arch, "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	return out
}

func TestSign(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		path := build(t, arch)
		if s, err := read(path); err == nil && s.flags == flagsWanted {
			t.Fatalf("%s: the linker signs for the hardened runtime", arch)
		}
		if err := run("sbx", path); err != nil {
			t.Fatal(err)
		}
		first, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := run("sbx", path); err != nil {
			t.Fatal(err)
		}
		if again, _ := os.ReadFile(path); !bytes.Equal(again, first) {
			t.Errorf("%s: signed twice, it differs", arch)
		}
		// One byte of each page decides.
		for _, at := range []int{64, len(first) / 2} {
			bad := bytes.Clone(first)
			bad[at] ^= 1
			if err := os.WriteFile(path, bad, 0o755); err != nil {
				t.Fatal(err)
			}
			if _, err := read(path); err == nil {
				t.Errorf("%s: a change at byte %d is not seen", arch, at)
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	if err := run("sbx", "main_test.go"); err == nil {
		t.Error("a file that is no program is signed")
	}
	if _, err := read(build(t, "amd64")); err == nil {
		t.Error("a program without a signature has one")
	}
}
