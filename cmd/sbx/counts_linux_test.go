// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestProcesses: while a command runs there are as many processes as with bwrap
// alone, and init is a small one.
func TestProcesses(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	bwrap := []string{"bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "sleep"}
	rows := map[string][]string{"bwrap": bwrap, "sbx": {"sbx", "-q", "--", "sleep"}, "limited": {"sbx", "-q", "--timeout", "10m", "--", "sleep"}, "direct": {"sbx", "-q", "--direct", "--", "sleep"}}
	each(t, len(rows), slices.Sorted(maps.Keys(rows)), func(t *testing.T, name string) {
		words, m := rows[name], mark()
		l := w.launch(t, "session", append(words, m)...)
		var tree []process
		eventually(patience, func() bool {
			tree = family(l.pid)
			return len(tree) > 2 && tree[2].comm == "sleep"
		})
		time.Sleep(200 * time.Millisecond)
		if tree = family(l.pid); len(tree) != 3 || tree[0].comm != "bwrap" || tree[2].comm != "sleep" || tree[1].ppid != l.pid || tree[2].ppid != tree[1].pid {
			t.Errorf("%s: %+v", name, tree)
		} else if name == "sbx" || name == "limited" {
			status := tree[1].about("status")
			rss, threads := field(status, "VmRSS:"), field(status, "Threads:")
			t.Logf("%s: the stage has %d kB resident and %d threads; smaps_rollup: %s", name, rss, threads, pss(tree[1]))
			if tree[1].comm != "sbx" || rss > 4096 || rss == 0 {
				t.Errorf("%s: %s of %d kB", name, tree[1].comm, rss)
			}
		}
		l.kill()
		if left := survivors(m, patience); len(left) > 0 {
			t.Errorf("%s: left over: %v", name, left)
		}
	})
}

// field reads a number of proc_pid_status(5).
func field(status, name string) int {
	_, rest, _ := strings.Cut(status, name)
	n, _ := strconv.Atoi(append(strings.Fields(rest), "")[0])
	return n
}

func pss(p process) string {
	_, rest, _ := strings.Cut(p.about("smaps_rollup"), "Pss:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// TestOpen: the command has the descriptors that it was given, and init
// keeps none of them: who waits for the end of a pipe waits for the command
// alone.
func TestOpen(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	for _, flags := range [][]string{nil, {"--timeout", "10m"}} {
		for _, n := range []int{3, 4, 9} {
			r, p, err := os.Pipe()
			must(t, err)
			m := mark()
			cmd := exec.Command(sbxPath, append(append([]string{"-q"}, flags...), "--", "sh", "-c", fmt.Sprintf("echo through >&%d; exec %d>&-; exec sleep %s", n, n, m))...)
			cmd.Dir, cmd.Env, cmd.SysProcAttr = w.proj, w.env, &syscall.SysProcAttr{Setsid: true}
			for range n - 3 {
				cmd.ExtraFiles = append(cmd.ExtraFiles, nil)
			}
			cmd.ExtraFiles = append(cmd.ExtraFiles, p)
			must(t, cmd.Start())
			p.Close()
			must(t, r.SetReadDeadline(time.Now().Add(patience)))
			text := make([]byte, 100)
			got := ""
			for err == nil {
				var k int
				k, err = r.Read(text)
				got += string(text[:k])
			}
			r.Close()
			var tree []process
			eventually(patience, func() bool {
				tree = family(cmd.Process.Pid)
				return len(tree) == 3 && tree[2].comm == "sleep"
			})
			if got != "through\n" || err.Error() != "EOF" || len(tree) != 3 {
				t.Errorf("%v descriptor %d: %q, %v, %v", flags, n, got, err, tree)
			}
			if len(tree) == 3 && os.Geteuid() == 0 {
				// Its standard error is the caller's, /dev/null here. What is hidden in /etc from
				// root is watched there, with the mounts.
				for _, to := range openIn(tree[1].pid) {
					if own := regexp.MustCompile(`^(2 /dev/null|\d+ (/proc/\d+/(status|mountinfo)|/etc(/\w+)*|anon_inode:(inotify|\[(eventpoll|signalfd)\])|pipe:\[\d+\]))$`); !own.MatchString(to) {
						t.Errorf("%v: the stage holds %s", flags, to)
					}
				}
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			survivors(m, patience)
		}
		bare, _, _ := w.run(w.proj, "fdrun", "9=pipe:text", "--", "probe", "fds")
		out, said, status := w.run(w.proj, append(append([]string{"fdrun", "9=pipe:text", "--", "sbx", "-q"}, flags...), "--", "probe", "fds")...)
		for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
			if n, _, _ := strings.Cut(line, " "); !strings.Contains("\n"+bare, "\n"+n+" ") {
				t.Errorf("%v: the command has %s, and bare:\n%s", flags, line, bare)
			}
		}
		if status != 0 || !strings.Contains(out, "\n9 pipe:") {
			t.Errorf("%v: status %d: %s%s", flags, status, out, said)
		}
	}
}

// openIn lists what a process has open.
func openIn(pid int) (list []string) {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, link := range links {
		to, _ := os.Readlink(link)
		list = append(list, filepath.Base(link)+" "+to)
	}
	return list
}
