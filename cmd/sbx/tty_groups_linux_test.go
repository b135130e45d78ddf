// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"time"

	"github.com/sbx-sandbox/sbx/internal/ptytest"
)

// groupScenes start the command as one of several processes of a job.
var groupScenes = []scene{
	{name: "script", play: func(s *seat) {
		s.beScript()
		s.Expect("from a file")
		s.Expect("status 5")
		s.Expect("And now? ")
		s.line("a line")
		s.Expect("read: a line")
		s.ends(0)
	}},
	{name: "ctrl-c in a script", only: shells, play: func(s *seat) {
		s.remove("cleaned")
		s.line("sh -c '" + s.prefix + "actor " + s.mark + "; echo never'")
		s.Expect("ready")
		s.Type(ptytest.CtrlC)
		s.Expect("cleaned")
		s.status()
	}},
	{name: "ctrl-z in a script", only: shells, play: func(s *seat) {
		s.line("sh -c '" + s.prefix + "actor " + s.mark + "; echo it was $?'")
		s.Expect("ready")
		s.Type(ptytest.CtrlZ)
		s.status()
		s.line("fg")
		s.Expect("awoken")
		s.Type(ptytest.CtrlC)
		s.Expect("cleaned")
		s.status()
	}},
	{name: "pipeline, less", needs: []string{"less"}, play: func(s *seat) {
		s.pipe(`printf 'a\nb\n'`, "less")
		s.Expect("a\n")
		s.Expect("b\n")
		s.Expect("END")
		s.Type("q")
		s.ends(0)
	}},
	{name: "pipeline, at its end", play: func(s *seat) {
		if s.caller.name == leader {
			s.run("cat given.txt")
		} else {
			s.line("cat given.txt | " + s.prefix + "cat")
		}
		s.Expect("from a file\n")
		s.ends(0)
	}},
	{name: "pipeline, ctrl-c", only: shells, play: func(s *seat) {
		s.remove("cleaned")
		s.line(s.prefix + "actor " + s.mark + " | cat")
		s.Expect("ready")
		s.Type(ptytest.CtrlC)
		s.status()
		// cat has died at once; what the handler says to it is lost.
		s.Eventually(ptytest.Patience, "the handler has run", func() (bool, string) {
			got := s.file("cleaned")
			return got == "cleaned\n", fmt.Sprintf("%q", got)
		})
	}},
	{name: "pipeline, ctrl-z", only: shells, play: func(s *seat) {
		s.line(s.prefix + "actor " + s.mark + " | cat")
		s.Expect("ready")
		s.Type(ptytest.CtrlZ)
		s.status()
		s.line("fg")
		s.Expect("awoken")
		s.Type(ptytest.CtrlBackslash)
		s.status()
	}},
	{name: "pipeline, password", only: shells, play: func(s *seat) {
		s.line(s.prefix + "sh ask.sh " + s.mark + " <given.txt | cat")
		s.password()
		s.Expect("from a file\nword: swordfish\n")
		s.ends(0)
	}},
	// A command in the foreground has a group of its own: kill 0 reaches neither
	// the shell nor what else is in the caller's group. Without sbx it does.
	{name: "kill 0", only: shells, play: func(s *seat) {
		s.line("sh group.sh '" + s.prefix + "' " + s.mark)
		s.Expect("ready")
		s.line("")
		s.ends(143)
		time.Sleep(200 * time.Millisecond)
		brothers := 0
		for _, line := range s.marked() {
			if line == "sleep 100."+s.mark {
				brothers++
			}
		}
		if want := map[bool]int{true: 0, false: 1}[s.bare()]; brothers != want {
			s.t.Errorf("%d processes of the group are left, want %d", brothers, want)
		}
		s.sweep()
	}},
}

// beScript runs twice.sh, which runs the command.
func (s *seat) beScript() {
	command := "sh twice.sh '" + s.prefix + "' " + s.mark
	if s.caller.name != leader {
		s.line(command)
		return
	}
	s.start([]string{"sh", "-c", `read go; exec ` + command})
	s.first = s.Modes()
	s.line("")
}

// pipe runs a pipeline with the command at its beginning.
func (s *seat) pipe(command, to string) {
	if s.caller.name != leader {
		s.line(s.prefix + command + " | " + to)
		return
	}
	s.start([]string{"sh", "-c", "read go; " + s.prefix + command + " | " + to})
	s.first = s.Modes()
	s.line("")
}
