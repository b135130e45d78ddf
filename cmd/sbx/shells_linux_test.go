// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFromShells: a script that starts sbx sees what it would see of the bare
// command.
func TestFromShells(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	type row struct{ shell, by, what string }
	var rows []row
	for _, shell := range []string{"bash", "dash", "zsh", "fish", "busybox sh"} {
		if _, err := exec.LookPath(strings.Fields(shell)[0]); err != nil {
			t.Logf("no %s here", shell)
			continue
		}
		for _, by := range []string{"bare", "sbx"} {
			for _, what := range []string{"background TERM", "background HUP", "background USR1", "foreground TERM", "foreground INT", "group TERM"} {
				rows = append(rows, row{shell, by, what})
			}
		}
	}
	each(t, 8, rows, func(t *testing.T, r row) {
		file := filepath.Join(w.proj, mark())
		command := "'" + strings.Join(through(r.by, "tally", file), "' '") + "'"
		how, signal, _ := strings.Cut(r.what, " ")
		n := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1, "INT": syscall.SIGINT}[signal]
		var script string
		switch {
		case how == "background" && r.shell == "fish":
			script = fmt.Sprintf("%s &\nset p $last_pid\nwhile not test -e %s.ready; sleep 0.02; end\nkill -%s $p\nwait $p\necho status $status", command, file, signal)
		case how == "background":
			script = fmt.Sprintf("%s & p=$!\nwhile ! test -e %s.ready; do sleep 0.02; done\nkill -%s $p\nwait $p\necho status $?", command, file, signal)
		case r.shell == "fish":
			script = fmt.Sprintf("%s\necho status $status", command)
		default:
			script = fmt.Sprintf("trap : TERM INT\n%s\necho status $?", command)
		}
		l := w.launch(t, "session", slices.Concat(strings.Fields(r.shell), []string{"-c", script})...)
		if how != "background" {
			if !appears(file + ".ready") {
				l.kill()
				t.Fatal(l.output())
			}
			if how == "group" && r.shell != "fish" {
				must(t, l.signal("group", n))
			} else if tree := family(l.pid); len(tree) > 1 {
				must(t, syscall.Kill(tree[1].pid, n))
			}
		}
		end, out := l.end(patience), l.output()
		want := "status 9\n"
		if how == "background" && r.shell == "fish" {
			want = "status " // fish's wait has none
		}
		counts := ""
		eventually(2*time.Second, func() bool {
			counts = readText(file)
			return counts != ""
		})
		if !strings.Contains(out, want) || counts != fmt.Sprintf("1*%d", n) {
			t.Errorf("%s: %q, counted %q", end, out, counts)
		}
	})
}
