// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"time"

	"github.com/sbx-sandbox/sbx/internal/ptytest"
)

// keyScenes end a command by a key.
var keyScenes = []scene{
	{name: "ctrl-c, handler", play: func(s *seat) {
		s.remove("cleaned")
		s.ready("actor")
		s.Type(ptytest.CtrlC)
		s.Expect("cleaned")
		s.ends(7)
		if got := s.file("cleaned"); got != "cleaned\n" {
			s.t.Errorf("the handler should have run once: %q", got)
		}
	}},
	{name: "ctrl-c", play: func(s *seat) {
		s.ready("sh wait.sh")
		s.Type(ptytest.CtrlC)
		s.ends(130)
	}},
	{name: "ctrl-backslash, handler", play: func(s *seat) {
		s.ready("actor")
		s.Type(ptytest.CtrlBackslash)
		s.Expect("quitting")
		s.ends(8)
	}},
	{name: "ctrl-backslash", play: func(s *seat) {
		s.ready("sh wait.sh")
		s.Type(ptytest.CtrlBackslash)
		s.ends(131)
	}},
	// A shell leaves a loop when the command in it has died by the signal.
	{name: "ctrl-c in while", only: shells, play: func(s *seat) { s.breakLoop(s.caller.loop) }},
	{name: "ctrl-c in for", only: shells, play: func(s *seat) { s.breakLoop(s.caller.each) }},
	{name: "ctrl-d", play: func(s *seat) {
		s.ready("sh copy.sh")
		s.line("one")
		s.Expect("one\none\n") // the echo, and the answer
		s.line("two")
		s.Expect("two\ntwo\n")
		s.Type(ptytest.CtrlD)
		s.ends(0)
	}},
}

func (s *seat) breakLoop(loop string) {
	s.line(fmt.Sprintf(loop, s.prefix+"sh wait.sh "+s.mark))
	s.Expect("ready")
	s.Type(ptytest.CtrlC)
	s.status()
	if n := s.Count("ready", 200*time.Millisecond); n != 0 {
		s.t.Errorf("the loop went on %d times", n)
	}
}
