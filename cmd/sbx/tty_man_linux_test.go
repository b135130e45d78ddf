// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/ptytest"
)

// TestManOnATerminal: the page goes to the pager of the user by the system's own
// formatter, or is plain text where there is none. No program of the working directory or
// of the front of PATH stands in for the formatter or for what it starts.
func TestManOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	formatter := false
	for _, name := range []string{"man", "mandoc"} {
		path, err := exec.LookPath(name)
		formatter = formatter || err == nil && strings.HasPrefix(path, "/usr/")
	}
	for _, name := range []string{"man", "mandoc", "groff", "nroff", "troff", "less", "sh", "cat", "preconv", "tbl"} {
		must(t, os.WriteFile(w.proj+"/"+name, []byte("#!/bin/sh\necho planted >>"+w.proj+"/ran\n"), 0o755))
	}
	must(t, os.WriteFile(w.proj+"/pager", []byte("#!/bin/sh\necho 'the pager:'; exec /bin/cat \"$@\"\n"), 0o755))
	for _, c := range []struct{ pager, term, want string }{
		{w.proj + "/pager", "xterm", "the pager:"}, {w.proj + "/pager", "dumb", "SBX-CONFIG 5 "},
	} {
		cmd := exec.Command(sbxPath, "man", "config")
		cmd.Dir = w.proj
		cmd.Env = append(w.env, "PATH=.:"+w.proj+":"+os.Getenv("PATH"), "TERM="+c.term, "MANPAGER="+c.pager)
		if c.term != "dumb" && !formatter {
			c.want = "SBX-CONFIG 5 "
		}
		p := ptytest.Start(t, cmd)
		p.Expect(c.want)
		p.Expect("timeout_seconds = 600")
		if s := p.Wait(); !s.Success() {
			t.Error(s)
		}
	}
	if ran, err := os.ReadFile(w.proj + "/ran"); err == nil {
		t.Errorf("a program of the project ran: %s", ran)
	}
}
