// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"github.com/sbx-sandbox/sbx/internal/ptytest"
)

// programScenes use programs that take the terminal over.
var programScenes = []scene{
	{name: "bash", needs: []string{"bash"}, play: func(s *seat) { s.inner("bash") }},
	{name: "zsh", needs: []string{"zsh"}, play: func(s *seat) { s.inner("zsh") }},
	{name: "fish", needs: []string{"fish"}, play: func(s *seat) { s.inner("fish") }},
	{name: "python", needs: []string{"/usr/bin/python3"}, play: func(s *seat) {
		s.run("/usr/bin/python3 - " + s.mark)
		s.Expect(">>> ")
		s.line("6*7")
		s.Expect("42")
		s.Expect(">>> ")
		s.line("import time; [time.sleep(0.01) or i or print('sl' + 'eeping') for i in range(10000)]")
		s.Expect("sleeping")
		s.Type(ptytest.CtrlC)
		s.Expect("KeyboardInterrupt")
		s.Expect(">>> ")
		s.line("exit(4)")
		s.ends(4)
	}},
	{name: "node", needs: []string{"node"}, play: func(s *seat) {
		s.run("node -i - " + s.mark)
		s.Expect("> ")
		s.line("6*7 + 'x'")
		s.Expect("42x")
		s.Expect("> ")
		s.Type(ptytest.CtrlC)
		s.Expect("(To exit")
		s.line("process.exit(4)")
		s.ends(4)
	}},
	{name: "less", needs: []string{"less"}, play: func(s *seat) {
		s.run("less text.txt")
		s.Expect("line 23.")
		s.Type(" ")
		s.Expect("line 46.")
		s.Type("q")
		s.ends(0)
	}},
	{name: "top", needs: []string{"top"}, play: func(s *seat) {
		s.run("top -d 0.5")
		for range 2 {
			s.Expect("load average")
		}
		s.Type("q")
		s.ends(0)
	}},
	{name: "vim", needs: []string{"vim"}, play: func(s *seat) {
		s.remove("new.txt")
		s.run("vim -u NONE -i NONE -n new.txt")
		s.Expect("New")
		s.Type("ihello" + ptytest.Escape + ":wq" + ptytest.Enter)
		s.ends(0)
		if got := s.file("new.txt"); got != "hello\n" {
			s.t.Errorf("%q", got)
		}
	}},
	{name: "vim, ctrl-z, fg", needs: []string{"vim"}, only: shells, play: func(s *seat) {
		s.remove("new.txt")
		s.run("vim -u NONE -i NONE -n new.txt")
		s.Expect("New")
		s.Type("ihello" + ptytest.Escape)
		s.Expect("hello")
		s.Type(ptytest.CtrlZ)
		s.status()
		s.line("fg")
		s.Expect("hello") // drawn anew
		s.Type("A, world" + ptytest.Escape + ":wq" + ptytest.Enter)
		s.ends(0)
		if got := s.file("new.txt"); got != "hello, world\n" {
			s.t.Errorf("%q", got)
		}
	}},
	{name: "tmux", needs: []string{"tmux"}, play: func(s *seat) {
		s.run("tmux -S tmux.sock -f /dev/null new sh")
		s.Expect("[0] 0:")
		s.line("echo in${nothing}side")
		s.Expect("inside")
		s.line("exit")
		s.Expect("[exited]")
		s.ends(0)
	}},
}

// inner uses a shell that is the command, with jobs of its own.
func (s *seat) inner(name string) {
	s.t.Helper()
	s.run("sh inner.sh " + name + " " + s.mark)
	s.Expect("in:0> ")
	s.line("actor " + s.mark)
	s.Expect("ready")
	s.Type(ptytest.CtrlZ)
	s.ExpectMatch(`in:\d+> `)
	s.line("jobs")
	s.ExpectMatch(isStopped)
	s.ExpectMatch(`in:\d+> `)
	s.line("fg")
	s.Expect("awoken")
	s.Type(ptytest.CtrlC)
	s.Expect("cleaned")
	if name == "fish" { // the status of fg
		s.Expect("in:0> ")
	} else {
		s.Expect("in:7> ")
	}
	s.line("exit 3")
	s.ends(3)
}
