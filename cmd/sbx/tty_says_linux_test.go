// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/ptytest"
)

// TestStatusLineUnguarded: on a terminal the status line says that git's hooks can be
// changed while the command runs, where that is so.
func TestStatusLineUnguarded(t *testing.T) {
	t.Parallel()
	needLandlock(t)
	w := newWorld(t)
	if _, said, status := w.run(w.proj, "git", "init", "-q", "."); status != 0 {
		t.Fatal(said)
	}
	const line = "tier reduced · git hooks unguarded while running · gaps"
	for _, c := range []struct {
		flag string
		says bool
	}{{"--protect=auto", true}, {"--protect=enforce", false}, {"--git=full", false}, {"-q", false}} {
		cmd := exec.Command(sbxPath, "--engine=landlock", c.flag, "--", "echo", "ready")
		cmd.Dir, cmd.Env = w.proj, w.env
		p := ptytest.Start(t, cmd)
		p.Until("ready")
		if s := p.Wait(); !s.Success() {
			t.Error(s)
		}
		if strings.Contains(p.Screen(), line) != c.says {
			t.Errorf("%s: %s", c.flag, p.Screen())
		}
	}
}

// TestFixAsks: sbx doctor --fix shows the command and runs nothing without a yes.
func TestFixAsks(t *testing.T) {
	t.Parallel()
	needBwrap(t)
	w := newWorld(t)
	for _, answer := range []string{"\r", "n\r", "yellow\r", ptytest.CtrlD} {
		cmd := exec.Command("sh", "-c", "exec jail -missing "+sbxPath+" doctor --fix")
		cmd.Dir, cmd.Env = w.proj, w.env
		p := ptytest.Start(t, cmd)
		p.Expect("for tier full: ")
		p.Expect("run it now? [y/N] ")
		p.Type(answer)
		p.Expect("sbx: error: not done")
		if s := p.Wait(); s.ExitCode() != 125 {
			t.Errorf("%q: %s", answer, s)
		}
	}
}
