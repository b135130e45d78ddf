// SPDX-License-Identifier: Apache-2.0

package ptytest

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestTerminal(t *testing.T) {
	p := Start(t, exec.Command("sh", "-c",
		`stty size; printf 'name? '; read name; stty -echo; printf 'word? '; read word; stty echo
		echo; echo "$name, $word"; trap 'echo resized; stty size' WINCH; trap 'echo handled; exit 7' INT
		echo ready; while :; do sleep 0.05; done`))
	p.Expect("24 200")
	before := p.Modes()
	p.Expect("name? ")
	if !p.Echo() {
		t.Error("there should be an echo")
	}
	p.Type("ada" + Enter)
	p.Expect("ada")
	p.Expect("word? ")
	if p.Echo() {
		t.Error("there should be no echo")
	}
	p.Type("swordfish" + Enter)
	if n := p.Count("swordfish, ", 100*time.Millisecond); n != 0 {
		t.Error("what the terminal did not show was seen")
	}
	p.Expect("ada, swordfish")
	p.Expect("ready")
	if p.Foreground() != p.PID() {
		t.Errorf("group %d is in the foreground, want %d", p.Foreground(), p.PID())
	}
	p.Resize(33, 101)
	p.Expect("resized")
	if got := p.ExpectMatch(`(\d+) (\d+)\n`); got[1] != "33" || got[2] != "101" {
		t.Errorf("size %q", got)
	}
	p.Type(CtrlC)
	p.Expect("handled")
	if status := p.Wait().ExitCode(); status != 7 {
		t.Errorf("exit status %d, want 7", status)
	}
	if after := p.Modes(); after != before {
		t.Errorf("modes %+v, want %+v", after, before)
	}
}

func TestHangUp(t *testing.T) {
	p := Start(t, exec.Command("sh", "-c", "echo ready; exec sleep 100"))
	p.Expect("ready")
	p.HangUp()
	if ws := p.Wait().Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGHUP {
		t.Errorf("ended with %v, want a death by SIGHUP", ws)
	}
}
