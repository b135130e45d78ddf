// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The programs in testdata/programs do what their like usually do, and fail
// where anything is refused that the filter of a level ought to let through.
// They work bare, in level default and in strict.
//
// SBX_TEST_REQUIRE names those that have to be there.
var usualPrograms = []struct {
	name string
	need []string
	slow bool   // not in all the ways
	sh   string // $0 is the directory of the programs
}{
	{"coreutils", []string{"bash"}, false, `bash "$0/coreutils.sh"`},
	{"git", []string{"git"}, false, `git config --global init.defaultBranch master; sh "$0/git.sh"`},
	{"perl", []string{"perl"}, false, `perl "$0/perl.pl"`},
	{"python3", []string{"/usr/bin/python3"}, false, `/usr/bin/python3 "$0/python3.py"`},
	{"node", []string{"node"}, false, `node "$0/node.js"`},
	{"java", []string{"java", "javac"}, false, `java -version 2>&1 && javac -d /tmp/classes "$0/Hello.java" && java ${TMPDIR:+-Djava.io.tmpdir=$TMPDIR} -cp /tmp/classes Hello`},
	{"java, other collectors", []string{"java"}, true, `java ${TMPDIR:+-Djava.io.tmpdir=$TMPDIR} -Xmx256m -XX:+UseSerialGC "$0/Hello.java" && java ${TMPDIR:+-Djava.io.tmpdir=$TMPDIR} -Xmx256m -XX:+UnlockExperimentalVMOptions -XX:+UseZGC "$0/Hello.java"`},
	{"go", []string{"go"}, true, `go version && cp "$0/main.go" /tmp && cd /tmp && go run main.go && go build -o hello main.go && ./hello`},
	{"glibc", []string{"gcc"}, false, `gcc -O1 -o /tmp/hello "$0/hello.c" -pthread -lrt && /tmp/hello`},
	{"musl", []string{"musl-gcc"}, false, `musl-gcc -static -o /tmp/hello "$0/hello.c" && /tmp/hello`},
}

func TestUsualPrograms(t *testing.T) {
	needEveryday(t)
	needBwrap(t)
	t.Parallel()
	from, err := filepath.Abs("testdata/programs")
	must(t, err)
	// Debian's java has its settings there, which profile strict does not show.
	settings, err := filepath.Glob("/etc/java-*")
	must(t, err)
	var show []string
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		show = append(show, "-r", strings.TrimSpace(string(out)))
	}
	for _, dir := range settings {
		show = append(show, "-r", dir)
	}
	ways := [][]string{
		nil,                                               // the control: without sbx
		{"--seccomp", "default"}, {"--seccomp", "strict"}, // all programs; then those that take a moment
		{"--engine", "landlock"}, {"--engine", "landlock", "--seccomp", "strict"},
		{"--seccomp", "strict", "--direct"}, {"-p", "strict"},
	}
	for _, p := range usualPrograms {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, name := range p.need {
				needProgram(t, name)
			}
			w := newWorld(t)
			must(t, os.CopyFS(filepath.Join(w.proj, "programs"), os.DirFS(from)))
			w.env = append(w.env, "GOFLAGS=", "GOPROXY=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0")
			ways := ways
			if p.slow {
				ways = ways[:4]
			}
			for _, way := range ways {
				words := []string{"sh", "-c", p.sh, filepath.Join(w.proj, "programs")}
				if way == nil {
					// /tmp is the machine's here: what the program makes there has another name.
					words[2] = strings.ReplaceAll(words[2], "/tmp", w.dir+"/tmp")
				} else {
					if way[0] == "--engine" {
						words[2] = strings.ReplaceAll(words[2], "/tmp", "$TMPDIR")
					}
					words = slices.Concat([]string{"sbx", "-q"}, show, way, []string{"--"}, words)
				}
				if out, said, status := w.run(w.proj, words...); status != 0 || !strings.HasSuffix(out, "all of it works\n") {
					t.Errorf("%v: status %d\n%s%s", way, status, out, said)
				}
			}
		})
	}
}

// TestStrictRefuses is the other side: what level default lets through, strict
// refuses, and what neither does is refused in both.
func TestStrictRefuses(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	probe := func(words ...string) int {
		t.Helper()
		_, said, status := w.run(w.proj, words...)
		if status != 0 && status != 1 {
			t.Errorf("%v: status %d: %s", words, status, said)
		}
		return status
	}
	for _, tt := range []struct {
		flags string
		want  int
	}{{"--seccomp default", 0}, {"--seccomp dev", 0}, {"--seccomp strict", 1}, {"-p strict -r ~/bin", 1}, {"-p strict -r ~/bin --seccomp default", 0}} {
		words := slices.Concat([]string{"sbx", "-q"}, strings.Fields(strings.ReplaceAll(tt.flags, "~", w.dir+"/home")), []string{"--", w.dir + "/home/bin/probe", "shm"})
		if got := probe(words...); got != tt.want {
			t.Errorf("%s: status %d, want %d", tt.flags, got, tt.want)
		}
	}
}

// TestLimitsOfFirstProcess: a command cannot take away what process 1 works
// with, neither by its number nor by that of one of its threads.
func TestLimitsOfFirstProcess(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	// The control: of a process of one's own it can be done, outside.
	sleeper := exec.Command("sleep", "60")
	must(t, sleeper.Start())
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	limits := func(path string) string {
		data, err := os.ReadFile(path)
		must(t, err)
		_, rest, _ := strings.Cut(string(data), "Max open files")
		return strings.Fields(rest)[0]
	}
	of := "/proc/" + strconv.Itoa(sleeper.Process.Pid) + "/limits"
	before := limits(of)
	if _, said, status := w.run(w.proj, "probe", "limit", strconv.Itoa(sleeper.Process.Pid)); status != 0 || limits(of) != "3" || before == "3" {
		t.Errorf("outside: status %d, limit %s before and %s after: %s", status, before, limits(of), said)
	}
	// Threads of process 1 have numbers as well.
	script := `sleep 60 & probe limit 1; echo $?
n=0; for t in /proc/1/task/*; do n=$((n+1)); probe limit ${t##*/} && echo a thread; done; test $n -gt 1 && echo threads
grep -q '^Max open files *3 ' /proc/1/limits && echo changed; probe limit 0; echo $?; kill $!`
	for _, tt := range []struct{ flags, want string }{
		{"--seccomp default", "1\n0\n"}, // process 1 is plain: one thread
		{"--seccomp default --timeout 60", "1\nthreads\n0\n"}, {"--seccomp strict --timeout 60", "1\nthreads\n0\n"},
		{"--seccomp dev --timeout 60", "1\nthreads\n0\n"},
	} {
		if runtime.GOARCH != "amd64" && !strings.Contains(tt.flags, "timeout") {
			continue // elsewhere it has threads at once
		}
		out, said, status := w.run(w.proj, append(append([]string{"sbx", "-q"}, strings.Fields(tt.flags)...), "--", "sh", "-c", script)...)
		if out != tt.want || status != 0 {
			t.Errorf("%s: status %d, %q, want %q: %s", tt.flags, status, out, tt.want, said)
		}
	}
	// Without a filter it is as outside, or this proves nothing.
	out, said, _ := w.run(w.proj, "sbx", "-q", "--seccomp", "off", "--", "sh", "-c", `for t in /proc/1/task/*; do :; done; probe limit ${t##*/}; echo $?; grep -q '^Max open files *3 ' /proc/1/limits && echo changed`)
	if out != "0\nchanged\n" {
		t.Errorf("without a filter: %q: %s", out, said)
	}
}

// TestDebuggersInside: level dev is there for them, the others refuse them.
func TestDebuggersInside(t *testing.T) {
	needBwrap(t)
	w := newWorld(t)
	for _, words := range [][]string{
		{"strace", "-o", "/dev/null", "true"},
		{"gdb", "-nx", "-batch", "-return-child-result", "-ex", "run", "/bin/true"},
	} {
		t.Run(words[0], func(t *testing.T) {
			needProgram(t, words[0])
			if out, said, status := w.run(w.proj, words...); status != 0 {
				t.Fatalf("outside: status %d: %s%s", status, out, said)
			}
			for level, want := range map[string]bool{"default": false, "strict": false, "dev": true} {
				out, said, status := w.run(w.proj, append([]string{"sbx", "-q", "--seccomp", level, "--"}, words...)...)
				if (status == 0) != want {
					t.Errorf("%s: status %d: %s%s", level, status, out, said)
				}
			}
		})
	}
}
