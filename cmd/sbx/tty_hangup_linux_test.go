// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/sbx-sandbox/sbx/internal/ptytest"
)

// hangupScenes take the terminal away: the window was closed, the connection
// was cut. Nothing of a sandbox may go on then, not even what would without
// one: a process in a session of its own, or one that does not heed SIGHUP.
var hangupScenes = []scene{
	{name: "hangup", play: func(s *seat) {
		s.ready("sh tree.sh")
		s.hangUp()
	}},
	{name: "hangup, handler", play: func(s *seat) {
		s.ready("actor")
		s.hangUp()
	}},
	{name: "hangup, stopped", only: shells, play: func(s *seat) {
		s.ready("sh tree.sh")
		s.Type(ptytest.CtrlZ)
		s.status()
		s.hangUp()
	}},
	// dash does not tell its background jobs, so they go on without sbx, too.
	{name: "hangup, background", only: []string{"bash", "zsh", "fish"}, play: func(s *seat) {
		s.line(s.prefix + "sh tree.sh " + s.mark + " &")
		s.Expect("ready")
		s.hangUp()
	}},
	{name: "hangup, pipeline", only: shells, play: func(s *seat) {
		s.line(s.prefix + "sh tree.sh " + s.mark + " | cat")
		s.Expect("ready")
		s.hangUp()
	}},
	{name: "hangup, script", only: shells, play: func(s *seat) {
		s.line("sh -c '" + s.prefix + "sh tree.sh " + s.mark + "; true'")
		s.Expect("ready")
		s.hangUp()
	}},
	{name: "hangup, a shell inside", needs: []string{"bash"}, play: func(s *seat) {
		s.run("sh inner.sh bash " + s.mark)
		s.Expect("in:0> ")
		s.line("sh tree.sh " + s.mark)
		s.Expect("ready")
		s.hangUp()
	}},
}

func (s *seat) hangUp() {
	s.t.Helper()
	if len(s.marked()) == 0 {
		s.t.Fatal("nothing runs that could be left")
	}
	s.HangUp()
	s.gone = true
	if !s.bare() {
		s.noneLeft()
		return
	}
	// What does not resist ends without sbx, too.
	s.Eventually(2*time.Second, "what heeds SIGHUP has ended", func() (bool, string) {
		left := s.marked()
		maps.DeleteFunc(left, func(_ int, line string) bool {
			return strings.HasPrefix(line, "sleep 101.") || strings.HasPrefix(line, "sleep 102.")
		})
		return len(left) == 0, fmt.Sprint(left)
	})
}
