// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"time"

	"github.com/sbx-sandbox/sbx/internal/ptytest"
)

// windowScenes are about the terminal itself: its size and its modes.
var windowScenes = []scene{
	{name: "window size", play: func(s *seat) {
		s.run("sh size.sh actor " + s.mark)
		s.Expect("24 200\n")
		s.Expect("ready")
		s.Resize(33, 101)
		s.Expect("resized to 33 101")
		if n := s.Count("resized", 300*time.Millisecond); n != 0 {
			s.t.Errorf("the handler ran %d times more", n)
		}
		s.Type(ptytest.CtrlC)
		s.ends(7)
		if s.caller.name != leader {
			s.run("stty size")
			s.Expect("33 101\n")
			s.ends(0)
		}
	}},
	{name: "password", play: func(s *seat) {
		s.remove("taken.txt")
		s.run("sh ask.sh " + s.mark + " <given.txt >taken.txt")
		s.password()
		s.ends(0)
		if got, want := s.file("taken.txt"), "from a file\nword: swordfish\n"; got != want {
			s.t.Errorf("%q, want %q", got, want)
		}
	}},
	{name: "password, python", needs: []string{"/usr/bin/python3"}, play: func(s *seat) {
		s.run(`/usr/bin/python3 -c 'import getpass; print(getpass.getpass()[::-1])' ` + s.mark + " <given.txt")
		s.password()
		s.Expect("hsifdrows")
		s.ends(0)
	}},
	// The modes that a command set are those of the terminal, which outlives it.
	{name: "stty", only: []string{leader}, play: func(s *seat) {
		s.run("stty -echo -ixon")
		s.ends(0)
		if s.Echo() {
			s.t.Error("the command should have switched the echo off")
		}
		s.first = s.Modes()
	}},
}

// password answers a prompt that shows nothing of the answer.
func (s *seat) password() {
	s.t.Helper()
	s.Expect("Password: ")
	if s.Echo() {
		s.t.Error("the terminal would show the password")
	}
	s.line("swordfish")
}
