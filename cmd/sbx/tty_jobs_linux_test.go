// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"regexp"
	"time"

	"github.com/sbx-sandbox/sbx/internal/ptytest"
)

// isStopped is what jobs says of a stopped job.
const isStopped = `(?i)(stopped|suspended)`

// jobScenes stop a command and continue it.
var jobScenes = []scene{
	{name: "ctrl-z, fg", only: shells, play: func(s *seat) {
		s.ready("actor")
		for range 2 {
			s.Type(ptytest.CtrlZ)
			s.status()
			s.line("jobs")
			s.ExpectMatch(isStopped)
			s.status()
			s.line("fg")
			s.Expect("awoken")
		}
		s.Type(ptytest.CtrlC)
		s.Expect("cleaned")
		s.endsAfterFg(7)
	}},
	{name: "ctrl-z, fg, ctrl-c", only: shells, play: func(s *seat) {
		s.ready("sh wait.sh")
		s.Type(ptytest.CtrlZ)
		s.status()
		s.line("fg")
		s.Expect("wait.sh") // what is continued
		s.takesOver()
		s.Type(ptytest.CtrlC)
		s.endsAfterFg(130)
	}},
	{name: "ctrl-z, bg, fg", only: shells, play: func(s *seat) {
		s.ready("actor")
		s.Type(ptytest.CtrlZ)
		s.status()
		s.line("bg")
		s.Expect("awoken")
		// The shell has the terminal meanwhile.
		s.line("printf 'a%sz\\n' '--'")
		s.Expect("a--z")
		s.line("fg")
		s.takesOver()
		s.Type(ptytest.CtrlC)
		s.Expect("cleaned")
		s.endsAfterFg(7)
	}},
	{name: "ctrl-z, kill", only: []string{"bash", "zsh"}, play: func(s *seat) { // the others do not continue what they kill
		s.ready("actor")
		s.Type(ptytest.CtrlZ)
		s.status()
		s.line("kill %1")
		s.Expect("terminating")
		s.noneLeft()
		s.line("true") // the shell takes notice
		s.status()
	}},
	// bash 5.2 at times goes on to call such a job stopped, whatever it was; fish
	// has no %1.
	{name: "ctrl-z, kill -9", only: []string{"zsh", "dash"}, play: func(s *seat) {
		s.ready("sh tree.sh")
		s.Type(ptytest.CtrlZ)
		s.status()
		s.line("kill -9 %1")
		s.status()
		s.Eventually(ptytest.Patience, "the shell takes notice", func() (bool, string) { return !s.jobIsStopped(), "jobs" })
		if !s.bare() {
			s.noneLeft()
		} else {
			s.sweep()
		}
	}},
	// Who leaves the shell takes its stopped jobs along.
	{name: "ctrl-z, exit", only: shells, play: func(s *seat) {
		s.ready("sh wait.sh")
		s.Type(ptytest.CtrlZ)
		s.status()
		s.line("exit 0")
		s.status()
		s.line("exit 0")
		s.Wait()
		s.noneLeft()
		s.gone = true
	}},
	{name: "ctrl-z, ignored", play: func(s *seat) {
		s.ready("actor stubborn")
		s.Type(ptytest.CtrlZ + ptytest.CtrlC)
		s.Expect("cleaned")
		s.ends(7)
	}},
	// No process could continue it: the kernel does not stop a session without a
	// shell by a key.
	{name: "ctrl-z, nobody to continue", only: []string{leader}, play: func(s *seat) {
		s.ready("sh copy.sh")
		s.Type(ptytest.CtrlZ)
		s.line("still here")
		s.Expect("still here\nstill here\n")
		s.Type(ptytest.CtrlD)
		s.ends(0)
	}},
	{name: "stops itself", only: shells, play: func(s *seat) {
		s.ready("actor sleepy")
		s.Type(ptytest.CtrlZ)
		s.Expect("asleep")
		s.status()
		s.line("fg")
		s.Expect("awoken")
		s.Type(ptytest.CtrlC)
		s.endsAfterFg(7)
	}},
	{name: "in the background", only: shells, play: func(s *seat) {
		s.line(s.prefix + "actor " + s.mark + " &")
		s.Expect("ready")
		s.line("printf 'a%sz\\n' '--'")
		s.Expect("a--z")
		s.line("fg")
		s.takesOver()
		s.Type(ptytest.CtrlC)
		s.Expect("cleaned")
		s.endsAfterFg(7)
	}},
	// It may not read the terminal until it has it.
	{name: "in the background, reading", only: shells, play: func(s *seat) {
		s.line(s.prefix + "sh copy.sh " + s.mark + " &")
		s.Expect("ready")
		s.Eventually(ptytest.Patience, "the job is stopped", func() (bool, string) { return s.jobIsStopped(), "jobs" })
		s.line("fg")
		s.takesOver()
		s.line("for the job")
		s.Expect("for the job\nfor the job\n")
		s.Type(ptytest.CtrlD)
		s.ends(0)
	}},
}

// jobIsStopped asks the shell. More than its answer may have come.
func (s *seat) jobIsStopped() bool {
	s.t.Helper()
	s.line("jobs; echo --e''nd")
	return regexp.MustCompile(isStopped).MatchString(s.Until("--end"))
}

// takesOver waits until the shell has given the terminal away.
func (s *seat) takesOver() {
	s.t.Helper()
	s.Eventually(ptytest.Patience, "the job has the terminal", func() (bool, string) {
		return s.Foreground() != s.PID(), "the shell has it"
	})
	// And until the modes are those of the job: bash and zsh set them after that.
	time.Sleep(100 * time.Millisecond)
}
