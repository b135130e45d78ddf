// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Someone who can write in the project swaps a directory for a link to a
// secret, all the time, while sandboxes are started that mount the directory.
// No start may show the secret; that some are refused because of a swap
// between plan and mount shows that the race was on.
func TestSwapsWhileStarting(t *testing.T) {
	needBwrap(t)
	t.Parallel()
	w := newWorld(t)
	starts := 500
	if testing.Short() {
		starts = 50
	}
	secret := filepath.Join(w.dir, "out", "secret")
	for dir, text := range map[string]string{secret: "SECRET", filepath.Join(w.proj, "d"): "harmless"} {
		if err := os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir, other := filepath.Join(w.proj, "d"), filepath.Join(w.proj, "l")
	if err := os.Symlink(secret, other); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			_ = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
			time.Sleep(time.Duration(rand.IntN(4000)) * time.Microsecond)
		}
	}()
	got := swapped(t, w, starts)
	control := swapped(t, w, starts/2, "--direct")
	stop.Store(true)
	<-done
	t.Logf("%d starts: %+v; with --direct %d: %+v", starts, got, starts/2, control)
	if got.leaked > 0 {
		t.Errorf("%d of %d starts showed the secret", got.leaked, starts)
	}
	if starts < 500 {
		return
	}
	if got.late == 0 {
		t.Error("no swap fell between plan and mount: this test has shown nothing")
	}
	if bwrap, err := exec.Command("bwrap", "--version").Output(); err == nil && strings.HasPrefix(string(bwrap), "bubblewrap 0.8") && control.leaked == 0 {
		t.Error("without the look at what was mounted no start showed the secret: this test has shown nothing")
	}
}

// outcome counts what starts ended with.
type outcome struct{ shown, late, early, leaked int }

func swapped(t *testing.T, w *world, starts int, flags ...string) (o outcome) {
	for i := range starts {
		args := append(flags[:len(flags):len(flags)], "-q", "-w", "d", "--", "cat", "d/f", "l/f")
		if i%2 == 0 {
			args = append([]string{"--read-only"}, args...)
		}
		cmd := exec.Command(sbxPath, args...)
		cmd.Dir, cmd.Env = w.proj, w.env
		out, _ := cmd.CombinedOutput()
		switch text := string(out); {
		case strings.Contains(text, "SECRET"):
			o.leaked++
		case strings.Contains(text, "while the sandbox was being set up"):
			o.late++
		case strings.Contains(text, "harmless"):
			o.shown++
		default:
			o.early++
		}
	}
	return o
}
